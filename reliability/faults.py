"""Disks that fail under an unmodified server, in four ways that the kernel itself offers.

    full disk   a small tmpfs, filled up with ballast; a write ends short, then ENOSPC
    size limit  RLIMIT_FSIZE of the running server; a write ends short, then EFBIG
    write, sync strace makes the Nth write or fdatasync of the AOF answer EIO
    rename      strace makes a rename answer EIO: the manifest and new bases

A fault is ``set`` at some moment (strace: before the start) and ``lifted`` again.
tmpfs needs root, strace must be installed; ``available`` lists the faults of this machine.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from testkit.servers import ServerProcess

FULL_DISK_BYTES = 24 << 20
PAGE = 4096


class Fault:
    """A fault of the disk; ``stays`` until lifted, or ends by itself after some calls."""

    name = ""
    stays = True
    #: Whether the server may go on as if nothing had happened (its AOF was not touched).
    is_harmless = False

    def __init__(self, dice: random.Random, data: Path) -> None:
        self.dice, self.data = dice, data

    def prepare(self) -> None:
        """Called before the server starts."""

    def tracer(self) -> Sequence[str]:
        """The command to run the server under."""
        return ()

    def set(self, server: ServerProcess) -> None:
        """Now."""

    def lift(self, server: ServerProcess) -> None:
        """The disk works again."""

    def clean(self) -> None:
        """Called after the last server has ended."""


class FullDisk(Fault):
    """The data directory is a file system of its own, and something else fills it."""

    name = "full disk"

    def prepare(self) -> None:
        _mount(self.data, FULL_DISK_BYTES)

    def set(self, server: ServerProcess) -> None:
        free = shutil.disk_usage(self.data).free
        spare = self.dice.choice((0, PAGE, 8 * PAGE))
        # Unbuffered: bytes that the full disk refused must not be written again by close().
        with (self.data / "ballast").open("wb", buffering=0) as ballast:
            left = max(0, free - spare)
            try:
                while left > 0:
                    left -= ballast.write(b"\0" * min(left, 1 << 20))
            except OSError:
                pass  # the server was quicker; the disk is full all the same

    def lift(self, server: ServerProcess) -> None:
        (self.data / "ballast").unlink(missing_ok=True)

    def clean(self) -> None:
        subprocess.run(["umount", "-l", str(self.data)], check=False)


class SizeLimit(Fault):
    """The AOF may not grow any more; the rest of the disk may."""

    name = "size limit"

    def set(self, server: ServerProcess) -> None:
        sizes = [p.stat().st_size for p in self.data.rglob("*.incr.aof")]
        limit = max(sizes, default=0) + self.dice.randint(1, 20_000)
        self._set(server, limit)

    def lift(self, server: ServerProcess) -> None:
        if server.alive():
            self._set(server, resource.RLIM_INFINITY)

    def _set(self, server: ServerProcess, limit: int) -> None:
        hard = resource.RLIM_INFINITY
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (limit, hard))


class Traced(Fault):
    """A system call that fails a few times and then works again."""

    stays = False
    calls = ""
    #: Which call is the first to fail: after those that make the streams and groups.
    first = (20, 80)
    #: How many calls after it fail too.
    more = (0, 0, 2)

    def tracer(self) -> Sequence[str]:
        first = self.dice.randint(*self.first)
        last = first + self.dice.choice(self.more)
        inject = f"inject={self.calls}:error=EIO:when={first}..{last}"
        return ("strace", "-D", "-f", "-qq", "-o", "/dev/null", *self.paths(), "-e", inject)

    def paths(self) -> Sequence[str]:
        """Only calls on these paths."""
        log = self.data / "appendonlydir" / "appendonly.aof.1.incr.aof"
        return ("-P", str(log))


class WriteError(Traced):
    """EIO from a write of the AOF, twice at least: a first failure is tried again at once."""

    name = "write error"
    calls = "write,writev,pwrite64"
    more = (1, 1, 3)


class SyncError(Traced):
    """EIO from an fdatasync of the AOF: after that nothing is known about what was written."""

    name = "sync error"
    calls = "fdatasync,fsync"


class EarlySyncError(SyncError):
    """The same with ``everysec``, where there are few of them; the first is part of the start."""

    first = (2, 3)


class RenameError(Traced):
    """EIO from a rename, as a rewrite ends: the old files stay the AOF."""

    name = "rename error"
    calls = "rename,renameat,renameat2"
    is_harmless = True
    first = (2, 6)

    def paths(self) -> Sequence[str]:
        return ("--seccomp-bpf",)


def _mount(data: Path, size: int) -> None:
    options = f"size={size}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(data)], check=True)


def can_mount(scratch: Path) -> bool:
    """Whether this machine lets us have a file system of our own."""
    probe = scratch / "probe"
    probe.mkdir()
    try:
        _mount(probe, 1 << 20)
    except (subprocess.CalledProcessError, OSError):
        return False
    subprocess.run(["umount", str(probe)], check=True)
    return True


def can_trace() -> bool:
    """Whether strace is here and allowed to trace."""
    try:
        done = subprocess.run(
            ["strace", "-D", "-o", "/dev/null", "true"], check=False, capture_output=True
        )
    except OSError:
        return False
    return done.returncode == 0


def available(policy: str, scratch: Path) -> list[type[Fault]]:
    """The faults that can be made here."""
    faults: list[type[Fault]] = [SizeLimit]
    if can_mount(scratch):
        faults.append(FullDisk)
    if can_trace():
        sync = SyncError if policy == "always" else EarlySyncError
        faults += [WriteError, sync, RenameError]
    return faults
