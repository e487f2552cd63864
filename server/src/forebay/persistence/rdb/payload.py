"""One value as a payload: DUMP writes it and RESTORE reads it.

    type | body, as in a file | [AUX] | version, 2 bytes LE | CRC-64 of all before, 8 bytes LE

A stream is written in the oldest type, from the chosen one up, that can hold all of it: a
payload with an idempotency map or a NACK zone works only with a newer Redis.  The time at
which a consumer was last active does not require a newer type: the types of Redis 7.0 have no
place for it, so it follows the value, as an AUX field of a file (stream_extra.py).  No Redis
reads it.
"""

from __future__ import annotations

from forebay.core.keyspace import Value
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import crc64, foreign, stream_extra, values
from forebay.persistence.rdb.format import (
    AUX,
    DEFAULT_VERSION,
    NEWEST_VERSION,
    STREAM_3,
    STREAM_4,
    STREAM_5,
    STREAM_EXTRA,
    STREAM_TYPE_SINCE,
    VERSIONS,
)
from forebay.persistence.rdb.lzf import Compressor
from forebay.persistence.rdb.reader import RdbReader, read_bytes
from forebay.persistence.rdb.stream_extra import Extra, IdmpState
from forebay.persistence.rdb.writer import RdbWriter

VERSION_SIZE = 2
FOOT_SIZE = 10


class BadFooterError(CorruptDataError):
    """A payload of a newer version, or with a wrong checksum."""


def dump(
    value: Value,
    version: str = DEFAULT_VERSION,
    compress: bool = True,
    defaults: IdmpState | None = None,
    compressor: Compressor | None = None,
) -> bytes:
    """The payload of a value, for a Redis of this version or the next that can hold it.

    ``defaults`` are the idempotency settings of a stream without configuration.
    """
    chosen = VERSIONS[version]
    stream_type, rdb_version = chosen.stream_type, chosen.rdb
    if isinstance(value, Stream):
        stream_type = max(stream_type, needed_type(value, defaults))
        rdb_version = max(rdb_version, STREAM_TYPE_SINCE[stream_type])
    pieces: list[bytes] = []
    writer = RdbWriter(pieces.append, compress, compressor=compressor)
    writer.byte(values.type_of(value, stream_type))
    for _ in values.write_steps(writer, value, stream_type):
        pass
    if isinstance(value, Stream) and stream_type < STREAM_3:
        write_active_times(writer, value, stream_type)
    writer.raw(rdb_version.to_bytes(VERSION_SIZE, "little"))
    writer.finish()
    return b"".join(pieces)


def write_active_times(writer: RdbWriter, stream: Stream, stream_type: int) -> None:
    """The facts about consumers that an old type cannot hold, if there are any."""
    found = {
        name: extra
        for name, group in stream.groups.items()
        if (extra := stream_extra.of_group(group, stream_type)) is not None
    }
    if found:
        writer.byte(AUX)
        writer.string(STREAM_EXTRA)
        writer.string(stream_extra.encode(Extra(groups=found)))


def read_active_times(reader: RdbReader, value: Value) -> None:
    """Read these facts for a stream that was just read."""
    if reader.byte() != AUX or reader.string() != STREAM_EXTRA or not isinstance(value, Stream):
        raise reader.fail("bytes after the value")
    try:
        groups = stream_extra.decode(reader.string()).groups
    except CorruptDataError:
        raise reader.fail("the extra of a stream cannot be read") from None
    for name, extra in groups.items():
        group = value.groups.find(name)
        for consumer, active_ms in extra.active_ms.items():
            known = None if group is None else group.consumer(consumer)
            if known is None:
                raise reader.fail("the extra of a stream speaks of an unknown consumer")
            known.active_ms = active_ms


def needed_type(stream: Stream, defaults: IdmpState | None) -> int:
    """The oldest stream type that holds all of a stream."""
    if stream_extra.has_unowned(stream):
        return STREAM_5
    return STREAM_4 if stream_extra.has_idmp(stream, defaults) else 0


def restore(payload: bytes, skip_checks: bool = False, defaults: IdmpState | None = None) -> Value:
    """The value of a payload; BadFooterError, or CorruptDataError for its content.

    ``skip_checks`` ignores the checksum, for tests that damage payloads on purpose.
    """
    size = len(payload) - FOOT_SIZE
    check_footer(payload, size, skip_checks)
    return read_value(read_bytes(payload, size), defaults)


def check_footer(payload: bytes, size: int, skip_checks: bool = False) -> None:
    """The version, and the checksum of the value's ``size`` bytes; zero means none."""
    if size < 1:
        raise BadFooterError("the payload is too short, at offset 0")
    version = int.from_bytes(payload[size : size + VERSION_SIZE], "little")
    if version > NEWEST_VERSION:
        raise BadFooterError(f"the payload is of version {version}, at offset {size}")
    stored = int.from_bytes(payload[size + VERSION_SIZE :], "little")
    if skip_checks or stored == 0:
        return
    if stored != crc64.update(0, payload, 0, size + VERSION_SIZE):
        raise BadFooterError(f"the checksum of the payload is wrong, at offset {size + 2}")


def foreign_kind(payload: bytes) -> str:
    """The unsupported kind of value in a whole payload; empty if it is supported or broken."""
    try:
        check_footer(payload, len(payload) - FOOT_SIZE)
    except BadFooterError:
        return ""
    return foreign.NAMES.get(payload[0], "")


def read_value(reader: RdbReader, defaults: IdmpState | None) -> Value:
    """Type and value, and nothing else."""
    kind = reader.byte()
    if not values.can_read(kind):
        raise reader.fail(f"values of type {kind} are not known here")
    value = values.read_whole(values.read_steps(reader, kind, None, defaults))
    if value is None:
        raise reader.fail("the value has no elements")
    if reader.left():
        read_active_times(reader, value)
    if reader.left():
        raise reader.fail("bytes after the value")
    return value
