"""A copy of the primary's data: received, read to its end, then put in place.

    link --bytes--> temp file, or memory --> a keyspace of its own --> exchanged with ours
                    |                                                       |
                    '-- becomes the base of our AOF, as it is <-------------'

Rules
  1. Our data stays as it is until the whole copy has been read and found good.  A copy that is
     cut off, damaged, or holds types that this server does not support changes nothing.
  2. While it is read, clients get -LOADING; with ``repl-diskless-load swapdb`` they go on with
     the old data.
  3. The received file becomes the base of the AOF: the data in memory is on disk at that
     moment, and no child must write it again.  If the AOF was turned on meanwhile, a child must.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from forebay.commands.api import gates
from forebay.commands.api.services import REWRITE
from forebay.commands.api.settings import Settings
from forebay.core.keyspace import Keyspace
from forebay.engine.engine import Engine
from forebay.errors import CorruptDataError, DiskError
from forebay.persistence.files import Disk, WriteFile, temp_path
from forebay.persistence.rdb.snapshot import LoadOptions, SnapshotLoader
from forebay.replication.history import Position
from forebay.server.durability.durability import Durability
from forebay.server.durability.full_writes import Sink
from forebay.server.durability.loading import position_of
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: How long one turn may read before the loop looks at its clients again.
SLICE_MS = 10
SERVE_OLD = "swapdb"
ON_DISK = "disabled"


class Incoming:
    """One copy at a time: begin, write ..., load until it is done, put_in_place; or abandon."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        durability: Durability,
        disk: Disk,
        log: Log,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.durability = durability
        self.disk = disk
        self.log = log
        self.clock = clock
        self.file: WriteFile | None = None
        self.sink: Sink | None = None
        self.path = ""
        self.is_for_aof = False
        self.memory_fd = -1
        self.keyspace = Keyspace(settings.databases)
        self.loader: SnapshotLoader | None = None
        self.slices: Iterator[None] = iter(())
        self.is_loading = False

    # Receiving

    def begin(self) -> None:
        """Open the place for it; raises DiskError."""
        self.abandon()
        aof = self.durability.live.aof
        self.is_for_aof = aof is not None
        if aof is not None:
            self._open(aof.folder)
        elif self.durability.lock is not None and self.settings.repl_diskless_load == ON_DISK:
            self._open(self.settings.data_dir)
        else:
            self.memory_fd = os.memfd_create("forebay-copy", os.MFD_CLOEXEC)
            self.path = f"/proc/self/fd/{self.memory_fd}"
            self.file = self.disk.open_append(self.path)
            self.sink = None

    def _open(self, folder: str) -> None:
        self.path = temp_path(self.disk, folder, "copy", "rdb")
        self.file = self.disk.create(self.path)
        self.sink = Sink(self.file)

    def write(self, data: bytes) -> None:
        """Keep the next bytes; raises DiskError."""
        assert self.file is not None
        if self.sink is not None and self.is_for_aof:
            self.sink(data)
        else:
            self.file.write(data)

    # Loading

    def begin_loading(self) -> None:
        """All bytes have arrived: read them."""
        assert self.file is not None
        if self.is_for_aof:
            self.file.sync()
        self.file.close()
        self.file = None
        self.keyspace = Keyspace(self.settings.databases)
        self.slices = self._steps()
        self.is_loading = True
        self.engine.set_gate(gates.LOADING, self.settings.repl_diskless_load != SERVE_OLD)

    def _steps(self) -> Iterator[None]:
        settings = self.settings
        options = LoadOptions(
            now_ms=self.clock.now_ms(),
            skip_foreign=settings.skip_foreign_types,
            verify_checksum=settings.rdbchecksum,
            idmp_duration_s=settings.stream_idmp_duration_s,
            idmp_maxsize=settings.stream_idmp_maxsize,
        )
        with self.disk.open_read(self.path) as file:
            loader = self.loader = SnapshotLoader(file.read, file.size, self.keyspace, options)
            for _ in loader.steps():
                yield

    def load(self) -> bool:
        """Read for a while; True when all is read.  Raises CorruptDataError, DiskError."""
        until_ms = self.clock.monotonic_ms() + SLICE_MS
        for _ in self.slices:
            if self.clock.monotonic_ms() >= until_ms:
                return False
        return True

    # The end

    def put_in_place(self) -> Position | None:
        """Replace our data by the copy; the place in the stream that the copy names."""
        assert self.loader is not None
        now_ms = self.clock.now_ms()
        for db, fresh in zip(self.engine.keyspace.databases, self.keyspace.databases, strict=True):
            db.exchange(fresh, now_ms)
        self.engine.tracking.flushed()
        self._tell_left_out(self.loader)
        position = position_of(self.loader.aux)
        self._bring_to_aof()
        self._let_go()
        return position

    def _bring_to_aof(self) -> None:
        """Our AOF, if there is one, holds the old data: give it a new base."""
        durability = self.durability
        durability.schedule.stop_child([REWRITE])
        if durability.live.aof is None:
            return
        if not (self.is_for_aof and self._becomes_base()):
            durability.rewrite_job.mark_stale()
            durability.schedule.ask_for(REWRITE)

    def _becomes_base(self) -> bool:
        """Make the file the base of our AOF; False if the disk refuses that."""
        try:
            self.durability.rewrite_job.take_over(self.path)
        except DiskError as error:
            self.log.warning(f"The copy cannot become the base of the AOF: {error}")
            return False
        self.path = ""
        return True

    def _tell_left_out(self, loader: SnapshotLoader) -> None:
        for name, count in loader.foreign.items():
            self.log.warning(f"Left out, because this server does not have it: {count} x {name}")

    def abandon(self) -> None:
        """Drop what has arrived; our data stays as it is."""
        if self.file is not None:
            self.file.close()
            self.file = None
        self._let_go()

    def _let_go(self) -> None:
        if self.is_loading:
            self.engine.set_gate(gates.LOADING, on=False)
        self.is_loading = False
        self.slices = iter(())
        self.loader = None
        self.keyspace = Keyspace(self.settings.databases)
        if self.memory_fd >= 0:
            os.close(self.memory_fd)
            self.memory_fd = -1
        elif self.path:
            self._remove()
        self.path = ""

    def _remove(self) -> None:
        try:
            self.disk.remove(self.path)
        except DiskError as error:
            self.log.warning(f"A temporary file stays: {error}")

    @property
    def loaded_bytes(self) -> int:
        """How much of the copy is read."""
        return self.loader.reader.offset if self.loader is not None else 0


def what_is_wrong(error: CorruptDataError) -> str:
    """For the log: why a copy cannot be used."""
    return f"the primary's data cannot be taken over, and ours stays as it is: {error}"
