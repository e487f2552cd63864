"""Snapshots and rewrites while the server goes on: when they start, and what comes of them.

    BGSAVE, save points      -- SAVE -----.
    BGREWRITEAOF, growth,                  +--> wanted --end of turn--> child --> taken over
    doubt, appendonly yes    -- REWRITE --'         (another child is at work: scheduled)

A rewrite in three steps
    1  the log goes on in a new increment                journal.rotate()
    2  the child writes all data as of this moment       temp file
    3  that file becomes the base of the new increment   journal.adopt()
It starts at the end of a turn, when the log holds all that the turn changed:
whatever is in the child's picture is in the old files, all later is in the new
one.  Where the old files are no use (the log was off, or the disk has failed), the new
increment stays unnamed until step 3 instead: journal.begin().

Rules
  1. One child at a time.  What cannot start now is scheduled.
  2. A failed child changes nothing: the old files are as good as before.
  3. Automatic attempts wait longer after each failure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from forebay.commands.api.services import REWRITE, SAVE
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import CommandError, DiskError, ForebayError
from forebay.persistence.aof.writer import Journal
from forebay.persistence.files import Disk, join, temp_path
from forebay.server.durability.aof_live import LiveLog
from forebay.server.durability.children import Child, Children, Work
from forebay.server.durability.full_writes import (
    Report,
    no_report,
    remove_if_there,
    save_options,
    write_commands,
    write_snapshot,
)
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: After a failed snapshot the save points wait this long.
SAVE_AGAIN_MS = 5000
#: After a failed rewrite the first automatic attempt waits this long, then twice as long ...
REWRITE_AGAIN_MS = 1000
MOST_DOUBLINGS = 6
#: Before a rewrite the old increment is synced in the background down to this much, in a few
#: attempts at most.
UNSYNCED_BYTES = 1 << 20
PRESYNCS = 3
#: A child that takes long is spoken of this often.
PROGRESS_MS = 5000


class JobStats:
    """What INFO says about one kind of job."""

    def __init__(self) -> None:
        self.is_ok = True
        self.done = 0
        self.last_s = -1
        self.copied_bytes = 0
        #: Failures in a row.
        self.failures = 0


class Background:
    """Decides which child runs, and takes over what it made."""

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
        self.settings = settings
        self.engine = engine
        self.disk = disk
        self.children = children
        self.live = live
        self.log = log
        self.clock = clock
        self.wanted = ""
        self.scheduled: set[str] = set()
        self.saves = JobStats()
        self.rewrites = JobStats()
        #: When the last snapshot was finished: for people, and for measuring (monotonic).
        self.last_save_s = clock.now_ms() // 1000
        self.saved_ms = clock.monotonic_ms()
        self.tried_ms = 0
        #: Sizes of the last files of each kind, to tell how far the next one is.
        self.sizes = {SAVE: 0, REWRITE: 0}
        #: ``effects.changes`` in the last snapshot, and in the one being written.
        self.saved_changes = engine.effects.changes
        self.saving_changes = 0
        #: The size of the log behind the last rewrite; growth is measured from it.
        self.base_size = 0
        self.heal_ms = 0
        self.progress_ms = 0
        self.presyncs = 0
        self.used_bytes: Callable[[], int] = lambda: 0
        self.on_trouble: Callable[[], None] = lambda: None
        #: The journal of a rewrite that was asked for although the log is off.
        self.lonely: Journal | None = None
        #: A journal with files to remove.
        self.has_history: Journal | None = None
        #: The data was replaced behind the log's back (DEBUG RELOAD).
        self.log_is_stale = False
        self.make_journal: Callable[[], Journal]

    # What is asked for

    @property
    def job(self) -> str:
        """What a child does, or will do at the end of this turn."""
        child = self.children.current
        return child.kind if child is not None else self.wanted

    def ask_for(self, job: str) -> None:
        """Start it at the end of this turn, or when the child at work has ended."""
        if self.job:
            self.scheduled.add(job)
        else:
            self.wanted = job
            self.presyncs = 0
            self.live.loop.is_log_due = True

    @property
    def changes(self) -> int:
        """Changes since the last snapshot."""
        return self.engine.effects.changes - self.saved_changes

    def expected_bytes(self, kind: str) -> int:
        """How large the file will be that a child writes, going by the one before."""
        journal = self.live.journal
        known = journal.base_size if kind == REWRITE and journal is not None else 0
        return known or self.sizes[kind] or self.sizes[SAVE] or self.sizes[REWRITE]

    # What is due

    def beat(self) -> None:
        """Start what waits, or what time and growth ask for."""
        if self.wanted:
            self.live.loop.is_log_due = True
        self._say_how_far()
        self._drop_history()
        if self.job:
            return
        now_ms = self.clock.monotonic_ms()
        if REWRITE in self.scheduled:
            self._unschedule(REWRITE)
        elif SAVE in self.scheduled and self._may_save(now_ms):
            self._unschedule(SAVE)
        elif not (self._heal() or self._save_point(now_ms)):
            self._growth()

    def percent(self, child: Child) -> float:
        """How far a child is: by keys, or where a few keys hold nearly all data, by bytes."""
        by_keys = child.keys_done / max(1, child.keys_total)
        by_bytes = child.bytes_done / max(1, self.expected_bytes(child.kind))
        return 100 * min(1.0, max(by_keys, min(0.99, by_bytes)))

    def _say_how_far(self) -> None:
        child = self.children.current
        now_ms = self.clock.monotonic_ms()
        if child is None:
            self.progress_ms = now_ms + PROGRESS_MS
        elif now_ms >= self.progress_ms:
            self.progress_ms = now_ms + PROGRESS_MS
            self.log.notice(
                f"Background {child.kind}: about {self.percent(child):.0f}%, "
                f"{child.bytes_done >> 20} MB written"
            )

    def _unschedule(self, job: str) -> None:
        self.scheduled.discard(job)
        self.ask_for(job)

    def _may_save(self, now_ms: int) -> bool:
        return self.saves.is_ok or now_ms - self.tried_ms > SAVE_AGAIN_MS

    def _save_point(self, now_ms: int) -> bool:
        for seconds, changes in self.settings.save_points:
            if (
                self.changes >= changes
                and now_ms - self.saved_ms > 1000 * seconds
                and self._may_save(now_ms)
            ):
                self.log.notice(f"{changes} changes in {seconds} seconds. Saving...")
                self.ask_for(SAVE)
                return True
        return False

    @property
    def needs_new_log(self) -> bool:
        """Whether there is no log that fits the data, though there should be one."""
        journal = self.live.journal
        if journal is None:
            return self.settings.appendonly
        return journal.is_pending or journal.is_doubtful or self.log_is_stale

    def _heal(self) -> bool:
        if not self.needs_new_log:
            return False
        if self.clock.monotonic_ms() >= self.heal_ms:
            self.ask_for(REWRITE)
        return True

    def _growth(self) -> None:
        journal, percent = self.live.journal, self.settings.auto_aof_rewrite_percentage
        if journal is None or not percent or self.clock.monotonic_ms() < self.heal_ms:
            return
        if journal.current_size <= self.settings.auto_aof_rewrite_min_size:
            return
        growth = journal.current_size * 100 // (self.base_size or 1) - 100
        if growth >= percent:
            self.log.notice(f"Starting automatic rewriting of AOF on {growth}% growth")
            self.ask_for(REWRITE)

    # Starting

    def end_of_turn(self) -> None:
        """The log holds all that this turn changed: now a child may start."""
        if self.wanted == SAVE:
            self.wanted = ""
            self._start_save()
        elif self.wanted == REWRITE and self._is_close_to_disk():
            self.wanted = ""
            self._start_rewrite()

    def _is_close_to_disk(self) -> bool:
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

    def _keys(self) -> int:
        return sum(len(db) for db in self.engine.keyspace.databases)

    def _fork(self, kind: str, work: Work, on_end: Callable[[Child, str], None]) -> bool:
        try:
            child = self.children.start(kind, work, self._keys(), on_end)
        except OSError as error:
            self.log.warning(f"Can't {kind} in background: fork: {error.strerror}")
            return False
        self.log.notice(f"Background {kind} started by pid {child.pid}")
        took_ms, threshold_ms = (
            self.children.last_fork_us // 1000,
            self.settings.latency_threshold_ms,
        )
        if 0 < threshold_ms <= took_ms:
            self.engine.latency.record(b"fork", self.clock.now_ms() // 1000, took_ms)
        return True

    def _start_save(self) -> None:
        disk, keyspace = self.disk, self.engine.keyspace
        temp = temp_path(disk, self.settings.data_dir, "save", "rdb")
        target = join(self.settings.data_dir, self.settings.dbfilename)
        options = save_options(self.settings, self.clock.now_ms(), self.used_bytes(), False)

        def work(report: Report) -> None:
            write_snapshot(disk, temp, keyspace, options, report)
            disk.rename(temp, target)

        self.tried_ms = self.clock.monotonic_ms()
        self.saving_changes = self.engine.effects.changes
        if not self._fork(SAVE, work, lambda child, error: self._end_save(child, error, temp)):
            self._count(self.saves, None, "fork")
            self.on_trouble()

    def _start_rewrite(self) -> None:
        journal = self.live.journal or self.make_journal()
        try:
            if self.live.trouble or self.needs_new_log or not journal.is_open:
                self._begin_anew(journal)
            else:
                journal.rotate()
                self.engine.effects.forget_database()
        except ForebayError as error:
            self._rewrite_failed(None, str(error), journal)
            if isinstance(error, DiskError) and journal.is_doubtful:
                self.live.doubt(error)
            return
        kind = "rdb" if self.settings.aof_use_rdb_preamble else "aof"
        temp = temp_path(self.disk, journal.folder, "rewrite", kind)
        work = self._rewriter(temp, kind)

        def on_end(child: Child, error: str) -> None:
            self._end_rewrite(child, error, journal, temp, kind)

        if not self._fork(REWRITE, work, on_end):
            self._rewrite_failed(None, "fork failed", journal)

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

    def _rewriter(self, temp: str, kind: str) -> Work:
        disk, keyspace, settings = self.disk, self.engine.keyspace, self.settings
        options = save_options(settings, self.clock.now_ms(), self.used_bytes(), True)

        def work(report: Report) -> None:
            if kind == "rdb":
                write_snapshot(disk, temp, keyspace, options, report)
            else:
                write_commands(disk, temp, keyspace, settings, report)

        return work

    # What came of it

    def _count(self, stats: JobStats, child: Child | None, error: str) -> None:
        stats.is_ok = not error
        stats.failures = stats.failures + 1 if error else 0
        stats.done += not error
        if child is not None:
            if not error:
                self.sizes[child.kind] = child.bytes_done
            stats.last_s = (self.clock.monotonic_ms() - child.started_ms) // 1000
            stats.copied_bytes = child.copied_peak_bytes

    def _end_save(self, child: Child, error: str, temp: str) -> None:
        self._count(self.saves, child, error)
        if error:
            self.log.warning(f"Background saving error: {error}")
            self._remove(temp)
        else:
            self.log.notice("Background saving terminated with success")
            self._saved(self.saving_changes)
        self.on_trouble()

    def _saved(self, changes: int) -> None:
        self.saved_changes = changes
        self.last_save_s = self.clock.now_ms() // 1000
        self.saved_ms = self.clock.monotonic_ms()

    def _end_rewrite(
        self, child: Child, error: str, journal: Journal, temp: str, kind: str
    ) -> None:
        if not error:
            try:
                journal.adopt(temp, kind)
            except DiskError as fault:
                error = str(fault)
        if error:
            self._remove(temp)
            self._rewrite_failed(child, error, journal)
            return
        self._count(self.rewrites, child, "")
        self.log.notice("Background AOF rewrite finished successfully")
        if journal is self.lonely:
            self._close_lonely()
            return
        self.base_size = journal.current_size
        self.has_history = journal
        self.live.healed()

    def _rewrite_failed(self, child: Child | None, error: str, journal: Journal) -> None:
        self._count(self.rewrites, child, error)
        doublings = min(self.rewrites.failures - 1, MOST_DOUBLINGS)
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

    def _drop_history(self) -> None:
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

    def _remove(self, temp: str) -> None:
        try:
            remove_if_there(self.disk, temp)
        except DiskError as error:
            self.log.warning(f"A temporary file stays: {error}")

    # Here and now

    def save_now(self) -> None:
        """SAVE, and the snapshot at the end; raises CommandError."""
        changes = self.engine.effects.changes
        folder = self.settings.data_dir
        temp = temp_path(self.disk, folder, "save", "rdb")
        options = save_options(self.settings, self.clock.now_ms(), self.used_bytes(), False)
        try:
            write_snapshot(self.disk, temp, self.engine.keyspace, options)
            self.disk.rename(temp, join(folder, self.settings.dbfilename))
        except DiskError as error:
            self.log.warning(f"Error saving DB on disk: {error}")
            self._remove(temp)
            self._count(self.saves, None, str(error))
            self.on_trouble()
            raise CommandError(f"ERR {error}") from None
        self.log.notice("DB saved on disk")
        self._count(self.saves, None, "")
        self._saved(changes)
        self.on_trouble()

    def finish_log(self) -> None:
        """The end is near, and the log does not fit the data: write it anew, here and now."""
        if not self.needs_new_log:
            return
        journal = self.live.journal or self.make_journal()
        self._begin_anew(journal)
        kind = "rdb" if self.settings.aof_use_rdb_preamble else "aof"
        temp = temp_path(self.disk, journal.folder, "rewrite", kind)
        self._rewriter(temp, kind)(no_report)
        journal.adopt(temp, kind)
        self.live.healed()

    def stop_child(self, kinds: Collection[str] = (SAVE, REWRITE)) -> None:
        """End the child at work, if it is of these kinds; what it has written is of no use."""
        child = self.children.current
        self.scheduled.difference_update(kinds)
        if self.wanted in kinds:
            self.wanted = ""
        if child is None or child.kind not in kinds:
            return
        self.log.warning(f"There is a child at work ({child.kind}, pid {child.pid}). Killing it!")
        self.children.kill()
        journal = self.live.journal
        if child.kind == SAVE:
            self._count(self.saves, child, "stopped")
        elif self.lonely is not None:
            self._close_lonely()
        elif journal is not None and journal.has_rotated:
            journal.abandon()
