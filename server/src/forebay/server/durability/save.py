"""Snapshots: SAVE in the server, BGSAVE and save points in a child.

    BGSAVE, a save point  -->  child writes a temp file, renames it  -->  counted as saved
    SAVE, shutdown        -->  the same in the server, while all clients wait

Rules
  1. A snapshot that fails leaves the last one as it is.
  2. After a failure the save points wait a while; BGSAVE does not.
  3. Changes are counted from the moment of the snapshot's data, not from its end.
"""

from __future__ import annotations

from forebay.commands.api.services import SAVE
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import CommandError, DiskError
from forebay.persistence.files import Disk, join, temp_path
from forebay.persistence.rdb.snapshot import SaveOptions
from forebay.server.durability.children import Child, Children
from forebay.server.durability.full_writes import Report, save_options, write_snapshot
from forebay.server.durability.job import Job
from forebay.server.durability.write_gate import WriteGate
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: After a failed snapshot the save points wait this long.
SAVE_AGAIN_MS = 5000


class Save(Job):
    """When a snapshot is due, and how it ended."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        disk: Disk,
        children: Children,
        gate: WriteGate,
        log: Log,
        clock: Clock,
    ) -> None:
        super().__init__(SAVE, settings, engine, disk, children, log, clock)
        #: When the last snapshot was finished: wall time for people, monotonic for measuring.
        self.last_save_s = clock.now_ms() // 1000
        self.saved_ms = clock.monotonic_ms()
        self.tried_ms = 0
        #: ``effects.changes`` in the last snapshot, and in the one being written.
        self.saved_changes = engine.effects.changes
        self.saving_changes = 0
        self.gate = gate

    @property
    def changes(self) -> int:
        """Changes since the last snapshot."""
        return self.engine.effects.changes - self.saved_changes

    def may_start(self, now_ms: int) -> bool:
        """Whether the last attempt went well, or long enough has passed since."""
        return self.is_ok or now_ms - self.tried_ms > SAVE_AGAIN_MS

    def is_due(self, now_ms: int) -> bool:
        """Whether a save point is reached."""
        if self.settings.save_points and not self.is_ok and self.may_start(now_ms):
            # Writes may be refused until a snapshot succeeds, so no save point would be reached.
            self.log.notice("The last snapshot failed. Saving...")
            return True
        for seconds, changes in self.settings.save_points:
            if self.changes >= changes and now_ms - self.saved_ms > 1000 * seconds:
                self.log.notice(f"{changes} changes in {seconds} seconds. Saving...")
                return True
        return False

    def start(self) -> None:
        """Let a child write a snapshot."""
        disk, keyspace = self.disk, self.engine.keyspace
        temp, target = self._paths()
        options = self._options()

        def work(report: Report) -> None:
            write_snapshot(disk, temp, keyspace, options, report)
            disk.rename(temp, target)

        self.tried_ms = self.clock.monotonic_ms()
        self.saving_changes = self.engine.effects.changes
        if not self.fork(work, lambda child, error: self._end(child, error, temp)):
            self.count(None, "fork")
            self.gate.tell_save(self.is_ok)

    def _paths(self) -> tuple[str, str]:
        folder = self.settings.data_dir
        temp = temp_path(self.disk, folder, "save", "rdb")
        return temp, join(folder, self.settings.dbfilename)

    def _options(self) -> SaveOptions:
        now_ms, used_bytes = self.clock.now_ms(), self.used_bytes()
        return save_options(self.settings, now_ms, used_bytes, False, self.where())

    def _end(self, child: Child, error: str, temp: str) -> None:
        self.count(child, error)
        if error:
            self.log.warning(f"Background saving error: {error}")
            self.remove(temp)
        else:
            self.log.notice("Background saving terminated with success")
            self._saved(self.saving_changes)
        self.gate.tell_save(self.is_ok)

    def _saved(self, changes: int) -> None:
        self.saved_changes = changes
        self.last_save_s = self.clock.now_ms() // 1000
        self.saved_ms = self.clock.monotonic_ms()

    def now(self) -> None:
        """SAVE, and the snapshot at the end; raises CommandError."""
        changes = self.engine.effects.changes
        temp, target = self._paths()
        options = self._options()
        try:
            write_snapshot(self.disk, temp, self.engine.keyspace, options)
            self.disk.rename(temp, target)
        except DiskError as error:
            self.log.warning(f"Error saving DB on disk: {error}")
            self.remove(temp)
            self.count(None, str(error))
            self.gate.tell_save(self.is_ok)
            raise CommandError(f"ERR {error}") from None
        self.log.notice("DB saved on disk")
        self.count(None, "")
        self._saved(changes)
        self.gate.tell_save(self.is_ok)
