"""Sets: add, remove, move, ask, walk.

SMEMBERS promises no order.  SSCAN answers a small set at once; in a large one it walks
``Members.order`` as SCAN walks the keys (keyspace/scan_walk.py), with the same promise:
each member that exists from the first call to the last is returned.
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
        ctx.effects.record_call(argv, added)
    ctx.reply.integer(added)


def srem(ctx: Context, argv: Argv) -> None:
    """SREM key member [member ...]: how many existed."""
    key = argv[1]
    members = set_at(ctx, key)
    removed = members.exclude(argv.list()[2:], ctx.settings) if members is not None else 0
    if members is not None and removed:
        ctx.notify(NOTIFY_SET, b"srem", key)
        drop_if_empty(ctx, key, members)
        ctx.effects.record_call(argv, removed)
    ctx.reply.integer(removed)


def smove(ctx: Context, argv: Argv) -> None:
    """SMOVE source destination member: 1 if it was a member."""
    source, destination, member = argv[1], argv[2], argv[3]
    # An expired destination is removed as such, even if there is no source.
    ctx.lookup(destination)
    members = set_at(ctx, source)
    if members is None:
        ctx.reply.integer(0)
        return
    others = set_at(ctx, destination)
    if members is others or member not in members:
        ctx.reply.integer(int(member in members))
        return
    members.exclude([member], ctx.settings)
    ctx.notify(NOTIFY_SET, b"srem", source)
    drop_if_empty(ctx, source, members)
    added = include(ctx, destination, others, [member])
    ctx.effects.record_call(argv, 1 + added)
    ctx.reply.integer(1)


# Asking


def sismember(ctx: Context, argv: Argv) -> None:
    """SISMEMBER key member."""
    ctx.reply.integer(int(argv[2] in _members(ctx, argv)))


def smismember(ctx: Context, argv: Argv) -> None:
    """SMISMEMBER key member [member ...]."""
    members = _members(ctx, argv)
    ctx.reply.array(len(argv) - 2)
    for i in range(2, len(argv)):
        ctx.reply.integer(int(argv[i] in members))


def smembers(ctx: Context, argv: Argv) -> None:
    """SMEMBERS key."""
    ctx.reply.value(_members(ctx, argv))


def scard(ctx: Context, argv: Argv) -> None:
    """SCARD key."""
    ctx.reply.integer(len(_members(ctx, argv)))


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
    ctx.reply.array(2)
    ctx.reply.bulk(b"%d" % cursor)
    ctx.reply.value(found)


def _members(ctx: Context, argv: Argv) -> Members:
    return read_set(ctx, argv[1]) or Members()


_MOVED = Keys(1, 2, 1, "RW ACCESS DELETE; RW INSERT")
_READ = Keys(1, 1, 1, "RO ACCESS")

ROWS = [
    row(
        name="sadd",
        handler=sadd,
        arity=-3,
        flags=WRITE | DENYOOM | FAST,
        keys=Keys(1, 1, 1, "RW INSERT"),
        since="1.0.0",
        syntax="key member [member ...]",
        summary="Adds members to a set.",
    ),
    row(
        name="srem",
        handler=srem,
        arity=-3,
        flags=WRITE | FAST,
        keys=Keys(1, 1, 1, "RW DELETE"),
        since="1.0.0",
        syntax="key member [member ...]",
        summary="Removes members from a set.",
    ),
    row(
        name="smove",
        handler=smove,
        arity=4,
        flags=WRITE | FAST,
        keys=_MOVED,
        since="1.0.0",
        syntax="source destination member",
        summary="Removes a member from one set and adds it to another.",
    ),
    row(
        name="sismember",
        handler=sismember,
        arity=3,
        flags=READONLY | FAST,
        keys=Keys(1, 1, 1, "RO"),
        since="1.0.0",
        syntax="key member",
        summary="Whether a set has a member.",
    ),
    row(
        name="smismember",
        handler=smismember,
        arity=-3,
        flags=READONLY | FAST,
        keys=_READ,
        since="6.2.0",
        syntax="key member [member ...]",
        summary="Which of several members a set has.",
    ),
    row(
        name="smembers",
        handler=smembers,
        arity=2,
        flags=READONLY,
        keys=_READ,
        since="1.0.0",
        syntax="key",
        summary="All members of a set.",
    ),
    row(
        name="scard",
        handler=scard,
        arity=2,
        flags=READONLY | FAST,
        keys=Keys(1, 1, 1, "RO"),
        since="1.0.0",
        syntax="key",
        summary="How many members a set has.",
    ),
    row(
        name="sscan",
        handler=sscan,
        arity=-3,
        flags=READONLY,
        keys=_READ,
        since="2.8.0",
        syntax="key cursor [MATCH pattern] [COUNT count]",
        summary="Walks over the members of a set, a few at a time.",
    ),
]
