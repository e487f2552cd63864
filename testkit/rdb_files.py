"""Snapshots and payloads in memory, and hand-made bodies of streams with any fault.

saved(keyspace, version="8.8")      the bytes of an RDB file
loaded(data).keyspace               a keyspace with the data of the file
payload_of(StreamBody(...))         a DUMP payload that may break any rule
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from forebay.core.keyspace import Keyspace
from forebay.core.stream import Stream
from forebay.persistence.rdb import crc64
from forebay.persistence.rdb.format import (
    STREAM_2,
    STREAM_3,
    STREAM_4,
    STREAM_5,
)
from forebay.persistence.rdb.snapshot import LoadOptions, SaveOptions, SnapshotLoader, save
from forebay.persistence.rdb.writer import RdbWriter

Id = tuple[int, int]


class Source:
    """Bytes that are read piece by piece, as from a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def read(self, n: int) -> bytes:
        """The next n bytes, fewer at the end."""
        piece = self.data[self.at : self.at + n]
        self.at += len(piece)
        return piece


def saved(keyspace: Keyspace, **options: Any) -> bytes:
    """Everything as an RDB file."""
    pieces: list[bytes] = []
    for _ in save(keyspace, pieces.append, SaveOptions(**options)):
        pass
    return b"".join(pieces)


def loader_of(data: bytes, **options: Any) -> SnapshotLoader:
    """A loader over a file, with a keyspace of its own."""
    return SnapshotLoader(Source(data).read, len(data), Keyspace(), LoadOptions(**options))


def loaded(data: bytes, **options: Any) -> SnapshotLoader:
    """The same when it is done."""
    loader = loader_of(data, **options)
    loader.load()
    return loader


def sealed(body: bytes, version: int = 15) -> bytes:
    """Type and body with a correct footer."""
    body += version.to_bytes(2, "little")
    return body + crc64.update(0, body, 0, len(body)).to_bytes(8, "little")


@dataclass
class ConsumerPart:
    """One consumer as in the file."""

    name: bytes = b"alice"
    seen_ms: int = 1000
    active_ms: int = 1000
    owned: list[Id] = field(default_factory=list)


@dataclass
class GroupPart:
    """One group as in the file; pending: ID, time, deliveries."""

    name: bytes = b"g"
    last: Id = (0, 0)
    entries_read: int = 0
    pending: list[tuple[Id, int, int]] = field(default_factory=list)
    consumers: list[ConsumerPart] = field(default_factory=list)
    zone: list[Id] = field(default_factory=list)


@dataclass
class StreamBody:
    """A stream as in the file: every part can be made wrong."""

    kind: int = STREAM_5
    nodes: list[tuple[bytes, bytes]] = field(default_factory=list)
    length: int = 0
    last: Id = (0, 0)
    first: Id = (0, 0)
    max_deleted: Id = (0, 0)
    added: int = 0
    groups: list[GroupPart] = field(default_factory=list)
    duration_s: int = 100
    maxsize: int = 100
    producers: list[tuple[bytes, list[tuple[bytes, Id]]]] = field(default_factory=list)
    iids_added: int = 0
    iids_duplicates: int = 0

    def but(self, **changes: Any) -> StreamBody:
        """The same with some parts replaced."""
        return replace(self, **changes)

    def bytes(self) -> bytes:
        """Type and body."""
        pieces: list[bytes] = []
        writer = RdbWriter(pieces.append, compress=False, checksum=False)
        writer.byte(self.kind)
        writer.length(len(self.nodes))
        for name, blob in self.nodes:
            put_string(writer, name)
            put_string(writer, blob)
        writer.length(self.length)
        put_id(writer, self.last)
        if self.kind >= STREAM_2:
            put_id(writer, self.first)
            put_id(writer, self.max_deleted)
            writer.length(self.added)
        writer.length(len(self.groups))
        for group in self.groups:
            self.put_group(writer, group)
        if self.kind >= STREAM_4:
            self.put_idmp(writer)
        writer.flush()
        return b"".join(pieces)

    def put_group(self, writer: RdbWriter, group: GroupPart) -> None:
        put_string(writer, group.name)
        put_id(writer, group.last)
        if self.kind >= STREAM_2:
            writer.length(group.entries_read % 2**64)
        writer.length(len(group.pending))
        for entry, time_ms, deliveries in group.pending:
            writer.entry_id(*entry)
            writer.le64(time_ms % 2**64)
            writer.length(deliveries)
        writer.length(len(group.consumers))
        for consumer in group.consumers:
            put_string(writer, consumer.name)
            writer.le64(consumer.seen_ms % 2**64)
            if self.kind >= STREAM_3:
                writer.le64(consumer.active_ms % 2**64)
            put_ids(writer, consumer.owned)
        if self.kind >= STREAM_5:
            put_ids(writer, group.zone)

    def put_idmp(self, writer: RdbWriter) -> None:
        writer.length(self.duration_s)
        writer.length(self.maxsize)
        writer.length(len(self.producers))
        for pid, iids in self.producers:
            put_string(writer, pid)
            writer.length(len(iids))
            for iid, entry in iids:
                put_string(writer, iid)
                put_id(writer, entry)
        writer.length(self.iids_added)
        writer.length(self.iids_duplicates)


def put_string(writer: RdbWriter, text: bytes) -> None:
    """A plain string, even if it looks like a number."""
    writer.length(len(text))
    writer.raw(text)


def put_id(writer: RdbWriter, entry: Id) -> None:
    """An ID as two lengths."""
    writer.length(entry[0])
    writer.length(entry[1])


def put_ids(writer: RdbWriter, entries: list[Id]) -> None:
    """A number of IDs, and the IDs."""
    writer.length(len(entries))
    for entry in entries:
        writer.entry_id(*entry)


def payload_of(body: StreamBody) -> bytes:
    """A DUMP payload with a correct footer for any body."""
    return sealed(body.bytes())


def body_of(stream: Stream, kind: int = STREAM_5) -> StreamBody:
    """The entries of a stream, without groups, to be changed by the test."""
    return StreamBody(
        kind=kind,
        nodes=[(name, node.blob()) for name, node in stream.nodes.items()],
        length=stream.length,
        last=(stream.last_ms, stream.last_seq),
        first=(stream.first_ms, stream.first_seq),
        max_deleted=(stream.maxdel_ms, stream.maxdel_seq),
        added=stream.entries_added,
    )
