"""Whether a command may run, when the short way does not apply.

The dispatcher comes here if any bit of ``session.gate`` or ``engine.gate`` is
set.  The questions are asked in a fixed order, because a client sees which one
failed first:

    logged in?  allowed in MULTI?  memory left?  is the disk well?  enough replicas?
    allowed while subscribed?  is the data loaded?  does it only watch (MONITOR)?
    paused?  in MULTI: queue it instead of running it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.spec import (
    DENYOOM,
    LOADING,
    MAY_REPLICATE,
    NO_AUTH,
    NO_MULTI,
    READONLY,
    WRITE,
    Command,
)
from forebay.errors import OUT_OF_MEMORY
from forebay.wire.argv import Argv

if TYPE_CHECKING:
    from forebay.engine.engine import Engine

NOAUTH = b"NOAUTH Authentication required."
NOREPLICAS = b"NOREPLICAS Not enough good replicas to write."
STILL_LOADING = b"LOADING Redis is loading the dataset in memory"
ONLY_WATCHES = b"ERR Replica can't interact with the keyspace"
NOT_IN_MULTI = b"ERR Command not allowed inside a transaction"
# What is asked again for each command that a script runs.
FOR_SCRIPTS = gates.MEMORY_LIMIT | gates.MISCONF
# What a transaction does not queue but run at once.
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
    """True if the command is to be run now; otherwise it was answered, queued or held back."""
    gate = session.gate | engine.gate
    if gate & gates.CLOSING:
        return False
    refusal = why_not(engine, session, row, gate)
    if refusal is not None:
        engine.reject(session, row, refusal)
        return False
    if gate & gates.PAUSED and engine.is_paused(flags_of(session, row)):
        engine.blocking.postpone(session, argv.kept())
        return False
    if gate & gates.IN_MULTI and is_queued(row):
        engine.enqueue(session, row, argv)
        return False
    return True


def why_not(engine: Engine, session: Session, row: Command, gate: int) -> bytes | None:
    """The error that refuses the command, None if nothing does."""
    if gate & gates.UNAUTHENTICATED and not row.flags & NO_AUTH:
        return NOAUTH
    if gate & gates.IN_MULTI and row.flags & NO_MULTI:
        return NOT_IN_MULTI
    if gate & gates.MEMORY_LIMIT and flags_of(session, row) & DENYOOM and engine.memory_is_full():
        return OUT_OF_MEMORY
    if gate & gates.MISCONF and (flags_of(session, row) & WRITE or row.name == b"ping"):
        return engine.misconf_text
    if gate & gates.FEW_REPLICAS and flags_of(session, row) & WRITE:
        return NOREPLICAS
    if gate & gates.SUBSCRIBED and row.name not in WHILE_SUBSCRIBED:
        return (
            b"ERR Can't execute '%b': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
            b"RESET are allowed in this context" % row.full_name
        )
    if gate & gates.LOADING and not row.flags & LOADING:
        return STILL_LOADING
    if gate & gates.MONITORING and flags_of(session, row) & (READONLY | WRITE | MAY_REPLICATE):
        return ONLY_WATCHES
    return None


def flags_of(session: Session, row: Command) -> int:
    """The flags of a command; EXEC is whatever it is going to run."""
    return row.flags | session.queue_flags if row.name == b"exec" else row.flags


def is_queued(row: Command) -> bool:
    """Whether a transaction keeps this command for EXEC."""
    return not row.flags & NO_MULTI and row.name not in AT_ONCE
