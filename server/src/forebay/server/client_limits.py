"""Limits of clients: replies that they leave unread, and the memory of all of them together.

    a reply grows      check     too large for its client: a command that only reads is stopped
    the end of a turn  may_owe   output limits by class: hard at once, soft after some seconds
                       count     memory of the clients that did something, if it is limited
                       to_evict  the largest are closed until the others fit (maxmemory-clients)

Rules
  1. A client that has not given its password may leave STRANGER_OWED_BYTES unread.
  2. A command that changes data is never stopped in the middle of its reply: its changes would
     not be recorded.  Its client is closed at the end of the turn.
  3. Links between servers are not evicted, nor clients with CLIENT NO-EVICT.
"""

from __future__ import annotations

from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.settings import OutputLimit, Settings
from forebay.commands.api.spec import READONLY
from forebay.commands.clients.client_line import memory_of
from forebay.engine.engine import Engine
from forebay.errors import OverrunError
from forebay.server.net.connection import Connection, Shared
from forebay.server.net.timers import Clock
from forebay.wire.resp_writer import RespWriter

#: Bytes of replies that a client that has not given its password may leave unread.
STRANGER_OWED_BYTES = 16 << 10

OVER_HARD = "exceeded its output buffer limit"


class ClientLimits:
    """Finds clients that exceed a limit; the server closes them."""

    def __init__(self, settings: Settings, engine: Engine, shared: Shared, clock: Clock) -> None:
        self.settings = settings
        self.shared = shared
        self.engine = engine
        self.clock = clock
        #: Memory of evictable clients, as last counted; see Connection.counted_bytes.
        self.counted_bytes = 0
        engine.ctx.writer_pool.guard = self

    # One client

    def check(self, writer: RespWriter, size: int) -> None:
        """Stop a reply that is larger than its client may leave unread, if that is harmless."""
        session = self.engine.running()
        if session is None or session.out is not writer:
            return
        queued = self.engine.ctx.queued
        row = session.last if queued is None else queued
        hard_bytes = self.output_limit(session).hard_bytes
        if row is None or not row.flags & READONLY or not hard_bytes or size <= hard_bytes:
            return
        if isinstance(session.link, Connection):
            offends(session.link, OVER_HARD)
        # It took as long as if it had been sent: the next turn serves other clients first.
        self.shared.produced += size
        raise OverrunError

    def may_owe(self, conn: Connection, bytes_owed: int) -> bool:
        """Output limits: by kind of client, at once or after a while."""
        session = conn.session
        if session.gate & gates.UNAUTHENTICATED:
            if bytes_owed > STRANGER_OWED_BYTES:
                return offends(conn, "does not read its replies and has not authenticated")
            return True
        if conn.source is not None:
            # A copy of all data is sent a window at a time: only the stream counts.
            waiting = 0 if conn.source.is_copying() else bytes_owed
            bytes_owed = waiting + conn.source.owed()
        limit = self.output_limit(session)
        hard_bytes = limit.hard_bytes
        if hard_bytes and conn.source is not None:
            # A replica may be owed the whole backlog, which is kept anyway: if it were closed
            # for that, it would come back and ask for the same.
            hard_bytes = max(hard_bytes, self.settings.repl_backlog_size)
        if hard_bytes and bytes_owed > hard_bytes:
            return offends(conn, OVER_HARD)
        if not limit.soft_bytes or bytes_owed <= limit.soft_bytes:
            conn.over_since_ms = 0
            return True
        now_ms = self.clock.monotonic_ms()
        if conn.over_since_ms == 0:
            conn.over_since_ms = now_ms
        if now_ms - conn.over_since_ms > limit.soft_seconds * 1000:
            return offends(conn, "stayed over its soft output buffer limit")
        return True

    def output_limit(self, session: Session) -> OutputLimit:
        """The limits of the client's class."""
        kind = "pubsub" if session.subscriptions() else "normal"
        if session.gate & gates.REPLICA:
            kind = "replica"
        return self.settings.output_limits[kind]

    # All clients

    def most_bytes(self) -> int:
        """The memory that all clients together may use; 0 if there is no limit."""
        limit = self.settings.maxmemory_clients
        return limit if limit >= 0 else self.settings.maxmemory * -limit // 100

    def count(self, conn: Connection) -> None:
        """Count a client again: it may use more or less memory than before."""
        session = conn.session
        size = 0 if is_link(session) or conn.fd < 0 else memory_of(session)
        self.counted_bytes += size - conn.counted_bytes
        conn.counted_bytes = size

    def to_evict(self, conns: list[Connection]) -> list[Connection]:
        """The largest clients: those that must be closed so that the others fit."""
        too_much = self.counted_bytes - self.most_bytes()
        chosen: list[Connection] = []
        for conn in sorted(conns, key=lambda conn: conn.counted_bytes, reverse=True):
            if too_much <= 0:
                break
            if not conn.session.no_evict and not is_link(conn.session):
                too_much -= conn.counted_bytes
                chosen.append(conn)
        return chosen


def is_link(session: Session) -> bool:
    """Whether the other side is a server: a replica, or our primary."""
    return session.is_primary or bool(session.gate & gates.REPLICA)


def offends(conn: Connection, fault: str) -> bool:
    """Note why a client must be closed; always False."""
    conn.fault = fault
    conn.offence = "output"
    return False
