"""Sets: the smallest useful family.

A set is a ``set[bytes]``.  The order in which SMEMBERS answers is nobody's promise.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.context import Context
from forebay.commands.notify_flags import NOTIFY_SET
from forebay.commands.spec import DENYOOM, FAST, READONLY, WRITE, Command, Keys
from forebay.commands.values import add, drop_if_empty, read, typed
from forebay.wire.argv import Argv


def sadd(ctx: Context, argv: Argv) -> None:
    """SADD key member [member ...]: how many were new."""
    key = argv[1]
    members = typed(ctx.lookup(key), set)
    if members is None:
        members = set()
        add(ctx, key, members)
    before = len(members)
    members.update(argv.list()[2:])
    added = len(members) - before
    if added:
        ctx.db.touch(key)
        ctx.notify(NOTIFY_SET, b"sadd", key)
        ctx.propagate(argv, added)
    ctx.out.integer(added)


def srem(ctx: Context, argv: Argv) -> None:
    """SREM key member [member ...]: how many were there."""
    key = argv[1]
    members: set[bytes] = typed(ctx.lookup(key), set) or set()
    before = len(members)
    members.difference_update(argv.list()[2:])
    removed = before - len(members)
    if removed:
        ctx.notify(NOTIFY_SET, b"srem", key)
        drop_if_empty(ctx, key, members)
        ctx.propagate(argv, removed)
    ctx.out.integer(removed)


def sismember(ctx: Context, argv: Argv) -> None:
    """SISMEMBER key member."""
    ctx.out.integer(int(argv[2] in _members(ctx, argv)))


def smembers(ctx: Context, argv: Argv) -> None:
    """SMEMBERS key."""
    ctx.out.value(_members(ctx, argv))


def scard(ctx: Context, argv: Argv) -> None:
    """SCARD key."""
    ctx.out.integer(len(_members(ctx, argv)))


def _members(ctx: Context, argv: Argv) -> set[bytes]:
    return typed(read(ctx, argv[1]), set) or set()


def _row(
    name: str,
    handler: Callable[[Context, Argv], None],
    arity: int,
    flags: int,
    key_flags: str,
    syntax: str,
    summary: str,
) -> Command:
    categories = "@write" if flags & WRITE else "@read"
    categories += " @set @fast" if flags & FAST else " @set @slow"
    keys = Keys(1, 1, 1, key_flags)
    return Command(name, handler, arity, flags, categories, keys, "1.0.0", summary, "set", syntax)


ROWS = [
    _row("sadd", sadd, -3, WRITE | DENYOOM | FAST, "RW INSERT",
         "key member [member ...]", "Adds members to a set."),
    _row("srem", srem, -3, WRITE | FAST, "RW DELETE",
         "key member [member ...]", "Removes members from a set."),
    _row("sismember", sismember, 3, READONLY | FAST, "RO",
         "key member", "Whether a set has a member."),
    _row("smembers", smembers, 2, READONLY, "RO ACCESS", "key", "All members of a set."),
    _row("scard", scard, 2, READONLY | FAST, "RO", "key", "How many members a set has."),
]  # fmt: skip
