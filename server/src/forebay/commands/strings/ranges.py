"""Parts of strings: APPEND, SETRANGE, GETRANGE and its old name SUBSTR.

The two that write change the string in place (string_ops.py) and are propagated as
received.
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
    ctx.effects.record_call(argv)
    ctx.reply.integer(size)


def setrange(ctx: Context, argv: Argv) -> None:
    """SETRANGE key offset value: the new length."""
    key, offset, patch = argv[1], integer_of(argv[2]), argv[3]
    if offset < 0:
        raise CommandError(BAD_OFFSET)
    value = string_of(ctx.lookup(key))
    if not patch:
        ctx.reply.integer(len(value or b""))
        return
    end = offset + len(patch)
    check_length(ctx, end)
    buffer = changeable(ctx, key, value, end)
    buffer[offset:end] = patch
    changed(ctx, key, b"setrange")
    ctx.effects.record_call(argv)
    ctx.reply.integer(len(buffer))


def getrange(ctx: Context, argv: Argv) -> None:
    """GETRANGE key start end."""
    start, stop = integer_of(argv[2]), integer_of(argv[3])
    value = read_string(ctx, argv[1]) or b""
    first, last = bounds(start, stop, len(value))
    if stop < start < 0:
        last = -1
    ctx.reply.bulk(bytes(value[first : last + 1]) if first <= last else b"")


_RANGE_READ = Keys(1, 1, 1, "RO ACCESS")

ROWS = [
    Command(
        name="append",
        handler=append,
        arity=3,
        flags=WRITE | DENYOOM | FAST,
        categories="@write @string @fast",
        keys=Keys(1, 1, 1, "RW INSERT"),
        since="2.0.0",
        summary="Adds to the end of a string.",
        group="string",
        syntax="key value",
    ),
    Command(
        name="setrange",
        handler=setrange,
        arity=4,
        flags=WRITE | DENYOOM,
        categories="@write @string @slow",
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="2.2.0",
        summary="Overwrites a part of a string, which grows if necessary.",
        group="string",
        syntax="key offset value",
    ),
    Command(
        name="getrange",
        handler=getrange,
        arity=4,
        flags=READONLY,
        categories="@read @string @slow",
        keys=_RANGE_READ,
        since="2.4.0",
        summary="A part of a string.",
        group="string",
        syntax="key start end",
    ),
    Command(
        name="substr",
        handler=getrange,
        arity=4,
        flags=READONLY,
        categories="@read @string @slow",
        keys=_RANGE_READ,
        since="1.0.0",
        summary="The old name of GETRANGE.",
        group="string",
        syntax="key start end",
    ),
]
