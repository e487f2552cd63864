"""Streams in and out of an RDB file, in the five types that Redis has had.

    type  since
    15    5.0    nodes, length, last ID, groups with pending entries and consumers
    19    7.0    + first ID, greatest deleted ID, entries added; a group's entries read
    21    7.2    + a consumer's active time
    26    8.6    + the idempotency map
    27    8.8    + the NACK zone of a group

Both directions are generators that pause from time to time, so that a caller
can report progress or serve clients.  Parts that an older type cannot hold are
in a separate ``Extra`` (stream_extra.py).

A stream is accepted only if it is valid by the rules of core/check.py.  In
addition to the rules of nodes.py and pending.py: the length is the number of
live entries, none of them is above the last ID, and names of groups and
consumers are unique.  The first ID of the file is not used; it is computed from
the entries.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from forebay import mem
from forebay.core import group as core_group
from forebay.core.group import Consumer, Group
from forebay.core.layout import ID_SIZE, UNKNOWN
from forebay.core.stream import Stream
from forebay.persistence.rdb import stream_extra
from forebay.persistence.rdb.format import (
    STREAM_2,
    STREAM_3,
    STREAM_4,
    STREAM_5,
    STREAM_TYPES,
    UNOWNED_CONSUMER,
)
from forebay.persistence.rdb.nodes import NodeCheck, read_nodes, write_nodes
from forebay.persistence.rdb.pending import (
    ENTRY_SIZE,
    PendingTable,
    write_owned,
    write_pending,
    write_zone,
)
from forebay.persistence.rdb.reader import RdbReader
from forebay.persistence.rdb.stream_extra import Extra, GroupExtra, IdmpState
from forebay.persistence.rdb.writer import RdbWriter

#: Minimum sizes: a node has its ID, two lengths and a byte; a group and a consumer a few numbers.
NODE_SIZE = 19
GROUP_SIZE = 5
CONSUMER_SIZE = 10
#: Between two pauses: nodes of 4 KiB, and entries of 25 bytes.
NODES_A_STEP = 64
ENTRIES_A_STEP = 10_000

Reading = Generator[None, None, Stream]


# -- writing ----------------------------------------------------------------------


def write_steps(writer: RdbWriter, stream: Stream, stream_type: int) -> Iterator[None]:
    """Write the body of a stream, with pauses; the stream must not change meanwhile."""
    nodes = stream.nodes.values()
    writer.length(len(nodes))
    for start in range(0, len(nodes), NODES_A_STEP):
        write_nodes(writer, nodes, start, min(start + NODES_A_STEP, len(nodes)))
        yield
    numbers = [stream.length, stream.last_ms, stream.last_seq]
    if stream_type >= STREAM_2:
        numbers += [stream.first_ms, stream.first_seq, stream.maxdel_ms, stream.maxdel_seq]
        numbers.append(stream.entries_added)
    for number in numbers:
        writer.length(number)
    writer.length(stream.groups.count)
    for group in stream.groups.values():
        yield from write_group(writer, group, stream_type)
    if stream_type >= STREAM_4:
        stream_extra.write_idmp(writer, stream_extra.idmp_state(stream))


def write_group(writer: RdbWriter, group: Group, stream_type: int) -> Iterator[None]:
    """One group with its pending entries and consumers."""
    pending = group.pending
    writer.string(group.name)
    writer.length(group.last_ms)
    writer.length(group.last_seq)
    if stream_type >= STREAM_2:
        writer.length(group.entries_read & mem.U64_MAX)
    writer.length(pending.count)
    slot = pending.first()
    while slot >= 0:
        slot = write_pending(writer, pending, slot, ENTRIES_A_STEP)
        yield
    consumers: list[Consumer] = group.consumers.values()
    given = pending.nacked if stream_type < STREAM_5 else 0
    invented = given > 0 and group.consumer(UNOWNED_CONSUMER) is None
    writer.length(len(consumers) + invented)
    for consumer in consumers:
        unowned = given if consumer.name == UNOWNED_CONSUMER else 0
        yield from write_consumer(writer, group, consumer, stream_type, unowned)
    if invented:
        nobody = Consumer(UNOWNED_CONSUMER, 0, Group(b"", 0, 0, 0).pending.by_id, 0)
        yield from write_consumer(writer, group, nobody, stream_type, given)
    if stream_type >= STREAM_5:
        writer.length(pending.nacked)
        write_zone(writer, pending)


def write_consumer(
    writer: RdbWriter, group: Group, consumer: Consumer, stream_type: int, unowned: int
) -> Iterator[None]:
    """One consumer with its IDs; and the NACK zone, for a Redis that has none."""
    writer.string(consumer.name)
    writer.le64(consumer.seen_ms)
    if stream_type >= STREAM_3:
        writer.le64(consumer.active_ms & mem.U64_MAX)
    writer.length(consumer.pending + unowned)
    slot = consumer.view.first() if consumer.pending else -1
    while slot >= 0:
        slot = write_owned(writer, group.pending, consumer.view, slot, ENTRIES_A_STEP)
        yield
    if unowned:
        write_zone(writer, group.pending)


# -- reading ----------------------------------------------------------------------


def read_steps(
    reader: RdbReader,
    stream_type: int,
    extra: Extra | None = None,
    defaults: IdmpState | None = None,
) -> Reading:
    """Read the body of a stream, with pauses.

    ``defaults`` is the idempotency state for streams whose type has none.
    """
    assert stream_type in STREAM_TYPES, "not a type of streams"
    stream = Stream()
    check = NodeCheck()
    left = reader.count(NODE_SIZE)
    while left > 0:
        count = min(left, NODES_A_STEP)
        read_nodes(reader, stream, check, count)
        left -= count
        yield
    read_numbers(reader, stream, check, stream_type)
    for _ in range(reader.count(GROUP_SIZE)):
        yield from read_group(reader, stream, stream_type, extra)
    state = IdmpState() if defaults is None else defaults
    if stream_type >= STREAM_4:
        state = stream_extra.read_idmp(reader)
    elif extra is not None and extra.idmp is not None:
        state = extra.idmp
    state.apply(stream)
    return stream


def read_numbers(reader: RdbReader, stream: Stream, check: NodeCheck, stream_type: int) -> None:
    """Length, IDs and counters."""
    length = reader.length()
    if length != stream.length:
        raise reader.fail(f"{length} entries are announced, {stream.length} are there")
    last = reader.length(), reader.length()
    if last < (check.live_ms, check.live_seq):
        raise reader.fail("an entry is above the last ID")
    if check.is_untidy or last < (check.last_ms, check.last_seq):
        drop_deleted(stream)
    stream.last_ms, stream.last_seq = last
    stream.entries_added = length
    if stream_type >= STREAM_2:
        reader.length()
        reader.length()
        stream.maxdel_ms, stream.maxdel_seq = reader.length(), reader.length()
        stream.entries_added = max(length, min(reader.length(), mem.I64_MAX))
    if length > 0:
        stream.first_ms, stream.first_seq, _ = stream.range(count=1)[0]


def drop_deleted(stream: Stream) -> None:
    """Put the live entries into new nodes, because a deleted one is at an unexpected place."""
    twin = Stream()
    for ms, seq, fields in stream.range():
        twin.add(ms, seq, fields)
    stream.nodes, stream.tail = twin.nodes, twin.tail


def read_group(
    reader: RdbReader, stream: Stream, stream_type: int, extra: Extra | None
) -> Iterator[None]:
    """One group with its pending entries and consumers."""
    name = reader.string()
    if stream.groups.find(name) is not None:
        raise reader.fail("a group is there twice")
    group = Group(name, reader.length(), reader.length(), UNKNOWN)
    if stream_type >= STREAM_2:
        group.entries_read = signed_counter(reader)
    else:
        group.entries_read = core_group.estimate(stream, group.last_ms, group.last_seq)
    table = PendingTable(reader.count(ENTRY_SIZE))
    while table.done < table.count:
        table.read(reader, ENTRIES_A_STEP)
        yield
    known = None if extra is None else extra.groups.get(name)
    for _ in range(reader.count(CONSUMER_SIZE)):
        yield from read_consumer(reader, group, table, stream_type)
    if stream_type >= STREAM_5:
        table.read_zone(reader, reader.count(ID_SIZE))
    elif known is not None:
        apply_extra(reader, group, table, known)
    if table.owned(0):
        raise reader.fail("a pending entry is nobody's")
    table.fill(group.pending)
    stream.groups.insert(name, group)


def signed_counter(reader: RdbReader) -> int:
    """How many entries a group has read, -1 if unknown."""
    value = reader.length()
    if value == mem.U64_MAX:
        return UNKNOWN
    if value > mem.I64_MAX:
        raise reader.fail("a group has read a negative number of entries")
    return value


def read_consumer(
    reader: RdbReader, group: Group, table: PendingTable, stream_type: int
) -> Iterator[None]:
    """One consumer and its IDs."""
    name = reader.string()
    if group.consumer(name) is not None:
        raise reader.fail("a consumer is there twice")
    consumer = group.create_consumer(name, reader.time_ms())
    consumer.active_ms = consumer.seen_ms
    if stream_type >= STREAM_3:
        consumer.active_ms = read_active(reader)
    left = reader.count(ID_SIZE)
    while left > 0:
        count = min(left, ENTRIES_A_STEP)
        table.own(reader, consumer.number, count)
        left -= count
        yield


def read_active(reader: RdbReader) -> int:
    """When a consumer last got something, -1 for never."""
    value = reader.le(8)
    if value > mem.I64_MAX and value != mem.U64_MAX:
        raise reader.fail("an active time is negative")
    return UNKNOWN if value == mem.U64_MAX else value


def apply_extra(reader: RdbReader, group: Group, table: PendingTable, known: GroupExtra) -> None:
    """Restore active times and the NACK zone, which an older type cannot hold."""
    for name, active_ms in known.active_ms.items():
        consumer = group.consumer(name)
        if consumer is None:
            raise reader.fail("the extra of a stream speaks of an unknown consumer")
        consumer.active_ms = active_ms
    if not known.zone:
        return
    nobody = group.consumer(UNOWNED_CONSUMER)
    if nobody is None:
        raise reader.fail("the extra of a stream speaks of entries that are not there")
    for ms, seq in known.zone:
        if not table.release(ms, seq, nobody.number):
            raise reader.fail("the extra of a stream speaks of entries that are not there")
    if known.invented:
        if table.owned(nobody.number):
            raise reader.fail(f"{UNOWNED_CONSUMER.decode()} has entries of its own")
        group.delete_consumer(UNOWNED_CONSUMER)
