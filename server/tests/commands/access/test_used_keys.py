"""Access rules check exactly the keys that a command looks up.

Redis had errors here: in redis#15478 XREAD read streams that were not checked, because the word
STREAMS can also be a group, a consumer or a key.  In CVE-2023-36824 and CVE-2023-41053, too, keys
were taken from the wrong places.  Here random lines, most of them odd, are really run, and the
keyspace reports which keys were looked up.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from forebay import INTERPRETED, build, compiled
from forebay.commands.access.categories import Catalogue
from forebay.commands.access.keys import has_keys, uses_of
from forebay.commands.api.spec import READONLY, WRITE, Command
from forebay.commands.table import TABLE
from forebay.wire.argv import argv_of
from server.tests.support.keyspace_events import listen
from testkit.engine_client import EngineClient, ReplyError

KEYS = [b"a", b"b", b"streams", b"STREAMS", b"GROUP", b"group", b"COUNT", b"block", b"1", b"noack"]
WORDS = [
    *(b"STREAMS", b"streams", b"GROUP", b"COUNT", b"BLOCK", b"NOACK", b"CLAIM", b"MAXCOUNT"),
    *(b"MAXSIZE", b"0", b"1", b"2", b"-1", b"x", b">", b"$", b"+", b"0-0", b"g", b"c", *KEYS),
]
#: Keys of this length are looked up each time: no cache holds them.
LONG = {key: key * 65 for key in (b"a", b"b", b"streams", b"group", b"block", b"noack")}
LONG_KEYS = list(LONG.values())
READ_LINES = 100_000 if compiled() else 10_000
OTHER_LINES = 20_000


class Watched(dict[bytes, Any]):
    """The values of a database; it notes each key that is looked up."""

    def __init__(self) -> None:
        self.asked: set[bytes] = set()

    def get(self, key: Any, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        assert isinstance(key, bytes)
        self.asked.add(key)
        return super().__contains__(key)

    def __getitem__(self, key: bytes) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)


def found_keys(row: Command, line: list[bytes]) -> set[bytes]:
    return {line[at] for at, _ in uses_of(row, argv_of(line))}


def read_line(random: Random, is_group: bool) -> list[bytes]:
    """XREAD or XREADGROUP with options in any order, now and then with a word too many."""
    line = [b"XREADGROUP" if is_group else b"xread"]
    options: list[list[bytes]] = [[b"COUNT", b"2"], [b"BLOCK", b"0"], [b"MAXCOUNT", b"9"]]
    if is_group:
        options += [[b"NOACK"], [b"CLAIM", b"5"], [b"GROUP", random.choice(KEYS), b"STREAMS"]]
        line += [b"GROUP", random.choice(KEYS), random.choice(KEYS)]
    for option in random.sample(options, random.randrange(3)):
        line += option
    n = random.randrange(1, 4)
    line += [b"STREAMS", *random.choices(KEYS, k=n), *random.choices([b"0", b">", b"$"], k=n)]
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        line.insert(random.randrange(1, len(line) + 1), random.choice(WORDS))
    return line


def run(client: EngineClient, line: list[bytes]) -> Any:
    """The reply; a client that waits is woken at once."""
    client.send(*line)
    if client.session.blocked is not None:
        client.engine.blocking.unblock(client.session, None)
    raw = client.session.out.take()
    return ReplyError(raw) if raw.startswith(b"-") else raw


@pytest.mark.parametrize("is_group", [False, True])
def test_reads_of_streams_look_up_the_keys_that_were_found_and_no_others(is_group: bool) -> None:
    random = Random(15478 + is_group)
    client = EngineClient()
    events = listen(client, "Em")
    row = TABLE[b"xreadgroup" if is_group else b"xread"]
    with_keys = 0
    for _ in range(READ_LINES // 2):
        line = read_line(random, is_group)
        if not row.takes(len(line)):
            continue
        reply = run(client, line)
        asked = {key.encode() for _, _, key in events()}
        found = found_keys(row, line)
        # No key exists, so each lookup is a miss; an error ends the lookups.
        assert asked <= found, line
        assert bool(asked) == bool(found), line
        assert isinstance(reply, ReplyError) or asked == found, line
        with_keys += bool(found)
    assert with_keys > READ_LINES // 4


@pytest.mark.skipif(build() != INTERPRETED, reason="a compiled database takes no other dict")
def test_groups_look_up_the_keys_that_were_found_and_no_others() -> None:
    random = Random(1)
    client, values = watched()
    row = TABLE[b"xreadgroup"]
    for key in LONG_KEYS:
        client("XGROUP", "CREATE", key, "g", "0", "MKSTREAM")
        client("XADD", key, "*", "f", "v")
    served = 0
    for _ in range(OTHER_LINES // 4):
        line = [LONG.get(word, word) for word in read_line(random, is_group=True)]
        line[2] = b"g"
        if row.takes(len(line)):
            values.asked.clear()
            reply = run(client, line)
            found = found_keys(row, line)
            assert values.asked <= found, line
            if not isinstance(reply, ReplyError):
                assert found & set(LONG_KEYS) <= values.asked, line
                served += 1
    assert served > OTHER_LINES // 50


@pytest.mark.skipif(build() != INTERPRETED, reason="a compiled database takes no other dict")
def test_every_command_looks_up_none_but_the_keys_that_were_found() -> None:
    random = Random(2)
    client, values = watched()
    rows = [
        row
        for row in Catalogue(TABLE)
        if has_keys(row) and row.flags & (READONLY | WRITE) and row.handler is not None
    ]
    looked = set()
    for _ in range(OTHER_LINES):
        row = random.choice(rows)
        least = abs(row.arity)
        names = row.full_name.split(b"|")
        n = least - len(names) + (random.randrange(4) if row.arity < 0 else 0)
        line = [*names, *random.choices(WORDS, k=n)]
        values.asked.clear()
        run(client, line)
        assert values.asked <= found_keys(row, line), line
        if values.asked:
            looked.add(row.full_name)
        if random.random() < 0.05:
            client("DEL", *KEYS)
    missed = {row.full_name for row in rows} - looked
    assert len(missed) < len(rows) // 4, missed


def watched() -> tuple[EngineClient, Watched]:
    """A client whose database notes the keys that are looked up."""
    client = EngineClient()
    values = Watched()
    client.engine.keyspace.databases[0].values = values
    return client, values
