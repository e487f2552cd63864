"""Lists: push, pop and wait at either end, length and range.

One function makes the handlers of both ends.

If BLPOP or BRPOP finds an element, it acts, and is propagated, as the plain pop
of that one key.  Otherwise the client is blocked, and the engine runs the
command again, from the start, when a list appears at one of its keys.
"""

from __future__ import annotations

from forebay.commands.api.context import BLOCK_LIST, Context
from forebay.commands.api.spec import (
    BLOCKING,
    DENYOOM,
    FAST,
    READONLY,
    WRITE,
    Handler,
    Keys,
)
from forebay.commands.keyspace.value_ops import NOT_POSITIVE, integer_of, positive
from forebay.commands.lists.list_ops import (
    list_at,
    pop_name,
    push,
    read_list,
    read_timeout,
    row,
    take,
)
from forebay.errors import wrong_arity
from forebay.wire.argv import Argv

# Pushing


def _push(left: bool, only_if_there: bool = False) -> Handler:
    """LPUSH, RPUSH, LPUSHX and RPUSHX key element [element ...]: the new length."""

    def handler(ctx: Context, argv: Argv) -> None:
        key = argv[1]
        items = list_at(ctx, key)
        if items is None and only_if_there:
            ctx.reply.integer(0)
            return
        items = push(ctx, key, items, argv.list()[2:], left)
        ctx.effects.record_call(argv, len(argv) - 2)
        ctx.reply.integer(len(items))

    return handler


# Popping


def _pop(left: bool) -> Handler:
    """LPOP and RPOP key [count]."""

    def handler(ctx: Context, argv: Argv) -> None:
        key = argv[1]
        count = _read_count(argv, left)
        items = list_at(ctx, key)
        before = len(items or ())
        if count is None:
            if items is None:
                ctx.reply.null()
            else:
                ctx.reply.bulk(take(ctx, key, items, 1, left)[0])
        elif items is None:
            ctx.reply.null_array()
        else:
            ctx.reply.value(take(ctx, key, items, count, left))
        if items is not None and count != 0:
            ctx.effects.record_call(argv, before - len(items))

    return handler


def _read_count(argv: Argv, left: bool) -> int | None:
    if len(argv) > 3:
        raise wrong_arity(pop_name(left))
    return positive(argv[2], NOT_POSITIVE, least=0) if len(argv) == 3 else None


def _blocking_pop(left: bool) -> Handler:
    """BLPOP and BRPOP key [key ...] timeout."""

    def handler(ctx: Context, argv: Argv) -> None:
        args = argv.list()
        keys, timeout_ms = args[1:-1], read_timeout(ctx, args[-1])
        for key in keys:
            items = list_at(ctx, key)
            if items is not None:
                ctx.reply.value([key, *take(ctx, key, items, 1, left)])
                ctx.effects.record_command((pop_name(left).upper(), key))
                return
        if ctx.may_block:
            ctx.block(BLOCK_LIST, keys, timeout_ms, argv)
        else:
            ctx.reply.null_array()

    return handler


# Looking


def llen(ctx: Context, argv: Argv) -> None:
    """LLEN key."""
    ctx.reply.integer(len(read_list(ctx, argv[1]) or ()))


def lrange(ctx: Context, argv: Argv) -> None:
    """LRANGE key start stop: both ends included; negative indexes count from the tail."""
    start, stop = integer_of(argv[2]), integer_of(argv[3])
    items = read_list(ctx, argv[1])
    size = len(items or ())
    start = max(start + size if start < 0 else start, 0)
    stop = min(stop + size if stop < 0 else stop, size - 1)
    ctx.reply.value(items.between(start, stop + 1) if items and start <= stop else [])


_PUSHED = Keys(1, 1, 1, "RW INSERT")
_POPPED = Keys(1, 1, 1, "RW ACCESS DELETE")
_AWAITED = Keys(1, -2, 1, "RW ACCESS DELETE")
_PUSHES = WRITE | DENYOOM | FAST
_WAITS = WRITE | BLOCKING

ROWS = [
    row(
        name="lpush",
        handler=_push(left=True),
        arity=-3,
        flags=_PUSHES,
        keys=_PUSHED,
        since="1.0.0",
        syntax="key element [element ...]",
        summary="Adds elements at the head of a list.",
    ),
    row(
        name="rpush",
        handler=_push(left=False),
        arity=-3,
        flags=_PUSHES,
        keys=_PUSHED,
        since="1.0.0",
        syntax="key element [element ...]",
        summary="Adds elements at the tail of a list.",
    ),
    row(
        name="lpushx",
        handler=_push(left=True, only_if_there=True),
        arity=-3,
        flags=_PUSHES,
        keys=_PUSHED,
        since="2.2.0",
        syntax="key element [element ...]",
        summary="Adds elements at the head of an existing list.",
    ),
    row(
        name="rpushx",
        handler=_push(left=False, only_if_there=True),
        arity=-3,
        flags=_PUSHES,
        keys=_PUSHED,
        since="2.2.0",
        syntax="key element [element ...]",
        summary="Adds elements at the tail of an existing list.",
    ),
    row(
        name="lpop",
        handler=_pop(left=True),
        arity=-2,
        flags=WRITE | FAST,
        keys=_POPPED,
        since="1.0.0",
        syntax="key [count]",
        summary="Takes elements from the head of a list.",
    ),
    row(
        name="rpop",
        handler=_pop(left=False),
        arity=-2,
        flags=WRITE | FAST,
        keys=_POPPED,
        since="1.0.0",
        syntax="key [count]",
        summary="Takes elements from the tail of a list.",
    ),
    row(
        name="blpop",
        handler=_blocking_pop(left=True),
        arity=-3,
        flags=_WAITS,
        keys=_AWAITED,
        since="2.0.0",
        syntax="key [key ...] timeout",
        summary="Takes the first element of the first list that has any, or waits.",
    ),
    row(
        name="brpop",
        handler=_blocking_pop(left=False),
        arity=-3,
        flags=_WAITS,
        keys=_AWAITED,
        since="2.0.0",
        syntax="key [key ...] timeout",
        summary="Takes the last element of the first list that has any, or waits.",
    ),
    row(
        name="llen",
        handler=llen,
        arity=2,
        flags=READONLY | FAST,
        keys=Keys(1, 1, 1, "RO"),
        since="1.0.0",
        syntax="key",
        summary="The length of a list.",
    ),
    row(
        name="lrange",
        handler=lrange,
        arity=4,
        flags=READONLY,
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="1.0.0",
        syntax="key start stop",
        summary="The elements of a list from one index to another.",
    ),
]
