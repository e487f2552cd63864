"""All that keeps data on disk, put together and conducted.

    start     lock the directory, remove stale temp files; doors open; load (loading.py)
    a turn    effects -> AOF (aof_live.py), then a child may start (background.py)
    a beat    sync of every second, another attempt, save points, growth of the AOF
    end       everything written and synced; a snapshot if save points are set

Rules
  1. Changes of the AOF itself (on, off, new files) happen at the end of a turn, when no
     command is half done.
  2. Whatever the disk says is either repaired here or told to the clients as MISCONF;
     never a success that is not one.
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
from forebay.server.durability.aof_live import LiveAof, misconf_text
from forebay.server.durability.background import Background
from forebay.server.durability.children import Children
from forebay.server.durability.loading import Loading, what_to_do
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.save import Save
from forebay.server.durability.syncer import Syncer
from forebay.server.logger import Log
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.process import Halt

SAVE_TROUBLE = (
    b"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    b"disk. Commands that may modify the data set are disabled, because this instance is "
    b"configured to report errors during writes if RDB snapshotting fails "
    b"(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "
    b"RDB error."
)
CANNOT_END = b"ERR Errors trying to SHUTDOWN. Check logs."


class Durability:
    """The conductor; commands reach it as ``services.durability``."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        loop: Loop,
        log: Log,
        clock: Clock,
        disk: Disk | None = None,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.loop = loop
        self.log = log
        self.clock = clock
        self.disk = Disk() if disk is None else disk
        self.syncer = Syncer(loop)
        self.children = Children(loop, clock)
        self.live = LiveAof(settings, engine, loop, self.syncer, log, clock)
        self.save_job = Save(settings, engine, self.disk, self.children, log, clock)
        self.rewrite_job = Rewrite(
            settings, engine, self.disk, self.children, self.live, log, clock
        )
        self.background = Background(
            self.save_job, self.rewrite_job, self.children, loop, log, clock
        )
        self.loading = Loading(settings, engine, self.disk, log, clock)
        self.lock: Lock | None = None
        self.on_ready: Callable[[], None] = lambda: None
        self.live.on_trouble = self.refresh_gate
        self.live.has_child = lambda: self.children.current is not None
        self.save_job.on_trouble = self.refresh_gate
        self.rewrite_job.make_aof = self.loading.new_aof

    # The start

    @property
    def needs_disk(self) -> bool:
        """Whether the settings ask for any file."""
        return self.settings.appendonly or bool(self.settings.save_points)

    def take_folder(self) -> None:
        """Make the data directory ours; raises ConfigError."""
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

    def prepare(self) -> None:
        """Before the doors open; raises ConfigError."""
        if self.needs_disk:
            self.take_folder()

    def release_folder(self) -> None:
        """Let others have the data directory."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def start(self, on_ready: Callable[[], None]) -> None:
        """Begin to load; ``on_ready`` is called when all data is there."""
        self.on_ready = on_ready
        self.engine.set_gate(gates.LOADING, on=True)
        self.loading.begin(self.loading.everything())
        self.loop.turn_work = self._load

    def _load(self) -> None:
        try:
            if not self.loading.step():
                return
            self.loop.turn_work = None
            self._loaded()
        except ForebayError as error:
            self.log.warning(what_to_do(error))
            raise Halt(what_to_do(error)) from None
        except Exception as fault:
            # Half of the data must not pass for all of it.
            self.log.traceback(fault)
            text = f"the data could not be loaded: {type(fault).__name__}: {fault}"
            raise Halt(text) from fault

    def _loaded(self) -> None:
        self.loading.say_what_came()
        self.live.use(self.loading.aof)
        aof = self.live.aof
        if aof is not None:
            self.rewrite_job.base_size = aof.base_size
        self.follow_settings()
        self.loop.before_replies = self.live.turn.end_turn
        self.loop.after_aof = self.after_aof
        self.engine.set_gate(gates.LOADING, on=False)
        self.on_ready()

    # Turns and beats

    def after_aof(self) -> None:
        """The AOF holds all that this turn changed: now it may be replaced, or synced."""
        if not self.settings.appendonly and self.live.aof is not None:
            self._turn_off()
        self.engine.effects.enabled = self.needs_disk
        self.background.end_of_turn()
        self.live.sync_for_waiters()

    def beat(self) -> None:
        """Ten times a second."""
        if not self.loading.is_running:
            self.live.beat()
            self.background.beat()

    def _turn_off(self) -> None:
        """CONFIG SET appendonly no: all that was promised so far is still kept."""
        self.background.stop_child([REWRITE])
        try:
            self.live.close()
        except DiskError as error:
            self.log.warning(f"The AOF was turned off with its end not written: {error}")
            self.live.let_go()
        self.live.use(None)
        self.log.notice("The AOF is off")

    # Settings

    def follow_settings(self) -> None:
        """Effects are recorded if anybody wants them; that ends only with the turn."""
        if self.needs_disk:
            self.engine.effects.enabled = True
        self.loop.is_aof_due = True
        self.refresh_gate()

    def check_may_change(self) -> None:
        """Not while loading: nobody knows yet what the AOF will be."""
        if self.loading.is_running:
            raise ConfigError("not possible while the data is being loaded")

    def set_appendonly(self, on: bool) -> None:
        """CONFIG SET appendonly."""
        self.check_may_change()
        if on and self.lock is None:
            self.take_folder()
        self.follow_settings()
        if on and self.live.aof is None:
            self.background.ask_for(REWRITE)

    def set_policy(self, policy: str) -> None:
        """CONFIG SET appendfsync."""
        self.live.follow_policy()

    def set_save_points(self, points: object) -> None:
        """CONFIG SET save."""
        self.check_may_change()
        if points and self.lock is None:
            self.take_folder()
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

    def refresh_gate(self) -> None:
        """Refuse writes while what they would change is not safe."""
        settings, text = self.settings, b""
        if self.live.trouble:
            text = misconf_text(self.live.trouble)
        elif (
            settings.stop_writes_on_bgsave_error
            and settings.save_points
            and not self.save_job.is_ok
        ):
            text = SAVE_TROUBLE
        self.engine.misconf_text = text
        self.engine.set_gate(gates.MISCONF, bool(text))

    # For commands

    @property
    def job(self) -> str:
        """What a child does, or will do at the end of this turn."""
        return self.background.job

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
        """FLUSHALL: the snapshot holds nothing either, and no child brings the old data back."""
        self.background.stop_child([SAVE])
        with contextlib.suppress(CommandError):  # told to the log and to INFO; the keys are gone
            self.save_job.now()

    def ask_for(self, job: str) -> None:
        """Start a child for it as soon as possible."""
        self.background.ask_for(job)

    def mark(self) -> int:
        """A mark after all that was recorded so far."""
        return self.live.mark()

    def is_synced(self, mark: int) -> bool:
        """Whether all before the mark is on disk."""
        return self.live.is_synced(mark)

    def wake_when_synced(self, mark: int, session: Session) -> None:
        """End the wait of a client when all before the mark is on disk."""
        self.live.wake_when_synced(mark, session)

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
        if not (save and flush) and self.settings.appendonly:
            self.rewrite_job.aof_is_stale = True
            self.background.ask_for(REWRITE)

    def reload_aof(self) -> None:
        """DEBUG LOADAOF; an AOF that cannot be loaded ends the server, as its data is gone."""
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

    # The end

    def finish(self, words: list[bytes]) -> None:
        """SHUTDOWN: bring everything to disk; raises CommandError if that fails, unless FORCE."""
        if self.loading.is_running:
            return
        self.background.stop_child()
        try:
            self.live.flush()
            self.rewrite_job.finish()
            if b"SAVE" in words or (self.settings.save_points and b"NOSAVE" not in words):
                self.save_job.now()
        except (CommandError, DiskError) as error:
            self.log.warning(f"Cannot bring all data to disk: {error}")
            if b"FORCE" not in words:
                raise CommandError(CANNOT_END) from None

    def close(self) -> bool:
        """The last act: whether all that was promised is on disk."""
        is_good = True
        try:
            self.live.close()
        except DiskError as error:
            self.log.warning(f"The end of the AOF could not be written: {error}")
            is_good = False
        self.release_folder()
        return is_good
