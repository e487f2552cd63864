"""Keys that expire: EXPIRE and related commands, TTL, and the cycle that cleans up.

A key has expired when the clock is past its time.  The next command that looks at it
(``ctx.lookup``) then removes it, or `expire_cycle`, which the engine calls between
commands.  Either way the AOF and the replicas get ``DEL key``: a replica never decides by
its own clock.  For the same reason every command that sets a time is propagated as
PEXPIREAT with the absolute time.

    db.expires    key -> time               the truth
    db.deadlines  heap of (time, key)       where to look; a pair that is no longer
                                            in ``expires`` is skipped

The cycle works only on keys that are due, in at most ``budget`` steps; the database with
the most overdue key is first.  Each key is a unit of its own in the AOF.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import FAST, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import (
    bad_expire_time,
    expire_key,
    integer_of,
    persist_key,
    read,
    remove,
)
from forebay.core.keyspace import Database, Keyspace
from forebay.errors import CommandError
from forebay.wire.argv import Argv

SECOND_MS = 1000
NX_AND_OTHERS = b"ERR NX and XX, GT or LT options at the same time are not compatible"
GT_AND_LT = b"ERR GT and LT options at the same time are not compatible"
CONDITIONS = (b"NX", b"XX", b"GT", b"LT")


# Setting


def _setter(name: bytes, unit_ms: int, from_now: bool) -> Callable[[Context, Argv], None]:
    """The handler of one of the four commands, which differ only in unit and origin."""

    def handler(ctx: Context, argv: Argv) -> None:
        conditions = _read_conditions(Args(argv, 3))
        key, amount = argv[1], integer_of(argv[2])
        amount_ms = amount * unit_ms
        when_ms = amount_ms + (ctx.now_ms if from_now else 0)
        if amount_ms < mem.I64_MIN or when_ms > mem.I64_MAX:
            raise bad_expire_time(name)
        known = ctx.lookup(key) is not None
        if not known or not _allowed(conditions, ctx.db.expires.get(key), when_ms):
            ctx.reply.integer(0)
            return
        if when_ms <= ctx.now_ms and not ctx.session.is_replaying:
            remove(ctx, key)
            ctx.effects.record_command((b"DEL", key))
        else:
            expire_key(ctx, key, when_ms)
            _propagate_time(ctx, argv, name, when_ms)
        ctx.reply.integer(1)

    return handler


def _read_conditions(args: Args) -> set[bytes]:
    conditions = set()
    while args.more():
        word = args.next()
        if word.upper() not in CONDITIONS:
            raise CommandError(b"ERR Unsupported option " + word)
        conditions.add(word.upper())
    if b"NX" in conditions and len(conditions) > 1:
        raise CommandError(NX_AND_OTHERS)
    if {b"GT", b"LT"} <= conditions:
        raise CommandError(GT_AND_LT)
    return conditions


def _allowed(conditions: set[bytes], current_ms: int | None, when_ms: int) -> bool:
    """Whether the options let the new time replace the current one; no time counts as infinite."""
    if current_ms is None:
        return not conditions & {b"XX", b"GT"}
    return not (
        b"NX" in conditions
        or (b"GT" in conditions and when_ms <= current_ms)
        or (b"LT" in conditions and when_ms >= current_ms)
    )


def _propagate_time(ctx: Context, argv: Argv, name: bytes, when_ms: int) -> None:
    if name == b"pexpireat":
        ctx.effects.record_call(argv)
    else:
        args = argv.list()
        ctx.effects.record_command((b"PEXPIREAT", args[1], b"%d" % when_ms, *args[3:]))


def persist(ctx: Context, argv: Argv) -> None:
    """PERSIST key."""
    key = argv[1]
    changed = ctx.lookup(key) is not None and persist_key(ctx, key)
    if changed:
        ctx.effects.record_call(argv)
    ctx.reply.integer(int(changed))


# Asking


def _getter(unit_ms: int, from_now: bool) -> Callable[[Context, Argv], None]:
    """The handler of TTL and related commands: -2 for no such key, -1 for no expiry time."""

    def handler(ctx: Context, argv: Argv) -> None:
        key = argv[1]
        if read(ctx, key) is None:
            ctx.reply.integer(-2)
            return
        when_ms = ctx.db.expires.get(key)
        if when_ms is None:
            ctx.reply.integer(-1)
            return
        time_ms = max(when_ms - ctx.now_ms, 0) if from_now else when_ms
        ctx.reply.integer((time_ms + unit_ms // 2) // unit_ms)

    return handler


# Cleaning up


def expire_cycle(ctx: Context, budget: int) -> bool:
    """Remove expired keys, in at most ``budget`` steps; whether more are due."""
    soonest_ms = next_expiry_ms(ctx.keyspace)
    if soonest_ms is None or ctx.now_ms < soonest_ms:
        return False
    due = [db for db in ctx.keyspace.databases if _is_due(db, ctx.now_ms)]
    due.sort(key=_earliest)
    for db in due:
        while _is_due(db, ctx.now_ms):
            if budget == 0:
                return True
            budget -= 1
            when_ms, key = heappop(db.deadlines)
            if db.expires.get(key) == when_ms:
                ctx.effects.begin()
                ctx.expire(db, key)
                ctx.effects.end()
    return False


def next_expiry_ms(keyspace: Keyspace) -> int | None:
    """The earliest time at which expire_cycle() may have work; None: never."""
    # A key may expire at the last possible millisecond, which has no successor.
    soonest = mem.I64_MAX
    for db in keyspace.databases:
        heap = db.deadlines
        if heap and heap[0][0] < soonest:
            soonest = heap[0][0]
    return None if soonest == mem.I64_MAX else soonest + 1


def _earliest(db: Database) -> int:
    return db.deadlines[0][0]


def _is_due(db: Database, now_ms: int) -> bool:
    return bool(db.deadlines) and now_ms > db.deadlines[0][0]


_READ_KEY = Keys(1, 1, 1, "RO ACCESS")
_WRITE_KEY = Keys(1, 1, 1, "RW UPDATE")
_CONDITION = "[NX | XX | GT | LT]"


def _setter_row(*, name: str, unit_ms: int, from_now: bool, since: str, unit: str) -> Command:
    return Command(
        name=name,
        handler=_setter(name.encode(), unit_ms, from_now),
        arity=-3,
        flags=WRITE | FAST,
        categories="@keyspace @write @fast",
        keys=_WRITE_KEY,
        since=since,
        summary=f"Lets a key expire {'after n' if from_now else 'at a Unix time in'} {unit}.",
        syntax=f"key {unit if from_now else 'unix-time-' + unit} {_CONDITION}",
    )


def _getter_row(*, name: str, unit_ms: int, from_now: bool, since: str, summary: str) -> Command:
    return Command(
        name=name,
        handler=_getter(unit_ms, from_now),
        arity=2,
        flags=READONLY | FAST,
        categories="@keyspace @read @fast",
        keys=_READ_KEY,
        since=since,
        summary=summary,
        syntax="key",
    )


ROWS = [
    _setter_row(name="expire", unit_ms=SECOND_MS, from_now=True, since="1.0.0", unit="seconds"),
    _setter_row(name="pexpire", unit_ms=1, from_now=True, since="2.6.0", unit="milliseconds"),
    _setter_row(name="expireat", unit_ms=SECOND_MS, from_now=False, since="1.2.0", unit="seconds"),
    _setter_row(name="pexpireat", unit_ms=1, from_now=False, since="2.6.0", unit="milliseconds"),
    _getter_row(
        name="ttl",
        unit_ms=SECOND_MS,
        from_now=True,
        since="1.0.0",
        summary="The time until a key expires, in seconds.",
    ),
    _getter_row(
        name="pttl",
        unit_ms=1,
        from_now=True,
        since="2.6.0",
        summary="The time until a key expires, in milliseconds.",
    ),
    _getter_row(
        name="expiretime",
        unit_ms=SECOND_MS,
        from_now=False,
        since="7.0.0",
        summary="The Unix time in seconds at which a key expires.",
    ),
    _getter_row(
        name="pexpiretime",
        unit_ms=1,
        from_now=False,
        since="7.0.0",
        summary="The Unix time in milliseconds at which a key expires.",
    ),
    Command(
        name="persist",
        handler=persist,
        arity=2,
        flags=WRITE | FAST,
        categories="@keyspace @write @fast",
        keys=_WRITE_KEY,
        since="2.2.0",
        summary="Lets a key stay: it no longer expires.",
        syntax="key",
    ),
]
