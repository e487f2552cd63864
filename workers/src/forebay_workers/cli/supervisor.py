"""Processes of ``forebay work``: started, watched, restarted, reloaded, stopped.

    parent   reads a report a second from each child; shows lines; answers probes
    child    imports the app, works (child.py)

On a terminal the lines of the parent stay at the bottom.  So the output of children goes through
the parent and appears above them.

A child that crashes or is killed is started again, after a pause that grows with each crash.  If a
child ends with an error for the user (exit code 2), everything ends: a restart would not help.
SIGTERM goes to all children; a child that still runs a few seconds after the grace time is killed,
and other workers claim its messages after a lease.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from forebay_workers.cli.child import USER_ERROR
from forebay_workers.clock import Clock
from forebay_workers.observe.metrics import Report, together

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
#: A child that ran this long did not crash at its start.
GOOD_RUN_S = 30.0
#: The time to end after the grace time: for the last commands to the server.
EXTRA_S = 10.0
#: How long to wait for unread output of a child that has ended.
LAST_WORDS_S = 1.0
DEFAULT_GRACE_S = 30.0


class Child:
    """One process and its latest report.

    ``through`` names the outputs that the parent prints; ``look`` is called after each report.
    """

    def __init__(
        self, place: str, grace_s: float | None, through: Sequence[str], look: Callable[[], None]
    ) -> None:
        self._through, self._look = through, look
        self._command = [sys.executable, "-m", "forebay_workers.cli.child", place]
        self._grace = "" if grace_s is None else str(grace_s)
        self.process: asyncio.subprocess.Process | None = None
        self.report: Report = {}
        self.is_ready = False
        #: Its group, streams and server, in a few words.
        self.about = ""
        #: Counts of earlier processes, so that sums never decrease.
        self.before: Report = {}

    async def run(self) -> int:
        """Start a process and read its reports until it ends; return its exit code."""
        reading, writing = os.pipe()
        try:
            self.process = await self._started(writing)
        finally:
            os.close(writing)
        printing = [
            asyncio.create_task(print_all(getattr(self.process, name), name))
            for name in self._through
        ]
        reader = asyncio.StreamReader(limit=1 << 20)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
        )
        try:
            while line := await reader.readline():
                self._take(json.loads(line))
            return await self.process.wait()
        finally:
            transport.close()
            if printing:
                _, silent = await asyncio.wait(printing, timeout=LAST_WORDS_S)
                for task in silent:
                    task.cancel()
            self.is_ready = False
            self.before = together([self.before, _counted(self.report)])
            self.report = {}

    async def _started(self, writing: int) -> asyncio.subprocess.Process:
        # Python buffers output to a pipe, unless told otherwise.
        env = os.environ | {"PYTHONUNBUFFERED": "1"} if self._through else None
        pipes: dict[str, Any] = dict.fromkeys(self._through, asyncio.subprocess.PIPE)
        return await asyncio.create_subprocess_exec(
            *self._command, self._grace, str(writing), pass_fds=(writing,), env=env, **pipes
        )

    def _take(self, said: dict[str, Any]) -> None:
        self.is_ready = bool(said["ready"])
        self.about = said["about"]
        self.report = said["streams"]
        self._look()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)


async def print_all(source: asyncio.StreamReader, name: str) -> None:
    """Print the output of a child, by whole lines, to ``sys.stdout`` or ``sys.stderr``."""
    rest = b""
    while data := await source.read(1 << 16):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        getattr(sys, name).write((whole + newline).decode("utf-8", "replace"))
    getattr(sys, name).write(rest.decode("utf-8", "replace"))


def _counted(report: Report) -> Report:
    """A report without the values that end with the process."""
    return {
        stream: {name: value for name, value in row.items() if name not in ("held", "running")}
        for stream, row in report.items()
    }


class Supervisor:
    """Keeps a number of children running."""

    def __init__(
        self,
        place: str,
        count: int,
        grace_s: float | None,
        clock: Clock,
        tell: Callable[[str], None],
        through: Sequence[str] = (),
    ) -> None:
        self._children = [Child(place, grace_s, through, self._greet) for _ in range(count)]
        self._has_greeted = False
        self._grace_s = DEFAULT_GRACE_S if grace_s is None else grace_s
        self._clock = clock
        self._tell = tell
        self._stopping = asyncio.Event()
        self._reloading: set[Child] = set()

    @property
    def is_ready(self) -> bool:
        """Whether all children read."""
        return all(child.is_ready for child in self._children)

    def _greet(self) -> None:
        """Say once that the work begins, and on what."""
        if self.is_ready and not self._has_greeted:
            self._has_greeted = True
            count = len(self._children)
            head = "1 worker is ready" if count == 1 else f"{count} workers are ready"
            self._tell(f"{head}: {self._children[0].about}")

    def report(self) -> Report:
        """The reports of all children, added up."""
        return together([part for child in self._children for part in (child.before, child.report)])

    async def run(self) -> int:
        """Run until all children have ended; return the exit code."""
        codes = await asyncio.gather(*(self._keep(child) for child in self._children))
        return max(codes, default=0)

    async def _keep(self, child: Child) -> int:
        pause_s = FIRST_PAUSE_S
        code = 0
        while not self._stopping.is_set():
            began_s = self._clock.monotonic_s()
            code = await child.run()
            if self._stopping.is_set():
                break
            if code == USER_ERROR:
                self.stop()
                return code
            if child in self._reloading:
                self._reloading.discard(child)
                continue
            if self._clock.monotonic_s() - began_s > GOOD_RUN_S:
                pause_s = FIRST_PAUSE_S
            self._tell(f"a worker ended with code {code}; a new one starts in {pause_s:g} s")
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            code = 0
        # A kill after the grace time is not a failure of the supervisor.
        return 0 if code == -signal.SIGKILL else code

    def stop(self) -> None:
        """Stop all children; kill those that do not end in time."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        for child in self._children:
            child.send(signal.SIGTERM)
        self._clock.call_later(self._grace_s + EXTRA_S, self._kill)

    def _kill(self) -> None:
        for child in self._children:
            child.send(signal.SIGKILL)

    def reload(self) -> None:
        """Let all children end cleanly and start again."""
        self._tell("a file has changed; the workers start again")
        for child in self._children:
            self._reloading.add(child)
            child.send(signal.SIGTERM)
