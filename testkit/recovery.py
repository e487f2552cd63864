"""A server's start, without the server: load the files of a disk into an engine.

Recovery(disk).run().keyspace          raises CorruptDataError where a server would refuse
"""

from __future__ import annotations

from forebay.core.keyspace import Keyspace
from forebay.engine.replay import Replayer
from forebay.errors import CorruptDataError
from forebay.persistence.aof.loader import AofLoader, AofReader
from forebay.persistence.files import Disk
from forebay.persistence.rdb.snapshot import LoadOptions, SnapshotLoader
from testkit.engine_client import EngineClient
from testkit.replaying import LATER_MS

FOLDER, NAME = "/data/appendonlydir", "appendonly.aof"


class FailedCommandError(Exception):
    """A command of the AOF was refused although its bytes were verified."""


class Recovery:
    """An engine that starts from the files of a disk; ``notes`` are the lines of its log."""

    def __init__(self, disk: Disk, folder: str = FOLDER, *, truncated_ok: bool = True) -> None:
        #: Holds the loaded data; its clock stays at 0, so that nothing expires.
        self.client = EngineClient(now_ms=0)
        self.engine = self.client.engine
        self.replayer = Replayer(self.engine)
        self.disk = disk
        self.notes: list[str] = []
        self.loader = AofLoader(disk, folder, NAME, self.note, truncated_ok)

    def note(self, level: str, text: str) -> None:
        self.notes.append(f"{level}: {text}")

    @property
    def keyspace(self) -> Keyspace:
        return self.engine.keyspace

    def run(self) -> Recovery:
        """Load everything."""
        loader = self.loader
        if not loader.exists():
            return self
        loader.prepare()
        self.replayer.begin()
        for part in loader.parts():
            start = self.snapshot(part.path) if part.kind == "rdb" else 0
            if part.kind == "commands" or start < part.size:
                reader = loader.open(part, start)
                while reader.next_range():
                    self.replay(reader)
                loader.settle(reader)
        self.replayer.end()
        return self

    def replay(self, reader: AofReader) -> None:
        """Run a verified range."""
        try:
            self.replayer.run(reader.buf, reader.start, reader.end, LATER_MS)
        except CorruptDataError as error:
            raise FailedCommandError(str(error)) from None

    def snapshot(self, path: str) -> int:
        """Load a snapshot; returns where it ends in its file."""
        with self.disk.open_read(path) as file:
            options = LoadOptions(now_ms=LATER_MS, allow_tail=True)
            snapshot = SnapshotLoader(file.read, file.size, self.keyspace, options)
            snapshot.load()
            return snapshot.end
