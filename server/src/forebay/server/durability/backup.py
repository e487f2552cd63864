"""BACKUP: all data as of one moment, as files that never change again.

    START     a rewrite of the AOF gives a base; it is linked into the backup's folder
              meanwhile and afterwards, changes go to one increment, as always
    SEAL      the increment is synced, linked too, and ended: the moment of the backup;
              last, a manifest is written that names these two files and no other
    CLEANUP   the links are removed; the AOF itself is never affected

      idle --START--> pending --> snapshotting --> incrementing --SEAL--> sealed --CLEANUP--> idle
                          '------------'--- ABORT, a fault ---'--> failed --START, CLEANUP-->

Files are linked, not copied: a backup keeps the blocks of an older AOF, and reads nothing.

Rules
  1. Without a manifest there is no backup: it is written after all files that it names are
     synced.
  2. While changes are collected the AOF is not rewritten: BGREWRITEAOF waits for the seal.  A
     rewrite that cannot wait (a failed disk, data replaced by a primary's) ends the backup.
  3. With ``appendonly no`` there is an AOF only for the duration of the backup.
     It is removed afterwards, unless its folder existed before.
  4. Existing files in the backup's folder are never touched: START requires it to be empty.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.services import REWRITE
from forebay.commands.api.settings import Settings
from forebay.errors import CommandError, ConfigError, DiskError
from forebay.persistence.aof.manifest import Manifest, format_manifest, manifest_name
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import Disk, join, last_name, replace_file
from forebay.server.durability.aof_live import LiveAof
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.schedule import Schedule
from forebay.server.logger import Log
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd

IDLE, PENDING, SNAPSHOTTING = "idle", "pending", "snapshotting"
INCREMENTING, SEALED, FAILED = "incrementing", "sealed", "failed"

IN_PROGRESS = b"ERR A backup is already in progress, ABORT it first"
SEALED_EXISTS = b"ERR A sealed backup exists, CLEANUP it first"
NOT_READY = b"ERR No backup ready to seal (must be in the incrementing state)"
NO_BACKUP = b"ERR No backup in progress"
NOT_DONE = b"ERR Backup is in progress"


class Backup:
    """The one backup, which is under way, sealed, or failed."""

    def __init__(
        self,
        settings: Settings,
        disk: Disk,
        live: LiveAof,
        rewrite: Rewrite,
        schedule: Schedule,
        turn_end: TurnEnd,
        take_folder: Callable[[], None],
        log: Log,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.disk = disk
        self.live = live
        self.rewrite = rewrite
        self.schedule = schedule
        self.turn_end = turn_end
        self.take_folder = take_folder
        self.log = log
        self.clock = clock
        self.state = IDLE
        #: Why it failed; empty if it did not.
        self.error = ""
        self.start_s = 0
        self.end_s = 0
        #: Files of the backup, in the order in which they were made.
        self.pinned: list[str] = []
        #: SEAL was called in a transaction: it takes place when the turn ends.
        self.seal_is_due = False
        #: The folder of the AOF did not exist before: it is removed with the AOF.
        self.made_folder = False
        rewrite.on_start = self._rewrite_starts
        rewrite.on_end = self._rewrite_ended
        schedule.is_rewrite_held = self._holds_rewrites

    @property
    def is_active(self) -> bool:
        """Whether one is under way."""
        return self.state in (PENDING, SNAPSHOTTING, INCREMENTING)

    @property
    def folder(self) -> str:
        """Where the files of the backup are."""
        return join(self.settings.data_dir, self.settings.backupdirname)

    # Commands

    def start(self) -> None:
        """BACKUP START."""
        if self.is_active:
            raise CommandError(IN_PROGRESS)
        if self.state == SEALED:
            raise CommandError(SEALED_EXISTS)
        try:
            self.take_folder()
            self._check_folder()
        except (ConfigError, DiskError) as error:
            raise CommandError(f"ERR {error}") from None
        self.error, self.start_s, self.end_s = "", self.clock.now_ms() // 1000, 0
        self.seal_is_due = False
        if not self.settings.appendonly:
            self._begin_temporary()
        if self.rewrite.is_of_the_live_aof:
            self.state = SNAPSHOTTING
        else:
            self.schedule.ask_for(REWRITE)
            self.state = SNAPSHOTTING if self.schedule.wanted == REWRITE else PENDING
        self.log.notice("A backup was started")

    def _check_folder(self) -> None:
        """The folder of backups must be empty, or missing."""
        if self.disk.is_folder(self.folder) and self.disk.names(self.folder):
            raise ConfigError(f"The backup directory {self.folder} is not empty")

    def seal(self, at_once: bool) -> None:
        """BACKUP SEAL; in the middle of a transaction it waits for the end of the turn."""
        if self.state != INCREMENTING or self.seal_is_due:
            raise CommandError(NOT_READY)
        if not at_once:
            self.seal_is_due = True
            self.turn_end.ask()
            return
        try:
            self._seal()
        except DiskError as error:
            self._fail(str(error))
            raise CommandError(f"ERR {error}") from None

    def abort(self) -> None:
        """BACKUP ABORT."""
        if not self.is_active:
            raise CommandError(NO_BACKUP)
        self._fail("aborted by user")

    def cleanup(self) -> None:
        """BACKUP CLEANUP."""
        if self.is_active:
            raise CommandError(NOT_DONE)
        self._unpin()
        self.state, self.error = IDLE, ""
        self.start_s = self.end_s = 0

    # The turn

    def settle(self) -> None:
        """Do the seal that a transaction has asked for: now the transaction is complete."""
        self._look_at_disk()
        if self.seal_is_due and self.state == INCREMENTING:
            try:
                self._seal()
            except DiskError as error:
                self._fail(str(error))

    def beat(self) -> None:
        """Remove a sealed backup whose time is up."""
        ttl_s = self.settings.backup_sealed_ttl_s
        if self.state == SEALED and ttl_s and self.clock.now_ms() // 1000 >= self.end_s + ttl_s:
            self.log.notice("A sealed backup was removed: backup-sealed-ttl")
            self.cleanup()
        self._look_at_disk()

    def _look_at_disk(self) -> None:
        """If the AOF is only for the backup, an error of the disk fails only the backup."""
        if self.live.for_backup and self.live.trouble:
            self._fail(self.live.trouble)

    def stop(self, reason: str) -> None:
        """End the backup if one is under way."""
        if self.is_active:
            self._fail(reason)

    def aof_is_on(self, on: bool) -> None:
        """CONFIG SET appendonly: yes keeps the AOF of a backup, no ends the backup."""
        if on and self.live.for_backup:
            self.live.for_backup = self.made_folder = False
            self.live.follow_policy()
        elif not self.live.for_backup:
            self.stop("appendonly is stopped")

    # Called by the rewrite

    def _holds_rewrites(self) -> bool:
        return self.state == INCREMENTING

    def _rewrite_starts(self) -> None:
        if self.state == PENDING:
            self.state = SNAPSHOTTING
        elif self.state == INCREMENTING:
            self._fail("the AOF had to be rewritten")

    def _rewrite_ended(self, error: str) -> None:
        if self.state != SNAPSHOTTING:
            return
        aof = self.live.aof
        if error or aof is None or aof.manifest.base is None:
            self._fail(error or "the AOF is off")
            return
        try:
            self.disk.make_folder(self.folder)
            self._pin(aof.path_of(aof.manifest.base))
        except DiskError as fault:
            self._fail(str(fault))
            return
        self.state = INCREMENTING

    # The seal

    def _seal(self) -> None:
        """Put all acknowledged data into files that never change again; raises DiskError."""
        self.seal_is_due = False
        self.turn_end.read_now()
        self.live.sync_now()
        aof = self.live.aof
        if aof is None or self.live.trouble or self.rewrite.needs_new_aof:
            raise DiskError(self.folder, "seal", self.live.trouble or "the AOF must be rewritten")
        base, increments = aof.manifest.base, aof.manifest.increments
        if base is None or len(increments) != 1:
            raise DiskError(self.folder, "seal", "the AOF is not one base and one increment")
        self._pin(aof.path_of(increments[0]))
        self._end_increment(aof)
        manifest = Manifest()
        manifest.base, manifest.increments = base, increments[:1]
        path = join(self.folder, manifest_name(self.settings.appendfilename))
        replace_file(self.disk, path, format_manifest(manifest))
        self.pinned.append(path)
        self.state, self.end_s = SEALED, self.clock.now_ms() // 1000
        self.log.notice(f"A backup was sealed in {self.folder}")
        self._end_temporary()

    def _end_increment(self, aof: AofWriter) -> None:
        """Later changes go to another file."""
        try:
            aof.rotate()
        except DiskError as error:
            if aof.is_suspect:
                self.live.sync_failed(error)
            raise
        aof.abandon()
        self.live.engine.effects.forget_database()

    def _pin(self, path: str) -> None:
        """Give a file of the AOF a second name in the folder of the backup."""
        name = join(self.folder, last_name(path))
        self.disk.link(path, name)
        self.pinned.append(name)

    def _unpin(self) -> None:
        """Remove the files of the backup; first the manifest, which makes them a backup."""
        try:
            for path in reversed(self.pinned):
                self.disk.remove(path)
        except DiskError as error:
            self.log.warning(f"A file of a backup stays: {error}")
        self.pinned = []

    def _fail(self, reason: str) -> None:
        was, self.state, self.error = self.state, FAILED, reason
        self.seal_is_due = False
        self.log.warning(f"The backup was ended: {reason}")
        self._unpin()
        if self.live.for_backup:
            if was == PENDING:
                self.schedule.forget(REWRITE)
            else:
                self.schedule.stop_child([REWRITE])
        self._end_temporary()

    # An AOF for the backup alone

    def _begin_temporary(self) -> None:
        place = join(self.settings.data_dir, self.settings.appenddirname)
        self.made_folder = not self.disk.is_folder(place)
        self.live.for_backup = True
        self.live.engine.effects.enabled = True

    def _end_temporary(self) -> None:
        """Give up the AOF at the end of the turn: durability.py turns off an unwanted AOF."""
        if self.live.for_backup:
            self.live.for_backup = False
            self.turn_end.ask()

    def remove_temporary(self) -> None:
        """The AOF is off: remove its files, if there were none before; its manifest first."""
        if not self.made_folder:
            return
        self.made_folder = False
        place = join(self.settings.data_dir, self.settings.appenddirname)
        self.rewrite.has_history = None
        try:
            self.disk.remove(join(place, manifest_name(self.settings.appendfilename)))
            for name in self.disk.names(place):
                self.disk.remove(join(place, name))
            self.disk.remove_folder(place)
        except DiskError as error:
            self.log.warning(f"The AOF of a backup stays: {error}")
