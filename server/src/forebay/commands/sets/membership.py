"""Sets: add, remove, move, ask, walk.

SMEMBERS promises no order.  SSCAN of a small set
answers all of it at once; of a large one it walks ``Members.order`` as SCAN walks
the keys (keyspace/scan_walk.py), with the same promise: each member that is there from the
first call to the last is returned.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_SET
from forebay.commands.api.spec import DENYOOM, FAST, READONLY, WRITE, Keys
from forebay.commands.keyspace.scan_walk import ScanOptions, read_cursor, walk
from forebay.commands.keyspace.value_ops import drop_if_empty
from forebay.commands.sets.set_ops import include, read_set, row, set_at
from forebay.core.members import HASHTABLE, Members
from forebay.wire.argv import Argv


def sadd(ctx: Context, argv: Argv) -> None:
    """SADD key member [member ...]: how many were new."""
    key = argv[1]
    added = include(ctx, key, set_at(ctx, key), argv.list()[2:])
    if added:
        ctx.propagate(argv, added)
    ctx.out.integer(added)


def srem(ctx: Context, argv: Argv) -> None:
    """SREM key member [member ...]: how many were there."""
    key = argv[1]
    members = set_at(ctx, key)
    removed = members.exclude(argv.list()[2:], ctx.settings) if members is not None else 0
    if members is not None and removed:
        ctx.notify(NOTIFY_SET, b"srem", key)
        drop_if_empty(ctx, key, members)
        ctx.propagate(argv, removed)
    ctx.out.integer(removed)


def smove(ctx: Context, argv: Argv) -> None:
    """SMOVE source destination member: 1 if it was there."""
    source, destination, member = argv[1], argv[2], argv[3]
    # An expired destination is removed as such, even if there is no source.
    ctx.lookup(destination)
    members = set_at(ctx, source)
    if members is None:
        ctx.out.integer(0)
        return
    others = set_at(ctx, destination)
    if members is others or member not in members:
        ctx.out.integer(int(member in members))
        return
    members.exclude([member], ctx.settings)
    ctx.notify(NOTIFY_SET, b"srem", source)
    drop_if_empty(ctx, source, members)
    added = include(ctx, destination, others, [member])
    ctx.propagate(argv, 1 + added)
    ctx.out.integer(1)


# Asking


def sismember(ctx: Context, argv: Argv) -> None:
    """SISMEMBER key member."""
    ctx.out.integer(int(argv[2] in _members(ctx, argv)))


def smismember(ctx: Context, argv: Argv) -> None:
    """SMISMEMBER key member [member ...]."""
    members = _members(ctx, argv)
    ctx.out.array(len(argv) - 2)
    for i in range(2, len(argv)):
        ctx.out.integer(int(argv[i] in members))


def smembers(ctx: Context, argv: Argv) -> None:
    """SMEMBERS key."""
    ctx.out.value(_members(ctx, argv))


def scard(ctx: Context, argv: Argv) -> None:
    """SCARD key."""
    ctx.out.integer(len(_members(ctx, argv)))


def sscan(ctx: Context, argv: Argv) -> None:
    """SSCAN key cursor [MATCH pattern] [COUNT count]."""
    cursor = read_cursor(argv[2])
    members = read_set(ctx, argv[1])
    found: list[bytes] = []
    if members is not None:
        options = ScanOptions.read(Args(argv, 3), with_type=False)
        if members.form_of(ctx.settings) == HASHTABLE:
            cursor, some = walk(members.ordered(), cursor, options.count)
        else:
            cursor, some = 0, list(members)
        found = [member for member in some if options.fits(member)]
    else:
        cursor = 0
    ctx.out.array(2)
    ctx.out.bulk(b"%d" % cursor)
    ctx.out.value(found)


def _members(ctx: Context, argv: Argv) -> Members:
    return read_set(ctx, argv[1]) or Members()


_MOVED = Keys(1, 2, 1, "RW ACCESS DELETE; RW INSERT")
_READ = Keys(1, 1, 1, "RO ACCESS")

ROWS = [
    row("sadd", sadd, -3, WRITE | DENYOOM | FAST, Keys(1, 1, 1, "RW INSERT"), "1.0.0",
        "key member [member ...]", "Adds members to a set."),
    row("srem", srem, -3, WRITE | FAST, Keys(1, 1, 1, "RW DELETE"), "1.0.0",
        "key member [member ...]", "Removes members from a set."),
    row("smove", smove, 4, WRITE | FAST, _MOVED, "1.0.0",
        "source destination member", "Takes a member out of one set and puts it into another."),
    row("sismember", sismember, 3, READONLY | FAST, Keys(1, 1, 1, "RO"), "1.0.0",
        "key member", "Whether a set has a member."),
    row("smismember", smismember, -3, READONLY | FAST, _READ, "6.2.0",
        "key member [member ...]", "Which of several members a set has."),
    row("smembers", smembers, 2, READONLY, _READ, "1.0.0", "key", "All members of a set."),
    row("scard", scard, 2, READONLY | FAST, Keys(1, 1, 1, "RO"), "1.0.0",
        "key", "How many members a set has."),
    row("sscan", sscan, -3, READONLY, _READ, "2.8.0",
        "key cursor [MATCH pattern] [COUNT count]",
        "Walks over the members of a set, a few at a time."),
]  # fmt: skip
