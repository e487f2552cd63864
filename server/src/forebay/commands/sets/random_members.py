"""Random members: SPOP and SRANDMEMBER.

Every choice is uniform: a random number below the size, and the member with that
index (``Members.listed``).  For k different members only the first k places of a
shuffle are computed, so they cost k draws.

For AOF and replicas SPOP records SREM of the members it took, or DEL if it took
all.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_SET
from forebay.commands.api.spec import FAST, READONLY, WRITE, Keys
from forebay.commands.keyspace.value_ops import (
    NOT_POSITIVE,
    OUT_OF_BOUNDS,
    drop_if_empty,
    integer_within,
    positive,
    remove,
)
from forebay.commands.sets.set_ops import read_set, row, set_at
from forebay.core.members import HASHTABLE, Members
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

#: The maximum number of members in one SREM of the AOF.
REMOVED_AT_ONCE = 1024
#: If SPOP leaves less than this share of a set, Redis makes a new set.
FEW_LEFT = 5
#: The shortest member on the wire: "$0", two line ends.
SHORTEST_REPLY = 6


def sample(size: int, count: int, random_below: Callable[[int], int]) -> list[int]:
    """This many different numbers below ``size``; every combination is equally likely."""
    moved: dict[int, int] = {}
    chosen = []
    for i in range(count):
        j = i + random_below(size - i)
        chosen.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return chosen


# SPOP


def spop(ctx: Context, argv: Argv) -> None:
    """SPOP key [count]."""
    if len(argv) > 3:
        raise CommandError(SYNTAX)
    if len(argv) == 3:
        _pop_many(ctx, argv[1], positive(argv[2], NOT_POSITIVE, least=0))
    else:
        _pop_one(ctx, argv[1])


def _pop_one(ctx: Context, key: bytes) -> None:
    members = set_at(ctx, key)
    if members is None:
        ctx.reply.null()
        return
    names = members.listed()
    member = names[ctx.services.random_below(len(names))]
    members.exclude([member], ctx.settings)
    ctx.notify(NOTIFY_SET, b"spop", key)
    drop_if_empty(ctx, key, members)
    ctx.effects.record_command((b"SREM", key, member))
    ctx.reply.bulk(member)


def _pop_many(ctx: Context, key: bytes, count: int) -> None:
    members = set_at(ctx, key)
    if members is None or count == 0:
        ctx.reply.set(0)
        return
    ctx.notify(NOTIFY_SET, b"spop", key)
    ctx.effects.changes += min(count, len(members))
    if count >= len(members):
        remove(ctx, key)
        ctx.effects.record_command((b"DEL", key), changes=0)
        ctx.reply.value(members)
        return
    names = members.listed()
    taken = [names[i] for i in sample(len(names), count, ctx.services.random_below)]
    members.exclude(taken, ctx.settings)
    _make_anew(ctx, members, count)
    ctx.db.touch(key)
    for i in range(0, count, REMOVED_AT_ONCE):
        members_gone = taken[i : i + REMOVED_AT_ONCE]
        ctx.effects.record_command((b"SREM", key, *members_gone), changes=0)
    ctx.reply.set(count)
    for member in taken:
        ctx.reply.bulk(member)


def _make_anew(ctx: Context, members: Members, taken: int) -> None:
    """If few are left, Redis moves them to a new set, which may be a listpack again."""
    if len(members) * FEW_LEFT <= taken and members.form_of(ctx.settings) == HASHTABLE:
        members.fit_listpack(ctx.settings)


# SRANDMEMBER


def srandmember(ctx: Context, argv: Argv) -> None:
    """SRANDMEMBER key [count]."""
    if len(argv) > 3:
        raise CommandError(SYNTAX)
    if len(argv) == 3:
        _show_many(ctx, argv[1], _read_count(ctx, argv[2]))
        return
    members = read_set(ctx, argv[1])
    if members is None:
        ctx.reply.null()
    else:
        names = members.listed()
        ctx.reply.bulk(names[ctx.services.random_below(len(names))])


def _read_count(ctx: Context, text: bytes) -> int:
    """The count; if negative, one whose answer stays within the output limit."""
    count = integer_within(text, -mem.I64_MAX, mem.I64_MAX)
    limit = ctx.settings.output_limits["normal"].hard_bytes
    if limit and -count > limit // SHORTEST_REPLY:
        raise CommandError(OUT_OF_BOUNDS % (-limit // SHORTEST_REPLY, mem.I64_MAX))
    return count


def _show_many(ctx: Context, key: bytes, count: int) -> None:
    """``count`` different members; or, if negative, members that may repeat."""
    members = read_set(ctx, key)
    if members is None or count == 0:
        ctx.reply.array(0)
        return
    names = members.listed()
    size = len(names)
    random_below = ctx.services.random_below
    if count >= size:
        ctx.reply.value(names)
    elif count > 0:
        ctx.reply.value([names[i] for i in sample(size, count, random_below)])
    else:
        ctx.reply.array(-count)
        for _ in range(-count):
            ctx.reply.bulk(names[random_below(size)])


ROWS = [
    row(
        name="spop",
        handler=spop,
        arity=-2,
        flags=WRITE | FAST,
        keys=Keys(1, 1, 1, "RW ACCESS DELETE"),
        since="1.0.0",
        syntax="key [count]",
        summary="Takes random members out of a set.",
    ),
    row(
        name="srandmember",
        handler=srandmember,
        arity=-2,
        flags=READONLY,
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="1.0.0",
        syntax="key [count]",
        summary="Random members of a set, which stay in it.",
    ),
]
