"""Several sets together: SINTER SUNION SDIFF, their STORE forms, SINTERCARD.

A missing key is an empty set; a key of another type is an error at any
position.  Python's own sets do the work.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_SET
from forebay.commands.api.spec import DENYOOM, MOVABLEKEYS, READONLY, WRITE, Handler, Keys
from forebay.commands.keyspace.numbered_keys import numbered_keys_at, read_numbered_keys
from forebay.commands.keyspace.value_ops import positive, store_result
from forebay.commands.sets.set_ops import read_set, row
from forebay.core.members import Members
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

TOO_MANY_KEYS = b"ERR Number of keys can't be greater than number of args"
LIMIT_NEGATIVE = b"ERR LIMIT can't be negative"

Sets = list[Members]
Operation = Callable[[Sets], set[bytes]]


def _read_sets(ctx: Context, keys: list[bytes]) -> Sets:
    return [read_set(ctx, key) or Members() for key in keys]


def intersection(sets: Sets) -> set[bytes]:
    """The members that all sets share; the smallest set is walked first."""
    first, *rest = sorted(sets, key=len)
    return set(first).intersection(*rest) if first else set()


def union(sets: Sets) -> set[bytes]:
    """The members of any set."""
    return set().union(*sets)


def difference(sets: Sets) -> set[bytes]:
    """The members of the first set that no other set has."""
    found = set(sets[0])
    for other in sets[1:]:
        # Walks the smaller of the two.
        found = found - other
    return found


def _answer(operation: Operation) -> Handler:
    """SINTER, SUNION and SDIFF key [key ...]."""

    def handler(ctx: Context, argv: Argv) -> None:
        ctx.reply.value(operation(_read_sets(ctx, argv.list()[1:])))

    return handler


def _store(operation: Operation, event: bytes) -> Handler:
    """SINTERSTORE, SUNIONSTORE and SDIFFSTORE destination key [key ...]: the new size."""

    def handler(ctx: Context, argv: Argv) -> None:
        found = Members(operation(_read_sets(ctx, argv.list()[2:])))
        store_result(ctx, argv, argv[1], found, NOTIFY_SET, event)

    return handler


def sintercard(ctx: Context, argv: Argv) -> None:
    """SINTERCARD numkeys key [key ...] [LIMIT limit]."""
    args = Args(argv)
    keys = read_numbered_keys(args, TOO_MANY_KEYS)
    limit = 0
    while args.more():
        if not args.word(b"LIMIT"):
            raise CommandError(SYNTAX)
        limit = positive(args.next(), LIMIT_NEGATIVE, least=0)
    sets = _read_sets(ctx, keys)
    ctx.reply.integer(_count_common(sets, limit) if limit else len(intersection(sets)))


def _count_common(sets: Sets, limit: int) -> int:
    """How many members all sets share, counted up to a limit."""
    first, *rest = sorted(sets, key=len)
    common = (member for member in first if all(member in other for other in rest))
    return sum(1 for _ in islice(common, min(limit, len(first))))


_ALL_READ = Keys(1, -1, 1, "RO ACCESS")
_STORED = Keys(1, -1, 1, "OW UPDATE; RO ACCESS")
_STORES = WRITE | DENYOOM
_SOURCES = "key [key ...]"

ROWS = [
    row(
        name="sinter",
        handler=_answer(intersection),
        arity=-2,
        flags=READONLY,
        keys=_ALL_READ,
        since="1.0.0",
        syntax=_SOURCES,
        summary="The members that several sets share.",
    ),
    row(
        name="sunion",
        handler=_answer(union),
        arity=-2,
        flags=READONLY,
        keys=_ALL_READ,
        since="1.0.0",
        syntax=_SOURCES,
        summary="The members of several sets together.",
    ),
    row(
        name="sdiff",
        handler=_answer(difference),
        arity=-2,
        flags=READONLY,
        keys=_ALL_READ,
        since="1.0.0",
        syntax=_SOURCES,
        summary="The members that only the first set has.",
    ),
    row(
        name="sinterstore",
        handler=_store(intersection, b"sinterstore"),
        arity=-3,
        flags=_STORES,
        keys=_STORED,
        since="1.0.0",
        syntax=f"destination {_SOURCES}",
        summary="Stores the members that several sets share.",
    ),
    row(
        name="sunionstore",
        handler=_store(union, b"sunionstore"),
        arity=-3,
        flags=_STORES,
        keys=_STORED,
        since="1.0.0",
        syntax=f"destination {_SOURCES}",
        summary="Stores the members of several sets together.",
    ),
    row(
        name="sdiffstore",
        handler=_store(difference, b"sdiffstore"),
        arity=-3,
        flags=_STORES,
        keys=_STORED,
        since="1.0.0",
        syntax=f"destination {_SOURCES}",
        summary="Stores the members that only the first set has.",
    ),
    row(
        name="sintercard",
        handler=sintercard,
        arity=-3,
        flags=READONLY | MOVABLEKEYS,
        keys=Keys(flags="RO ACCESS", finder=numbered_keys_at(1)),
        since="7.0.0",
        syntax=f"numkeys {_SOURCES} [LIMIT limit]",
        summary="How many members several sets share.",
    ),
]
