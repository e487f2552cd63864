"""Several elements of the first list that has any: LMPOP, BLMPOP.

AOF and replicas get LPOP or RPOP of that one list, with the number of elements
taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from forebay.commands.api.args import Args
from forebay.commands.api.context import BLOCK_LIST, Context
from forebay.commands.api.spec import BLOCKING, MOVABLEKEYS, WRITE, Keys
from forebay.commands.keyspace.numbered_keys import numbered_keys_at, read_numbered_keys
from forebay.commands.keyspace.value_ops import positive
from forebay.commands.lists.list_ops import is_left, list_at, pop_name, read_timeout, row, take
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

COUNT_NOT_POSITIVE = b"ERR count should be greater than 0"


@dataclass(slots=True)
class Pop:
    """The options of a call."""

    keys: list[bytes]
    left: bool
    count: int = 1


def lmpop(ctx: Context, argv: Argv) -> None:
    """LMPOP numkeys key [key ...] LEFT|RIGHT [COUNT count]."""
    if not _pop_first(ctx, _read_pop(Args(argv))):
        ctx.reply.null_array()


def blmpop(ctx: Context, argv: Argv) -> None:
    """BLMPOP timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]."""
    wanted = _read_pop(Args(argv, 2))
    timeout_ms = read_timeout(ctx, argv[1])
    if _pop_first(ctx, wanted):
        return
    if ctx.may_block:
        ctx.block(BLOCK_LIST, wanted.keys, timeout_ms, argv)
    else:
        ctx.reply.null_array()


def _read_pop(args: Args) -> Pop:
    keys = read_numbered_keys(args)
    wanted = Pop(keys, is_left(args.next()))
    if args.word(b"COUNT"):
        wanted.count = positive(args.next(), COUNT_NOT_POSITIVE)
    if args.more():
        raise CommandError(SYNTAX)
    return wanted


def _pop_first(ctx: Context, wanted: Pop) -> bool:
    """Pop from the first list that exists; false if there is none."""
    for key in wanted.keys:
        items = list_at(ctx, key)
        if items is not None:
            taken = take(ctx, key, items, wanted.count, wanted.left)
            words = (pop_name(wanted.left).upper(), key, b"%d" % len(taken))
            ctx.effects.record_command(words, changes=len(taken))
            ctx.reply.value([key, taken])
            return True
    return False


_ENDS = "<LEFT | RIGHT> [COUNT count]"
_POPPED = "RW ACCESS DELETE"

ROWS = [
    row(
        name="lmpop",
        handler=lmpop,
        arity=-4,
        flags=WRITE | MOVABLEKEYS,
        keys=Keys(flags=_POPPED, finder=numbered_keys_at(1)),
        since="7.0.0",
        syntax=f"numkeys key [key ...] {_ENDS}",
        summary="Takes elements of the first list that has any.",
    ),
    row(
        name="blmpop",
        handler=blmpop,
        arity=-5,
        flags=WRITE | BLOCKING | MOVABLEKEYS,
        keys=Keys(flags=_POPPED, finder=numbered_keys_at(2)),
        since="7.0.0",
        syntax=f"timeout numkeys key [key ...] {_ENDS}",
        summary="Takes elements of the first list that has any, or waits.",
    ),
]
