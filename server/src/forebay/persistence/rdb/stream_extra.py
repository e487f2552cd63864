"""The parts of a stream that the stream type of an older Redis cannot hold.

    AUX forebay-stream <hex>        in front of the key; Redis skips unknown AUX fields

    type 15, 19   no idempotency map, no active times, no NACK zone
    type 21       no idempotency map, no NACK zone
    type 26       no NACK zone

So from a file that redis-server 7.0 can load, Forebay still restores the whole
stream.  In that Redis an entry of the NACK zone belongs to a consumer
``forebay:unowned``, which does not exist here; the extra says which entries to take
from it, in which order, and that the consumer must be removed.

The hex text is, in the terms of writer.py:

    byte 1                                         the version of this format
    byte has-idmp [ idmp ]                         as in stream type 26
    n groups: string name,
              n consumers: string name, le64 active time in ms (2^64-1: never)
              byte invented, n IDs                 the NACK zone
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Iterator
from dataclasses import dataclass, field

from forebay import mem
from forebay.core.group import Consumer, Group
from forebay.core.idmp import DURATION_MAX_S, MAXSIZE_MAX, Idmp
from forebay.core.layout import NEVER
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb.format import STREAM_3, STREAM_4, STREAM_5, UNOWNED_CONSUMER
from forebay.persistence.rdb.reader import RdbReader, read_bytes
from forebay.persistence.rdb.writer import RdbWriter

FORM = 1
#: The default settings of a stream, here and in Redis.
DEFAULT_DURATION_S = 100
DEFAULT_MAXSIZE = 100


@dataclass(slots=True)
class IdmpState:
    """The idempotency settings, map and counters of one stream."""

    duration_s: int = DEFAULT_DURATION_S
    maxsize: int = DEFAULT_MAXSIZE
    idmp: Idmp | None = None
    added: int = 0
    duplicates: int = 0

    def apply(self, stream: Stream) -> None:
        """Give this state to a stream."""
        stream.idmp_duration_s, stream.idmp_maxsize = self.duration_s, self.maxsize
        stream.idmp = self.idmp
        stream.iids_added, stream.iids_duplicates = self.added, self.duplicates


@dataclass(slots=True)
class GroupExtra:
    """The extra of one group: active times by consumer, and the NACK zone."""

    active_ms: dict[bytes, int] = field(default_factory=dict)
    invented: bool = False
    zone: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Extra:
    """The extra of one stream; see the head of this file."""

    idmp: IdmpState | None = None
    groups: dict[bytes, GroupExtra] = field(default_factory=dict)


# -- parts that a type cannot hold ------------------------------------------------


def has_idmp(stream: Stream, defaults: IdmpState | None = None) -> bool:
    """Whether the stream's idempotency state differs from that of a new stream."""
    new = IdmpState() if defaults is None else defaults
    settings = stream.idmp_duration_s, stream.idmp_maxsize
    counted = stream.iids_added or stream.iids_duplicates
    known = stream.idmp is not None and stream.idmp.producers
    return bool(known or counted or settings != (new.duration_s, new.maxsize))


def has_unowned(stream: Stream) -> bool:
    """Whether a group of the stream has a NACK zone."""
    return any(group.pending.nacked > 0 for group in stream.groups.values())


def of_group(group: Group, stream_type: int) -> GroupExtra | None:
    """The parts of a group that the type cannot hold, None if there are none."""
    extra = GroupExtra()
    if stream_type < STREAM_3:
        consumers: list[Consumer] = group.consumers.values()
        for consumer in consumers:
            if consumer.active_ms != consumer.seen_ms:
                extra.active_ms[consumer.name] = consumer.active_ms
    if stream_type < STREAM_5 and group.pending.nacked > 0:
        pending = group.pending
        extra.invented = group.consumer(UNOWNED_CONSUMER) is None
        for slot in pending.by_time.slots()[: pending.nacked]:
            extra.zone.append((pending.id_ms(slot), pending.id_seq(slot)))
    return extra if extra.active_ms or extra.zone else None


def of_stream(stream: Stream, stream_type: int) -> Extra | None:
    """The parts of a stream that the type cannot hold, None if there are none."""
    extra = Extra()
    if stream_type < STREAM_4 and has_idmp(stream):
        extra.idmp = idmp_state(stream)
    if stream_type < STREAM_5:
        for name, group in stream.groups.items():
            if (missing := of_group(group, stream_type)) is not None:
                extra.groups[name] = missing
    return extra if extra.idmp is not None or extra.groups else None


def idmp_state(stream: Stream) -> IdmpState:
    """The idempotency part of a stream."""
    return IdmpState(
        stream.idmp_duration_s,
        stream.idmp_maxsize,
        stream.idmp,
        stream.iids_added,
        stream.iids_duplicates,
    )


# -- idempotency: the tail of stream types 26 and 27 ------------------------------


def write_idmp(writer: RdbWriter, state: IdmpState) -> None:
    """Settings, producers with their messages oldest first, counters."""
    producers = {} if state.idmp is None else state.idmp.producers
    writer.length(state.duration_s)
    writer.length(state.maxsize)
    writer.length(len(producers))
    for pid, iids in producers.items():
        writer.string(pid)
        writer.length(len(iids))
        for iid, (ms, seq) in iids.items():
            writer.string(iid)
            writer.length(ms)
            writer.length(seq)
    writer.length(state.added)
    writer.length(state.duplicates)


def read_idmp(reader: RdbReader) -> IdmpState:
    """Read the same from a file."""
    state = IdmpState(reader.length(), reader.length())
    if not (1 <= state.duration_s <= DURATION_MAX_S and 1 <= state.maxsize <= MAXSIZE_MAX):
        raise reader.fail("idempotency settings are out of range")
    producers: dict[bytes, dict[bytes, tuple[int, int]]] = {}
    for _ in range(reader.count(2)):
        pid = reader.string()
        if pid in producers:
            raise reader.fail("a producer is there twice")
        iids = read_iids(reader)
        if iids:
            producers[pid] = iids
    if producers:
        state.idmp = Idmp()
        state.idmp.producers = producers
    state.added = min(reader.length(), mem.I64_MAX)
    state.duplicates = min(reader.length(), mem.I64_MAX)
    return state


def read_iids(reader: RdbReader) -> dict[bytes, tuple[int, int]]:
    """The messages of one producer."""
    iids: dict[bytes, tuple[int, int]] = {}
    for _ in range(reader.count(3)):
        iid = reader.string()
        if iid in iids:
            raise reader.fail("a producer's message is there twice")
        iids[iid] = reader.length(), reader.length()
    return iids


# -- the AUX field ----------------------------------------------------------------


def encode(extra: Extra) -> bytes:
    """The extra as the text of an AUX field."""
    pieces: list[bytes] = []
    writer = RdbWriter(pieces.append, compress=False, checksum=False)
    writer.byte(FORM)
    writer.byte(extra.idmp is not None)
    if extra.idmp is not None:
        write_idmp(writer, extra.idmp)
    writer.length(len(extra.groups))
    for name, group in extra.groups.items():
        writer.string(name)
        writer.length(len(group.active_ms))
        for consumer, active_ms in group.active_ms.items():
            writer.string(consumer)
            writer.le64(active_ms & mem.U64_MAX)
        writer.byte(group.invented)
        writer.length(len(group.zone))
        for ms, seq in group.zone:
            writer.entry_id(ms, seq)
    writer.flush()
    return b"".join(pieces).hex().encode()


def decode(text: bytes) -> Extra:
    """The extra in the text of an AUX field."""
    try:
        data = unhexlify(text)
    except ValueError:
        raise CorruptDataError("the extra of a stream is not hexadecimal") from None
    reader = read_bytes(data, len(data))
    if reader.byte() != FORM:
        raise reader.fail("the extra of a stream is of a newer form")
    extra = Extra()
    if reader.byte():
        extra.idmp = read_idmp(reader)
    extra.groups = dict(read_groups(reader))
    if reader.left():
        raise reader.fail("bytes after the extra of a stream")
    return extra


def read_groups(reader: RdbReader) -> Iterator[tuple[bytes, GroupExtra]]:
    """The groups of an extra."""
    for _ in range(reader.count(4)):
        name = reader.string()
        group = GroupExtra()
        for _ in range(reader.count(9)):
            consumer = reader.string()
            active_ms = reader.le(8)
            if active_ms > mem.I64_MAX and active_ms != mem.U64_MAX:
                raise reader.fail("an active time is negative")
            group.active_ms[consumer] = NEVER if active_ms == mem.U64_MAX else active_ms
        group.invented = reader.byte() != 0
        group.zone = [(reader.be64(), reader.be64()) for _ in range(reader.count(16))]
        yield name, group
