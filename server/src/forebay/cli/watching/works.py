"""The work to measure: bytes that are ready before the clock starts.

    XADD P1              50 connections, an entry of four fields each, one command at a time
    XADD P16             the same, sixteen commands at a time
    XRANGE 100           10 connections, each asks for 100 entries somewhere in a stream
    XREADGROUP + XACK    one consumer reads 100 entries and acknowledges them, four times at a time

IDs of the streams to read have the same width, so that every answer has the same size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, repeat

from forebay.cli.remote.link import Word, packed
from forebay.cli.remote.server import Server
from forebay.cli.watching.crowd import Expect

FIELDS: tuple[Word, ...] = (
    *("rider", "Castilla", "speed", "30.2", "position", "1", "location_id", "1"),
)
FIRST_MS = 1_000_000
RANGE_ENTRIES = 20_000
GROUP_ENTRIES = 200_000
PAGE = 100
BLOCKS = 4
GROUP = b"g"


@dataclass(frozen=True)
class Load:
    """The bytes to send, when they are answered, and how many operations they are."""

    connections: int
    batches: Iterator[bytes]
    expect: Expect
    operations: int


@dataclass(frozen=True)
class Work:
    """One row: its name, and what is counted."""

    name: str
    unit: str


WORKS = (
    Work("XADD P1", "commands/s"),
    Work("XADD P16", "commands/s"),
    Work("XRANGE 100", "entries/s"),
    Work("XREADGROUP + XACK 100", "entries/s"),
)


def load_of(work: Work, server: Server, key: bytes) -> Load:
    """Make a server ready for a row, on a stream of its own."""
    if work.name.startswith("XADD"):
        depth = int(work.name.rpartition("P")[2])
        batch = packed(("XADD", key, "*", *FIELDS)) * depth
        return Load(50, repeat(batch), Expect(marker=b"$", count=depth), depth)
    if work.name.startswith("XRANGE"):
        return range_load(server, key)
    return group_load(server, key)


def id_of(number: int) -> bytes:
    """An ID of a stream to read."""
    return b"%d-0" % (FIRST_MS + number)


def filled(server: Server, key: bytes, entries: int) -> None:
    """Make a stream of this many entries."""
    for start in range(0, entries, 10_000):
        numbers = range(start, min(start + 10_000, entries))
        server.ask_all([("XADD", key, id_of(number), *FIELDS) for number in numbers])


def range_load(server: Server, key: bytes) -> Load:
    """Pages of a stream, from many places."""
    filled(server, key, RANGE_ENTRIES)
    starts = range(0, RANGE_ENTRIES - PAGE, 997)
    batches = [packed(("XRANGE", key, id_of(start), "+", "COUNT", PAGE)) for start in starts]
    page = page_size()
    return Load(10, cycle(batches), Expect(size=page), PAGE)


def page_size() -> int:
    """The size of the answer with one page, in bytes."""
    words = packed(FIELDS)
    entry = len(b"*2\r\n") + len(packed((id_of(0),))) - len(b"*1\r\n") + len(words)
    return len(b"*%d\r\n" % PAGE) + PAGE * entry


def group_load(server: Server, key: bytes) -> Load:
    """Blocks that a consumer reads and acknowledges; their IDs are known beforehand."""
    filled(server, key, GROUP_ENTRIES)
    server.ask("XGROUP", "CREATE", key, GROUP, "0")
    read = packed(("XREADGROUP", "GROUP", GROUP, "c", "COUNT", PAGE, "STREAMS", key, ">"))
    batches = []
    for start in range(0, GROUP_ENTRIES, PAGE * BLOCKS):
        parts = []
        for first in range(start, start + PAGE * BLOCKS, PAGE):
            ids = [id_of(number) for number in range(first, first + PAGE)]
            parts += [read, packed(("XACK", key, GROUP, *ids))]
        batches.append(b"".join(parts))
    head = len(b"*1\r\n*2\r\n") + len(packed((key,))) - len(b"*1\r\n")
    answer = head + page_size() + len(b":%d\r\n" % PAGE)
    return Load(1, iter(batches), Expect(size=BLOCKS * answer), BLOCKS * PAGE)
