"""Numbers in strings: INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT.

A number is stored as its digits and parsed each time.  Whole numbers have 64 bits;
INCRBYFLOAT counts in floating point (long_double.py) and is propagated as ``SET k <sum>
KEEPTTL``, so that a replica need not compute the same sum.  The others are propagated as
received.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STRING
from forebay.commands.api.spec import DENYOOM, FAST, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import store, typed
from forebay.commands.strings import long_double
from forebay.errors import NOT_AN_INTEGER, CommandError
from forebay.wire.argv import Argv

OVERFLOW = b"ERR increment or decrement would overflow"
DECREMENT_OVERFLOW = b"ERR decrement would overflow"
NOT_A_FLOAT = b"ERR value is not a valid float"
INFINITE_SUM = b"ERR increment would produce NaN or Infinity"


def incr(ctx: Context, argv: Argv) -> None:
    """INCR key."""
    add(ctx, argv, 1)


def decr(ctx: Context, argv: Argv) -> None:
    """DECR key."""
    add(ctx, argv, -1)


def incrby(ctx: Context, argv: Argv) -> None:
    """INCRBY key increment."""
    add(ctx, argv, whole(argv.at(2)))


def decrby(ctx: Context, argv: Argv) -> None:
    """DECRBY key decrement."""
    decrement = whole(argv.at(2))
    if decrement == mem.I64_MIN:
        raise CommandError(DECREMENT_OVERFLOW)
    add(ctx, argv, -decrement)


def whole(text: bytes) -> int:
    """A whole number, or the error."""
    is_number, value = mem.parse_int(text, 0, len(text))
    if not is_number:
        raise CommandError(NOT_AN_INTEGER)
    return value


def add(ctx: Context, argv: Argv, change: int) -> None:
    """Add to the number of a key; compiled to C, so check that the sum fits before adding."""
    key = argv.at(1)
    before = typed(ctx.lookup(key), bytes)
    value = 0 if before is None else whole(before)
    if value > mem.I64_MAX - change if change > 0 else value < mem.I64_MIN - change:
        raise CommandError(OVERFLOW)
    value += change
    store(ctx, key, b"%d" % value)
    ctx.notify(NOTIFY_STRING, b"incrby", key)
    ctx.effects.record_call(argv)
    ctx.reply.integer(value)


def incrbyfloat(ctx: Context, argv: Argv) -> None:
    """INCRBYFLOAT key increment: the sum."""
    key = argv[1]
    before = typed(ctx.lookup(key), bytes)
    text = _sum(b"0" if before is None else before, argv[2])
    store(ctx, key, text)
    ctx.notify(NOTIFY_STRING, b"incrbyfloat", key)
    ctx.effects.record_command((b"SET", key, text, b"KEEPTTL"))
    ctx.reply.bulk(text)


def _sum(*texts: bytes) -> bytes:
    terms = []
    is_finite = True
    for text in texts:
        try:
            terms.append(long_double.parse(text))
        except long_double.OutOfRangeError:
            is_finite = False
        except ValueError:
            raise CommandError(NOT_A_FLOAT) from None
    try:
        if is_finite:
            return long_double.text_of(long_double.rounded(sum(terms, long_double.ZERO)))
    except long_double.OutOfRangeError:
        pass
    raise CommandError(INFINITE_SUM)


_KEY = Keys(1, 1, 1, "RW ACCESS UPDATE")
_FLAGS = WRITE | DENYOOM | FAST
_CATEGORIES = "@write @string @fast"

ROWS = [
    Command(
        name="incr",
        handler=incr,
        arity=2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        keys=_KEY,
        since="1.0.0",
        summary="Adds one to a number.",
        group="string",
        syntax="key",
    ),
    Command(
        name="decr",
        handler=decr,
        arity=2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        keys=_KEY,
        since="1.0.0",
        summary="Subtracts one from a number.",
        group="string",
        syntax="key",
    ),
    Command(
        name="incrby",
        handler=incrby,
        arity=3,
        flags=_FLAGS,
        categories=_CATEGORIES,
        keys=_KEY,
        since="1.0.0",
        summary="Adds to a number.",
        group="string",
        syntax="key increment",
    ),
    Command(
        name="decrby",
        handler=decrby,
        arity=3,
        flags=_FLAGS,
        categories=_CATEGORIES,
        keys=_KEY,
        since="1.0.0",
        summary="Subtracts from a number.",
        group="string",
        syntax="key decrement",
    ),
    Command(
        name="incrbyfloat",
        handler=incrbyfloat,
        arity=3,
        flags=_FLAGS,
        categories=_CATEGORIES,
        keys=_KEY,
        since="2.6.0",
        summary="Adds to a number that may have a fraction.",
        group="string",
        syntax="key increment",
    ),
]
