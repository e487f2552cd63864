"""The values of keys, and the few operations that every family of commands shares.

    type on the wire   Python           made by
    string             bytes            SET, INCR
                       bytearray        APPEND, SETBIT (strings/string_ops.py)
    list               core.Elements    LPUSH, RPUSH      a deque[bytes]
    set                core.Members     SADD              a set[bytes]
    stream             core.Stream      XADD, XGROUP CREATE MKSTREAM

Rules
  1. Lists and sets are never empty: a command that removes the last member
     removes the key (`drop_if_empty`).  Streams may be empty.
  2. A new key is created by `add`, which publishes the event.
  3. Commands that only read look up with `read`, which counts hits and misses;
     commands that write use ``ctx.lookup``, which does not.
"""

from __future__ import annotations

from typing import TypeVar

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import (
    NOTIFY_GENERIC,
    NOTIFY_KEY_MISS,
    NOTIFY_LIST,
    NOTIFY_NEW,
    NOTIFY_OVERWRITTEN,
    NOTIFY_TYPE_CHANGED,
)
from forebay.core.elements import Elements
from forebay.core.keyspace import Database, Value
from forebay.core.members import Members
from forebay.core.stream import Stream
from forebay.errors import NOT_AN_INTEGER, WRONGTYPE, CommandError
from forebay.wire.argv import Argv

INT_MAX, INT_MIN = mem.I32_MAX, mem.I32_MIN
OUT_OF_BOUNDS = b"ERR value is out of range, value must between %d and %d"
NOT_AN_INT = OUT_OF_BOUNDS % (INT_MIN, INT_MAX)
NOT_POSITIVE = b"ERR value is out of range, must be positive"
DB_OUT_OF_RANGE = b"ERR DB index is out of range"

TYPE_NAMES: dict[type, bytes] = {
    bytes: b"string",
    bytearray: b"string",
    Elements: b"list",
    Members: b"set",
    Stream: b"stream",
}

Kind = TypeVar("Kind")


def type_name(value: Value) -> bytes:
    """The name of a value's type for TYPE."""
    return TYPE_NAMES[type(value)]


def typed(value: Value | None, kind: type[Kind]) -> Kind | None:
    """The value, which must be of this kind if there is one; strings are returned as ``bytes``."""
    if value is not None and type(value) is not kind:
        if kind is bytes and type(value) is bytearray:
            return kind(value)  # type: ignore[call-arg]
        raise CommandError(WRONGTYPE)
    return value


def read(ctx: Context, key: bytes) -> Value | None:
    """The value of a key for a command that reads it: counts a hit or a miss."""
    value = ctx.lookup(key)
    if value is None:
        ctx.keyspace.misses += 1
        ctx.notify(NOTIFY_KEY_MISS, b"keymiss", key)
    else:
        ctx.keyspace.hits += 1
    return value


def lookup_in(ctx: Context, db: Database, key: bytes) -> Value | None:
    """Like ctx.lookup(), in any database."""
    when_ms = db.expires.get(key)
    if when_ms is not None and ctx.now_ms > when_ms and not ctx.session.is_replaying:
        ctx.expire(db, key)
    return db.get(key)


def add(ctx: Context, key: bytes, value: Value, db: Database | None = None) -> None:
    """Create a key that does not exist yet, in this database or in another one."""
    home = ctx.db if db is None else db
    home.put(key, value)
    ctx.notify_in(home, NOTIFY_NEW, b"new", key)


def store(ctx: Context, key: bytes, value: Value) -> None:
    """Let the key hold this value, whether it existed or not; its expiry time stays."""
    if key in ctx.db.values:
        ctx.db.put(key, value)
    else:
        add(ctx, key, value)


def overwritten(
    ctx: Context, key: bytes, before: Value | None, value: Value, db: Database | None = None
) -> None:
    """Publish that a whole value replaced another, if there was one."""
    if before is not None and ctx.notify_flags:
        home = ctx.db if db is None else db
        ctx.notify_in(home, NOTIFY_OVERWRITTEN, b"overwritten", key)
        if type_name(before) != type_name(value):
            ctx.notify_in(home, NOTIFY_TYPE_CHANGED, b"type_changed", key)


def store_result(
    ctx: Context, argv: Argv, key: bytes, value: Elements | Members, kind: int, event: bytes
) -> None:
    """Store the result of a command at a key, and answer its size; an empty result removes the key.

    Nothing of the key's old state stays, not even its expiry time.
    """
    before = ctx.lookup(key)
    if value:
        store(ctx, key, value)
        ctx.db.persist(key)
        overwritten(ctx, key, before, value)
        ctx.notify(kind, event, key)
    elif before is not None:
        remove(ctx, key)
    if value or before is not None:
        # Redis counts the elements of a list that it stores, and a set as one.
        ctx.effects.record_call(argv, len(value) if kind == NOTIFY_LIST and value else 1)
    ctx.reply.integer(len(value))


def remove(ctx: Context, key: bytes) -> None:
    """Delete a key that exists, and publish it."""
    ctx.delete(key)
    ctx.notify(NOTIFY_GENERIC, b"del", key)


def drop_if_empty(ctx: Context, key: bytes, members: Elements | Members) -> None:
    """After members were removed: touch the key, or remove it with its last member."""
    if members:
        ctx.db.touch(key)
    else:
        remove(ctx, key)


def expire_key(ctx: Context, key: bytes, when_ms: int) -> None:
    """Let a key expire at this time, and publish it."""
    ctx.db.expire_at(key, when_ms)
    ctx.db.touch(key)
    ctx.notify(NOTIFY_GENERIC, b"expire", key)


def persist_key(ctx: Context, key: bytes) -> bool:
    """Remove a key's expiry time, and publish it; false if it had none."""
    if not ctx.db.persist(key):
        return False
    ctx.db.touch(key)
    ctx.notify(NOTIFY_GENERIC, b"persist", key)
    return True


def bad_expire_time(name: bytes) -> CommandError:
    """The error for a time that is out of range; ``name`` is the command's, lower case."""
    return CommandError(b"ERR invalid expire time in '%s' command" % name)


def copy_value(value: Value) -> Value:
    """An equal value that shares no mutable part."""
    return value if isinstance(value, bytes) else value.copy()


def integer_of(text: bytes, error: bytes = NOT_AN_INTEGER) -> int:
    """A canonical signed 64-bit number, or the error."""
    is_number, value = mem.parse_int(text, 0, len(text))
    if not is_number:
        raise CommandError(error)
    return value


def integer_within(text: bytes, lowest: int, highest: int) -> int:
    """A number between two bounds, or the error that names them."""
    value = integer_of(text)
    if not lowest <= value <= highest:
        raise CommandError(OUT_OF_BOUNDS % (lowest, highest))
    return value


def positive(text: bytes, error: bytes, least: int = 1) -> int:
    """A number that is at least ``least``; otherwise this error, also if it is no number."""
    value = integer_of(text, error)
    if value < least:
        raise CommandError(error)
    return value


def database_of(ctx: Context, text: bytes) -> Database:
    """The database with the number in an argument."""
    index = integer_of(text)
    if not INT_MIN <= index <= INT_MAX:
        raise CommandError(NOT_AN_INT)
    if not 0 <= index < len(ctx.keyspace.databases):
        raise CommandError(DB_OUT_OF_RANGE)
    return ctx.keyspace.databases[index]
