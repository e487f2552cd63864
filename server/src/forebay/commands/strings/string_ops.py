"""Strings: their Python types, and the operations that their commands share.

    bytes        written whole: SET, GETSET, INCR, and all that is loaded from a file
    bytearray    changed in place since then: APPEND, SETRANGE, SETBIT, BITFIELD, BITOP

A change in place costs only the bytes that it changes, not a copy of the string: setting
one bit in a bitmap of a million users is as cheap as in one of eight.  Redis makes the
same distinction, and OBJECT ENCODING shows it: the second kind is always ``raw``.

Rules
  1. A bytearray belongs to one key.  COPY makes another one; code that needs it for longer
     than a call takes ``bytes`` of it (``value_ops.typed`` does).
  2. `changeable` turns the first kind into the second.  The content is the same, so
     nothing is reported; code that then changes it calls `changed`.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STRING
from forebay.commands.keyspace.value_ops import add, expire_key, overwritten, read
from forebay.core.keyspace import Value
from forebay.errors import WRONGTYPE, CommandError

TOO_LONG = b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"

String = bytes | bytearray


def string_of(value: Value | None) -> String | None:
    """The value, which must be a string if there is one; not a copy."""
    if value is not None and not isinstance(value, (bytes, bytearray)):
        raise CommandError(WRONGTYPE)
    return value


def read_string(ctx: Context, key: bytes) -> String | None:
    """The same for a command that reads a key: counts a hit or a miss."""
    return string_of(read(ctx, key))


def reply_string(ctx: Context, value: bytes | None) -> None:
    """A string, or null."""
    if value is None:
        ctx.reply.null()
    else:
        ctx.reply.bulk(value)


def set_string(
    ctx: Context, key: bytes, value: String, when_ms: int | None = None, keep_time: bool = False
) -> None:
    """Set the string, with this expiry time, the old one, or none; and publish it."""
    hold_string(ctx, key, value, keep_time)
    ctx.notify(NOTIFY_STRING, b"set", key)
    if when_ms is not None:
        expire_key(ctx, key, when_ms)


def hold_string(ctx: Context, key: bytes, value: String, keep_time: bool) -> None:
    """Set the string, with its old expiry time or none."""
    db = ctx.db
    if not keep_time and db.expires:
        db.persist(key)
    before = db.values.get(key)
    if before is None:
        add(ctx, key, value)
        return
    db.put(key, value)
    if ctx.notify_flags:
        overwritten(ctx, key, before, value)


def check_length(ctx: Context, size: int) -> None:
    """Refuse a string that would be too long, unless it comes from an AOF."""
    if size > ctx.settings.proto_max_bulk_len and not ctx.session.is_replaying:
        raise CommandError(TOO_LONG)


def changeable(ctx: Context, key: bytes, value: String | None, size: int) -> bytearray:
    """The string of a key, to change in place; created if missing, at least ``size`` bytes long.

    Added bytes are zero.
    """
    if value is None:
        buffer = bytearray(size)
        add(ctx, key, buffer)
        return buffer
    if isinstance(value, bytes):
        value = bytearray(value)
        ctx.db.values[key] = value
    if len(value) < size:
        value.extend(bytes(size - len(value)))
    return value


def changed(ctx: Context, key: bytes, event: bytes) -> None:
    """Publish that a string was changed in place."""
    ctx.db.touch(key)
    ctx.notify(NOTIFY_STRING, event, key)


def bounds(start: int, stop: int, size: int) -> tuple[int, int]:
    """First and last index of a range in ``size`` items; negative ones count from the end.

    The range is empty if the first is greater than the last.
    """
    first = max(start + size, 0) if start < 0 else start
    last = max(stop + size, 0) if stop < 0 else stop
    return first, min(last, size - 1)
