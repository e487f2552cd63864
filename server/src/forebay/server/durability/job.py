"""The common part of a save and a rewrite: a child that writes all data, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection

from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import DiskError
from forebay.persistence.files import Disk
from forebay.replication.history import Position
from forebay.server.durability.children import Child, Children, Work
from forebay.server.durability.full_writes import remove_if_there
from forebay.server.logger import Log
from forebay.server.net.timers import Clock


def nowhere() -> None:
    """No place in a stream of changes is known."""


class Job:
    """One kind of file that a child writes; ``kind`` is its name for people."""

    def __init__(
        self,
        kind: str,
        settings: Settings,
        engine: Engine,
        disk: Disk,
        children: Children,
        log: Log,
        clock: Clock,
    ) -> None:
        self.kind = kind
        self.settings = settings
        self.engine = engine
        self.disk = disk
        self.children = children
        self.log = log
        self.clock = clock
        #: The place of the data in the stream of changes; connected by server/startup.py.
        self.where: Callable[[], Position | None] = nowhere
        # For INFO.
        self.is_ok = True
        self.done = 0
        self.last_s = -1
        self.copied_bytes = 0
        #: Failures in a row.
        self.failures = 0
        #: The size of the last file, to estimate the progress of the next one.
        self.size = 0

    def used_bytes(self) -> int:
        """Memory in use, for the head of a snapshot."""
        return self.engine.services.memory_used()

    def fork(
        self, work: Work, on_end: Callable[[Child, str], None], keep: Collection[int] = ()
    ) -> bool:
        """Let a child do it, with these descriptors; False if none can be started."""
        keys = sum(len(db) for db in self.engine.keyspace.databases)
        try:
            child = self.children.start(self.kind, work, keys, on_end, keep)
        except OSError as error:
            self.log.warning(f"Can't {self.kind} in background: fork: {error.strerror}")
            return False
        self.log.notice(f"Background {self.kind} started by pid {child.pid}")
        took_ms, threshold_ms = (
            self.children.last_fork_us // 1000,
            self.settings.latency_threshold_ms,
        )
        if 0 < threshold_ms <= took_ms:
            self.engine.latency.record(b"fork", self.clock.now_ms() // 1000, took_ms)
        return True

    def count(self, child: Child | None, error: str) -> None:
        """Note how an attempt ended; ``error`` is empty if it went well."""
        self.is_ok = not error
        self.failures = self.failures + 1 if error else 0
        self.done += not error
        if child is not None:
            if not error:
                self.size = child.bytes_done
            self.last_s = (self.clock.monotonic_ms() - child.started_ms) // 1000
            self.copied_bytes = child.copied_peak_bytes

    def remove(self, temp: str) -> None:
        """Remove the file of a failed attempt."""
        try:
            remove_if_there(self.disk, temp)
        except DiskError as error:
            self.log.warning(f"A temporary file stays: {error}")
