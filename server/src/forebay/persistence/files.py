"""The only access to the disk.

    Disk        names: read, create, rename, remove, lock
    ReadFile    one file, read from the front
    WriteFile   one file, written at its end

Everything else in persistence uses these few classes, so a test can replace them by a
disk that forgets, and lose power at any point.

The guarantees of a disk, and how we use them
  1. Written bytes are not stored yet.  Only ``sync`` makes them survive a power
     failure.
  2. A new name is not stored either until its folder is synced: ``rename`` and
     ``truncate`` do that themselves; a caller that creates a file under its final
     name calls ``sync_folder``.
  3. A whole file is replaced, never overwritten: temp file, write, sync,
     rename (``replace_file``).  Readers see the old one or the new one.
  4. A write is stored as a whole or not at all: a part that a full disk has accepted
     is cut off again.  If even that fails the file ``is_torn``; the next write tries
     again.
  5. After a failed sync the state of the unsynced bytes is unknown, and a later
     success proves nothing.  The caller must remember that.

Every fault is a DiskError that names the file; no OSError leaves this module.
"""

from __future__ import annotations

import fcntl
import os
import re
from types import TracebackType

from forebay import mem
from forebay.errors import ConfigError, DiskError

TEMP = re.compile(r"temp-[a-z]+-[0-9]+\.[a-z]+")
LOCK_NAME = "forebay.lock"
#: How much of a file is read at a time.
PIECE = 1 << 20
Data = bytes | bytearray | memoryview


def join(folder: str, name: str) -> str:
    """The path of a name inside a folder."""
    return os.path.join(folder, name)  # noqa: PTH118


def parent(path: str) -> str:
    """The folder that a path is in."""
    return os.path.dirname(path) or "."  # noqa: PTH120


def last_name(path: str) -> str:
    """The path without its folder."""
    return os.path.basename(path)  # noqa: PTH119


def is_temp(name: str) -> bool:
    """Whether a name is one of temp_path's."""
    return TEMP.fullmatch(name) is not None


def fault(path: str, action: str, error: OSError) -> DiskError:
    """The error of the operating system, as a DiskError."""
    return DiskError(path, action, error.strerror or str(error))


def put(fd: int, p: mem.Source, at: int, n: int) -> int:
    """Write p[at:at+n]: how many bytes were written, or minus the errno.

    The hot half of a WriteFile; compiled callers get files.pxd, a bare system call.
    """
    assert 0 <= at and at + n <= len(p), "write past the end"
    with memoryview(p) as view, view[at : at + n] as load:
        try:
            return os.write(fd, load)
        except OSError as error:
            return -(error.errno or 5)


class ReadFile:
    """A file that is read; ``size`` is its size when it was opened."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise fault(path, "open", error) from None
        self.size = os.fstat(self.fd).st_size

    def read(self, n: int) -> bytes:
        """Up to n bytes; empty at the end of the file."""
        try:
            return os.read(self.fd, n)
        except OSError as error:
            raise fault(self.path, "read", error) from None

    def seek(self, offset: int) -> None:
        """Continue reading at this offset."""
        try:
            os.lseek(self.fd, offset, os.SEEK_SET)
        except OSError as error:
            raise fault(self.path, "seek in", error) from None

    def close(self) -> None:
        """Close; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> ReadFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class WriteFile:
    """A file that is written at its end; ``size`` counts only whole writes."""

    def __init__(self, path: str, flags: int) -> None:
        self.path = path
        self.is_torn = False
        try:
            flags |= os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.fd = os.open(path, flags, 0o644)
        except OSError as error:
            raise fault(path, "open", error) from None
        self.size = os.fstat(self.fd).st_size

    def write(self, data: Data) -> None:
        """Append all of it, or raise and leave the file as it was."""
        if self.is_torn:
            self.truncate(self.size)
        self.go_on(data, 0)

    def go_on(self, data: Data, done: int) -> None:
        """Write the rest when ``done`` bytes of data are in the file."""
        with memoryview(data) as view:
            try:
                while done < len(view):
                    done += os.write(self.fd, view[done:])
            except OSError as error:
                if done > 0:
                    self.is_torn = True
                    self.try_truncate()
                raise fault(self.path, "write", error) from None
            self.size += len(view)

    def try_truncate(self) -> None:
        """Cut off the rest of a failed write; if that fails too the file stays torn."""
        try:
            self.truncate(self.size)
        except DiskError:
            self.is_torn = True

    def truncate(self, size: int) -> None:
        """Cut off the bytes after ``size``."""
        try:
            os.ftruncate(self.fd, size)
        except OSError as error:
            raise fault(self.path, "truncate", error) from None
        self.size = size
        self.is_torn = False

    def sync(self) -> None:
        """Return when the bytes survive a power failure; another thread may call it."""
        if self.fd < 0:
            raise DiskError(self.path, "sync", "it is closed")
        try:
            os.fdatasync(self.fd)
        except OSError as error:
            raise fault(self.path, "sync", error) from None

    def fileno(self) -> int:
        """The descriptor, for callers that write directly; -1 if there is none."""
        return self.fd

    def close(self) -> None:
        """Close; may be called twice.  Does not sync."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Lock:
    """A folder that belongs to this process until ``release`` or its end."""

    def __init__(self, folder: str) -> None:
        path = join(folder, LOCK_NAME)
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise fault(path, "open", error) from None
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self.fd, 20).decode("ascii", "replace").strip() or "unknown"
            self.release()
            raise ConfigError(f"{folder} is used by another server (pid {owner})") from None
        except OSError as error:
            self.release()
            raise fault(path, "lock", error) from None
        try:
            os.ftruncate(self.fd, 0)
            os.write(self.fd, b"%d\n" % os.getpid())
        except OSError:
            # The disk is full: the lock still holds, only without the name of its owner.
            pass

    def release(self) -> None:
        """Release the folder for other processes; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Disk:
    """Files by name."""

    def __init__(self) -> None:
        #: Part of the names of temp files.
        self.pid = os.getpid()

    def read(self, path: str) -> bytes:
        """All of a small file."""
        with self.open_read(path) as file:
            pieces = []
            while piece := file.read(PIECE):
                pieces.append(piece)
            return b"".join(pieces)

    def open_read(self, path: str) -> ReadFile:
        """Read a file that is there."""
        return ReadFile(path)

    def create(self, path: str) -> WriteFile:
        """A new, empty file; an existing one is emptied."""
        return WriteFile(path, os.O_TRUNC)

    def open_append(self, path: str) -> WriteFile:
        """Write at the end of an existing file."""
        return WriteFile(path, 0)

    def size(self, path: str) -> int:
        """Bytes of a file."""
        try:
            return os.stat(path).st_size
        except OSError as error:
            raise fault(path, "look at", error) from None

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""
        return os.path.exists(path)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of that name."""
        return os.path.isdir(path)  # noqa: PTH112

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted."""
        try:
            return sorted(os.listdir(folder))  # noqa: PTH208
        except OSError as error:
            raise fault(folder, "list", error) from None

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents; no error if it exists."""
        if self.is_folder(path):
            return
        if parent(path) != path:
            self.make_folder(parent(path))
        try:
            os.mkdir(path, 0o755)  # noqa: PTH102
        except FileExistsError:
            if self.is_folder(path):
                return
            raise DiskError(path, "make the folder", "a file of that name is there") from None
        except OSError as error:
            raise fault(path, "make the folder", error) from None
        self.sync_folder(parent(path))

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing another one, durably."""
        try:
            os.rename(old, new)  # noqa: PTH104
        except OSError as error:
            raise fault(old, f"rename to {new}", error) from None
        self.sync_folder(parent(new))
        if parent(old) != parent(new):
            self.sync_folder(parent(old))

    def link(self, old: str, new: str) -> None:
        """Give a file a second name, durably; it is removed with its last name."""
        try:
            os.link(old, new)
        except OSError as error:
            raise fault(old, f"link to {new}", error) from None
        self.sync_folder(parent(new))

    def remove_folder(self, path: str) -> None:
        """Delete an empty folder; no error if it does not exist."""
        try:
            os.rmdir(path)  # noqa: PTH106
        except FileNotFoundError:
            pass
        except OSError as error:
            raise fault(path, "remove", error) from None

    def remove(self, path: str) -> None:
        """Delete a file; no error if it does not exist."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise fault(path, "remove", error) from None

    def truncate(self, path: str, size: int) -> None:
        """Cut a file, durably."""
        file = self.open_append(path)
        try:
            file.truncate(size)
            file.sync()
        finally:
            file.close()

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder survive a power failure."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise fault(path, "open", error) from None
        try:
            os.fsync(fd)
        except OSError as error:
            raise fault(path, "sync", error) from None
        finally:
            os.close(fd)

    def lock(self, folder: str) -> Lock:
        """Keep other servers out of a folder."""
        return Lock(folder)


def temp_path(disk: Disk, folder: str, what: str, ext: str) -> str:
    """The path of an unfinished file; ``what`` is one word in lower case."""
    return join(folder, f"temp-{what}-{disk.pid}.{ext}")


def clean_temps(disk: Disk, folder: str) -> list[str]:
    """Remove unfinished files of a server that died; the caller holds the lock."""
    stale = [name for name in disk.names(folder) if is_temp(name)]
    for name in stale:
        disk.remove(join(folder, name))
    return stale


def replace_file(disk: Disk, path: str, data: bytes) -> None:
    """Write a small file as a whole: afterwards it is the old one or the new one."""
    temp = temp_path(disk, parent(path), "replace", "new")
    file = disk.create(temp)
    try:
        file.write(data)
        file.sync()
    except DiskError:
        disk.remove(temp)
        raise
    finally:
        file.close()
    disk.rename(temp, path)


def corrupt_path(disk: Disk, path: str, start: int) -> str:
    """A free name for bytes of a file that cannot be used."""
    copy = f"{path}.corrupt-{start}"
    number = 1
    while disk.exists(copy):
        number += 1
        copy = f"{path}.corrupt-{start}.{number}"
    return copy


def keep_copy(disk: Disk, path: str, start: int) -> str:
    """Save the bytes from ``start`` on in a new file, durably; its path."""
    copy = corrupt_path(disk, path, start)
    file = disk.create(copy)
    try:
        with disk.open_read(path) as source:
            source.seek(start)
            while piece := source.read(PIECE):
                file.write(piece)
        file.sync()
    except DiskError:
        disk.remove(copy)
        raise
    finally:
        file.close()
    disk.sync_folder(parent(copy))
    return copy
