"""Children that write a file of all data while the server goes on.

    server --fork--> child            sees all data as it was at that moment
      |                |  writes a temp file, a piece at a time, and syncs it
      |<---- pipe -----|  lines: "keys bytes copied", at last "ok" or "error why"
      |  end of pipe   '  exits
      '- reaps it, and tells the job that started it

Rules
  1. One child at a time, as in Redis: two would copy twice the memory and fight for the disk.
  2. The child keeps no descriptor but its end of the pipe, and those that its work needs: no
     client, no door, no lock of the data directory lives on in it.  The kernel kills it when
     its parent dies.
  3. The child removes nothing, and changes nothing of the AOF: the base that it wrote counts
     only after the parent has seen "ok" and exit code 0, and takes it over.  A snapshot, complete
     and synced, is renamed by the child itself, so that the server need not wait for the disk.
  4. The child never returns into the server's code: it always ends in os._exit.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable, Collection
from pathlib import Path

from forebay.server.durability.syncer import Watching
from forebay.server.net.timers import Clock

#: Progress is reported this often.
REPORT_S = 0.1
#: ... and the memory that had to be copied, which takes a while to measure, this often.
MEASURE_S = 1.0
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None)

#: Called by a child with the keys and bytes written so far.
Report = Callable[[int, int], None]
Work = Callable[[Report], None]


class Child:
    """One child, as its parent sees it."""

    def __init__(self, kind: str, pid: int, pipe: int, keys_total: int, started_ms: int) -> None:
        self.kind = kind
        self.pid = pid
        self.pipe = pipe
        self.keys_total = keys_total
        self.started_ms = started_ms
        self.keys_done = 0
        self.bytes_done = 0
        self.copied_bytes = 0
        self.copied_peak_bytes = 0
        #: Why it failed, by its own report; empty if it reported nothing.
        self.error = ""
        self.is_ok = False
        self._text = b""

    def take(self, data: bytes) -> None:
        """Parse bytes from the pipe."""
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            words = line.decode("utf-8", "replace").split(" ", 1)
            if words[0] == "ok":
                self.is_ok = True
            elif words[0] == "error":
                self.error = words[1]
            else:
                self.keys_done, self.bytes_done, self.copied_bytes = map(int, line.decode().split())
                self.copied_peak_bytes = max(self.copied_peak_bytes, self.copied_bytes)


#: Called when the child has ended, with the reason if it failed; empty if all is well.
End = Callable[[Child, str], None]


class Children:
    """Starts a child and watches it until it ends."""

    def __init__(self, loop: Watching, clock: Clock) -> None:
        self.loop = loop
        self.clock = clock
        self.current: Child | None = None
        self.on_end: End | None = None
        self.forks = 0
        self.last_fork_us = 0

    def start(
        self, kind: str, work: Work, keys_total: int, on_end: End, keep: Collection[int] = ()
    ) -> Child:
        """Fork; the child keeps these descriptors.  Raises OSError if the system refuses."""
        assert self.current is None, "one child at a time"
        inbox, outbox = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(outbox, True)
        began_us = self.clock.us()
        try:
            pid = self.spawn(work, outbox, keep)
        except OSError:
            os.close(inbox)
            os.close(outbox)
            raise
        os.close(outbox)
        self.last_fork_us = self.clock.us() - began_us
        self.forks += 1
        child = Child(kind, pid, inbox, keys_total, self.clock.monotonic_ms())
        self.current, self.on_end = child, on_end
        self.loop.watch(inbox, self._on_pipe)
        return child

    def kill(self) -> None:
        """End the child at once, if there is one, without a call of its ``End``."""
        child = self.current
        if child is not None:
            self.end(child.pid)
            self._forget(child)
            self.reap(child.pid)

    def wait(self) -> None:
        """Block until the child has ended."""
        while self.current is not None:
            os.set_blocking(self.current.pipe, True)
            self._on_pipe()

    def _on_pipe(self) -> None:
        child, on_end = self.current, self.on_end
        assert child is not None
        assert on_end is not None
        try:
            data = os.read(child.pipe, 1 << 16)
        except BlockingIOError:
            return
        if data:
            child.take(data)
            return
        self._forget(child)
        on_end(child, _error(child, self.reap(child.pid)))

    def _forget(self, child: Child) -> None:
        self.current = self.on_end = None
        self.loop.unwatch(child.pipe)
        os.close(child.pipe)

    # Processes; a simulation replaces these methods (testkit/sim_machine.py).

    def spawn(self, work: Work, outbox: int, keep: Collection[int]) -> int:
        """Start a process that does this work and ends; its pid."""
        parent = os.getpid()
        pid = _fork()
        if pid == 0:
            _live(work, outbox, parent, keep)
        return pid

    def end(self, pid: int) -> None:
        """Kill a process that is no longer needed."""
        os.kill(pid, signal.SIGKILL)

    def reap(self, pid: int) -> int:
        """The exit code of a process that has ended or is about to."""
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status)


def _error(child: Child, code: int) -> str:
    """Why the child failed; empty if it did not."""
    if child.is_ok and code == 0:
        return ""
    if child.error:
        return child.error
    if code < 0:
        return f"the child was ended by {signal.Signals(-code).name}"
    return f"the child ended with exit code {code}"


def _fork() -> int:
    """Fork; the other thread holds no lock that a child needs (it only waits for the disk)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


# In the child


def _live(work: Work, outbox: int, parent: int, keep: Collection[int]) -> None:
    """The whole life of a child."""
    code = 1
    try:
        _detach(outbox, parent, keep)
        work(Reporter(outbox))
        os.write(outbox, b"ok\n")
        code = 0
    except BaseException as fault:  # noqa: BLE001 - rule 4
        text = str(fault) or type(fault).__name__
        os.write(outbox, b"error " + " ".join(text.split()).encode("utf-8", "replace") + b"\n")
    finally:
        os._exit(code)


def _detach(outbox: int, parent: int, keep: Collection[int]) -> None:
    """Close everything that belongs to the parent; end when it ends."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-c is for the parent to deal with
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    gc.disable()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    first = 3
    for fd in sorted((outbox, *keep)):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, most if most != resource.RLIM_INFINITY else 1 << 20)


class Reporter:
    """Reports progress to the parent, not too often."""

    def __init__(self, outbox: int) -> None:
        self.outbox = outbox
        self.due_s = 0.0
        self.measure_s = 0.0
        self.copied_bytes = 0

    def __call__(self, keys: int, size: int) -> None:
        now_s = time.monotonic()
        if now_s < self.due_s:
            return
        self.due_s = now_s + REPORT_S
        if now_s >= self.measure_s:
            self.measure_s = now_s + MEASURE_S
            self.copied_bytes = private_dirty_bytes()
        os.write(self.outbox, b"%d %d %d\n" % (keys, size, self.copied_bytes))


def private_dirty_bytes() -> int:
    """Memory that this process no longer shares with any other."""
    try:
        text = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) << 10
    return 0
