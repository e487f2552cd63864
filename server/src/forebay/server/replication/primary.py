"""This server as a primary: the stream of changes, and how much of it each replica has.

    a turn's effects --take()--> backlog --ReplicaFeed--> replicas
    PING, GETACK, PUBLISH ---------^
    the stream of our own primary -'        (a replica passes it on to its replicas as it is)

    PSYNC  a name and a place: CONTINUE if the backlog has what follows, else all data (full_sync)
    ACK    how far a replica is: WAIT, min-replicas-to-write, INFO

Rules
  1. The stream exists while there is a backlog.  Without one nothing is counted, so a new backlog
     begins a stream with a new name; a replica always has one, so that it can be promoted.
  2. A server that follows another adds nothing of its own to the stream.
  3. A replica's copy shows the stream up to the place where its feed begins; both are taken at
     the end of a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from forebay.commands.api import gates
from forebay.commands.api.effects import Effects
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.engine import roles
from forebay.engine.engine import Engine
from forebay.replication.backlog import Backlog
from forebay.replication.handshake import command
from forebay.replication.history import History, Position
from forebay.replication.peers import (
    CAPA_PSYNC2,
    ONLINE,
    TRANSFER,
    WAITS_FOR_CHILD,
    WAITS_FOR_END,
    Peer,
    Peers,
)
from forebay.server.logger import Log
from forebay.server.net.connection import Connection
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import EffectsReader, TurnEnd
from forebay.server.replication.outgoing import ReplicaFeed
from forebay.wire.argv import Argv

PING = command("PING")
GETACK = command("REPLCONF", "GETACK", "*")
ALIVE = b"\n"
SECOND_MS = 1000

IsEnough = Callable[[], bool]


class Waiter:
    """A client in WAIT or WAITAOF."""

    def __init__(self, session: Session, is_enough: IsEnough) -> None:
        self.session = session
        #: Its blocked state when it began to wait; if that has changed, it waits no longer.
        self.state = session.blocked
        self.is_enough = is_enough


class Copies(Protocol):
    """The part that makes copies of all data (full_sync.py)."""

    def wanted(self) -> None:
        """A replica waits for one."""

    def peer_gone(self, peer: Peer) -> None:
        """A replica that waited, or was receiving, is gone."""


class PrimarySide:
    """The stream and the replicas."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        turn_end: TurnEnd,
        new_id: Callable[[], str],
        log: Log,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.turn_end = turn_end
        self.new_id = new_id
        self.log = log
        self.clock = clock
        self.history = History(new_id())
        self.backlog: Backlog | None = None
        self.peers = Peers()
        self.feeds: dict[int, ReplicaFeed] = {}
        #: Connected by server/startup.py.
        self.copies: Copies | None = None
        self.reader = EffectsReader()
        #: False while a primary's stream is passed on.
        self.is_leading = True
        #: The place of the data in the stream of our primary, while we follow one.
        self.followed: Callable[[], Position | None] | None = None
        #: Only data goes into the stream, so that a replica can reach its end.
        self.is_quiet = False
        #: Bytes that were injected while a transaction was being recorded.
        self.held_back = b""
        self.waiters: list[Waiter] = []
        self.wants_acks = False
        self.pinged_ms = clock.monotonic_ms()
        self.seconds_ms = 0
        self.alone_since_ms = clock.monotonic_ms()

    # The stream

    @property
    def feeds_effects(self) -> bool:
        """Whether changes made here are part of the stream."""
        return self.is_leading and self.backlog is not None

    def where(self) -> Position | None:
        """The place of the data in the stream; None if it is not counted."""
        if self.followed is not None:
            return self.followed()
        if self.backlog is None:
            return None
        return Position(self.history.replid, self.history.offset, self.engine.effects.selected)

    def take(self, effects: Effects) -> None:
        """Add the units of a turn that were not taken yet, and then the bytes held back."""
        backlog = self.backlog
        if self.is_leading and backlog is not None:
            if effects.out.size > effects.handed:
                backlog.append(effects.out.p, effects.handed, effects.out.size - effects.handed)
            if self.held_back:
                backlog.append(self.held_back, 0, len(self.held_back))
            self.grown(backlog)
        self.held_back = b""
        effects.handed = effects.out.size

    def hold_back(self, data: bytes) -> None:
        """Send bytes to replicas only, after the next units of the stream."""
        self.engine.effects.base += len(data)
        self.held_back += data

    def inject(self, data: bytes) -> None:
        """Send bytes to replicas only, after everything recorded so far."""
        if self.feeds_effects:
            effects = self.engine.effects
            self.hold_back(data)
            if effects.is_open and effects.count > 0:
                self.turn_end.ask()  # a transaction is being recorded: it goes first
            else:
                self.take(effects)

    def catch_up(self) -> None:
        """Add everything recorded so far to the stream."""
        self.inject(b"")

    def hold_still(self) -> None:
        """From now on only data goes into the stream, so that replicas can reach its end; ask
        them at once how far they are.
        """
        if self.feeds:
            self.inject(GETACK)
        self.is_quiet = True

    def move_on(self) -> None:
        """PINGs and questions may go into the stream again."""
        self.is_quiet = False

    def pass_stream_on(self, buf: bytearray, at: int, n: int) -> None:
        """The stream grows by n bytes that our own primary sent."""
        if self.backlog is not None:
            self.backlog.append(buf, at, n)
            self.grown(self.backlog)

    def grown(self, backlog: Backlog) -> None:
        """The stream has grown: free what no replica needs, and send the rest."""
        self.history.offset = backlog.end
        self.release()
        for feed in self.feeds.values():
            # A replica that does not get the stream yet is checked too: the bytes kept for it are
            # limited.
            self.engine.sessions.touched(feed.session)

    def release(self) -> None:
        """Free the part that no replica needs and the backlog need not keep."""
        backlog = self.backlog
        if backlog is not None:
            backlog.release(self.peers.needed(backlog.end))

    def open_backlog(self) -> None:
        """Start to keep the stream."""
        self.backlog = Backlog(self.settings.repl_backlog_size, self.history.offset)
        effects = self.engine.effects
        effects.base = self.history.offset - effects.handed
        effects.enabled = effects.enabled or self.is_leading
        self.reader.is_off = False

    def drop_backlog(self) -> None:
        """Stop keeping the stream; later changes belong to no named stream."""
        self.backlog = None
        self.reader.is_off = True
        self.history.restart(self.new_id())
        self.turn_end.ask()

    def resize(self, size: int) -> None:
        """CONFIG SET repl-backlog-size."""
        if self.backlog is not None:
            self.backlog.size = size
            self.release()

    # Replicas arrive

    def link_of(self, session: Session) -> Peer:
        """The record of the replica at the other end."""
        if not isinstance(session.peer, Peer):
            host = session.addr.decode("utf-8", "replace").rpartition(":")[0].strip("[]")
            session.peer = Peer(session.id, host)
        return session.peer

    def psync(self, session: Session, replid: str, offset: int) -> None:
        """A replica asks for a stream from a place on."""
        peer = self.link_of(session)
        reason = self.why_not_partial(replid, offset)
        if reason:
            if replid != "?":
                self.engine.stats.refused_partial_syncs += 1
            self.log.notice(f"Replica {shown(peer)} gets a copy of all data: {reason}")
            self.attach(session, peer, WAITS_FOR_CHILD)
            self.begin_copy(peer)
            return
        assert self.backlog is not None
        session.out.status(
            b"CONTINUE " + self.history.replid.encode()
            if CAPA_PSYNC2 in peer.capabilities
            else b"CONTINUE"
        )
        self.engine.stats.partial_syncs += 1
        peer.position = peer.acked = offset
        self.attach(session, peer, ONLINE)
        self.log.notice(
            f"Replica {shown(peer)} goes on at offset {offset}: "
            f"{self.backlog.end - offset} bytes of backlog are sent"
        )

    def why_not_partial(self, replid: str, offset: int) -> str:
        """Why a replica cannot continue where it is; empty if it can."""
        if replid == "?":
            return "it asks for all data"
        if not self.history.shares(replid, offset):
            known = f"{self.history.replid} or, up to {self.history.second_offset}, "
            return (
                f"it follows the stream {replid} up to {offset}, which is not known here "
                f"({known}{self.history.replid2})"
            )
        if self.backlog is None:
            return f"it is at offset {offset}, and there is no backlog"
        if not self.backlog.has(offset):
            kept = f"from {self.backlog.first} to {self.backlog.end}"
            return f"it is at offset {offset}, and the backlog goes {kept}"
        return ""

    def sync(self, session: Session) -> None:
        """An old kind of replica, or redis-cli, asks for all data."""
        peer = self.link_of(session)
        peer.is_old = True
        self.log.notice(f"Replica {shown(peer)} gets a copy of all data: it asks by SYNC")
        self.attach(session, peer, WAITS_FOR_CHILD)
        self.begin_copy(peer)

    def attach(self, session: Session, peer: Peer, state: str) -> None:
        """The connection of a client becomes that of a replica."""
        conn = session.link
        assert isinstance(conn, Connection)
        feed = ReplicaFeed(self, peer, session)
        conn.source = feed
        peer.state = state
        peer.heard_ms = self.clock.monotonic_ms()
        session.set_gate(gates.REPLICA, on=True)
        self.peers.add(peer)
        self.feeds[peer.number] = feed
        self.engine.sessions.touched(session)

    def begin_copy(self, peer: Peer) -> None:
        """A replica needs all data."""
        self.engine.stats.full_syncs += 1
        if self.backlog is None:
            self.history.restart(self.new_id())
            self.open_backlog()
        assert self.copies is not None
        self.copies.wanted()

    # Replicas report, and leave

    def acked(self, session: Session, offset: int, synced: int) -> None:
        """A replica reports how far it is."""
        peer = self.link_of(session)
        peer.hear(offset, synced, self.clock.monotonic_ms())
        if peer.waits_for_ack:
            peer.waits_for_ack = False
            self.engine.sessions.touched(session)
        self.wake()
        if self.engine.gate & gates.FEW_REPLICAS:
            self.count_good()

    def copied(self, feed: ReplicaFeed) -> None:
        """A replica has been sent all data."""
        peer = feed.peer
        peer.heard_ms = self.clock.monotonic_ms()
        if not peer.rdb_only:
            self.log.notice(f"Replica {shown(peer)} has been sent all data and gets the stream")
            return
        self.log.notice(f"{shown(peer)} has its copy of all data and wants no stream: closing")
        conn = feed.session.link
        if isinstance(conn, Connection):
            conn.leaving = True
        self.engine.sessions.close(feed.session)

    def gone(self, feed: ReplicaFeed) -> None:
        """A replica's connection is closed."""
        peer = feed.peer
        self.peers.remove(peer)
        self.feeds.pop(peer.number, None)
        why = f": {peer.fault}" if peer.fault else ""
        self.log.notice(f"Connection with replica {shown(peer)} lost{why}")
        if self.copies is not None:
            self.copies.peer_gone(peer)
        self.release()
        if not self.feeds:
            self.alone_since_ms = self.clock.monotonic_ms()
        self.count_good()

    def close_all(self, why: str) -> None:
        """Close all links, so that every replica asks again."""
        for feed in list(self.feeds.values()):
            self.close(feed, why)

    def close(self, feed: ReplicaFeed, why: str) -> None:
        """End the link with a replica."""
        self.log.warning(f"Closing the link with replica {shown(feed.peer)}: {why}")
        self.engine.kill(feed.session)

    # WAIT

    def wait(self, session: Session, is_enough: IsEnough) -> None:
        """Ask the replicas how far they are, and wake the client when it is enough."""
        self.waiters.append(Waiter(session, is_enough))
        self.wants_acks = True
        effects = self.engine.effects
        if effects.out.size == effects.handed:
            # Nothing was written in this turn, so no reader is called.
            self.turn_end.ask()

    def wake(self) -> None:
        """Answer clients whose writes have reached enough replicas."""
        if not self.waiters:
            return
        still = []
        for waiter in self.waiters:
            if waiter.session.blocked is not waiter.state:
                continue
            if waiter.is_enough():
                self.engine.blocking.unblock(waiter.session, None)
                self.turn_end.has_confirmed = True
            else:
                still.append(waiter)
        self.waiters = still

    # Turns and beats

    def ask_replicas(self) -> None:
        """If a client waits for replicas, ask them how far they are, after this turn's changes."""
        if self.wants_acks and not self.is_quiet:
            self.wants_acks = False
            if self.is_leading and self.backlog is not None:
                self.hold_back(GETACK)
                self.turn_end.is_expecting = True

    def settle(self) -> None:
        """No command is half done: send the bytes held back."""
        self.ask_replicas()
        if self.held_back:
            self.take(self.engine.effects)

    def pass_on(self, argv: Argv) -> None:
        """Let replicas run a call that changes no data; a replica that is away misses it."""
        if self.feeds:
            self.inject(command(*argv.list()))

    def beat(self) -> None:
        """Ten times a second."""
        now_ms = self.clock.monotonic_ms()
        if now_ms - self.pinged_ms >= self.settings.repl_ping_period_s * SECOND_MS:
            self.pinged_ms = now_ms
            if self.feeds and not self.is_quiet:
                self.inject(PING)
        if now_ms - self.seconds_ms >= SECOND_MS:
            self.seconds_ms = now_ms
            self.look_after(now_ms)
        self.count_good()

    def look_after(self, now_ms: int) -> None:
        """Once a second: signs of life in both directions, and a backlog that is not needed."""
        for feed in list(self.feeds.values()):
            self.say_alive(feed)
            self.listen(feed, now_ms)
        ttl_ms = self.settings.repl_backlog_ttl_s * SECOND_MS
        if self.backlog is None or self.feeds or not ttl_ms or not self.is_leading:
            return
        if now_ms - self.alone_since_ms > ttl_ms:
            self.log.notice(f"No replicas for {ttl_ms // SECOND_MS} seconds: the backlog goes")
            self.drop_backlog()

    def say_alive(self, feed: ReplicaFeed) -> None:
        """Send an empty line to a replica that waits for a copy.

        Never after that: a Redis counts every byte of the stream and would lose its place.
        """
        waits = feed.peer.state in (WAITS_FOR_CHILD, WAITS_FOR_END)
        if waits and feed.session.out.pending() == 0:
            feed.session.out.raw(ALIVE)
            self.engine.sessions.touched(feed.session)

    def listen(self, feed: ReplicaFeed, now_ms: int) -> None:
        """Close a replica that was silent for too long; any byte from it is a sign of life.
        The byte may be up to a second old.  If it were dated now, min-replicas-to-write would
        count a lost replica for a second more.  During a copy a replica may be silent, but it
        must take the copy: others wait for the child that writes it, and the backlog grows.
        """
        session, peer = feed.session, feed.peer
        if session.bytes_in != feed.heard_bytes:
            feed.heard_bytes = session.bytes_in
            peer.heard_ms = max(peer.heard_ms, now_ms - SECOND_MS)
        if peer.state == ONLINE and not peer.is_old:
            self.expect(feed, "not heard", (now_ms - peer.heard_ms) // SECOND_MS)
        elif peer.state == TRANSFER:
            self.expect(feed, "it has taken nothing of its copy of all data", feed.stuck_s())

    def expect(self, feed: ReplicaFeed, lack: str, for_s: int) -> None:
        """Close a replica if this has lasted longer than repl-timeout."""
        if for_s > self.settings.repl_timeout_s:
            self.close(feed, f"{lack} for {for_s} seconds (repl-timeout)")

    def count_good(self) -> None:
        """Count the replicas that are fresh enough for min-replicas-to-write."""
        max_lag_s = self.settings.min_replicas_max_lag_s
        good = self.peers.count_good(self.clock.monotonic_ms(), max_lag_s)
        if good != self.engine.good_replicas:
            roles.count_replicas(self.engine, good)


def shown(peer: Peer) -> str:
    """A replica for the log."""
    host, port = peer.address
    return f"{host}:{port or '?'}"
