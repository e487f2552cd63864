"""Lists: push, pop and wait at either end, length and range.

A list is a ``deque[bytes]``; its head is the left end.  The handlers of the two
ends are made by one function each, from the name of the end.

BLPOP and BRPOP that find something act and are propagated as the plain pop of
that one key.  Otherwise the client is blocked and the engine runs the command
again, from the start, when a list appears at one of its keys.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from itertools import islice

from forebay import mem
from forebay.commands.context import BLOCK_LIST, Context
from forebay.commands.notify_flags import NOTIFY_LIST
from forebay.commands.spec import (
    BLOCKING,
    DENYOOM,
    FAST,
    READONLY,
    WRITE,
    Command,
    Keys,
)
from forebay.commands.values import add, drop_if_empty, integer_of, read, typed
from forebay.errors import CommandError, wrong_arity
from forebay.wire.argv import Argv

NOT_POSITIVE = b"ERR value is out of range, must be positive"
TIMEOUT_NOT_A_FLOAT = b"ERR timeout is not a float or out of range"
TIMEOUT_NEGATIVE = b"ERR timeout is negative"
TIMEOUT_OUT_OF_RANGE = b"ERR timeout is out of range"

Handler = Callable[[Context, Argv], None]


# Pushing


def _push(event: bytes, left: bool) -> Handler:
    """LPUSH and RPUSH key element [element ...]: the new length."""

    def handler(ctx: Context, argv: Argv) -> None:
        key = argv[1]
        items = typed(ctx.lookup(key), deque)
        if items is None:
            items = deque()
            add(ctx, key, items)
        elements = argv.list()[2:]
        items.extendleft(elements) if left else items.extend(elements)
        ctx.db.touch(key)
        ctx.notify(NOTIFY_LIST, event, key)
        ctx.propagate(argv, len(elements))
        ctx.out.integer(len(items))

    return handler


# Popping


def _pop(event: bytes, left: bool) -> Handler:
    """LPOP and RPOP key [count]."""

    def handler(ctx: Context, argv: Argv) -> None:
        key = argv[1]
        count = _read_count(argv, event)
        items = typed(ctx.lookup(key), deque)
        before = len(items or ())
        if count is None:
            if items is None:
                ctx.out.null()
            else:
                ctx.out.bulk(_take(ctx, key, items, 1, event, left)[0])
        elif items is None:
            ctx.out.null_array()
        else:
            ctx.out.value(_take(ctx, key, items, count, event, left))
        if items is not None and count != 0:
            ctx.propagate(argv, before - len(items))

    return handler


def _read_count(argv: Argv, name: bytes) -> int | None:
    if len(argv) > 3:
        raise wrong_arity(name)
    if len(argv) < 3:
        return None
    count = integer_of(argv[2], NOT_POSITIVE)
    if count < 0:
        raise CommandError(NOT_POSITIVE)
    return count


def _take(
    ctx: Context, key: bytes, items: deque[bytes], count: int, event: bytes, left: bool
) -> list[bytes]:
    """Take up to so many elements from one end; the key goes with the last one."""
    pop = items.popleft if left else items.pop
    taken = [pop() for _ in range(min(count, len(items)))]
    if taken:
        ctx.notify(NOTIFY_LIST, event, key)
        drop_if_empty(ctx, key, items)
    return taken


def _blocking_pop(event: bytes, left: bool) -> Handler:
    """BLPOP and BRPOP key [key ...] timeout."""

    def handler(ctx: Context, argv: Argv) -> None:
        args = argv.list()
        keys, timeout_ms = args[1:-1], _read_timeout(ctx, args[-1])
        for key in keys:
            items = typed(ctx.lookup(key), deque)
            if items is not None:
                ctx.out.value([key, *_take(ctx, key, items, 1, event, left)])
                ctx.effects.command(event.upper(), key)
                return
        if ctx.may_block:
            ctx.block(BLOCK_LIST, keys, timeout_ms, args)
        else:
            ctx.out.null_array()

    return handler


def _read_timeout(ctx: Context, text: bytes) -> int:
    """Seconds with a fraction, as milliseconds rounded up."""
    timeout_ms = _float_of(text) * 1000
    if timeout_ms > mem.I64_MAX - ctx.now_ms:
        raise CommandError(TIMEOUT_OUT_OF_RANGE)
    if timeout_ms <= -1:
        raise CommandError(TIMEOUT_NEGATIVE)
    return math.ceil(timeout_ms)


def _float_of(text: bytes) -> float:
    """A number as C's strtold() takes it: decimal, hexadecimal or infinite."""
    word = text.decode("latin-1")
    # Python alone allows blanks around a number and underscores in it.
    if word.strip() != word or "_" in word:
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    try:
        value = float.fromhex(word) if "x" in word.lower() else float(word)
    except (ValueError, OverflowError):
        raise CommandError(TIMEOUT_NOT_A_FLOAT) from None
    if math.isnan(value) or (math.isinf(value) and "inf" not in word.lower()):
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    return value


# Looking


def llen(ctx: Context, argv: Argv) -> None:
    """LLEN key."""
    ctx.out.integer(len(typed(read(ctx, argv[1]), deque) or ()))


def lrange(ctx: Context, argv: Argv) -> None:
    """LRANGE key start stop: both ends with; negative ones count from the tail."""
    start, stop = integer_of(argv[2]), integer_of(argv[3])
    items: deque[bytes] = typed(read(ctx, argv[1]), deque) or deque()
    size = len(items)
    start = max(start + size if start < 0 else start, 0)
    stop = min(stop + size if stop < 0 else stop, size - 1)
    ctx.out.value(_between(items, start, stop + 1) if start <= stop else [])


def _between(items: deque[bytes], start: int, end: int) -> list[bytes]:
    """items[start:end], walked to from the nearer end."""
    size = len(items)
    if start <= size - end:
        return list(islice(items, start, end))
    found = list(islice(reversed(items), size - end, size - start))
    found.reverse()
    return found


def _row(
    name: str,
    handler: Handler,
    arity: int,
    flags: int,
    keys: Keys,
    since: str,
    syntax: str,
    summary: str,
) -> Command:
    categories = "@write" if flags & WRITE else "@read"
    categories += " @list @fast" if flags & FAST else " @list @slow"
    if flags & BLOCKING:
        categories += " @blocking"
    return Command(name, handler, arity, flags, categories, keys, since, summary, "list", syntax)


_PUSHED = Keys(1, 1, 1, "RW INSERT")
_POPPED = Keys(1, 1, 1, "RW ACCESS DELETE")
_AWAITED = Keys(1, -2, 1, "RW ACCESS DELETE")
_WAITS = WRITE | BLOCKING

ROWS = [
    _row("lpush", _push(b"lpush", left=True), -3, WRITE | DENYOOM | FAST, _PUSHED, "1.0.0",
         "key element [element ...]", "Puts elements before the head of a list."),
    _row("rpush", _push(b"rpush", left=False), -3, WRITE | DENYOOM | FAST, _PUSHED, "1.0.0",
         "key element [element ...]", "Puts elements behind the tail of a list."),
    _row("lpop", _pop(b"lpop", left=True), -2, WRITE | FAST, _POPPED, "1.0.0",
         "key [count]", "Takes elements from the head of a list."),
    _row("rpop", _pop(b"rpop", left=False), -2, WRITE | FAST, _POPPED, "1.0.0",
         "key [count]", "Takes elements from the tail of a list."),
    _row("blpop", _blocking_pop(b"lpop", left=True), -3, _WAITS, _AWAITED, "2.0.0",
         "key [key ...] timeout", "Takes the head of the first list that has one, or waits."),
    _row("brpop", _blocking_pop(b"rpop", left=False), -3, _WAITS, _AWAITED, "2.0.0",
         "key [key ...] timeout", "Takes the tail of the first list that has one, or waits."),
    _row("llen", llen, 2, READONLY | FAST, Keys(1, 1, 1, "RO"), "1.0.0",
         "key", "The length of a list."),
    _row("lrange", lrange, 4, READONLY, Keys(1, 1, 1, "RO ACCESS"), "1.0.0",
         "key start stop", "The elements of a list from one index to another."),
]  # fmt: skip
