"""Rewrites of the AOF: by a child while the server goes on, or in the server at shutdown.

A rewrite in three steps
    1  the AOF goes on in a new increment                aof.rotate()
    2  the child writes all data as of this moment       temp file
    3  that file becomes the base of the new increment   aof.adopt()
It starts at the end of a turn, when the AOF holds all changes of the turn:
the old files hold everything that the child sees, and the new file everything
later.  If the old files are of no use (the AOF was off, or the disk has failed), the
manifest does not name the new increment until step 3: aof.begin().

Rules
  1. A rewrite that fails changes nothing: the old files are as good as before.
  2. Automatic attempts wait longer after each failure.
  3. The thread removes old files after the manifest no longer names them.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.services import REWRITE
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import DiskError, ForebayError
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import Disk, temp_path
from forebay.server.durability.aof_live import LiveAof
from forebay.server.durability.children import Child, Children, Work
from forebay.server.durability.full_writes import (
    Report,
    no_report,
    rewrite_options,
    save_options,
    write_commands,
    write_snapshot,
)
from forebay.server.durability.job import Job
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: After a failed rewrite the first automatic attempt waits this long, then twice as long ...
REWRITE_AGAIN_MS = 1000
MOST_DOUBLINGS = 6
#: Before a rewrite the old increment is synced in the background down to this much, in a few
#: attempts at most.
UNSYNCED_BYTES = 1 << 20
PRESYNCS = 3


def nobody_listens() -> None:
    """The default until a listener for the start of a rewrite is set."""


def nobody_hears(error: str) -> None:
    """The default until a listener for the end of a rewrite is set."""


class Rewrite(Job):
    """When to rewrite the AOF, and how that ended."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        disk: Disk,
        children: Children,
        live: LiveAof,
        make_aof: Callable[[], AofWriter],
        log: Log,
        clock: Clock,
    ) -> None:
        super().__init__(REWRITE, settings, engine, disk, children, log, clock)
        self.live = live
        self.make_aof = make_aof
        #: The size of the AOF after the last rewrite; growth is measured from it.
        self.base_size = 0
        self.heal_ms = 0
        self.presyncs = 0
        #: The AOF of a rewrite that was asked for although the AOF is off.
        self.one_off: AofWriter | None = None
        #: An AOF with files to remove.
        self.has_history: AofWriter | None = None
        #: The data was replaced without the AOF (DEBUG RELOAD).
        self.aof_is_stale = False
        #: Called when a rewrite of the live AOF starts, and when it ends: empty if it succeeded.
        self.on_start: Callable[[], None] = nobody_listens
        self.on_end: Callable[[str], None] = nobody_hears

    def loaded(self, aof: AofWriter | None) -> None:
        """The server starts with this AOF."""
        if aof is not None:
            self.base_size = aof.base_size

    def is_wanted(self) -> None:
        """A child is requested: the sync before it may take some time."""
        self.presyncs = 0

    def mark_stale(self) -> None:
        """The data was replaced without the AOF."""
        self.aof_is_stale = True

    # When a rewrite is due

    @property
    def needs_new_aof(self) -> bool:
        """Whether an AOF is required, but none matches the data."""
        aof = self.live.aof
        if aof is None:
            return self.live.is_wanted
        return aof.is_pending or aof.is_suspect or self.aof_is_stale

    @property
    def is_of_the_live_aof(self) -> bool:
        """Whether the child at work writes the next base of the live AOF."""
        child = self.children.current
        return child is not None and child.kind == REWRITE and self.one_off is None

    def may_start(self) -> bool:
        """Whether an automatic attempt need not wait any longer."""
        return self.clock.monotonic_ms() >= self.heal_ms

    def has_grown(self) -> bool:
        """Whether the AOF has grown so much that a rewrite pays off."""
        aof, percent = self.live.aof, self.settings.auto_aof_rewrite_percentage
        if aof is None or not percent or not self.may_start():
            return False
        if aof.current_size <= self.settings.auto_aof_rewrite_min_size:
            return False
        growth = aof.current_size * 100 // (self.base_size or 1) - 100
        if growth < percent:
            return False
        self.log.notice(f"Starting automatic rewriting of AOF on {growth}% growth")
        return True

    def is_close_to_disk(self) -> bool:
        """Let the thread sync first, or the turn would wait for the whole old increment."""
        aof = self.live.aof
        if self.live.syncer.is_busy:
            return False
        if aof is None or self.live.trouble or self.presyncs >= PRESYNCS:
            return True
        if aof.offset - aof.synced_offset <= UNSYNCED_BYTES:
            return True
        self.presyncs += 1
        self.live.start_sync()
        return False

    # Starting

    def start(self) -> None:
        """Let a child write a new base."""
        self.on_start()
        aof = self.live.aof or self.make_aof()
        try:
            if self.live.trouble or self.needs_new_aof or not aof.is_open:
                self._begin_anew(aof)
            else:
                aof.rotate()
                self.engine.effects.forget_database()
        except ForebayError as error:
            self._failed(None, str(error), aof)
            if isinstance(error, DiskError) and aof.is_suspect:
                self.live.sync_failed(error)
            return
        temp, kind = self._target(aof)
        work = self._work(temp, kind)

        def on_end(child: Child, error: str) -> None:
            self._end(child, error, aof, temp, kind)

        if not self.fork(work, on_end):
            self._failed(None, "fork failed", aof)

    def _begin_anew(self, aof: AofWriter) -> None:
        """The old files are of no use: the new base will hold everything not written yet."""
        aof.begin()
        self.engine.effects.forget_database()
        self.aof_is_stale = False
        if not self.live.is_wanted:
            self.one_off = aof
        elif aof is self.live.aof:
            self.live.start_over()
        else:
            self.live.use(aof)

    def _target(self, aof: AofWriter) -> tuple[str, str]:
        """Where the new base is written, and of which kind it is."""
        kind = "rdb" if self.settings.aof_use_rdb_preamble else "aof"
        return temp_path(self.disk, aof.folder, "rewrite", kind), kind

    def _work(self, temp: str, kind: str) -> Work:
        disk, keyspace, settings = self.disk, self.engine.keyspace, self.settings
        now_ms, used_bytes, position = self.clock.now_ms(), self.used_bytes(), self.where()
        options = save_options(settings, now_ms, used_bytes, True, position)
        words = rewrite_options(settings, position)

        def work(report: Report) -> None:
            if kind == "rdb":
                write_snapshot(disk, temp, keyspace, options, report)
            else:
                write_commands(disk, temp, keyspace, words, report)

        return work

    # How it ended

    def _end(self, child: Child, error: str, aof: AofWriter, temp: str, kind: str) -> None:
        if not error:
            try:
                aof.adopt(temp, kind)
            except DiskError as fault:
                error = str(fault)
        if error:
            self.remove(temp)
            self._failed(child, error, aof)
            return
        self.count(child, "")
        self.log.notice("Background AOF rewrite finished successfully")
        if aof is self.one_off:
            self._close_one_off()
            return
        self.base_size = aof.current_size
        self.has_history = aof
        self.live.healed()
        self.on_end("")

    def _failed(self, child: Child | None, error: str, aof: AofWriter) -> None:
        self.count(child, error)
        doublings = min(self.failures - 1, MOST_DOUBLINGS)
        self.heal_ms = self.clock.monotonic_ms() + (REWRITE_AGAIN_MS << doublings)
        self.log.warning(f"Background AOF rewrite failed: {error}")
        if aof is self.one_off:
            self._close_one_off()
        elif aof.has_rotated:
            aof.abandon()
        self.on_end(error)

    def _close_one_off(self) -> None:
        assert self.one_off is not None
        self.one_off.close()
        self.one_off = None

    def stopped(self) -> None:
        """The child was killed: its file is of no use."""
        aof = self.live.aof
        if self.one_off is not None:
            self._close_one_off()
        elif aof is not None and aof.has_rotated:
            aof.abandon()
        self.on_end("the rewrite was stopped")

    def drop_history(self) -> None:
        """Remove files that the AOF does not need any more; the thread does it when it is free."""
        aof = self.has_history
        if aof is None or self.live.syncer.is_busy:
            return
        self.has_history = None
        paths = aof.history()

        def remove() -> None:
            for path in paths:
                self.disk.remove(path)

        def done(error: ForebayError | None) -> None:
            try:
                aof.drop_history()
            except DiskError as fault:
                self.log.warning(f"Old files of the AOF stay: {fault}")

        self.live.syncer.start(remove, done)

    def take_over(self, path: str) -> None:
        """A snapshot has replaced all data: its file becomes the base.

        It is synced, and in the folder of the AOF.  Raises DiskError: then a rewrite follows.
        """
        aof = self.live.aof
        assert aof is not None, "there is no AOF"
        self.on_start()
        self._begin_anew(aof)
        aof.adopt(path, "rdb")
        self.base_size = aof.current_size
        self.has_history = aof
        self.live.healed()

    def finish(self) -> None:
        """The server ends, and the AOF does not match the data: rewrite it now."""
        if not self.needs_new_aof:
            return
        aof = self.live.aof or self.make_aof()
        self._begin_anew(aof)
        temp, kind = self._target(aof)
        self._work(temp, kind)(no_report)
        aof.adopt(temp, kind)
        self.live.healed()
