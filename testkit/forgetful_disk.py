"""A simulated disk in memory that may lose power after any operation.

    disk = ForgetfulDisk()                  same methods as persistence.files.Disk
    ... an AOF lives on it ...
    disk.trace                              every operation in its order
    disk.survivors(at, Random(seed))        the files after a power failure after ``at`` operations,
                                            path -> bytes; another seed, another accident
    ForgetfulDisk(survivors)                the machine starts again

Certain to survive: bytes that were in a file when it was synced, and names that were in a
folder when the folder was synced.  Any part of the rest may survive:

    names   each creation, rename and removal since the folder was synced, or not
    size    the old one, the new one, or one in between
    pages   each 4 KiB page that was written since the file was synced: new or old;
            an old page after the old end is zeros
    write   the last one may be cut at any byte

Among the accidents are one that loses nothing (a killed process) and one that loses
all it can.  Names and content are independent: a file that was renamed before it
was synced may come back empty under its new name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from forebay.errors import DiskError
from forebay.persistence.files import Data, Disk, Lock, ReadFile, WriteFile, parent

PAGE = 4096


# -- the record of a life -----------------------------------------------------------


@dataclass(frozen=True)
class Write:
    file_no: int
    at: int
    data: bytes


@dataclass(frozen=True)
class Cut:
    file_no: int
    size: int


@dataclass(frozen=True)
class Sync:
    file_no: int


@dataclass(frozen=True)
class Name:
    """A file gets a name; ``old`` is the one it had."""

    path: str
    file_no: int
    old: str = ""


@dataclass(frozen=True)
class Unname:
    path: str


@dataclass(frozen=True)
class SyncFolder:
    path: str


Naming = Name | Unname
Operation = Write | Cut | Sync | Name | Unname | SyncFolder


# -- the living disk ----------------------------------------------------------------


class ForgetfulRead(ReadFile):
    """A file as it was when it was opened."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.size = len(data)
        self.at = 0

    def read(self, n: int) -> bytes:
        piece = self.data[self.at : self.at + n]
        self.at += len(piece)
        return piece

    def seek(self, offset: int) -> None:
        self.at = offset

    def close(self) -> None:
        """Nothing is held."""


class ForgetfulFile(WriteFile):
    """A file that is written; what it does is in the trace of its disk."""

    def __init__(self, disk: ForgetfulDisk, path: str, file_no: int) -> None:
        self.disk = disk
        self.path = path
        self.file_no = file_no
        self.is_torn = False
        self.size = len(disk.contents[file_no])

    def write(self, data: Data) -> None:
        self.disk.do(Write(self.file_no, self.size, bytes(data)))
        self.size += len(data)

    def truncate(self, size: int) -> None:
        self.disk.do(Cut(self.file_no, size))
        self.size = size

    def sync(self) -> None:
        self.disk.do(Sync(self.file_no))

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        """Nothing is held, and nothing is synced."""


class NoLock(Lock):
    """A lock that always succeeds: no other process is on this machine."""

    def __init__(self) -> None:
        pass

    def release(self) -> None:
        pass


class ForgetfulDisk(Disk):
    """See the head of this file; folders exist as soon as they are named."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self.pid = 1
        self.origin = dict(files or {})
        self.trace: list[Operation] = []
        self.contents = [bytearray(data) for data in self.origin.values()]
        self.names_to_files = {path: i for i, path in enumerate(self.origin)}
        #: Asked before each operation; may raise to make the disk fail.
        self.before: Callable[[Operation], None] = lambda operation: None

    def do(self, operation: Operation) -> None:
        """Carry out and remember one operation."""
        self.before(operation)
        self.trace.append(operation)
        apply_data(self.contents, operation)
        apply_name(self.names_to_files, operation)

    def file_no(self, path: str, action: str = "open") -> int:
        if path not in self.names_to_files:
            raise DiskError(path, action, "No such file or directory")
        return self.names_to_files[path]

    def files(self) -> dict[str, bytes]:
        """The files as a running process sees them."""
        return {path: bytes(self.contents[no]) for path, no in self.names_to_files.items()}

    def read(self, path: str) -> bytes:
        return bytes(self.contents[self.file_no(path, "read")])

    def open_read(self, path: str) -> ReadFile:
        return ForgetfulRead(path, self.read(path))

    def create(self, path: str) -> WriteFile:
        if path in self.names_to_files:
            self.do(Cut(self.names_to_files[path], 0))
        return self.open_append(path)

    def open_append(self, path: str) -> WriteFile:
        if path not in self.names_to_files:
            self.contents.append(bytearray())
            self.do(Name(path, len(self.contents) - 1))
        return ForgetfulFile(self, path, self.names_to_files[path])

    def size(self, path: str) -> int:
        return len(self.contents[self.file_no(path, "look at")])

    def exists(self, path: str) -> bool:
        return path in self.names_to_files or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        return any(name.startswith(path + "/") for name in self.names_to_files)

    def names(self, folder: str) -> list[str]:
        start = folder + "/"
        inside = {n[len(start) :] for n in self.names_to_files if n.startswith(start)}
        return sorted({name.partition("/")[0] for name in inside})

    def make_folder(self, path: str) -> None:
        """Nothing to do: folders need not be made."""

    def rename(self, old: str, new: str) -> None:
        self.do(Name(new, self.file_no(old, f"rename to {new}"), old))
        self.sync_folder(parent(new))
        if parent(old) != parent(new):
            self.sync_folder(parent(old))

    def link(self, old: str, new: str) -> None:
        self.do(Name(new, self.file_no(old, f"link to {new}")))
        self.sync_folder(parent(new))

    def remove_folder(self, path: str) -> None:
        """Nothing to do: a folder exists as long as a file is in it."""

    def remove(self, path: str) -> None:
        if path in self.names_to_files:
            self.do(Unname(path))

    def truncate(self, path: str, size: int) -> None:
        file = self.open_append(path)
        file.truncate(size)
        file.sync()

    def sync_folder(self, path: str) -> None:
        self.do(SyncFolder(path))

    def lock(self, folder: str) -> Lock:
        return NoLock()

    def synced_size(self, file_no: int) -> int:
        """How many of a file's first bytes survive every power failure."""
        size = len(self.contents[file_no])
        for operation in reversed(self.trace):
            if isinstance(operation, Sync) and operation.file_no == file_no:
                break
            if isinstance(operation, Write) and operation.file_no == file_no:
                size = min(size, operation.at)
        return size

    def survivors(self, at: int, dice: Random) -> dict[str, bytes]:
        """The files that are left if the power fails after ``at`` operations."""
        return Accident(self.origin, self.trace[:at], dice).survivors()


def apply_data(contents: list[bytearray], operation: Operation) -> None:
    """Change the bytes of a file, if that is what the operation does."""
    if isinstance(operation, Write):
        data = contents[operation.file_no]
        data[operation.at : operation.at + len(operation.data)] = operation.data
    elif isinstance(operation, Cut):
        data = contents[operation.file_no]
        data[operation.size :] = bytes(max(0, operation.size - len(data)))


def apply_name(names: dict[str, int], operation: Operation) -> None:
    """Change the names, if the operation does that and its source exists."""
    if isinstance(operation, Unname):
        names.pop(operation.path, None)
    elif isinstance(operation, Name):
        if operation.old and names.get(operation.old) != operation.file_no:
            return
        names.pop(operation.old, None)
        names[operation.path] = operation.file_no


# -- the accident -------------------------------------------------------------------


class Accident:
    """One power failure: the certain part, and a random part of the rest."""

    def __init__(
        self, origin: Mapping[str, bytes], operations: list[Operation], dice: Random
    ) -> None:
        self.dice = dice
        files = 1 + max([o.file_no for o in operations if isinstance(o, Name)], default=-1)
        blank = [b""] * max(0, files - len(origin))
        self.stored = [*map(bytes, origin.values()), *blank]
        self.latest = [bytearray(data) for data in self.stored]
        self.stored_names = {path: i for i, path in enumerate(origin)}
        self.unsure_names: list[Naming] = []
        last_write = max((i for i, o in enumerate(operations) if isinstance(o, Write)), default=-1)
        tear = last_write if last_write == len(operations) - 1 and dice.random() < 0.5 else -1
        for i, operation in enumerate(operations):
            self.live(self.torn(operation) if i == tear else operation)

    def torn(self, operation: Operation) -> Operation:
        """The first part of a write."""
        assert isinstance(operation, Write)
        data = operation.data[: self.dice.randint(0, len(operation.data))]
        return Write(operation.file_no, operation.at, data)

    def live(self, operation: Operation) -> None:
        """Replay one operation from before the accident."""
        apply_data(self.latest, operation)
        if isinstance(operation, Sync):
            self.stored[operation.file_no] = bytes(self.latest[operation.file_no])
        elif isinstance(operation, Name | Unname):
            self.unsure_names.append(operation)
        elif isinstance(operation, SyncFolder):
            sure = [o for o in self.unsure_names if parent(o.path) == operation.path]
            self.unsure_names = [o for o in self.unsure_names if o not in sure]
            for name in sure:
                apply_name(self.stored_names, name)

    def survivors(self) -> dict[str, bytes]:
        """Names and content, with a random part of the unsynced changes."""
        keep = self.dice.choice((0.0, 0.5, 0.9, 1.0))
        for operation in self.unsure_names:
            if self.dice.random() < keep:
                apply_name(self.stored_names, operation)
        share = self.dice.choice((0.0, 0.0, 0.2, 0.5, 0.8, 1.0))
        return {path: self.content(no, share) for path, no in self.stored_names.items()}

    def content(self, file_no: int, share: float) -> bytes:
        """One file; ``share`` of its unsynced pages reached the disk."""
        old, new = self.stored[file_no], bytes(self.latest[file_no])
        if old == new or share == 1.0:
            return new
        size = self.dice.choice((len(old), len(new), self.between(len(old), len(new))))
        old, new = old.ljust(size, b"\0"), new.ljust(size, b"\0")
        pages = range(0, size, PAGE)
        kept = [new if self.dice.random() < share else old for _ in pages]
        return b"".join(page[at : at + PAGE] for at, page in zip(pages, kept, strict=True))[:size]

    def between(self, old: int, new: int) -> int:
        """A size between the old one and the new one, mostly a whole number of pages."""
        size = self.dice.randint(min(old, new), max(old, new))
        return size if self.dice.random() < 0.3 else min(-(-size // PAGE) * PAGE, max(old, new))
