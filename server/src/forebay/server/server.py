"""The server around the loop: which clients come in, which must go, when it ends.

    doors --arrivals--> turned away (full, protected mode)
                     '-> Connection + Session --> loop
    ten times a second: doors that were shut for a while
    once a second:      idle clients, clients that do not read, clients slow to leave

Only rare events come here; what happens for every command is in net/loop.py and
net/connection.py.
"""

from __future__ import annotations

import select
import socket
from functools import partial

from forebay.commands.api.session import Session
from forebay.commands.api.settings import OutputLimit, Settings
from forebay.engine.engine import Engine
from forebay.errors import ConfigError
from forebay.server.logger import Log
from forebay.server.net.connection import Connection, Shared
from forebay.server.net.listen import Door, asked_for, open_tcp, open_unix
from forebay.server.net.loop import Host, Loop
from forebay.server.net.protected import DENIED, is_local
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd

#: Clients let in through one door in one turn.
MAX_ARRIVALS = 200
#: How long the last replies may take when the server stops.
FAREWELL_MS = 1000
#: Seconds after which a client that is to be closed, but does not take its last reply, is.
LINGER_S = 10

#: Replies that a client who has not given its password may leave unread.
STRANGER_OWED_BYTES = 64 << 10

FULL = b"-ERR max number of clients reached\r\n"


class Server(Host):
    """One server: its doors, its clients, its end."""

    def __init__(
        self, settings: Settings, engine: Engine, turn_end: TurnEnd, log: Log, clock: Clock
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.log = log
        self.clock = clock
        self.shared = Shared(engine)
        self.loop = Loop(self.shared, clock, self, turn_end)
        self.doors: list[Door] = []
        #: Doors that are shut until the next beat, and those that were not well at last.
        self.shut_doors: list[Door] = []
        self.troubled_doors: list[Door] = []
        self.beats = 0
        self.apply_settings()

    def apply_settings(self) -> None:
        """Take over settings that the connections need close at hand."""
        settings = self.settings
        for limits in (self.shared.trusted, self.shared.strangers):
            limits.max_bulk_len = settings.proto_max_bulk_len
        self.shared.query_limit_bytes = settings.client_query_buffer_limit
        self.loop.beat_ms = 1000 // max(1, min(500, settings.hz))

    # Doors

    def open(self) -> None:
        """Listen wherever the settings say; raises ConfigError."""
        settings = self.settings
        doors = open_tcp(
            settings.bind, settings.port, settings.tcp_backlog, settings.tcp_keepalive_s
        )
        if settings.unixsocket:
            try:
                doors.append(
                    open_unix(settings.unixsocket, settings.unixsocketperm, settings.tcp_backlog)
                )
            except ConfigError:
                self._close_doors(doors)
                raise
        if not doors:
            raise ConfigError("nowhere to listen: give a --port or a --unixsocket")
        for door in doors:
            self._watch(door)

    def reopen_tcp(self) -> None:
        """Move to the addresses that the settings now name; the old ones stay if that fails."""
        settings = self.settings
        wanted = {asked_for(address, settings.port): address for address in settings.bind}
        old = [door for door in self.doors if not door.unix_path]
        for door in old:
            wanted.pop(door.address, None)
        new = open_tcp(
            list(wanted.values()), settings.port, settings.tcp_backlog, settings.tcp_keepalive_s
        )
        named = {asked_for(address, settings.port) for address in settings.bind}
        self._close_doors([door for door in old if door.address not in named])
        for door in new:
            self._watch(door)

    def _watch(self, door: Door) -> None:
        self.doors.append(door)
        self.loop.watch(door.fileno(), partial(self.arrive, door))

    def _close_doors(self, doors: list[Door]) -> None:
        for door in doors:
            if door in self.doors:
                self.doors.remove(door)
                if door in self.shut_doors:
                    self.shut_doors.remove(door)
                else:
                    self.loop.unwatch(door.fileno())
            door.close()

    def arrive(self, door: Door) -> None:
        """Clients stand at a door."""
        for sock, peer, local in door.accept(MAX_ARRIVALS):
            reason = self._why_not(peer)
            if reason:
                self._turn_away(sock, reason)
            else:
                self.admit(sock, peer, local)
        if door.fault:
            self._shut(door)
        elif door in self.troubled_doors:
            self.troubled_doors.remove(door)

    def _shut(self, door: Door) -> None:
        """A door that cannot let anybody in stays shut until the next beat; say so once."""
        if door not in self.troubled_doors:
            self.troubled_doors.append(door)
            self.log.warning(f"No new clients on {door.name} for a moment: {door.fault}")
        self.loop.unwatch(door.fileno())
        self.shut_doors.append(door)

    def _why_not(self, peer: str) -> bytes:
        if self.loop.count >= self.settings.maxclients:
            return FULL
        if self.settings.protected_mode and not self.settings.requirepass and not is_local(peer):
            return DENIED
        return b""

    def _turn_away(self, sock: socket.socket, reason: bytes) -> None:
        self.engine.stats.rejected_connections += 1
        try:
            sock.send(reason)
        except OSError:
            self.log.debug("a client that was turned away had already gone")
        sock.close()

    def admit(self, sock: socket.socket, peer: str, local: str) -> Connection:
        """A new client."""
        fd = sock.detach()
        where = peer.encode("utf-8", "surrogateescape")
        here = local.encode("utf-8", "surrogateescape")
        session = self.engine.new_session(where, here, fd, self.clock.now_ms())
        conn = Connection(fd, session)
        session.link = conn
        self.engine.stats.connections += 1
        self.loop.add(conn)
        self.log.verbose(f"Accepted {peer}")
        return conn

    # What the loop asks

    def beat(self) -> None:
        """Periodic work."""
        self.beats += 1
        for door in self.shut_doors:
            self.loop.watch(door.fileno(), partial(self.arrive, door))
        self.shut_doors.clear()
        beats_a_second = 1000 // self.loop.beat_ms
        self.visit_clients(self.beats % beats_a_second, beats_a_second)

    def clock_stepped(self, by_ms: int) -> None:
        """The wall clock was set: nobody waits longer or shorter, or is idle, because of it."""
        self.log.warning(f"The clock of this machine was set by {by_ms} ms")
        self.engine.shift_times(by_ms)

    def visit_clients(self, part: int = 0, parts: int = 1) -> None:
        """Close clients that idle, do not read or linger: one part with each beat, so that ten
        thousand clients are no pause for any of them, and each is seen once a second.
        """
        now_ms = self.clock.now_ms()
        for conn in self.loop.connections(part, parts):
            if conn.out.size > 0 and not self.may_owe(conn, conn.out.pending()):
                self.loop.close(conn)
            elif conn.session.closing:
                conn.seconds_closing += 1
                if conn.seconds_closing > LINGER_S:
                    self.loop.close(conn)
            elif self._idle_too_long(conn.session, now_ms):
                conn.fault = "idle for too long"
                self.loop.close(conn)

    def _idle_too_long(self, session: Session, now_ms: int) -> bool:
        limit_ms = self.settings.timeout_s * 1000
        return (
            limit_ms > 0
            and session.blocked is None
            and session.subscriptions() == 0
            and now_ms - session.active_ms > limit_ms
        )

    def may_owe(self, conn: Connection, bytes_owed: int) -> bool:
        """Output limits: by kind of client, at once or after a while."""
        session = conn.session
        if not session.authenticated:
            if bytes_owed > STRANGER_OWED_BYTES:
                return self._offends(conn, "does not read its replies and has not authenticated")
            return True
        limit = self._output_limit(session)
        if limit.hard_bytes and bytes_owed > limit.hard_bytes:
            return self._offends(conn, "overcame its output buffer limit")
        if not limit.soft_bytes or bytes_owed <= limit.soft_bytes:
            conn.over_since_ms = 0
            return True
        now_ms = self.clock.monotonic_ms()
        if conn.over_since_ms == 0:
            conn.over_since_ms = now_ms
        if now_ms - conn.over_since_ms > limit.soft_seconds * 1000:
            return self._offends(conn, "stayed over its soft output buffer limit")
        return True

    def _offends(self, conn: Connection, fault: str) -> bool:
        """Note why a client must go; always False."""
        conn.fault = fault
        conn.offence = "output"
        return False

    def _output_limit(self, session: Session) -> OutputLimit:
        kind = "pubsub" if session.subscriptions() else "normal"
        return self.settings.output_limits[kind]

    def closed(self, conn: Connection) -> None:
        """Say why, if it was our doing: offences loudly, the everyday only if asked."""
        conn.session.link = None
        if conn.offence:
            self.log.warning(f"Closing client {self._who(conn)}: {conn.fault}")
            if conn.offence == "query":
                self.engine.stats.query_limit_disconnections += 1
            else:
                self.engine.stats.output_limit_disconnections += 1
        elif conn.fault:
            self.log.verbose(f"Closing client {self._who(conn)}: {conn.fault}")

    def broken(self, conn: Connection | None, fault: BaseException) -> None:
        """A bug met a client: the log gets the traceback, the client an end."""
        whom = f", closing client {self._who(conn)}" if conn is not None else ""
        self.log.warning(f"Internal error{whom}")
        self.log.traceback(fault)

    def _who(self, conn: Connection) -> str:
        session = conn.session
        return (
            f"id={session.id} addr={session.addr.decode('utf-8', 'replace')} "
            f"name={session.name.decode('utf-8', 'replace')} "
            f"omem={conn.out.pending()} qbuf={conn.end - conn.start}"
        )

    # The end

    def run(self) -> None:
        """Serve until stop()."""
        self.loop.run()
        self._close_doors(list(self.doors))
        self._farewell()

    def stop(self) -> None:
        """End with this turn of the loop."""
        self.loop.stop()

    def abandon(self) -> None:
        """Close everything at once; what clients have not been sent yet is not sent."""
        self._close_doors(list(self.doors))
        for conn in self.loop.connections():
            self.loop.close(conn)

    def _farewell(self) -> None:
        """Give the last replies a moment to leave, then close everything."""
        until_ms = self.clock.monotonic_ms() + FAREWELL_MS
        owing = {conn.fd: conn for conn in self.loop.connections() if conn.out.size > 0}
        poller = select.poll()
        for fd in owing:
            poller.register(fd, select.POLLOUT)
        while owing and self.clock.monotonic_ms() < until_ms:
            for fd, _ in poller.poll(FAREWELL_MS // 10):
                if not owing[fd].flush(self.shared) or owing[fd].out.size == 0:
                    poller.unregister(fd)
                    del owing[fd]
        for conn in self.loop.connections():
            self.loop.close(conn)
