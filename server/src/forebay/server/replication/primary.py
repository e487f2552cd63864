"""This server as one that others follow: the stream of changes, and who has how much of it.

    a turn's effects --take()--> backlog --ReplicaFeed--> replicas
    PING, GETACK, PUBLISH ---------^
    the stream of our own primary -'        (a replica passes it on to its replicas as it is)

    PSYNC  a name and a place: CONTINUE if the backlog has what follows, else all data (full_sync)
    ACK    how far a replica is: WAIT, min-replicas-to-write, INFO

Rules
  1. The stream exists while there is a backlog.  Without one nothing is counted, so a backlog
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
        #: What it waited for when it began; it waits no longer if that has changed.
        self.state = session.blocked
        self.is_enough = is_enough


class Copies(Protocol):
    """Who makes copies of all data (full_sync.py)."""

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
        #: Where the data stands in the stream of the primary, while we follow one.
        self.followed: Callable[[], Position | None] | None = None
        #: Nothing but data goes into the stream: a replica is to reach its end.
        self.is_quiet = False
        #: What was injected while a transaction was being recorded.
        self.held_back = b""
        self.waiters: list[Waiter] = []
        self.wants_acks = False
        self.pinged_ms = clock.monotonic_ms()
        self.seconds_ms = 0
        self.alone_since_ms = clock.monotonic_ms()

    # The stream

    @property
    def feeds_effects(self) -> bool:
        """Whether what changes here is part of the stream."""
        return self.is_leading and self.backlog is not None

    def where(self) -> Position | None:
        """Where in the stream the data is; None if nobody counts."""
        if self.followed is not None:
            return self.followed()
        if self.backlog is None:
            return None
        return Position(self.history.replid, self.history.offset, self.engine.effects.selected)

    def take(self, effects: Effects) -> None:
        """The units of a turn that were not taken yet, and what was held back for their end."""
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
        """Something for replicas alone, after all that the stream takes next."""
        self.engine.effects.base += len(data)
        self.held_back += data

    def inject(self, data: bytes) -> None:
        """Something for replicas alone, after all that was recorded so far."""
        if self.feeds_effects:
            effects = self.engine.effects
            self.hold_back(data)
            if effects.is_open and effects.count > 0:
                self.turn_end.ask()  # a transaction is being recorded: it comes first
            else:
                self.take(effects)

    def catch_up(self) -> None:
        """Let the stream have all that was recorded so far."""
        self.inject(b"")

    def hold_still(self) -> None:
        """From now on only data goes into the stream, so that replicas can reach its end; they
        are asked at once how far they are.
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
        """There is more of the stream: let go of what nobody needs, and send the rest."""
        self.history.offset = backlog.end
        self.release()
        for feed in self.feeds.values():
            # One that is not sent the stream yet is looked at too: there is a limit to what is
            # kept for it.
            self.engine.sessions.touched(feed.session)

    def release(self) -> None:
        """Let go of what no replica needs, and the backlog need not keep."""
        backlog = self.backlog
        if backlog is not None:
            backlog.release(self.peers.needed(backlog.end))

    def open_backlog(self) -> None:
        """Begin to keep the stream."""
        self.backlog = Backlog(self.settings.repl_backlog_size, self.history.offset)
        effects = self.engine.effects
        effects.base = self.history.offset - effects.handed
        effects.enabled = effects.enabled or self.is_leading
        self.reader.is_off = False

    def drop_backlog(self) -> None:
        """Keep the stream no longer; what follows has no name yet."""
        self.backlog = None
        self.reader.is_off = True
        self.history.restart(self.new_id())
        self.turn_end.ask()

    def resize(self, size: int) -> None:
        """CONFIG SET repl-backlog-size."""
        if self.backlog is not None:
            self.backlog.size = size
            self.release()

    # Replicas come

    def link_of(self, session: Session) -> Peer:
        """What is known of the replica at the other end."""
        if not isinstance(session.peer, Peer):
            host = session.addr.decode("utf-8", "replace").rpartition(":")[0].strip("[]")
            session.peer = Peer(session.id, host)
        return session.peer

    def psync(self, session: Session, replid: str, offset: int) -> None:
        """A replica asks for what follows a place of a stream."""
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
        """Why a replica cannot go on where it is; empty if it can."""
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
        """A replica of the old kind, or redis-cli, asks for all data."""
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

    # Replicas are heard, and go

    def acked(self, session: Session, offset: int, synced: int) -> None:
        """A replica says how far it is."""
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
        """A replica's connection is no more."""
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
        """Let every replica ask anew."""
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
            # Nothing was written in this turn, so that nobody reads its effects.
            self.turn_end.ask()

    def wake(self) -> None:
        """Answer clients whose writes have arrived."""
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
        """If a client waits for replicas: after all of this turn, ask them how far they are."""
        if self.wants_acks and not self.is_quiet:
            self.wants_acks = False
            if self.is_leading and self.backlog is not None:
                self.hold_back(GETACK)
                self.turn_end.is_expecting = True

    def settle(self) -> None:
        """No command is half done: what was held back can go."""
        self.ask_replicas()
        if self.held_back:
            self.take(self.engine.effects)

    def pass_on(self, argv: Argv) -> None:
        """Let replicas run a call that changes no data; who is not there now misses it."""
        if self.feeds:
            self.inject(command(*argv.list()))

    def beat(self, is_linked: bool) -> None:
        """Ten times a second; ``is_linked``: our own primary, if we have one, is heard."""
        now_ms = self.clock.monotonic_ms()
        if now_ms - self.pinged_ms >= self.settings.repl_ping_period_s * SECOND_MS:
            self.pinged_ms = now_ms
            if self.feeds and not self.is_quiet:
                self.inject(PING)
        if now_ms - self.seconds_ms >= SECOND_MS:
            self.seconds_ms = now_ms
            self.look_after(now_ms, is_linked)
        self.count_good()

    def look_after(self, now_ms: int, is_linked: bool) -> None:
        """Once a second: signs of life in both directions, and a backlog that nobody needs."""
        for feed in list(self.feeds.values()):
            self.say_alive(feed, is_linked)
            self.listen(feed, now_ms)
        ttl_ms = self.settings.repl_backlog_ttl_s * SECOND_MS
        if self.backlog is None or self.feeds or not ttl_ms or not self.is_leading:
            return
        if now_ms - self.alone_since_ms > ttl_ms:
            self.log.notice(f"No replicas for {ttl_ms // SECOND_MS} seconds: the backlog goes")
            self.drop_backlog()

    def say_alive(self, feed: ReplicaFeed, is_linked: bool) -> None:
        """Replicas that wait for a copy, or whose stream has no source, are sent empty lines."""
        peer = feed.peer
        waits = peer.state in (WAITS_FOR_CHILD, WAITS_FOR_END)
        idles = peer.streams() and not is_linked and feed.owed() == 0
        if (waits or idles) and feed.session.out.pending() == 0:
            feed.session.out.raw(ALIVE)
            self.engine.sessions.touched(feed.session)

    def listen(self, feed: ReplicaFeed, now_ms: int) -> None:
        """A replica that was silent for too long is closed; any byte of it is a sign of life.
        It came within the last second: to call that now would let min-replicas-to-write count a
        lost replica for a second more.  While it is sent a copy it need not say anything, but it
        must take it: others wait for the child that writes it, and the backlog grows.
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
        """Close a replica that has been like this for longer than may be."""
        if for_s > self.settings.repl_timeout_s:
            self.close(feed, f"{lack} for {for_s} seconds (repl-timeout)")

    def count_good(self) -> None:
        """How many replicas are fresh enough for min-replicas-to-write."""
        max_lag_s = self.settings.min_replicas_max_lag_s
        good = self.peers.count_good(self.clock.monotonic_ms(), max_lag_s)
        if good != self.engine.good_replicas:
            roles.count_replicas(self.engine, good)


def shown(peer: Peer) -> str:
    """A replica for the log."""
    host, port = peer.address
    return f"{host}:{port or '?'}"
