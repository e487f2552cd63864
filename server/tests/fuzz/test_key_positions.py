"""The checked keys are the used keys, whatever the names are.

Groups, consumers and keys get the names of options, so that a second parser that
looks for STREAMS in its own way would go wrong.  Every name is a stream with an
entry and a group that has delivered it, so the reply of a read names exactly the
keys it used, and COMMAND GETKEYS must name the same ones.
"""

from __future__ import annotations

from random import Random

import pytest

import forebay
from testkit.engine_client import EngineClient, ReplyError

NAMES = ("STREAMS", "streams", "COUNT", "BLOCK", "GROUP", "NOACK", "CLAIM", "MAXSIZE", "k", "0")
LINES = 20_000 if forebay.compiled() else 1_500


@pytest.fixture(scope="module")
def client() -> EngineClient:
    client = EngineClient()
    for key in NAMES:
        client("XADD", key, "1-1", "field", "value")
        for group in NAMES:
            client("XGROUP", "CREATE", key, group, "0")
            client("XREADGROUP", "GROUP", group, "STREAMS", "STREAMS", key, ">")
    return client


def options(dice: Random, *, group: bool) -> list[str]:
    """Options of a read, some of them cut short or misspelt."""
    words: list[str] = ["GROUP", dice.choice(NAMES), "STREAMS"] if group else []
    for _ in range(dice.randrange(4)):
        choices = [["COUNT", "5"], ["BLOCK", "0"], ["MAXCOUNT", "50"], ["MAXSIZE", "100000"]]
        choices += [["NOACK"], ["CLAIM", "0"]] if group else []
        words += dice.choice(choices)
    if dice.random() < 0.1:
        words.insert(dice.randrange(len(words) + 1), dice.choice(NAMES))
    return words


def line(dice: Random) -> list[str]:
    group = dice.random() < 0.5
    keys = [dice.choice(NAMES) for _ in range(dice.randint(1, 4))]
    name = "XREADGROUP" if group else "XREAD"
    return [name, *options(dice, group=group), "STREAMS", *keys, *["0"] * len(keys)]


@pytest.mark.parametrize("seed", range(3))
def test_keys_found_are_keys_read(client: EngineClient, seed: int) -> None:
    dice, answered = Random(seed), 0
    for _ in range(LINES // 3):
        words = line(dice)
        reply = client(*words)
        if isinstance(reply, ReplyError):
            continue
        answered += 1
        assert client("COMMAND", "GETKEYS", *words) == [row[0] for row in reply], words
    assert answered > LINES // 6
