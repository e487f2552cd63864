"""Whether a command may run, when the short path does not apply.

The dispatcher calls this module if any bit of ``session.gate`` or ``engine.gate`` is set.
The order of the checks is fixed, because a client sees which one failed first:

    logged in?  allowed in MULTI?  allowed to this user?  memory left?  disk errors?
    enough replicas?  a replica?  allowed while subscribed?  is the data current, and loaded?
    does it only watch (MONITOR, replicas)?
    paused?  in MULTI: queue it instead of running it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api.gates import (
    CLOSING,
    FEW_REPLICAS,
    IN_MULTI,
    MEMORY_LIMIT,
    MISCONF,
    MONITORING,
    PAUSED,
    READONLY_REPLICA,
    REPLICA,
    RESTRICTED,
    STALE_DATA,
    SUBSCRIBED,
    UNAUTHENTICATED,
)
from forebay.commands.api.gates import LOADING as IS_LOADING
from forebay.commands.api.session import Session
from forebay.commands.api.spec import (
    DENYOOM,
    LOADING,
    MAY_REPLICATE,
    NO_AUTH,
    NO_MULTI,
    READONLY,
    STALE,
    WRITE,
    Command,
)
from forebay.commands.streams.making_room import makes_room
from forebay.errors import OUT_OF_MEMORY
from forebay.wire.argv import Argv

if TYPE_CHECKING:
    from forebay.engine.engine import Engine

NOAUTH = b"NOAUTH Authentication required."
NOREPLICAS = b"NOREPLICAS Not enough good replicas to write."
ONLY_READ = b"READONLY You can't write against a read only replica."
PRIMARY_AWAY = b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
STILL_LOADING = b"LOADING Redis is loading the dataset in memory"
ONLY_WATCHES = b"ERR Replica can't interact with the keyspace"
NOT_IN_MULTI = b"ERR Command not allowed inside a transaction"
# Sessions that watch the data and may not send commands about it.
ONLY_WATCHING = MONITORING | REPLICA
# The checks that are repeated for each command of a script.
FOR_SCRIPTS = MEMORY_LIMIT | MISCONF
# Commands that a transaction runs at once instead of queueing.
AT_ONCE = frozenset([b"exec", b"discard", b"multi", b"watch", b"quit", b"reset"])
WHILE_SUBSCRIBED = frozenset(
    [
        b"ping",
        b"subscribe",
        b"ssubscribe",
        b"psubscribe",
        b"unsubscribe",
        b"sunsubscribe",
        b"punsubscribe",
        b"quit",
        b"reset",
    ]
)


def admit(engine: Engine, session: Session, row: Command, argv: Argv) -> bool:
    """True if the command may run now; otherwise it was answered, queued or held back."""
    gate = session.gate | engine.gate
    if gate & CLOSING:
        return False
    refusal = why_not(engine, session, row, argv, gate)
    if refusal is not None:
        engine.reject(session, row, refusal)
        return False
    if gate & PAUSED and engine.is_paused(flags_of(session, row)):
        engine.blocking.postpone(session, argv.kept())
        return False
    if gate & IN_MULTI and is_queued(row):
        engine.enqueue(session, row, argv)
        return False
    return True


def why_not(engine: Engine, session: Session, row: Command, argv: Argv, gate: int) -> bytes | None:
    """The error that refuses the command; None if it may run."""
    refusal = why_not_theirs(engine, session, row, argv, gate)
    if refusal is not None:
        return refusal
    if gate & MEMORY_LIMIT and lacks_memory(engine, session, row, argv):
        return OUT_OF_MEMORY
    refusal = why_not_written(engine, session, row, gate)
    if refusal is not None:
        return refusal
    if gate & SUBSCRIBED and row.name not in WHILE_SUBSCRIBED:
        return (
            b"ERR Can't execute '%b': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
            b"RESET are allowed in this context" % row.full_name
        )
    if gate & STALE_DATA and not runs_on_stale(session, row):
        return PRIMARY_AWAY
    if gate & IS_LOADING and not row.flags & LOADING:
        return STILL_LOADING
    if gate & ONLY_WATCHING and flags_of(session, row) & (READONLY | WRITE | MAY_REPLICATE):
        return ONLY_WATCHES
    return None


def lacks_memory(engine: Engine, session: Session, row: Command, argv: Argv) -> bool:
    """Whether a command needs memory and there is none.

    An XADD may still run if it removes an old entry for the new one.  Entries differ in size, and
    nodes are removed as a whole, so this holds only up to a tenth above the limit.
    """
    if not flags_of(session, row) & DENYOOM or not engine.memory_is_full():
        return False
    limit = engine.settings.maxmemory
    is_near = engine.services.memory_used() <= limit + limit // 10
    is_exchange = row.name == b"xadd" and makes_room(engine.ctx, session, argv)
    return not (is_near and is_exchange)


def why_not_theirs(
    engine: Engine, session: Session, row: Command, argv: Argv, gate: int
) -> bytes | None:
    """The error for a command that this client may not run, whatever the state of the server."""
    if gate & UNAUTHENTICATED and not row.flags & NO_AUTH:
        return NOAUTH
    if gate & IN_MULTI and row.flags & NO_MULTI:
        return NOT_IN_MULTI
    if gate & RESTRICTED:
        refusal: bytes | None = engine.access.refusal(session, row, argv)
        return refusal
    return None


def why_not_written(engine: Engine, session: Session, row: Command, gate: int) -> bytes | None:
    """The error that refuses a write: it would not be safe, or this server is a replica."""
    if gate & MISCONF and (flags_of(session, row) & WRITE or row.name == b"ping"):
        return engine.misconf_text
    if gate & FEW_REPLICAS and flags_of(session, row) & WRITE:
        return NOREPLICAS
    if gate & READONLY_REPLICA and flags_of(session, row) & WRITE:
        return ONLY_READ
    return None


def flags_of(session: Session, row: Command) -> int:
    """The flags of a command; for EXEC those of the commands that it will run."""
    return row.flags | session.queue_flags if row.name == b"exec" else row.flags


def runs_on_stale(session: Session, row: Command) -> bool:
    """Whether a command may run on old data; EXEC only if all of its commands may."""
    if row.name == b"exec" and session.queue is not None:
        return all(queued.flags & STALE for queued, _ in session.queue)
    return bool(row.flags & STALE)


def is_queued(row: Command) -> bool:
    """Whether a transaction queues this command for EXEC."""
    return not row.flags & NO_MULTI and row.name not in AT_ONCE
