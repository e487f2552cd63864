"""Persistence as a whole: puts its parts together and drives them.

    start     lock the directory, remove stale temp files; doors open; load (loading.py)
    a turn    effects -> AOF (aof_live.py), then a child may start (schedule.py)
    a beat    sync of every second, another attempt, save points, growth of the AOF
    end       everything written and synced; a snapshot if save points are set

Rules
  1. Changes of the AOF itself (on, off, new files) happen at the end of a turn, when no
     command is half done.
  2. Every error of the disk is either repaired here or reported to clients as MISCONF;
     a failure never looks like a success.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from forebay.commands.api import gates
from forebay.commands.api.services import REWRITE, SAVE
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import CommandError, ConfigError, DiskError, ForebayError
from forebay.persistence.files import Disk, Lock, clean_temps, join
from forebay.replication.history import Position
from forebay.server.durability.aof_live import LiveAof
from forebay.server.durability.backup import Backup
from forebay.server.durability.children import Children
from forebay.server.durability.loading import Loading, what_to_do
from forebay.server.durability.progress import Progress
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.save import Save
from forebay.server.durability.schedule import Schedule
from forebay.server.durability.syncer import Syncer
from forebay.server.durability.write_gate import WriteGate
from forebay.server.logger import Log
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import Participant, TurnEnd
from forebay.server.process import Halt

CANNOT_END = b"ERR Errors trying to SHUTDOWN. Check logs."


def nobody_waits() -> None:
    """The default until start() names a function to call when all is loaded."""


def nobody_asks(position: Position | None) -> None:
    """The default until replication asks for the place of the data in the stream of changes."""


class Durability(Participant):
    """The conductor; commands reach it as ``services.durability``."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        loop: Loop,
        turn_end: TurnEnd,
        log: Log,
        clock: Clock,
        disk: Disk | None = None,
        syncer: Syncer | None = None,
        children: Children | None = None,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.turn_end = turn_end
        self.log = log
        self.clock = clock
        self.disk = Disk() if disk is None else disk
        self.syncer = Syncer(loop) if syncer is None else syncer
        self.children = Children(loop, clock) if children is None else children
        self.gate = WriteGate(settings, engine)
        self.loading = Loading(settings, engine, self.disk, log, clock)
        self.live = LiveAof(
            settings, engine, loop, turn_end, self.syncer, self.children, self.gate, log, clock
        )
        self.save_job = Save(settings, engine, self.disk, self.children, self.gate, log, clock)
        self.rewrite_job = Rewrite(
            *(settings, engine, self.disk, self.children, self.live),
            *(self.loading.new_aof, log, clock),
        )
        self.schedule = Schedule(
            self.save_job, self.rewrite_job, self.children, turn_end, log, clock
        )
        self.backup = Backup(
            *(settings, self.disk, self.live, self.rewrite_job, self.schedule, turn_end),
            *(self._take_folder_once, log, clock),
        )
        self.progress = Progress(self.save_job, self.rewrite_job, self.children, log, clock)
        self.lock: Lock | None = None
        self.on_ready: Callable[[], None] = nobody_waits
        #: Called with the place of the loaded data in the stream of changes, if the files say it.
        self.on_loaded: Callable[[Position | None], None] = nobody_asks
        #: Reads the effects of each turn.
        self.reader = self.live.turn

    # The start

    def take_folder(self) -> None:
        """Make the data directory if it is missing, and lock it; raises ConfigError."""
        folder = self.settings.data_dir = str(Path(self.settings.data_dir).absolute())
        try:
            if not self.disk.is_folder(folder):
                self.disk.make_folder(folder)
                self.log.notice(f"The directory {folder} was missing and has been made")
            self.lock = self.disk.lock(folder)
            clean_temps(self.disk, folder)
            aof_folder = join(folder, self.settings.appenddirname)
            if self.disk.is_folder(aof_folder):
                clean_temps(self.disk, aof_folder)
        except DiskError as error:
            raise ConfigError(
                f"{error}; choose another directory with --dir, or keep nothing on disk with "
                "--appendonly no"
            ) from None

    def _take_folder_once(self) -> None:
        """Lock it for a command that needs it although the settings do not."""
        if self.lock is None:
            self.take_folder()

    def prepare(self) -> None:
        """Before the doors open; raises ConfigError."""
        if self.settings.needs_disk():
            self.take_folder()

    def release_folder(self) -> None:
        """Unlock the data directory."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def start(self, on_ready: Callable[[], None]) -> None:
        """Begin to load; ``on_ready`` is called when all data is there."""
        self.on_ready = on_ready
        self.engine.set_gate(gates.LOADING, on=True)
        self.loading.begin(self.loading.everything())
        self.turn_end.begin_work(self)

    def work(self) -> None:
        """Load a piece; the work ends when all is there."""
        try:
            if not self.loading.step():
                return
            self.turn_end.end_work()
            self._loaded()
        except ForebayError as error:
            self.log.warning(what_to_do(error))
            raise Halt(what_to_do(error)) from None
        except Exception as fault:
            # A server must not run with half of its data.
            self.log.traceback(fault)
            text = f"the data could not be loaded: {type(fault).__name__}: {fault}"
            raise Halt(text) from fault

    def _loaded(self) -> None:
        self.loading.say_what_came()
        self.live.use(self.loading.aof)
        # The data of preload-file must be in our own files before clients are served.
        self.rewrite_job.finish()
        self.rewrite_job.loaded(self.live.aof)
        self.follow_settings()
        self.engine.set_gate(gates.LOADING, on=False)
        self.on_loaded(self.loading.position)
        self.on_ready()

    # Turns and beats

    def settle(self) -> None:
        """The AOF holds all changes of this turn: now it may be replaced, or synced."""
        self.backup.settle()
        self._drop_unwanted()
        self.engine.effects.enabled = self.turn_end.effects_are_wanted()
        self.schedule.settle()
        self.live.sync_for_waiters()

    def beat(self) -> None:
        """Ten times a second."""
        if not self.loading.is_running:
            self.live.beat()
            self.backup.beat()
            self.progress.beat()
            self.schedule.beat()

    def _drop_unwanted(self) -> None:
        """Turn off an AOF that neither the settings nor a backup want any more."""
        if not self.live.is_wanted and self.live.aof is not None:
            waits = REWRITE in self.schedule.scheduled
            self._turn_off()
            self.backup.remove_temporary()
            if waits:
                self.schedule.ask_for(REWRITE)

    def _turn_off(self) -> None:
        """CONFIG SET appendonly no: everything acknowledged so far is still written."""
        self.schedule.stop_child([REWRITE])
        try:
            self.live.close()
        except DiskError as error:
            self.log.warning(f"The AOF was turned off with its end not written: {error}")
            self.live.let_go()
        self.live.use(None)
        self.log.notice("The AOF is off")

    # Settings

    def follow_settings(self) -> None:
        """Record effects if any reader wants them; that ends only with the turn."""
        if self.settings.needs_disk():
            self.engine.effects.enabled = True
        self.turn_end.ask()
        self.gate.refresh()

    def check_may_change(self) -> None:
        """Not while loading: it is not yet known what the AOF will be."""
        if self.loading.is_running:
            raise ConfigError("not possible while the data is being loaded")

    def set_appendonly(self, on: bool) -> None:
        """CONFIG SET appendonly."""
        self.check_may_change()
        if on:
            self._take_folder_once()
        self.backup.aof_is_on(on)
        self.follow_settings()
        if on and self.live.aof is None:
            self.schedule.ask_for(REWRITE)

    def set_policy(self, policy: str) -> None:
        """CONFIG SET appendfsync."""
        self.live.follow_policy()

    def set_save_points(self, points: object) -> None:
        """CONFIG SET save."""
        self.check_may_change()
        if points:
            self._take_folder_once()
        self.follow_settings()

    def set_folder(self, folder: str) -> None:
        """CONFIG SET dir."""
        self.check_may_change()
        if not self.disk.is_folder(folder):
            raise ConfigError("No such file or directory")
        if self.settings.appendonly:
            raise ConfigError("the AOF is in dir: set appendonly to no first")
        self.release_folder()
        self.prepare()

    # For commands

    @property
    def job(self) -> str:
        """The job of the child at work, or of the one that starts at the end of this turn."""
        return self.schedule.job

    @property
    def last_save_s(self) -> int:
        """When the last snapshot was finished."""
        return self.save_job.last_save_s

    @property
    def aof_is_on(self) -> bool:
        """Whether there is an AOF, or soon will be."""
        return self.settings.appendonly

    def save(self) -> None:
        """Write the snapshot now."""
        self.save_job.now()

    def save_flushed(self) -> None:
        """FLUSHALL: write an empty snapshot, and stop a child that would save the old data."""
        self.schedule.stop_child([SAVE])
        with contextlib.suppress(CommandError):  # log and INFO report it; the keys are gone
            self.save_job.now()

    def ask_for(self, job: str) -> None:
        """Start a child for it as soon as possible."""
        self.schedule.ask_for(job)

    def mark(self) -> int:
        """A mark after everything recorded so far."""
        return self.live.mark()

    def is_synced(self, mark: int) -> bool:
        """Whether everything before the mark is on disk."""
        return self.live.is_synced(mark)

    def wake_when_synced(self, mark: int, session: Session, is_enough: Callable[[], bool]) -> None:
        """End the wait of a client when everything before the mark is on disk."""
        self.live.wake_when_synced(mark, session, is_enough)

    def reload(self, save: bool, flush: bool, merge: bool) -> None:
        """DEBUG RELOAD."""
        if save:
            self.save_job.now()
        if flush:
            self._forget_all()
        path = join(self.settings.data_dir, self.settings.dbfilename)
        try:
            self.loading.run(self.loading.snapshot(path, replace=merge))
        except ForebayError as error:
            self.log.warning(what_to_do(error))
            text = b"ERR Error trying to load the RDB dump, check server logs."
            raise CommandError(text) from None
        if not (save and flush) and self.live.is_wanted:
            self.rewrite_job.mark_stale()
            self.schedule.ask_for(REWRITE)

    def reload_aof(self) -> None:
        """DEBUG LOADAOF; if the AOF cannot be loaded, the server ends: its data is gone."""
        loader = self.loading.aof_loader()
        if self.rewrite_job.needs_new_aof or not loader.exists():
            raise CommandError(b"ERR There is no AOF that fits the data")
        try:
            self.live.flush()
        except DiskError as error:
            raise CommandError(f"ERR {error}") from None
        self._forget_all()
        try:
            self.loading.run(self.loading.from_aof(loader))
        except ForebayError as error:
            self.log.warning(what_to_do(error))
            raise Halt(1) from None

    def _forget_all(self) -> None:
        for db in self.engine.keyspace.databases:
            db.clear()
        self.engine.tracking.flushed()

    # The end

    def finish(self, words: list[bytes]) -> None:
        """SHUTDOWN: write everything to disk; raises CommandError on failure, unless FORCE."""
        if self.loading.is_running:
            return
        self.backup.stop("the server was stopped")
        self._drop_unwanted()
        self.schedule.stop_child()
        try:
            self.turn_end.read_now()
            self._note_place()
            self.live.flush()
            self.rewrite_job.finish()
            if b"SAVE" in words or (self.settings.save_points and b"NOSAVE" not in words):
                self.save_job.now()
        except (CommandError, DiskError) as error:
            self.log.warning(f"Cannot bring all data to disk: {error}")
            if b"FORCE" not in words:
                raise CommandError(CANNOT_END) from None

    def _note_place(self) -> None:
        """Note in the AOF the place in the stream of changes, for the next start."""
        position = self.save_job.where()
        if position is not None and self.live.aof is not None:
            self.engine.effects.annotate(position.line())

    def close(self) -> bool:
        """Close all; whether everything acknowledged is on disk."""
        is_good = True
        try:
            self.live.close()
        except DiskError as error:
            self.log.warning(f"The end of the AOF could not be written: {error}")
            is_good = False
        self.release_folder()
        return is_good
