"""Parts of strings: APPEND, SETRANGE, GETRANGE and its old name SUBSTR.

The two that write change the string in place (string_ops.py) and are propagated as
they came.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.spec import DENYOOM, FAST, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import add, integer_of
from forebay.commands.strings.string_ops import (
    bounds,
    changeable,
    changed,
    check_length,
    read_string,
    string_of,
)
from forebay.errors import CommandError
from forebay.wire.argv import Argv

BAD_OFFSET = b"ERR offset is out of range"


def append(ctx: Context, argv: Argv) -> None:
    """APPEND key value: the new length."""
    key = argv[1]
    value = string_of(ctx.lookup(key))
    if value is None:
        size = argv.size(2)
        add(ctx, key, argv[2])
    else:
        size = len(value) + argv.size(2)
        check_length(ctx, size)
        changeable(ctx, key, value, 0).extend(argv[2])
    changed(ctx, key, b"append")
    ctx.propagate(argv)
    ctx.out.integer(size)


def setrange(ctx: Context, argv: Argv) -> None:
    """SETRANGE key offset value: the new length."""
    key, offset, patch = argv[1], integer_of(argv[2]), argv[3]
    if offset < 0:
        raise CommandError(BAD_OFFSET)
    value = string_of(ctx.lookup(key))
    if not patch:
        ctx.out.integer(len(value or b""))
        return
    end = offset + len(patch)
    check_length(ctx, end)
    buffer = changeable(ctx, key, value, end)
    buffer[offset:end] = patch
    changed(ctx, key, b"setrange")
    ctx.propagate(argv)
    ctx.out.integer(len(buffer))


def getrange(ctx: Context, argv: Argv) -> None:
    """GETRANGE key start end."""
    start, stop = integer_of(argv[2]), integer_of(argv[3])
    value = read_string(ctx, argv[1]) or b""
    first, last = bounds(start, stop, len(value))
    if stop < start < 0:
        last = -1
    ctx.out.bulk(bytes(value[first : last + 1]) if first <= last else b"")


_RANGE_READ = Keys(1, 1, 1, "RO ACCESS")

ROWS = [
    Command("append", append, 3, WRITE | DENYOOM | FAST, "@write @string @fast",
            Keys(1, 1, 1, "RW INSERT"), "2.0.0", "Adds to the end of a string.", "string",
            "key value"),
    Command("setrange", setrange, 4, WRITE | DENYOOM, "@write @string @slow",
            Keys(1, 1, 1, "RW UPDATE"), "2.2.0",
            "Overwrites a part of a string, which grows if it must.", "string",
            "key offset value"),
    Command("getrange", getrange, 4, READONLY, "@read @string @slow", _RANGE_READ, "2.4.0",
            "A part of a string.", "string", "key start end"),
    Command("substr", getrange, 4, READONLY, "@read @string @slow", _RANGE_READ, "1.0.0",
            "A part of a string, as GETRANGE.", "string", "key start end"),
]  # fmt: skip
