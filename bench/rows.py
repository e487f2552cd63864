"""The table of measurements: one row for each kind of work, with its targets.

Every entry is the same message of four fields ("f4"), and prepared entries have
IDs of constant width (1000000000000-0 and on), so that replies have a constant
size and need not be parsed.  A row prepares its data outside the measured time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice, repeat

from bench.load import Sample, crowd, readers, reply_size
from bench.peers import Peer
from forebay.cli.watching.crowd import Expect
from testkit.resp import encode

F4 = (b"rider", b"Castilla", b"speed", b"30.2", b"position", b"1", b"location_id", b"1")
BASE_MS = 1_000_000_000_000
ENTRIES = 200_000
STREAM, GROUP = b"race:bench", b"g"
CONNECTIONS = 50
READERS = 10
PIPELINE = 500
FOREVER_S = 1e9


@dataclass(frozen=True)
class Row:
    """One line of the table; ``unit`` is what is counted per second."""

    name: str
    unit: str
    first: float
    then: float
    run: Callable[[Peer, float], Sample]


def entry_id(index: int) -> bytes:
    """The ID of a prepared entry; all have the same width."""
    return b"%d-0" % (BASE_MS + index)


def fill(peer: Peer, key: bytes, count: int, start: int = 0) -> None:
    """Append prepared entries; ``count`` is a multiple of PIPELINE."""
    head, _, tail = encode(b"XADD", key, entry_id(0), *F4).partition(entry_id(0))
    middle = b"-0" + tail
    batches = (
        b"".join([b"%b%d%b" % (head, BASE_MS + at + i, middle) for i in range(PIPELINE)])
        for at in range(start, start + count, PIPELINE)
    )
    expect = Expect(marker=b"$", count=PIPELINE)
    crowd(peer, 1, batches, expect, PIPELINE, FOREVER_S)


def deliver(peer: Peer, key: bytes, count: int) -> None:
    """Let consumer a read ``count`` new entries, a thousand at a time."""
    read = encode("XREADGROUP", "GROUP", GROUP, "a", "COUNT", 1000, "STREAMS", key, ">")
    size = reply_size(peer, read, 1)
    if count > 1000:
        crowd(peer, 1, repeat(read, count // 1000 - 1), Expect(size=size), 1000, FOREVER_S)


def prepare(peer: Peer, *, group: bool = False) -> None:
    """The stream that is read, made once per server; the group is made again each time."""
    if peer.command("XLEN", STREAM) != ENTRIES:
        peer.command("DEL", STREAM)
        fill(peer, STREAM, ENTRIES)
    if group:
        peer.command("XGROUP", "DESTROY", STREAM, GROUP)
        peer.command("XGROUP", "CREATE", STREAM, GROUP, "0")


def prepare_pending(peer: Peer, count: int) -> None:
    """``count`` entries pending, all owned by consumer a."""
    prepare(peer, group=True)
    deliver(peer, STREAM, count)


def xadd(depth: int) -> Callable[[Peer, float], Sample]:
    """XADD with an ID of the server's own, pipelined ``depth`` deep."""

    def run(peer: Peer, seconds: float) -> Sample:
        peer.command("DEL", "race:new")
        batch = encode(b"XADD", b"race:new", b"*", *F4) * depth
        expect = Expect(marker=b"$", count=depth)
        sample = crowd(peer, CONNECTIONS, repeat(batch), expect, depth, seconds)
        peer.command("DEL", "race:new")
        return sample

    return run


def constant(connections: int, depth: int, *args: bytes | str | int) -> Callable[..., Sample]:
    """Any command whose reply does not change while it is repeated."""

    def run(peer: Peer, seconds: float) -> Sample:
        prepare(peer)
        peer.command("SET", "text", "x" * 20)
        batch = encode(*args) * depth
        expect = Expect(size=reply_size(peer, batch, depth))
        return crowd(peer, connections, repeat(batch), expect, depth, seconds)

    return run


def ranges(command: str, count: int) -> Callable[[Peer, float], Sample]:
    """XRANGE, XREVRANGE or XREAD of ``count`` entries at changing places."""

    def one(start: int) -> bytes:
        if command == "XREAD":
            return encode(command, "COUNT", count, "STREAMS", STREAM, entry_id(start))
        if command == "XREVRANGE":
            return encode(command, STREAM, entry_id(start + 2 * count), "-", "COUNT", count)
        return encode(command, STREAM, entry_id(start), "+", "COUNT", count)

    def run(peer: Peer, seconds: float) -> Sample:
        prepare(peer)
        places = range(0, ENTRIES - 3 * count, 7 * count + 13)
        batches = [one(start) for start in places][:200]
        expect = Expect(size=reply_size(peer, batches[0], 1))
        return crowd(peer, READERS, cycle(batches), expect, count, seconds)

    return run


def group_reads(count: int) -> Callable[[Peer, float], Sample]:
    """Four consumers of one group read ``count`` new entries at a time and acknowledge them."""
    blocks = ENTRIES // count
    acks = [
        encode("XACK", STREAM, GROUP, *(entry_id(b * count + i) for i in range(count)))
        for b in range(blocks)
    ]

    def ack_for(head: bytes) -> bytes:
        at = head.index(b"$15\r\n") + 5
        return acks[(int(head[at : at + 13]) - BASE_MS) // count]

    def command(consumer: int) -> bytes:
        return encode(
            *("XREADGROUP", "GROUP", GROUP, f"c{consumer}", "COUNT", count, "STREAMS", STREAM, ">")
        )

    def run(peer: Peer, seconds: float) -> Sample:
        prepare(peer, group=True)
        size = reply_size(peer, command(0), 1)
        total = Sample(0, 0.0, 0.0)
        while total.seconds < seconds:
            prepare(peer, group=True)
            before, start = peer.cpu_s(), time.perf_counter()
            commands = [command(i) for i in range(4)]
            readers(peer, blocks, commands, size, ack_for, b":%d\r\n" % count)
            total += Sample(ENTRIES, time.perf_counter() - start, peer.cpu_s() - before)
        return total

    return run


def over_pending(
    connections: int, depth: int, per_command: int, make: Callable[[list[bytes]], bytes]
) -> Callable[[Peer, float], Sample]:
    """A command over ``per_command`` pending entries, each entry used once."""

    last = ENTRIES - ENTRIES % (depth * per_command)

    def run(peer: Peer, seconds: float) -> Sample:
        ids = [entry_id(i) for i in range(last)]
        commands = (make(ids[i : i + per_command]) for i in range(0, last, per_command))
        work = list(iter(lambda: b"".join(islice(commands, depth)), b""))
        total = Sample(0, 0.0, 0.0)
        while total.seconds < seconds:
            prepare_pending(peer, ENTRIES)
            expect = Expect(size=reply_size(peer, work[0], depth))
            left = seconds - total.seconds
            batches = iter(work[1:-1])  # the last reply may be shorter: its cursor is 0-0
            total += crowd(peer, connections, batches, expect, depth * per_command, left)
        return total

    return run


def ack(ids: list[bytes]) -> bytes:
    """Acknowledge."""
    return encode("XACK", STREAM, GROUP, *ids)


def claim(ids: list[bytes]) -> bytes:
    """Take over for another consumer."""
    return encode("XCLAIM", STREAM, GROUP, "b", 0, *ids)


def autoclaim(ids: list[bytes]) -> bytes:
    """Take over all entries after the first ID."""
    return encode("XAUTOCLAIM", STREAM, GROUP, "b", 0, ids[0], "COUNT", len(ids))


def delete(ids: list[bytes]) -> bytes:
    """Delete entries of the stream."""
    return encode("XDEL", STREAM, *ids)


def pending(peer: Peer, seconds: float) -> Sample:
    """XPENDING of 100; idle times change their width, so the integers are counted."""
    prepare_pending(peer, ENTRIES)
    batches = [
        encode("XPENDING", STREAM, GROUP, entry_id(start), "+", 100)
        for start in range(0, ENTRIES - 200, 700)
    ]
    expect = Expect(marker=b":", count=200)
    return crowd(peer, READERS, cycle(batches), expect, 100, seconds)


ROWS = [
    Row("XADD f4 P1", "ops", 1.0, 1.3, xadd(1)),
    Row("XADD f4 P16", "ops", 2.0, 3.0, xadd(16)),
    Row("XADD f4 P100", "ops", 3.0, 6.0, xadd(100)),
    Row("XRANGE 100", "entries", 3.0, 6.0, ranges("XRANGE", 100)),
    Row("XRANGE 1000", "entries", 3.0, 6.0, ranges("XRANGE", 1000)),
    Row("XREVRANGE 100", "entries", 3.0, 6.0, ranges("XREVRANGE", 100)),
    Row("XREVRANGE 1000", "entries", 3.0, 6.0, ranges("XREVRANGE", 1000)),
    Row("XREAD 100", "entries", 3.0, 6.0, ranges("XREAD", 100)),
    Row("XREAD 1000", "entries", 3.0, 6.0, ranges("XREAD", 1000)),
    Row("XREADGROUP + XACK 100, 4 consumers", "entries", 3.0, 9.0, group_reads(100)),
    Row("XREADGROUP + XACK 1000, 4 consumers", "entries", 3.0, 9.0, group_reads(1000)),
    Row("XACK P1", "ids", 1.3, 2.0, over_pending(CONNECTIONS, 1, 1, ack)),
    Row("XACK P16", "ids", 1.3, 2.0, over_pending(CONNECTIONS, 16, 1, ack)),
    Row("XACK 100 ids a call", "ids", 1.3, 2.0, over_pending(READERS, 1, 100, ack)),
    Row("XPENDING 100", "items", 1.3, 2.0, pending),
    Row("XCLAIM P16", "ids", 1.3, 2.0, over_pending(READERS, 16, 1, claim)),
    Row("XAUTOCLAIM 100", "items", 1.3, 2.0, over_pending(READERS, 1, 100, autoclaim)),
    Row("XDEL P16", "ids", 0.5, 1.0, over_pending(READERS, 16, 1, delete)),
    Row("XLEN P16", "ops", 0.5, 1.0, constant(CONNECTIONS, 16, "XLEN", STREAM)),
    Row("PING P16", "ops", 0.5, 1.0, constant(CONNECTIONS, 16, "PING")),
    Row("SET P16", "ops", 0.5, 1.0, constant(CONNECTIONS, 16, "SET", "text", "x" * 20)),
    Row("GET P16", "ops", 0.5, 1.0, constant(CONNECTIONS, 16, "GET", "text")),
    Row("XINFO STREAM P16", "ops", 0.5, 1.0, constant(CONNECTIONS, 16, "XINFO", "STREAM", STREAM)),
]

#: The same work over TLS (peers.running_tls).
TLS_ROWS = [
    Row("XADD f4 P1, TLS", "ops", 1.0, 1.3, xadd(1)),
    Row("XADD f4 P16, TLS", "ops", 1.0, 1.5, xadd(16)),
]
