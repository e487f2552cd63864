"""MULTI EXEC DISCARD WATCH UNWATCH: several commands as one.

    MULTI   session.queue = []                 the engine fills it
    WATCH   session.watched[db, key] = Watch   the database breaks it on a change
    EXEC    runs the queue: one clock time, one unit of effects, no command waits

EXEC answers EXECABORT if a command could not be queued, a null array if a
watched key changed (or expired) meanwhile, otherwise an array of all replies.
"""

from __future__ import annotations

from forebay.commands.api import gates
from forebay.commands.api.context import Context
from forebay.commands.api.session import Session, Watch
from forebay.commands.api.spec import (
    ALLOW_BUSY,
    FAST,
    LOADING,
    NOSCRIPT,
    SKIP_SLOWLOG,
    STALE,
    Command,
    Keys,
)
from forebay.core.keyspace import Database
from forebay.errors import CommandError
from forebay.wire.argv import Argv

EXEC_WITHOUT_MULTI = b"ERR EXEC without MULTI"
DISCARD_WITHOUT_MULTI = b"ERR DISCARD without MULTI"
NESTED_MULTI = b"ERR MULTI calls can not be nested"
WATCH_IN_MULTI = b"ERR WATCH inside MULTI is not allowed"
EXEC_ABORTED = b"EXECABORT Transaction discarded because of previous errors."


def multi(ctx: Context, argv: Argv) -> None:
    """Begin to queue commands."""
    session = ctx.session
    if session.queue is not None:
        raise CommandError(NESTED_MULTI)
    session.queue = []
    session.set_gate(gates.IN_MULTI, on=True)
    ctx.reply.ok()


def discard(ctx: Context, argv: Argv) -> None:
    """Discard the queue and the watched keys."""
    if ctx.session.queue is None:
        raise CommandError(DISCARD_WITHOUT_MULTI)
    leave(ctx.session)
    ctx.reply.ok()


def execute(ctx: Context, argv: Argv) -> None:
    """Run the queue, unless it must fail."""
    session = ctx.session
    queue = session.queue
    if queue is None:
        raise CommandError(EXEC_WITHOUT_MULTI)
    broken = session.queue_broken
    changed = session.watch_broken or any_expired(session, ctx.now_ms)
    leave(session)
    if broken:
        raise CommandError(EXEC_ABORTED)
    if changed:
        ctx.reply.null_array()
        return
    ctx.reply.array(len(queue))
    ctx.may_block = False
    try:
        for row, kept in queue:
            ctx.services.executor.invoke(row, kept)
    finally:
        ctx.may_block = True


def leave(session: Session) -> None:
    """Leave MULTI and stop watching."""
    session.forget_queue()
    session.unwatch()


def any_expired(session: Session, now_ms: int) -> bool:
    """Whether a watched key has expired since WATCH."""
    return any(
        not watch.expired and is_past(watch.db, watch.key, now_ms)
        for watch in session.watched.values()
    )


def is_past(db: Database, key: bytes, now_ms: int) -> bool:
    """Whether the key has expired but was not removed yet."""
    at_ms = db.expires.get(key)
    return at_ms is not None and now_ms > at_ms


def watch(ctx: Context, argv: Argv) -> None:
    """Let EXEC fail if one of the keys changes."""
    session = ctx.session
    if session.queue is not None:
        raise CommandError(WATCH_IN_MULTI)
    db = ctx.db
    for key in argv.list()[1:]:
        if not session.watch_broken and (db.index, key) not in session.watched:
            watching = Watch(session, db, key, is_past(db, key, ctx.now_ms))
            session.watched[db.index, key] = watching
            db.watchers.setdefault(key, {})[watching] = None
    ctx.reply.ok()


def unwatch(ctx: Context, argv: Argv) -> None:
    """Stop watching all keys."""
    ctx.session.unwatch()
    ctx.reply.ok()


_FLAGS = NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY

ROWS = [
    Command(
        name="multi",
        handler=multi,
        arity=1,
        flags=_FLAGS,
        categories="@fast @transaction",
        since="1.2.0",
        summary="Begins a transaction: commands are queued for EXEC.",
        group="transactions",
    ),
    Command(
        name="exec",
        handler=execute,
        arity=1,
        flags=NOSCRIPT | LOADING | STALE | SKIP_SLOWLOG,
        categories="@slow @transaction",
        since="1.2.0",
        summary="Runs the queued commands as one.",
        group="transactions",
    ),
    Command(
        name="discard",
        handler=discard,
        arity=1,
        flags=_FLAGS,
        categories="@fast @transaction",
        since="2.0.0",
        summary="Drops the queued commands.",
        group="transactions",
    ),
    Command(
        name="watch",
        handler=watch,
        arity=-2,
        flags=_FLAGS,
        categories="@fast @transaction",
        keys=Keys(1, -1, 1, "RO"),
        since="2.2.0",
        summary="Makes EXEC fail if one of the keys changes before it.",
        group="transactions",
        syntax="key [key ...]",
    ),
    Command(
        name="unwatch",
        handler=unwatch,
        arity=1,
        flags=_FLAGS,
        categories="@fast @transaction",
        since="2.2.0",
        summary="Stops watching all keys.",
        group="transactions",
    ),
]
