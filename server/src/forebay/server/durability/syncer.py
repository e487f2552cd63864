"""The one thread besides the loop: it waits for the disk, so that the loop need not.

    loop  --start(job, on_done)-->  thread: job()             fdatasync, nothing else
      ^                                |
      '--- on_done(error) <-- eventfd -'                      in the loop, between commands

Rules
  1. One job at a time.  The job touches nothing that the loop touches: it gets a
     descriptor and calls the system.
  2. An exception of the job is handed to ``on_done``; it never ends the thread.
  3. The thread is a daemon: the end of the process does not wait for it.  Code that must
     wait calls finish().
  4. A forked child has no such thread and must not use this object.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from forebay.errors import ForebayError

Job = Callable[[], None]
Done = Callable[[ForebayError | None], None]


class Watching(Protocol):
    """The loop, as far as background work needs it."""

    def watch(self, fd: int, watcher: Callable[[], None]) -> None: ...
    def unwatch(self, fd: int) -> None: ...


class Syncer:
    """Runs jobs one after another on its thread."""

    def __init__(self, loop: Watching) -> None:
        self.loop = loop
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.results: SimpleQueue[ForebayError | None] = SimpleQueue()
        self.on_done: Done | None = None
        self.wake_fd = -1

    @property
    def is_busy(self) -> bool:
        """Whether a job is under way, or done but not yet handed over."""
        return self.on_done is not None

    def open(self) -> None:
        """Start the thread; may be called twice."""
        if self.wake_fd < 0:
            self.wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self.loop.watch(self.wake_fd, self._on_wake)
            self.begin()

    def begin(self) -> None:
        """Start the thread that does the jobs; a simulation does them itself."""
        threading.Thread(target=self._run, name="forebay-sync", daemon=True).start()

    def start(self, job: Job, on_done: Done) -> None:
        """Begin a job; there must be none under way."""
        assert self.on_done is None, "one job at a time"
        self.open()
        self.on_done = on_done
        self.jobs.put(job)

    def finish(self) -> None:
        """Wait for the job that is under way, if any."""
        if self.on_done is not None:
            self._hand_over(self.results.get())

    def _run(self) -> None:
        while True:
            self.do(self.jobs.get())

    def do(self, job: Job) -> None:
        """Do one job and wake the loop."""
        error: ForebayError | None = None
        try:
            job()
        except ForebayError as fault:
            error = fault
        self.results.put(error)
        with contextlib.suppress(OSError):  # then the next beat finds the result
            os.eventfd_write(self.wake_fd, 1)

    def _on_wake(self) -> None:
        with contextlib.suppress(OSError):
            os.eventfd_read(self.wake_fd)
        self.look()

    def look(self) -> None:
        """Hand over a finished job, if there is one; the wake-up may have failed."""
        if self.on_done is not None and not self.results.empty():
            self._hand_over(self.results.get())

    def _hand_over(self, error: ForebayError | None) -> None:
        on_done = self.on_done
        assert on_done is not None
        self.on_done = None
        on_done(error)
