"""The server around the loop: which clients are accepted, which are closed, when it ends.

    doors --arrivals--> refused (full, protected mode)
                     |-> Connection + Session --> loop
                     '-> TLS: a handshake first (net/tls_handshakes.py)
    ten times a second: doors that were closed for a moment
    once a second:      idle clients, clients that do not read, clients that are slow to close

Only rare events come here; what happens for every command is in net/loop.py and
net/connection.py.
"""

from __future__ import annotations

import select
import socket
from functools import partial

from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import ConfigError
from forebay.server.client_limits import ClientLimits
from forebay.server.logger import Log
from forebay.server.net.connection import Connection, Shared
from forebay.server.net.listen import Door, asked_for, open_tcp, open_unix
from forebay.server.net.loop import Host, Loop
from forebay.server.net.protected import DENIED, is_local
from forebay.server.net.timers import Clock
from forebay.server.net.tls_channel import TlsChannel
from forebay.server.net.tls_contexts import TlsContexts
from forebay.server.net.tls_handshakes import GONE, Handshakes
from forebay.server.net.turn_end import TurnEnd

#: Clients accepted through one door in one turn.
MAX_ARRIVALS = 200
#: How long the last replies may take when the server stops.
FAREWELL_MS = 1000
#: Seconds after which a closing client that does not take its last reply is cut off.
LINGER_S = 10

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
        self.limits = ClientLimits(settings, engine, self.shared, clock)
        self.tls = TlsContexts(settings)
        self.handshakes = Handshakes(settings, self.loop, clock)
        self.doors: list[Door] = []
        #: Doors that are closed until the next beat, and those whose last accept failed.
        self.shut_doors: list[Door] = []
        self.troubled_doors: list[Door] = []
        self.beats = 0
        self.apply_settings()

    def apply_settings(self) -> None:
        """Copy settings that connections need quickly."""
        settings = self.settings
        for limits in (self.shared.trusted, self.shared.strangers):
            limits.max_bulk_len = settings.proto_max_bulk_len
        self.shared.query_limit_bytes = settings.client_query_buffer_limit
        self.loop.beat_ms = 1000 // max(1, min(500, settings.hz))
        self.loop.is_counting = self.limits.most_bytes() > 0
        if self.loop.is_counting:
            for conn in self.loop.connections():
                self.limits.count(conn)

    # Doors

    def open(self) -> None:
        """Listen wherever the settings say; raises ConfigError."""
        settings = self.settings
        self.tls.load()
        doors = self._open_ports([])
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

    def _open_ports(self, there: list[str]) -> list[Door]:
        """A door for each address of the settings, except those that are open already."""
        settings = self.settings
        doors: list[Door] = []
        try:
            for port, is_tls in ((settings.port, False), (settings.tls_port, True)):
                missing = [a for a in settings.bind if asked_for(a, port, is_tls) not in there]
                doors += open_tcp(
                    missing, port, settings.tcp_backlog, settings.tcp_keepalive_s, is_tls
                )
        except ConfigError:
            self._close_doors(doors)
            raise
        return doors

    def reopen_tcp(self) -> None:
        """Move to the addresses of the settings; the old ones stay if that fails."""
        settings = self.settings
        old = [door for door in self.doors if not door.unix_path]
        new = self._open_ports([door.address for door in old])
        named = {
            asked_for(address, port, is_tls)
            for port, is_tls in ((settings.port, False), (settings.tls_port, True))
            for address in settings.bind
        }
        self._close_doors([door for door in old if door.address not in named])
        for door in new:
            self._watch(door)

    def reload_tls(self) -> None:
        """Read the files of TLS again; connected clients stay as they are."""
        try:
            self.tls.load()
        except ConfigError as error:
            self.log.warning(f"TLS stays as it was: {error}")
            text = "Unable to update TLS configuration. Check server logs."
            raise ConfigError(text) from None

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
        """Clients wait at a door."""
        most = min(MAX_ARRIVALS, self.handshakes.room()) if door.is_tls else MAX_ARRIVALS
        for sock, peer, local in door.accept(most):
            if door.is_tls:
                self._shake_hands(sock, peer, local)
                continue
            reason = self._why_not(peer)
            if reason:
                self._turn_away(sock, reason)
            else:
                self.admit(sock, peer, local)
        if most == 0:
            door.fault = "too many TLS handshakes are under way"
        if door.fault:
            self._shut(door)
        elif door in self.troubled_doors:
            self.troubled_doors.remove(door)

    def _shut(self, door: Door) -> None:
        """Close a door that cannot accept clients until the next beat; log it once."""
        if door not in self.troubled_doors:
            self.troubled_doors.append(door)
            self.log.warning(f"No new clients on {door.name} for a moment: {door.fault}")
        self.loop.unwatch(door.fileno())
        self.shut_doors.append(door)

    def _shake_hands(self, sock: socket.socket, peer: str, local: str) -> None:
        """Begin the TLS handshake of a client; if the server is full, close it instead."""
        context = self.tls.accepts
        if context is None or self._is_full():
            self._turn_away(sock, b"")
            return

        def done(sock: socket.socket, channel: TlsChannel) -> None:
            reason = self._why_not(peer)
            if reason:
                channel.say(reason)
                channel.close()
                self._turn_away(sock, b"")
            else:
                conn = self.admit(sock, peer, local, channel)
                self._recognize(conn.session, channel)
                self.loop.read(conn)

        def failed(why: str) -> None:
            line = f"Error accepting a client connection: {why} (addr={peer} laddr={local})"
            if why == GONE:
                self.log.verbose(line)
            else:
                self.log.warning(line)

        self.handshakes.accept(sock, context, done, failed)

    def _recognize(self, session: Session, channel: TlsChannel) -> None:
        """Its certificate may name a user (tls-auth-clients-user)."""
        if self.settings.tls_auth_clients_user == "off":
            return
        name = channel.common_name()
        if name and self.engine.access.log_in_by_certificate(session, name.encode()):
            self.log.verbose(f"TLS: client id={session.id} is the user {name} by its certificate")

    def _is_full(self) -> bool:
        return self.loop.count + len(self.handshakes) >= self.settings.maxclients

    def _why_not(self, peer: str) -> bytes:
        if self._is_full():
            return FULL
        is_open = self.engine.access.users.default.nopass
        if self.settings.protected_mode and is_open and not is_local(peer):
            return DENIED
        return b""

    def _turn_away(self, sock: socket.socket, reason: bytes) -> None:
        self.engine.stats.rejected_connections += 1
        try:
            if reason:
                sock.send(reason)
        except OSError:
            self.log.debug("a client that was turned away had already gone")
        sock.close()

    def admit(
        self, sock: socket.socket, peer: str, local: str, channel: TlsChannel | None = None
    ) -> Connection:
        """A new client."""
        fd = sock.detach()
        where = peer.encode("utf-8", "surrogateescape")
        here = local.encode("utf-8", "surrogateescape")
        session = self.engine.new_session(where, here, fd, self.clock.now_ms())
        conn = Connection(fd, session, channel)
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
        self.handshakes.beat()
        beats_a_second = 1000 // self.loop.beat_ms
        self.visit_clients(self.beats % beats_a_second, beats_a_second)

    def clock_stepped(self, by_ms: int) -> None:
        """The wall clock was set: correct the waits and idle times of all clients."""
        self.log.warning(f"The clock of this machine was set by {by_ms} ms")
        self.engine.shift_times(by_ms)

    def visit_clients(self, part: int = 0, parts: int = 1) -> None:
        """Close clients that idle, do not read or linger: one part of them in each beat, so that
        ten thousand clients cause no pause, and each is checked once a second.
        """
        now_ms = self.clock.now_ms()
        for conn in self.loop.connections(part, parts):
            if self.loop.is_counting:
                self.limits.count(conn)
            owes = conn.out.pending() > 0 or conn.source is not None
            if owes and not self.may_owe(conn, conn.out.pending()):
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
            and not session.is_primary
            and not session.gate & gates.REPLICA
            and now_ms - session.active_ms > limit_ms
        )

    def may_owe(self, conn: Connection, bytes_owed: int) -> bool:
        """Whether a client may leave this much output unread."""
        return self.limits.may_owe(conn, bytes_owed)

    def count(self, conn: Connection) -> None:
        """A client did something, and memory of clients is limited."""
        self.limits.count(conn)

    def make_room(self) -> None:
        """Close the largest clients if all of them together use too much."""
        if self.limits.counted_bytes <= self.limits.most_bytes():
            return
        for conn in self.limits.to_evict(self.loop.connections()):
            self.log.notice(f"Evicting client {self._who(conn)}: clients use too much memory")
            self.engine.stats.evicted_clients += 1
            self.loop.close(conn)

    def closed(self, conn: Connection) -> None:
        """Log why, if we closed it: offences as warnings, normal cases only at level verbose."""
        conn.session.link = None
        self.limits.count(conn)
        for end in (conn.source, conn.sink):
            if end is not None:
                end.closed()
        if conn.offence:
            self.log.warning(f"Closing client {self._who(conn)}: {conn.fault}")
            if conn.offence == "query":
                self.engine.stats.query_limit_disconnections += 1
            elif conn.offence == "output":
                self.engine.stats.output_limit_disconnections += 1
            return
        fault = conn.fault or (conn.channel.fault if conn.channel is not None else "")
        if fault:
            self.log.verbose(f"Closing client {self._who(conn)}: {fault}")

    def broken(self, conn: Connection | None, fault: BaseException) -> None:
        """A bug met a client: log the traceback, and close the client."""
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
        self.handshakes.close_all()
        self._farewell()

    def stop(self) -> None:
        """End with this turn of the loop."""
        self.loop.stop()

    def abandon(self) -> None:
        """Close everything at once, without sending the output of clients."""
        self._close_doors(list(self.doors))
        self.handshakes.close_all()
        for conn in self.loop.connections():
            self.loop.close(conn)

    def _farewell(self) -> None:
        """Give the last replies a moment to leave, then close everything."""
        until_ms = self.clock.monotonic_ms() + FAREWELL_MS
        owing = {conn.fd: conn for conn in self.loop.connections() if conn.out.pending() > 0}
        poller = select.poll()
        for fd in owing:
            poller.register(fd, select.POLLOUT)
        while owing and self.clock.monotonic_ms() < until_ms:
            for fd, _ in poller.poll(FAREWELL_MS // 10):
                if not owing[fd].flush(self.shared) or owing[fd].out.pending() == 0:
                    poller.unregister(fd)
                    del owing[fd]
        for conn in self.loop.connections():
            self.loop.close(conn)
