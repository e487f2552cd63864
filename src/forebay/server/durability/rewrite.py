"""The log written anew: by a child while the server goes on, or here and now at the end.

A rewrite in three steps
    1  the log goes on in a new increment                journal.rotate()
    2  the child writes all data as of this moment       temp file
    3  that file becomes the base of the new increment   journal.adopt()
It starts at the end of a turn, when the log holds all that the turn changed:
whatever is in the child's picture is in the old files, all later is in the new
one.  Where the old files are no use (the log was off, or the disk has failed), the new
increment stays unnamed until step 3 instead: journal.begin().

Rules
  1. A rewrite that fails changes nothing: the old files are as good as before.
  2. Automatic attempts wait longer after each failure.
  3. Old files are removed by the thread, when the manifest does not name them any more.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.services import REWRITE
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import DiskError, ForebayError
from forebay.persistence.aof.writer import Journal
from forebay.persistence.files import Disk, temp_path
from forebay.server.durability.aof_live import LiveLog
from forebay.server.durability.children import Child, Children, Work
from forebay.server.durability.full_writes import (
    Report,
    no_report,
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


class Rewrite(Job):
    """When the log is to be written anew, and what came of it."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        disk: Disk,
        children: Children,
        live: LiveLog,
        log: Log,
        clock: Clock,
    ) -> None:
        super().__init__(REWRITE, settings, engine, disk, children, log, clock)
        self.live = live
        #: The size of the log behind the last rewrite; growth is measured from it.
        self.base_size = 0
        self.heal_ms = 0
        self.presyncs = 0
        #: The journal of a rewrite that was asked for although the log is off.
        self.lonely: Journal | None = None
        #: A journal with files to remove.
        self.has_history: Journal | None = None
        #: The data was replaced behind the log's back (DEBUG RELOAD).
        self.log_is_stale = False
        self.make_journal: Callable[[], Journal]

    # What is due

    @property
    def needs_new_log(self) -> bool:
        """Whether there is no log that fits the data, though there should be one."""
        journal = self.live.journal
        if journal is None:
            return self.settings.appendonly
        return journal.is_pending or journal.is_doubtful or self.log_is_stale

    def may_start(self) -> bool:
        """Whether an automatic attempt need not wait any longer."""
        return self.clock.monotonic_ms() >= self.heal_ms

    def has_grown(self) -> bool:
        """Whether the log has become so much larger that it pays to begin it anew."""
        journal, percent = self.live.journal, self.settings.auto_aof_rewrite_percentage
        if journal is None or not percent or not self.may_start():
            return False
        if journal.current_size <= self.settings.auto_aof_rewrite_min_size:
            return False
        growth = journal.current_size * 100 // (self.base_size or 1) - 100
        if growth < percent:
            return False
        self.log.notice(f"Starting automatic rewriting of AOF on {growth}% growth")
        return True

    def is_close_to_disk(self) -> bool:
        """Let the thread sync first, or the turn would wait for the whole old increment."""
        journal = self.live.journal
        if self.live.syncer.is_busy:
            return False
        if journal is None or self.live.trouble or self.presyncs >= PRESYNCS:
            return True
        if journal.offset - journal.synced_offset <= UNSYNCED_BYTES:
            return True
        self.presyncs += 1
        self.live.start_sync()
        return False

    # Starting

    def start(self) -> None:
        """Let a child write a new base."""
        journal = self.live.journal or self.make_journal()
        try:
            if self.live.trouble or self.needs_new_log or not journal.is_open:
                self._begin_anew(journal)
            else:
                journal.rotate()
                self.engine.effects.forget_database()
        except ForebayError as error:
            self._failed(None, str(error), journal)
            if isinstance(error, DiskError) and journal.is_doubtful:
                self.live.doubt(error)
            return
        temp, kind = self._target(journal)
        work = self._work(temp, kind)

        def on_end(child: Child, error: str) -> None:
            self._end(child, error, journal, temp, kind)

        if not self.fork(work, on_end):
            self._failed(None, "fork failed", journal)

    def _begin_anew(self, journal: Journal) -> None:
        """The old files are of no use: all that is not written yet will be in the new base."""
        journal.begin()
        self.engine.effects.forget_database()
        self.log_is_stale = False
        if not self.settings.appendonly:
            self.lonely = journal
        elif journal is self.live.journal:
            self.live.start_over()
        else:
            self.live.use(journal)

    def _target(self, journal: Journal) -> tuple[str, str]:
        """Where the new base is written, and of which kind it is."""
        kind = "rdb" if self.settings.aof_use_rdb_preamble else "aof"
        return temp_path(self.disk, journal.folder, "rewrite", kind), kind

    def _work(self, temp: str, kind: str) -> Work:
        disk, keyspace, settings = self.disk, self.engine.keyspace, self.settings
        options = save_options(settings, self.clock.now_ms(), self.used_bytes(), True)

        def work(report: Report) -> None:
            if kind == "rdb":
                write_snapshot(disk, temp, keyspace, options, report)
            else:
                write_commands(disk, temp, keyspace, settings, report)

        return work

    # What came of it

    def _end(self, child: Child, error: str, journal: Journal, temp: str, kind: str) -> None:
        if not error:
            try:
                journal.adopt(temp, kind)
            except DiskError as fault:
                error = str(fault)
        if error:
            self.remove(temp)
            self._failed(child, error, journal)
            return
        self.count(child, "")
        self.log.notice("Background AOF rewrite finished successfully")
        if journal is self.lonely:
            self._close_lonely()
            return
        self.base_size = journal.current_size
        self.has_history = journal
        self.live.healed()

    def _failed(self, child: Child | None, error: str, journal: Journal) -> None:
        self.count(child, error)
        doublings = min(self.failures - 1, MOST_DOUBLINGS)
        self.heal_ms = self.clock.monotonic_ms() + (REWRITE_AGAIN_MS << doublings)
        self.log.warning(f"Background AOF rewrite failed: {error}")
        if journal is self.lonely:
            self._close_lonely()
        elif journal.has_rotated:
            journal.abandon()

    def _close_lonely(self) -> None:
        assert self.lonely is not None
        self.lonely.close()
        self.lonely = None

    def stopped(self) -> None:
        """The child was ended: what it has written is of no use."""
        journal = self.live.journal
        if self.lonely is not None:
            self._close_lonely()
        elif journal is not None and journal.has_rotated:
            journal.abandon()

    def drop_history(self) -> None:
        """Remove files that the log does not need any more; the thread does it when it is free."""
        journal = self.has_history
        if journal is None or self.live.syncer.is_busy:
            return
        self.has_history = None
        paths = journal.history()

        def remove() -> None:
            for path in paths:
                self.disk.remove(path)

        def done(error: ForebayError | None) -> None:
            try:
                journal.drop_history()
            except DiskError as fault:
                self.log.warning(f"Old files of the log stay: {fault}")

        self.live.syncer.start(remove, done)

    def finish(self) -> None:
        """The end is near, and the log does not fit the data: write it anew, here and now."""
        if not self.needs_new_log:
            return
        journal = self.live.journal or self.make_journal()
        self._begin_anew(journal)
        temp, kind = self._target(journal)
        self._work(temp, kind)(no_report)
        journal.adopt(temp, kind)
        self.live.healed()
