"""This server as a replica: the attempts to reach its primary, and their outcome.

    CONNECT --socket--> CONNECTING --bytes--> HANDSHAKE --CONTINUE------------> CONNECTED
       ^                                         '--FULLRESYNC--> SYNC --loaded---^
       '-------- lost, refused, silent for repl-timeout: again, later each time

Rules
  1. The place of the data in the primary's stream is known, or else the next attempt asks for
     all data.
  2. A link that worked is tried again at once; one that was refused, or is lost soon after each
     attempt, after a pause that grows.
  3. Only the look-up of a host's name blocks.
"""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from typing import Protocol

from forebay.commands.api import gates
from forebay.commands.api.settings import Settings
from forebay.commands.api.version import REDIS_VERSION
from forebay.engine.apply import Diverged
from forebay.engine.engine import Engine
from forebay.errors import CorruptDataError, ForebayError
from forebay.replication.handshake import CONTINUE, OLD, Handshake, Wishes, acknowledgement
from forebay.replication.history import NO_ID, Position
from forebay.replication.link_record import LinkRecord
from forebay.server.durability.aof_live import LiveAof
from forebay.server.logger import Log
from forebay.server.net.connection import Connection, Shared
from forebay.server.net.listen import host_port
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.net.tls_channel import TlsChannel
from forebay.server.net.turn_end import Participant, TurnEnd
from forebay.server.replication.dialing import Dialer
from forebay.server.replication.incoming import Incoming, what_is_wrong
from forebay.server.replication.primary import PrimarySide
from forebay.server.replication.primary_link import HEAD, PrimaryLink

# States, as ROLE prints them.
NONE = "none"
CONNECT = "connect"
CONNECTING = "connecting"
HANDSHAKE = "handshake"
SYNC = "sync"
CONNECTED = "connected"

SECOND_MS = 1000
#: The pause after a failed attempt: the first, and the longest.
AGAIN_MS = 100
AGAIN_MOST_MS = 1000
#: The same where another attempt will probably fail too: wrong password, foreign data.
HOPELESS_MS = 1000
HOPELESS_MOST_MS = 30000
ALIVE = b"\n"


class Mode(Protocol):
    """Called when the link goes up or down."""

    def link_changed(self) -> None: ...


class ReplicaSide(Participant):
    """The link to the primary, and the attempts to have one."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        loop: Loop,
        shared: Shared,
        turn_end: TurnEnd,
        side: PrimarySide,
        incoming: Incoming,
        live: LiveAof,
        log: Log,
        clock: Clock,
        dialer: Dialer,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.loop = loop
        self.shared = shared
        self.dialer = dialer
        self.turn_end = turn_end
        self.side = side
        self.incoming = incoming
        self.live = live
        self.log = log
        self.clock = clock
        self.address: tuple[str, int] | None = None
        self.state = NONE
        self.link: PrimaryLink | None = None
        #: Whether the data is at the place of the stream that the history names.
        self.knows_place = False
        #: The database that the stream has selected there.
        self.db_index = 0
        self.failover = ""
        self.failures = 0
        self.retry_ms = 0
        self.heard_ms = 0
        self.acked_ms = 0
        self.began_ms = 0
        self.record = LinkRecord()
        self.last_error = ""
        #: The last event of the link, in plain words.
        self.story = ""
        #: (recorded commands, place in the stream) pairs whose sync is awaited.
        self.unsynced: deque[tuple[int, int]] = deque()
        self.newest = (-1, -1)
        self.synced_offset = 0

    # The primary to follow

    def follow(self, host: str, port: int, failover: str = "") -> None:
        """Follow that server from now on."""
        self.forget_link()
        self.address = (host, port)
        self.failover = failover
        self.failures = 0
        self.retry_ms = 0
        self.record.follow(self.clock.monotonic_ms())
        self.set_state(CONNECT)
        self.turn_end.ask()

    def stop(self) -> None:
        """Follow no server."""
        self.forget_link()
        self.address = None
        self.record.stopped(self.clock.monotonic_ms())
        self.set_state(NONE)

    def forget_link(self) -> None:
        """Close the link, and ignore its last events."""
        self.dialer.hang_up()
        link, self.link = self.link, None
        if self.incoming.is_loading:
            self.turn_end.end_work()
        self.incoming.abandon()
        if link is not None:
            self.engine.kill(link.session)

    def set_state(self, state: str) -> None:
        """Go to the next state; readers may have to be kept from old data."""
        self.state = state
        stale = state not in (NONE, CONNECTED) and not self.settings.replica_serve_stale_data
        self.engine.set_gate(gates.STALE_DATA, stale)

    def where(self) -> Position | None:
        """The place of the data in the primary's stream."""
        if not self.knows_place:
            return None
        if self.link is not None and self.state == CONNECTED:
            self.db_index = self.link.session.db.index
        return Position(self.side.history.replid, self.side.history.offset, self.db_index)

    def wanted(self) -> Position | None:
        """The same, under the name of the stream that the primary may know."""
        position = self.where()
        if position is None:
            return None
        return position._replace(replid=self.side.history.oldest_name())

    # Connecting

    def settle(self) -> None:
        """A new primary was set: connect at once."""
        if self.state == CONNECT and self.clock.monotonic_ms() >= self.retry_ms:
            self.connect()

    def connect(self) -> None:
        """Start an attempt."""
        assert self.address is not None
        self.began_ms = self.heard_ms = self.clock.monotonic_ms()
        self.record.tried(self.began_ms)
        self.set_state(CONNECTING)
        try:
            self.dialer.dial(*self.address, self.reached, self.unreachable)
        except OSError as error:
            self.unreachable(error.strerror or str(error))

    def unreachable(self, why: str) -> None:
        """No connection could be made: try again later."""
        assert self.address is not None
        self.try_later(f"{shown(self.address)}: {why}", AGAIN_MS, AGAIN_MOST_MS)

    def reached(self, sock: socket.socket, channel: TlsChannel | None) -> None:
        """There is a connection, or it is being made: introduce ourselves."""
        assert self.address is not None
        here = ""
        with contextlib.suppress(OSError):
            here = host_port(sock.getsockname())
        fd = sock.detach()
        where = host_port(self.address).encode("utf-8", "surrogateescape")
        session = self.engine.new_session(where, here.encode(), fd, self.clock.now_ms())
        self.engine.access.set_free(session)
        session.is_primary = True
        conn = Connection(fd, session, channel)
        session.link = conn
        handshake = Handshake(self.wishes())
        self.link = PrimaryLink(self, self.engine, self.shared, session, conn, handshake)
        self.link.applier.skip_foreign = self.settings.skip_foreign_types
        conn.sink = self.link
        self.loop.add(conn)
        self.link.send(handshake.begin())

    def wishes(self) -> Wishes:
        """What this server says about itself."""
        settings = self.settings
        return Wishes(
            port=settings.replica_announce_port or self.own_port(),
            announced_host=settings.replica_announce_ip,
            user=settings.masteruser,
            password=settings.masterauth,
            version=REDIS_VERSION,
            position=self.wanted(),
            failover=self.failover,
        )

    def own_port(self) -> int:
        """The port of this server for others: the TLS port if it uses TLS to its primary."""
        settings = self.settings
        return (settings.tls_replication and settings.tls_port) or settings.port

    def agreed(self, link: PrimaryLink) -> None:
        """The introduction is over: continue where we are, or take a copy of all data."""
        handshake = link.handshake
        for note in handshake.notes:
            self.log.notice(f"Primary: {note}")
        if handshake.outcome == CONTINUE:
            self.go_on(link, handshake.replid)
            return
        self.failover = ""
        self.set_state(SYNC)
        link.mode = HEAD
        what = "by SYNC" if handshake.outcome == OLD else f"as of offset {handshake.offset}"
        self.tell(f"full sync: waiting for a copy of all data {what}")

    def go_on(self, link: PrimaryLink, replid: str) -> None:
        """The primary sends the stream from where we are."""
        history = self.side.history
        if replid != history.replid:
            history.replid = history.oldest_name()
            history.rename(replid)
            self.side.close_all("the stream has another name now")
            self.note_place()
        if self.side.backlog is None:
            self.side.open_backlog()
        link.session.db = self.engine.keyspace.databases[self.db_index]
        self.is_up(link, f"partial sync: goes on at offset {history.offset}")

    def is_up(self, link: PrimaryLink, story: str) -> None:
        """The stream of the primary follows."""
        self.failover = ""
        self.failures = 0
        self.last_error = ""
        self.set_state(CONNECTED)
        link.begin_stream()
        now_ms = self.clock.monotonic_ms()
        self.record.up(now_ms)
        took_ms = now_ms - self.began_ms
        self.tell(f"{story} ({took_ms} ms after the attempt began)")
        self.acknowledge()

    # A copy of all data

    def copy_begins(self, link: PrimaryLink) -> None:
        """The first bytes of the copy follow."""
        self.incoming.begin()

    def copy_grows(self, link: PrimaryLink, data: bytes) -> None:
        """More bytes of the copy."""
        self.incoming.write(data)

    def copy_ends(self, link: PrimaryLink) -> None:
        """The copy has arrived: read it, a slice in each turn."""
        assert link.copy is not None
        took_ms = max(1, self.clock.monotonic_ms() - self.began_ms)
        size = link.copy.received
        self.tell(
            f"full sync: {size} bytes received in {took_ms} ms "
            f"({size / 1000 / took_ms:.1f} MB/s) and is being loaded"
        )
        self.incoming.begin_loading()
        self.turn_end.begin_work(self)

    def work(self) -> None:
        """Read a piece of the copy; when all is read it replaces our data."""
        link = self.link
        if link is None:
            self.turn_end.end_work()
            return
        try:
            if not self.incoming.load():
                return
            self.turn_end.end_work()
            self.loaded(link)
        except ForebayError as error:
            self.turn_end.end_work()
            if isinstance(error, CorruptDataError):
                error = CorruptDataError(what_is_wrong(error))
            self.failed(link, error)
            self.engine.kill(link.session)

    def loaded(self, link: PrimaryLink) -> None:
        """The copy is good."""
        handshake = link.handshake
        named = self.incoming.put_in_place()
        has_name = handshake.replid != NO_ID
        history = self.side.history
        history.adopt(
            handshake.replid if has_name else self.side.new_id(), max(0, handshake.offset)
        )
        self.knows_place = has_name
        self.db_index = named.db_index if named is not None else 0
        self.side.close_all("all data was replaced")
        self.side.open_backlog()
        self.unsynced.clear()
        link.session.db = self.engine.keyspace.databases[self.db_index]
        self.note_place()
        keys = sum(len(db) for db in self.engine.keyspace.databases)
        self.is_up(link, f"full sync: {keys} keys as of offset {history.offset}")
        link.digest()

    def note_place(self) -> None:
        """Note in the AOF the place of the new data."""
        position = self.where()
        if position is not None and self.live.aof is not None:
            self.engine.effects.annotate(position.line())

    # The stream

    def applied(self, link: PrimaryLink, start: int) -> None:
        """Bytes have been applied: pass them on to our own replicas as they are."""
        self.heard_ms = self.clock.monotonic_ms()
        self.side.pass_stream_on(link.buf, start, link.start - start)
        if link.applier.news:
            self.tell_left_out(link)

    def tell_left_out(self, link: PrimaryLink) -> None:
        """Log a left-out command: the data here is no longer the same as the primary's."""
        for line in link.applier.news:
            self.log.warning(f"Left out, the first of its name: the primary's command {line}")
        link.applier.news.clear()

    def asked(self, link: PrimaryLink) -> None:
        """The primary asks how far we are."""
        self.acknowledge()

    def acknowledge(self) -> None:
        """Report how far our data is, and how far our disk is."""
        link = self.link
        if link is None or self.state != CONNECTED:
            return
        self.acked_ms = self.clock.monotonic_ms()
        offset = self.side.history.offset
        synced = None if self.live.aof is None else self.on_disk(offset)
        link.send(acknowledgement(offset, synced))

    def on_disk(self, offset: int) -> int:
        """How far the stream is on our disk."""
        newest = (self.live.mark(), offset)
        if newest != self.newest:
            self.newest = newest
            self.unsynced.append(newest)
        while self.unsynced and self.live.is_synced(self.unsynced[0][0]):
            self.synced_offset = self.unsynced.popleft()[1]
        return min(self.synced_offset, offset)

    # Failures

    def failed(self, link: PrimaryLink, error: ForebayError) -> None:
        """The received data cannot be used."""
        if isinstance(error, Diverged):
            self.knows_place = False
        link.fault = str(error)
        hopeless = HOPELESS_MS, HOPELESS_MOST_MS
        self.drop(link, str(error), hopeless)

    def lost(self, link: PrimaryLink) -> None:
        """The connection is closed."""
        if link is not self.link:
            return
        if self.state == CONNECTED:
            self.where()
            self.record.down(self.clock.monotonic_ms())
            pause_ms = self.record.pause_ms(AGAIN_MS, AGAIN_MOST_MS)
            self.drop(link, link.fault or "the connection was closed", (pause_ms, pause_ms))
        else:
            assert self.address is not None
            reason = link.fault or "the primary closed the connection"
            self.drop(link, f"{shown(self.address)}: {reason}", (AGAIN_MS, AGAIN_MOST_MS))

    def drop(self, link: PrimaryLink, why: str, pauses_ms: tuple[int, int]) -> None:
        """Give up this link, and try again after a while."""
        if link is not self.link:
            return
        if self.state == CONNECTED:
            self.where()
            self.record.down(self.clock.monotonic_ms())
        self.link = None
        if self.incoming.is_loading:
            self.turn_end.end_work()
        self.incoming.abandon()
        self.try_later(why, *pauses_ms)

    def try_later(self, why: str, first_ms: int, most_ms: int) -> None:
        """Plan another attempt, after a pause that grows."""
        pause_ms = min(most_ms, first_ms << min(self.failures, 16))
        self.failures += 1
        self.retry_ms = self.clock.monotonic_ms() + pause_ms
        self.set_state(CONNECT)
        if why != self.last_error or self.failures == 1:
            self.log.warning(f"Link to the primary: {why}; another attempt in {pause_ms} ms")
        self.last_error = why
        self.story = f"down: {why}"
        if pause_ms == 0:
            self.turn_end.ask()

    def tell(self, story: str) -> None:
        """Report what the link does, to the log and to INFO."""
        self.story = story
        self.log.notice(f"Link to the primary: {story}")

    # Beats

    def beat(self) -> None:
        """Ten times a second: attempts, signs of life, silence."""
        if self.state == NONE:
            return
        now_ms = self.clock.monotonic_ms()
        if self.state == CONNECT:
            if now_ms >= self.retry_ms:
                self.connect()
            return
        self.speak(now_ms)
        self.check_silence(now_ms)

    def speak(self, now_ms: int) -> None:
        """Once a second: report how far we are, or only a sign of life."""
        if now_ms - self.acked_ms < SECOND_MS or self.link is None:
            return
        if self.state == CONNECTED:
            self.acknowledge()
        elif self.state == SYNC and self.link.session.out.pending() == 0:
            self.acked_ms = now_ms
            self.link.send(ALIVE)

    def check_silence(self, now_ms: int) -> None:
        """Give up the link to a primary that was silent for too long."""
        link = self.link
        if link is None:
            return
        if link.session.bytes_in and self.state == CONNECTING:
            self.set_state(HANDSHAKE)
        if self.heard_bytes(link) or self.incoming.is_loading:
            self.heard_ms = now_ms
        silent_ms = now_ms - self.heard_ms
        if silent_ms > self.settings.repl_timeout_s * SECOND_MS:
            link.fault = f"nothing was heard for {silent_ms // SECOND_MS} seconds (repl-timeout)"
            self.engine.kill(link.session)

    def heard_bytes(self, link: PrimaryLink) -> bool:
        """Whether bytes have arrived since the last look."""
        before, link.seen_bytes = link.seen_bytes, link.session.bytes_in
        return link.seen_bytes != before


def shown(address: tuple[str, int]) -> str:
    """A server for the log."""
    return host_port(address)
