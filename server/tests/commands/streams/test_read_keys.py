"""The reported keys of XREAD and XREADGROUP are the keys that they really use.

Access rules, COMMAND GETKEYS and the commands themselves must agree on every
line, whatever the names of groups, consumers and keys are.  A line with different
keys for two of them would be a way around the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

import forebay
from forebay.commands.streams.xread_options import key_positions
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

LINES = 30_000 if forebay.compiled() else 4000
GROUPS = [b"g", b"STREAMS", b"COUNT", b"0"]
KEYS = [b"STREAMS", b"COUNT", b"GROUP", b"NOACK", b"CLAIM", b"BLOCK", b"0", b">", b"x", b"g", b""]
WORDS = [
    *(b"STREAMS", b"streams", b"GROUP", b"group", b"COUNT", b"BLOCK", b"CLAIM", b"NOACK"),
    *(b"MAXCOUNT", b"MAXSIZE", b"0", b"100", b"-1", b">", b"$", b"+", b"0-0", b"g", b"x", b""),
]
VALUED = [b"COUNT", b"MAXCOUNT", b"MAXSIZE", b"BLOCK", b"CLAIM"]


@pytest.fixture
def client() -> EngineClient:
    """Every word that may be a key is one: a stream, with groups of misleading names."""
    client = EngineClient()
    for key in KEYS:
        client("XADD", key, "1-0", "f", "v")
        for group in GROUPS:
            client("XGROUP", "CREATE", key, group, "0")
    return client


def sensible_line(dice: Random) -> list[bytes]:
    """A line that answers for every key it names, with misleading names in it."""
    is_group = dice.random() < 0.5
    line = [b"XREADGROUP" if is_group else b"XREAD"]
    options: list[list[bytes]] = []
    if is_group:
        options.append([b"GROUP", dice.choice(GROUPS), dice.choice(WORDS)])
        options += [[b"NOACK"]] * dice.randint(0, 1)
    for word in dice.sample(VALUED, dice.randint(0, 3)):
        if word != b"CLAIM" or is_group:
            options.append([dice.choice([word, word.lower()]), b"10000"])
    dice.shuffle(options)
    for option in options:
        line += option
    keys = [dice.choice(KEYS) for _ in range(dice.randint(1, 3))]
    return [*line, dice.choice([b"STREAMS", b"streams"]), *keys, *[b"0"] * len(keys)]


def spoiled_lines(seed: int) -> Iterator[list[bytes]]:
    """Lines with a word or two put in, taken out or replaced."""
    dice = Random(seed)
    for _ in range(LINES):
        line = sensible_line(dice)
        for _ in range(dice.randint(1, 2)):
            at = dice.randint(1, len(line) - 1)
            line[at : at + dice.randint(0, 1)] = dice.choice([[], [dice.choice(WORDS)]])
        yield line


def keys_of(line: list[bytes]) -> list[bytes]:
    return [line[i] for i in key_positions(line)]


def test_every_key_of_a_good_line_is_read_and_no_other(client: EngineClient) -> None:
    dice = Random(1)
    for _ in range(LINES):
        line = sensible_line(dice)
        assert [key for key, _ in client(*line)] == keys_of(line)
        assert client("COMMAND", "GETKEYS", *line) == keys_of(line)


@pytest.mark.parametrize("seed", range(2))
def test_a_spoiled_line_reads_no_key_that_it_does_not_announce(
    client: EngineClient, seed: int
) -> None:
    served = 0
    for line in spoiled_lines(seed):
        announced = keys_of(line)
        reply = client(*line)
        if reply is BLOCKED:
            assert set(client.session.blocked.keys) == set(announced)
            client.engine.blocking.unblock(client.session, None)
            client.read()
        elif not isinstance(reply, ReplyError):
            # Keys without new entries are left out; the others keep their order.
            rest = iter(announced)
            assert announced and all(key in rest for key, _ in reply or []), line
            served += 1
    assert served > LINES // 20


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        (b"XREAD STREAMS a b 0 0", [b"a", b"b"]),
        (b"XREAD COUNT 5 BLOCK 0 MAXCOUNT 9 MAXSIZE 9 STREAMS a 0", [b"a"]),
        (b"XREAD STREAMS STREAMS 0", [b"STREAMS"]),
        (b"XREADGROUP GROUP STREAMS STREAMS STREAMS STREAMS >", [b"STREAMS"]),
        (b"XREADGROUP GROUP g c CLAIM 5 NOACK STREAMS a b > >", [b"a", b"b"]),
        (b"XREADGROUP NOACK GROUP g STREAMS COUNT 1 streams k >", [b"k"]),
        (b"XREAD STREAMS a b 0", []),
        (b"XREAD COUNT STREAMS a 0", []),
        (b"XREAD FOO STREAMS a 0", []),
        (b"XREAD GROUP g c STREAMS a 0", []),
        (b"XREADGROUP STREAMS a b > >", []),
    ],
)
def test_the_keys_stand_behind_the_first_real_streams_word(line: bytes, keys: list[bytes]) -> None:
    assert keys_of(line.split()) == keys
