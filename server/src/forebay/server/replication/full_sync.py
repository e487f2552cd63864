"""Copies of all data for replicas: a child writes them, to a file or straight into a pipe.

    repl-diskless-sync yes   child --pipe--> here --> every replica of the group    $EOF:mark
    repl-diskless-sync no    child --> file;  here --> every replica of the group   $size

Replicas that ask at about the same time share a copy.  Copies without a file wait a moment for
more replicas (repl-diskless-sync-delay); a replica that comes later waits for the next copy.

Rules
  1. The copy begins at the end of a turn.  From that moment the backlog keeps the stream for
     the replicas of the group.
  2. The format is the newest that every replica of the group understands: a Forebay gets
     everything, others what ``rdb-format`` says, a Valkey at most 7.2.  Facts that a format has
     no place for are in extra fields for Forebay (rdb/stream_extra.py); others skip them.
  3. A pipe is read only as fast as the slowest replica of the group takes it.
  4. When all replicas of a group are gone, its child is killed.
"""

from __future__ import annotations

import fcntl
import os

from forebay.commands.api.services import SYNC
from forebay.commands.api.settings import Settings
from forebay.core.keyspace import Keyspace
from forebay.engine.engine import Engine
from forebay.errors import DiskError
from forebay.persistence.files import Disk, temp_path
from forebay.persistence.rdb.format import VERSIONS
from forebay.persistence.rdb.snapshot import SaveOptions, save
from forebay.replication.copying import head_of_stream
from forebay.replication.peers import (
    CAPA_EOF,
    CAPA_FOREBAY,
    ONLINE,
    TRANSFER,
    WAITS_FOR_CHILD,
    WAITS_FOR_END,
    Peer,
)
from forebay.server.durability.children import Child, Children, Report
from forebay.server.durability.full_writes import save_options
from forebay.server.durability.job import Job
from forebay.server.durability.schedule import Schedule
from forebay.server.logger import Log
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.replication.outgoing import WINDOW_BYTES, ReplicaFeed
from forebay.server.replication.primary import PrimarySide

FOREBAY_VERSION = list(VERSIONS)[-1]
#: The newest format of Redis that every Valkey reads.
VALKEY_VERSION = "7.2"
PIPE_BYTES = 1 << 20
PIECE_BYTES = 256 << 10
#: The pipe is read again when at most this much waits for the slowest replica.
HIGH_BYTES = 4 * WINDOW_BYTES


class FullSync(Job):
    """Starts copies and hands them out."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        disk: Disk,
        children: Children,
        side: PrimarySide,
        schedule: Schedule,
        loop: Loop,
        log: Log,
        clock: Clock,
    ) -> None:
        super().__init__(SYNC, settings, engine, disk, children, log, clock)
        self.side = side
        self.schedule = schedule
        self.loop = loop
        self.first_wish_ms = 0
        #: The replicas that the copy at work is for.
        self.group: list[Peer] = []
        #: The file that the child at work writes; empty if it writes to the pipe.
        self.temp = ""
        self.pipe = -1
        self.is_held = False
        self.mark = b""
        #: How the child ended, empty if well; None while it works.
        self.outcome: str | None = None

    # When

    def wanted(self) -> None:
        """A replica waits for a copy."""
        if not self.first_wish_ms:
            self.first_wish_ms = self.clock.monotonic_ms()
        self.beat()

    def beat(self) -> None:
        """Start a copy if one is due."""
        waiting = self.side.peers.in_state(WAITS_FOR_CHILD)
        if not waiting or self.pipe >= 0:
            return
        if self.is_straight(waiting) and not self.is_enough(waiting):
            waited_ms = self.clock.monotonic_ms() - self.first_wish_ms
            if waited_ms < self.settings.repl_diskless_sync_delay_s * 1000:
                return
        if self.schedule.job != SYNC and SYNC not in self.schedule.scheduled:
            self.schedule.ask_for(SYNC)

    def is_straight(self, group: list[Peer]) -> bool:
        """Whether the copy goes through a pipe, without a file."""
        return self.settings.repl_diskless_sync and all(
            CAPA_EOF in peer.capabilities for peer in group
        )

    def is_enough(self, waiting: list[Peer]) -> bool:
        """Whether there is no need to wait for more replicas."""
        most = self.settings.repl_diskless_sync_max_replicas
        return 0 < most <= len(waiting)

    # Starting

    def start(self) -> None:
        """Let a child write a copy for all waiting replicas."""
        waiting = self.side.peers.in_state(WAITS_FOR_CHILD)
        self.first_wish_ms = 0
        if not waiting:
            return
        empty = waiting[0].rdb_without_data
        self.group = [peer for peer in waiting if peer.rdb_without_data == empty]
        keyspace = Keyspace(self.settings.databases) if empty else self.engine.keyspace
        options = self._options()
        self.outcome = None
        self.engine.effects.forget_database()
        started = (
            self._start_straight(keyspace, options)
            if self.is_straight(self.group)
            else self._start_file(keyspace, options)
        )
        if not started:
            self._fail("no child can be started")

    def _options(self) -> SaveOptions:
        now_ms, position = self.clock.now_ms(), self.side.where()
        options = save_options(self.settings, now_ms, self.used_bytes(), False, position)
        versions = [format_for(peer, self.settings.rdb_format) for peer in self.group]
        options.version = min(versions, key=list(VERSIONS).index)
        return options

    def _begin(self, peer: Peer, state: str) -> ReplicaFeed:
        """The stream begins here for this replica."""
        feed = self.side.feeds[peer.number]
        history = self.side.history
        peer.position = history.offset
        peer.state = state
        if not peer.is_old:
            line = f"FULLRESYNC {history.replid} {history.offset}"
            feed.session.out.status(line.encode())
        self.engine.sessions.touched(feed.session)
        return feed

    def _start_file(self, keyspace: Keyspace, options: SaveOptions) -> bool:
        disk = self.disk
        temp = self.temp = temp_path(disk, self.settings.data_dir, "sync", "rdb")

        def work(report: Report) -> None:
            file = disk.create(temp)
            for keys in save(keyspace, file.write, options):
                report(keys, file.size)
            file.close()

        for peer in self.group:
            self._begin(peer, WAITS_FOR_END)
        return self.fork(work, self._file_ended)

    def _start_straight(self, keyspace: Keyspace, options: SaveOptions) -> bool:
        inbox, outbox = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(outbox, True)
        fcntl.fcntl(inbox, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.mark = self.side.new_id().encode()

        def work(report: Report) -> None:
            sink = PipeSink(outbox)
            for keys in save(keyspace, sink, options):
                report(keys, sink.written)

        started = self.fork(work, self._child_ended, keep=[outbox])
        os.close(outbox)
        if not started:
            os.close(inbox)
            return False
        self.pipe = inbox
        self.is_held = False
        self.loop.watch(inbox, self._on_pipe)
        for peer in self.group:
            feed = self._begin(peer, TRANSFER)
            feed.on_room = self._on_room
            feed.session.out.raw(head_of_stream(self.mark))
        return True

    # A file

    def _file_ended(self, child: Child, error: str) -> None:
        self.count(child, error)
        group = self._take_group()
        try:
            for peer in [] if error else group:
                self.side.feeds[peer.number].send_file(self.disk.open_read(self.temp))
                self.engine.sessions.touched(self.side.feeds[peer.number].session)
        except DiskError as fault:
            error = str(fault)
        self._remove_file()
        if error:
            self._close(group, error)
        self.beat()

    def _remove_file(self) -> None:
        """Feeds that still send the file have it open."""
        if self.temp:
            self.remove(self.temp)
            self.temp = ""

    # A pipe

    def _on_pipe(self) -> None:
        """The child has written more: send it to the whole group."""
        try:
            data = os.read(self.pipe, PIECE_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close_pipe()
            self._finish_straight()
            return
        feeds = self._feeds()
        for feed in feeds:
            feed.session.out.raw(data)
            self.engine.sessions.touched(feed.session)
        if any(feed.session.out.pending() > HIGH_BYTES for feed in feeds):
            self.is_held = True
            self.loop.unwatch(self.pipe)

    def _on_room(self) -> None:
        """A replica has taken something: read on if no replica has too much waiting."""
        if self.is_held and all(
            feed.session.out.pending() <= WINDOW_BYTES for feed in self._feeds()
        ):
            self.is_held = False
            self.loop.watch(self.pipe, self._on_pipe)

    def _child_ended(self, child: Child, error: str) -> None:
        self.count(child, error)
        self.outcome = error
        self._finish_straight()

    def _finish_straight(self) -> None:
        """The child has ended and all its bytes are handed out: the mark ends the copy."""
        if self.pipe >= 0 or self.outcome is None:
            return
        error, group = self.outcome, self._take_group()
        if error:
            self._close(group, error)
        for peer in [] if error else group:
            feed = self.side.feeds[peer.number]
            feed.session.out.raw(self.mark)
            feed.on_room = None
            peer.state, peer.waits_for_ack = ONLINE, True
            self.engine.sessions.touched(feed.session)
            self.side.copied(feed)
        self.beat()

    def _close_pipe(self) -> None:
        if self.pipe >= 0:
            if not self.is_held:
                self.loop.unwatch(self.pipe)
            os.close(self.pipe)
            self.pipe = -1
            self.is_held = False

    # Failures

    def _feeds(self) -> list[ReplicaFeed]:
        return [self.side.feeds[peer.number] for peer in self.group]

    def _take_group(self) -> list[Peer]:
        group, self.group = self.group, []
        return group

    def _fail(self, why: str) -> None:
        self._close(self._take_group(), why)

    def _close(self, group: list[Peer], why: str) -> None:
        for peer in group:
            self.side.close(self.side.feeds[peer.number], f"its copy of all data failed: {why}")

    def stopped(self) -> None:
        """The child was killed."""
        self._close_pipe()
        self._remove_file()
        self._fail("the child that wrote it was stopped")

    def peer_gone(self, peer: Peer) -> None:
        """A replica that waited, or was receiving, is gone."""
        if peer not in self.group:
            return
        self.group.remove(peer)
        if not self.group:
            self.log.notice("No replica waits for the copy of all data any more")
            self._close_pipe()  # its child may have ended and left the rest in the pipe
            self.schedule.stop_child([SYNC])
        else:
            self._on_room()


class PipeSink:
    """In the child: takes the pieces of a copy."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.written = 0

    def __call__(self, piece: bytes) -> None:
        with memoryview(piece) as view:
            done = 0
            while done < len(view):
                done += os.write(self.fd, view[done:])
        self.written += len(piece)


def format_for(peer: Peer, chosen: str) -> str:
    """The version of the format that a replica understands; ``chosen`` if it does not say."""
    if CAPA_FOREBAY in peer.capabilities:
        return FOREBAY_VERSION
    if peer.version:
        return min(chosen, VALKEY_VERSION, key=list(VERSIONS).index)
    return chosen
