"""Inside a list: LINDEX LPOS LSET LINSERT LREM LTRIM.

An index counts from the head, beginning with 0, or from the tail, beginning with
-1.  To reach the middle of a list the server walks, as Redis does.
"""

from __future__ import annotations

from itertools import islice

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_LIST
from forebay.commands.api.spec import DENYOOM, READONLY, WRITE, Keys
from forebay.commands.keyspace.value_ops import drop_if_empty, integer_of, integer_within, positive
from forebay.commands.lists.list_ops import list_at, read_list, row
from forebay.core.elements import Elements
from forebay.errors import NO_SUCH_KEY, SYNTAX, CommandError
from forebay.wire.argv import Argv

INDEX_OUT_OF_RANGE = b"ERR index out of range"
RANK_ZERO = (
    b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ..."
    b" or use negative to start from the end of the list"
)
COUNT_NEGATIVE = b"ERR COUNT can't be negative"
MAXLEN_NEGATIVE = b"ERR MAXLEN can't be negative"


# Looking


def lindex(ctx: Context, argv: Argv) -> None:
    """LINDEX key index."""
    items = read_list(ctx, argv[1])
    if items is None:
        ctx.reply.null()
        return
    index = integer_of(argv[2])
    if -len(items) <= index < len(items):
        ctx.reply.bulk(items[index])
    else:
        ctx.reply.null()


def lpos(ctx: Context, argv: Argv) -> None:
    """LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]."""
    rank, count, most = _read_lpos_options(Args(argv, 3))
    items = read_list(ctx, argv[1]) or Elements()
    wanted = 1 if count is None else count
    found = _positions(items, argv[2], rank, wanted or len(items), most or len(items))
    if count is not None:
        ctx.reply.value(found)
    elif found:
        ctx.reply.integer(found[0])
    else:
        ctx.reply.null()


def _read_lpos_options(args: Args) -> tuple[int, int | None, int]:
    """Rank, count (None: not given, 0: all) and how many elements to compare (0: all)."""
    rank, count, most = 1, None, 0
    while args.more():
        if args.word(b"RANK"):
            rank = integer_within(args.next(), -mem.I64_MAX, mem.I64_MAX)
            if rank == 0:
                raise CommandError(RANK_ZERO)
        elif args.word(b"COUNT"):
            count = positive(args.next(), COUNT_NEGATIVE, least=0)
        elif args.word(b"MAXLEN"):
            most = positive(args.next(), MAXLEN_NEGATIVE, least=0)
        else:
            raise CommandError(SYNTAX)
    return rank, count, most


def _positions(items: Elements, element: bytes, rank: int, wanted: int, most: int) -> list[int]:
    """The indexes of the element, from the rank-th match on; below 0: counted from the tail."""
    order = reversed(items) if rank < 0 else iter(items)
    places = (i for i, each in enumerate(islice(order, most)) if each == element)
    first = min(abs(rank) - 1, len(items))
    found = list(islice(places, first, first + min(wanted, len(items))))
    return [len(items) - 1 - place for place in found] if rank < 0 else found


# Changing


def lset(ctx: Context, argv: Argv) -> None:
    """LSET key index element."""
    key, element = argv[1], argv[3]
    items = list_at(ctx, key)
    if items is None:
        raise CommandError(NO_SUCH_KEY)
    index = integer_of(argv[2])
    if not -len(items) <= index < len(items):
        raise CommandError(INDEX_OUT_OF_RANGE)
    items.put_at(index, element, ctx.settings.list_max_listpack_size)
    ctx.db.touch(key)
    ctx.notify(NOTIFY_LIST, b"lset", key)
    ctx.effects.record_call(argv)
    ctx.reply.ok()


def linsert(ctx: Context, argv: Argv) -> None:
    """LINSERT key BEFORE|AFTER pivot element: the new length; -1 if there is no such pivot."""
    key, where, pivot, element = argv[1], argv[2].upper(), argv[3], argv[4]
    if where not in (b"BEFORE", b"AFTER"):
        raise CommandError(SYNTAX)
    items = list_at(ctx, key)
    if items is None:
        ctx.reply.integer(0)
        return
    fill = ctx.settings.list_max_listpack_size
    items.make_room([element], fill)
    if pivot not in items:
        ctx.reply.integer(-1)
        return
    items.insert_at(items.index(pivot) + (where == b"AFTER"), element, fill)
    ctx.db.touch(key)
    ctx.notify(NOTIFY_LIST, b"linsert", key)
    ctx.effects.record_call(argv)
    ctx.reply.integer(len(items))


def lrem(ctx: Context, argv: Argv) -> None:
    """LREM key count element: how many were removed."""
    key = argv[1]
    count = integer_within(argv[2], -mem.I64_MAX, mem.I64_MAX)
    items = list_at(ctx, key)
    removed = 0
    if items is not None:
        removed = items.drop_equal(argv[3], count, ctx.settings.list_max_listpack_size)
    if items is not None and removed:
        ctx.notify(NOTIFY_LIST, b"lrem", key)
        drop_if_empty(ctx, key, items)
        ctx.effects.record_call(argv, removed)
    ctx.reply.integer(removed)


def ltrim(ctx: Context, argv: Argv) -> None:
    """LTRIM key start stop: keep the elements that LRANGE would show."""
    key = argv[1]
    start, stop = integer_of(argv[2]), integer_of(argv[3])
    items = list_at(ctx, key)
    if items is not None:
        size = len(items)
        start = max(start + size if start < 0 else start, 0)
        end = min(stop + size if stop < 0 else stop, size - 1) + 1
        if start >= end:
            start, end = size, size
        removed = items.keep(start, end, ctx.settings.list_max_listpack_size)
        ctx.notify(NOTIFY_LIST, b"ltrim", key)
        drop_if_empty(ctx, key, items)
        if removed:
            ctx.effects.record_call(argv, removed)
    ctx.reply.ok()


_READ = Keys(1, 1, 1, "RO ACCESS")
_UPDATED = Keys(1, 1, 1, "RW UPDATE")
_INSERTED = Keys(1, 1, 1, "RW INSERT")
_DELETED = Keys(1, 1, 1, "RW DELETE")

ROWS = [
    row(
        name="lindex",
        handler=lindex,
        arity=3,
        flags=READONLY,
        keys=_READ,
        since="1.0.0",
        syntax="key index",
        summary="The element of a list at an index.",
    ),
    row(
        name="lpos",
        handler=lpos,
        arity=-3,
        flags=READONLY,
        keys=_READ,
        since="6.0.6",
        syntax="key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        summary="The position of an element in a list.",
    ),
    row(
        name="lset",
        handler=lset,
        arity=4,
        flags=WRITE | DENYOOM,
        keys=_UPDATED,
        since="1.0.0",
        syntax="key index element",
        summary="Replaces the element of a list at an index.",
    ),
    row(
        name="linsert",
        handler=linsert,
        arity=5,
        flags=WRITE | DENYOOM,
        keys=_INSERTED,
        since="2.2.0",
        syntax="key <BEFORE | AFTER> pivot element",
        summary="Puts an element before or after another one.",
    ),
    row(
        name="lrem",
        handler=lrem,
        arity=4,
        flags=WRITE,
        keys=_DELETED,
        since="1.0.0",
        syntax="key count element",
        summary="Removes elements that are equal to a given one.",
    ),
    row(
        name="ltrim",
        handler=ltrim,
        arity=4,
        flags=WRITE,
        keys=_DELETED,
        since="1.0.0",
        syntax="key start stop",
        summary="Removes all elements outside a range.",
    ),
]
