"""From one list to another: LMOVE RPOPLPUSH BLMOVE BRPOPLPUSH.

    LMOVE source destination from to       takes at one end, pushes at the other
    RPOPLPUSH                              the same, RIGHT to LEFT

Source and destination may be the same list, which is then rotated.  A blocked
client waits for the source only; when it is served, AOF and replicas get the
plain command.  A destination of another type is noticed only then, and nothing is
taken.
"""

from __future__ import annotations

from forebay.commands.api.context import BLOCK_LIST, Context
from forebay.commands.api.notify_flags import NOTIFY_LIST
from forebay.commands.api.spec import BLOCKING, DENYOOM, WRITE, Keys
from forebay.commands.keyspace.value_ops import drop_if_empty
from forebay.commands.lists.list_ops import is_left, list_at, pop_name, push, read_timeout, row
from forebay.core.elements import Elements
from forebay.wire.argv import Argv


def lmove(ctx: Context, argv: Argv) -> None:
    """LMOVE source destination LEFT|RIGHT LEFT|RIGHT."""
    from_left, to_left = is_left(argv[3]), is_left(argv[4])
    _move_or_null(ctx, argv, from_left, to_left)


def rpoplpush(ctx: Context, argv: Argv) -> None:
    """RPOPLPUSH source destination."""
    _move_or_null(ctx, argv, from_left=False, to_left=True)


def blmove(ctx: Context, argv: Argv) -> None:
    """BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout."""
    from_left, to_left = is_left(argv[3]), is_left(argv[4])
    timeout_ms = read_timeout(ctx, argv[5])
    _move_or_wait(ctx, argv, from_left, to_left, timeout_ms, [b"LMOVE", *argv.list()[1:5]])


def brpoplpush(ctx: Context, argv: Argv) -> None:
    """BRPOPLPUSH source destination timeout."""
    timeout_ms = read_timeout(ctx, argv[3])
    plain = [b"RPOPLPUSH", argv[1], argv[2]]
    _move_or_wait(ctx, argv, from_left=False, to_left=True, timeout_ms=timeout_ms, plain=plain)


def _move_or_null(ctx: Context, argv: Argv, from_left: bool, to_left: bool) -> None:
    items = list_at(ctx, argv[1])
    if items is None:
        ctx.reply.null()
    else:
        _move(ctx, argv[1], argv[2], items, from_left, to_left)
        ctx.effects.record_call(argv)


def _move_or_wait(
    ctx: Context,
    argv: Argv,
    from_left: bool,
    to_left: bool,
    timeout_ms: int,
    plain: list[bytes],
) -> None:
    """Move now and record the plain command; or wait for the source."""
    items = list_at(ctx, argv[1])
    if items is not None:
        _move(ctx, argv[1], argv[2], items, from_left, to_left)
        ctx.effects.record_command(plain)
    elif ctx.may_block:
        ctx.block(BLOCK_LIST, [argv[1]], timeout_ms, argv)
    else:
        ctx.reply.null()


def _move(
    ctx: Context,
    source: bytes,
    destination: bytes,
    items: Elements,
    from_left: bool,
    to_left: bool,
) -> None:
    """Move one element; the event of the push is published before that of the pop."""
    others = list_at(ctx, destination)
    element = items.take(1, from_left, ctx.settings.list_max_listpack_size)[0]
    push(ctx, destination, others, [element], to_left)
    ctx.notify(NOTIFY_LIST, pop_name(from_left), source)
    drop_if_empty(ctx, source, items)
    ctx.reply.bulk(element)


_MOVED = Keys(1, 2, 1, "RW ACCESS DELETE; RW INSERT")
_MOVES = WRITE | DENYOOM
_ENDS = "<LEFT | RIGHT> <LEFT | RIGHT>"

ROWS = [
    row(
        name="lmove",
        handler=lmove,
        arity=5,
        flags=_MOVES,
        keys=_MOVED,
        since="6.2.0",
        syntax=f"source destination {_ENDS}",
        summary="Moves an element from one list to another.",
    ),
    row(
        name="rpoplpush",
        handler=rpoplpush,
        arity=3,
        flags=_MOVES,
        keys=_MOVED,
        since="1.2.0",
        syntax="source destination",
        summary="Moves the tail of one list to the head of another.",
    ),
    row(
        name="blmove",
        handler=blmove,
        arity=6,
        flags=_MOVES | BLOCKING,
        keys=_MOVED,
        since="6.2.0",
        syntax=f"source destination {_ENDS} timeout",
        summary="Moves an element from one list to another, or waits for it.",
    ),
    row(
        name="brpoplpush",
        handler=brpoplpush,
        arity=4,
        flags=_MOVES | BLOCKING,
        keys=_MOVED,
        since="2.2.0",
        syntax="source destination timeout",
        summary="Moves the tail of one list to the head of another, or waits for it.",
    ),
]
