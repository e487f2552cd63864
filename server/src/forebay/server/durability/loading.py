"""From disk to memory at start: a slice between two turns of the loop.

    appendonly yes   the AOF, if there is one
                     else the snapshot, if there is one: it becomes the base of a new AOF
                     else nothing: a new, empty AOF
    appendonly no    the snapshot, if there is one

The doors are open meanwhile: commands that may run while loading (INFO, CONFIG,
CLIENT, SHUTDOWN, ...) do, all others get -LOADING.  With ``appendonly yes`` and no AOF at
all Redis starts empty, even if there is a snapshot; a user who
brings a snapshot does not want that.

Rules
  1. No data is served before all of it is in memory and the AOF is open for new writes.
  2. A damaged file ends the start: one line says which file, where and what to do,
     the exit code is 1, and the file stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.engine.replay import Replayer
from forebay.errors import CorruptDataError, DiskError, ForebayError
from forebay.persistence.aof.loader import AofLoader, AofPart
from forebay.persistence.aof.manifest import manifest_name
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import PIECE, Disk, ReadFile, join, last_name, parent, temp_path
from forebay.persistence.rdb.format import STREAM_NAME
from forebay.persistence.rdb.snapshot import LoadOptions, SnapshotLoader
from forebay.replication.history import Position, parse_position
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: How long one turn may load before the loop looks at its clients again.
SLICE_MS = 10
#: A line of progress goes to the log this often.
PROGRESS_MS = 2000


class Loading:
    """Loads all data, a slice at a time: begin(), then step() until it returns True."""

    def __init__(
        self, settings: Settings, engine: Engine, disk: Disk, log: Log, clock: Clock
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.disk = disk
        self.log = log
        self.clock = clock
        self.replayer = Replayer(engine)
        self.is_running = False
        self.started_ms = 0
        self.began_ms = 0
        self.total_bytes = 0
        self.loaded_bytes = 0
        self.keys_loaded = 0
        self.keys_expired = 0
        self.foreign: dict[str, int] = {}
        #: The AOF to continue, when all is loaded; None if it is off.
        self.aof: AofWriter | None = None
        self.progress_ms = 0
        self.source = ""
        #: The place of the loaded data in the stream of changes, if the files say it.
        self.position: Position | None = None
        self.slices: Iterator[None] = iter(())

    # Slices

    def begin(self, slices: Iterator[None]) -> None:
        """Get ready to load; step() does it."""
        self.is_running = True
        self.replayer.skip_foreign = self.settings.skip_foreign_types
        self.started_ms = self.clock.now_ms()
        self.began_ms = self.progress_ms = self.clock.monotonic_ms()
        self.total_bytes = self.loaded_bytes = 0
        self.keys_loaded = self.keys_expired = 0
        self.foreign = {}
        self.position = None
        self.slices = slices

    def step(self, budget_ms: int = SLICE_MS) -> bool:
        """Load for a while; True when all is loaded.  Raises ForebayError."""
        until_ms = self.clock.monotonic_ms() + budget_ms
        self.replayer.begin()
        try:
            for _ in self.slices:
                now_ms = self.clock.monotonic_ms()
                if now_ms >= self.progress_ms + PROGRESS_MS:
                    self.progress_ms = now_ms
                    self._say_how_far()
                if now_ms >= until_ms:
                    return False
        finally:
            self.replayer.end()
        self.is_running = False
        return True

    def run(self, slices: Iterator[None]) -> None:
        """Load without a pause, in the middle of a command (DEBUG RELOAD and LOADAOF)."""
        asked_by = self.engine.ctx.session
        self.begin(slices)
        try:
            while not self.step(1 << 30):
                pass
        finally:
            self.is_running = False
            self.engine.ctx.use(asked_by)

    def _say_how_far(self) -> None:
        self.log.notice(
            f"Loading {self.source}: {self.percent:.0f}% of {self.total_bytes >> 20} MB, "
            f"about {self.eta_s} s left"
        )

    @property
    def percent(self) -> float:
        """How much is loaded."""
        return 100 * min(1.0, self.loaded_bytes / max(1, self.total_bytes))

    @property
    def eta_s(self) -> int:
        """The time that is left, in seconds; 1 if unknown."""
        if not self.loaded_bytes:
            return 1
        spent_ms = self.clock.monotonic_ms() - self.began_ms
        left = max(0, self.total_bytes - self.loaded_bytes)
        return spent_ms * left // self.loaded_bytes // 1000

    # What to load

    def everything(self) -> Iterator[None]:
        """Everything that the settings ask for, at start."""
        settings = self.settings
        snapshot = join(settings.data_dir, settings.dbfilename)
        loader = self.aof_loader()
        if settings.preload_file and not self._preloads_our_own():
            yield from self._preloaded()
            return
        if not settings.appendonly:
            if loader.exists():
                self.log.notice("appendonly is off: the AOF that is there is not read")
            if self.disk.exists(snapshot):
                yield from self.snapshot(snapshot)
            return
        aof = self.new_aof()
        if loader.exists():
            yield from self.from_aof(loader)
            aof.resume(loader.resume())
        elif self.disk.exists(snapshot):
            yield from self.snapshot(snapshot)
            self.log.warning(
                f"There was no AOF, so the data of {snapshot} became its beginning "
                "(appendonly is on)"
            )
            yield from self._found(aof, snapshot)
        else:
            aof.begin_empty()
        self.aof = aof

    def _preloads_our_own(self) -> bool:
        """Whether preload-file names the AOF that would be loaded anyway."""
        settings = self.settings
        folder = join(settings.data_dir, settings.appenddirname)
        ours = join(folder, manifest_name(settings.appendfilename))
        return settings.appendonly and settings.preload_file == f"aof:{ours}"

    def _preloaded(self) -> Iterator[None]:
        """A backup or a snapshot from elsewhere; durability.py makes our AOF from it.

        A backup must be complete: nothing in it is cut or repaired.
        """
        kind, _, path = self.settings.preload_file.partition(":")
        self.log.notice(f"Loading {path} (preload-file), not our own files")
        if kind == "rdb":
            yield from self.snapshot(path)
            return
        name = last_name(path).removesuffix(manifest_name(""))
        loader = AofLoader(self.disk, parent(path), name, self.note, False)
        if not loader.exists():
            raise DiskError(path, "load", "there is no manifest of that name")
        yield from self.from_aof(loader)

    def new_aof(self) -> AofWriter:
        """An AOF at the configured place, not open yet."""
        settings = self.settings
        folder = join(settings.data_dir, settings.appenddirname)
        return AofWriter(self.disk, folder, settings.appendfilename, self.note)

    def aof_loader(self) -> AofLoader:
        """The reader of the files of the AOF."""
        settings = self.settings
        folder = join(settings.data_dir, settings.appenddirname)
        return AofLoader(
            self.disk, folder, settings.appendfilename, self.note, settings.aof_load_truncated
        )

    def note(self, level: str, text: str) -> None:
        """Write a message about the files to the log."""
        getattr(self.log, level)(text)

    def _found(self, aof: AofWriter, snapshot: str) -> Iterator[None]:
        """A new AOF whose base is a copy of the snapshot."""
        aof.begin()
        temp = temp_path(self.disk, aof.folder, "base", "rdb")
        copy = self.disk.create(temp)
        try:
            with self.disk.open_read(snapshot) as file:
                while piece := file.read(PIECE):
                    copy.write(piece)
                    yield
            copy.sync()
        finally:
            copy.close()
        aof.adopt(temp, "rdb")

    def from_aof(self, loader: AofLoader) -> Iterator[None]:
        """Base and increments, in order."""
        loader.prepare()
        self.source = "the AOF"
        self.total_bytes = loader.total_bytes
        done = 0
        for part in loader.parts():
            start = 0
            if part.kind == "rdb":
                yield from self._base(part, done)
                start = self.loaded_bytes - done
            if part.kind == "commands" or start < part.size:
                yield from self._commands(loader, part, start, done)
            done += part.size
            self.loaded_bytes = done
        if loader.position is not None:
            self.position = parse_position(loader.position)
        self.replayer.foreign.sweep()

    def _base(self, part: AofPart, done: int) -> Iterator[None]:
        """The snapshot that an AOF begins with; expired keys stay until the AOF deletes them."""
        options = self._options()
        options.allow_tail = True
        options.hold_foreign = options.skip_foreign
        with self.disk.open_read(part.path) as file:
            yield from self._snapshot_steps(file, options, done)

    def _commands(self, loader: AofLoader, part: AofPart, start: int, done: int) -> Iterator[None]:
        reader = loader.open(part, start)
        replayer, now_ms = self.replayer, self.clock.now_ms()
        try:
            while reader.next_range():
                try:
                    replayer.run(reader.buf, reader.start, reader.end, now_ms)
                except CorruptDataError as error:
                    at = reader.file_offset(replayer.at)
                    raise CorruptDataError(f"{part.path}, offset {at}: {error}") from None
                self.loaded_bytes = done + reader.done
                yield
            loader.settle(reader)
        finally:
            reader.close()

    def snapshot(self, path: str, replace: bool = False) -> Iterator[None]:
        """A snapshot file; ``replace``: its keys replace those in memory."""
        self.source = path
        options = self._options()
        options.drop_expired, options.replace = True, replace
        with self.disk.open_read(path) as file:
            self.total_bytes = file.size
            yield from self._snapshot_steps(file, options, 0)

    def _options(self) -> LoadOptions:
        settings = self.settings
        return LoadOptions(
            now_ms=self.clock.now_ms(),
            skip_foreign=settings.skip_foreign_types,
            verify_checksum=settings.rdbchecksum,
            idmp_duration_s=settings.stream_idmp_duration_s,
            idmp_maxsize=settings.stream_idmp_maxsize,
        )

    def _snapshot_steps(self, file: ReadFile, options: LoadOptions, done: int) -> Iterator[None]:
        loader = SnapshotLoader(file.read, file.size, self.engine.keyspace, options)
        try:
            for consumed in loader.steps():
                self.loaded_bytes = done + consumed
                yield
        except CorruptDataError as error:
            raise CorruptDataError(f"{file.path}: {error}") from None
        self.position = position_of(loader.aux)
        self.keys_loaded += loader.keys_loaded
        self.keys_expired += loader.keys_expired
        for name, count in loader.foreign.items():
            self.foreign[name] = self.foreign.get(name, 0) + count

    # The end

    def say_what_came(self) -> None:
        """Log what was loaded, and what was left out."""
        if not self.source:
            return
        seconds = (self.clock.monotonic_ms() - self.began_ms) / 1000
        keys = sum(len(db) for db in self.engine.keyspace.databases)
        self.log.notice(
            f"Loaded {self.source}: {keys} keys, {self.replayer.commands} commands, "
            f"{self.total_bytes} bytes in {seconds:.3f} seconds"
        )
        for name, count in {**self.foreign, **self.replayer.foreign.counts}.items():
            self.log.warning(f"Left out, because this server does not have it: {count} x {name}")


def position_of(aux: Mapping[bytes, bytes]) -> Position | None:
    """The place of a snapshot in the stream of changes, as the snapshot itself says."""
    words = [aux.get(name, b"") for name in (STREAM_NAME, b"repl-offset", b"repl-stream-db")]
    return parse_position(b":".join(words))


def what_to_do(error: ForebayError) -> str:
    """The one line for the operator when a file cannot be loaded."""
    text = str(error)
    if isinstance(error, CorruptDataError) and "forebay check" not in text:
        text += "; 'forebay check PATH' says more"
    return f"Cannot load the data, nothing was changed: {text}"
