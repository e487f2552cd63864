"""A program on its own terminal: typed keys and shown text."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from types import TracebackType

from testkit.servers import environment

CTRL_C, CTRL_D = "\x03", "\x04"
PATIENCE_S = 120.0


class Terminal:
    """Keys go in; ``until`` returns the text shown since, in lines as a person sees them."""

    def __init__(self, command: list[str], **variables: str) -> None:
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            os.execvpe(command[0], command, {**environment(), "TERM": "dumb", **variables})
        self._shown = ""

    def press(self, keys: str) -> None:
        """Type this."""
        os.write(self._screen, keys.encode())

    def until(self, text: str) -> str:
        """All output up to and including a text that must appear."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self._shown:
            assert time.monotonic() < deadline, f"no {text!r} in {self._shown!r}"
            assert self._look(), f"it has ended: {self._shown!r}"
        before, _, self._shown = self._shown.partition(text)
        return before + text

    def _look(self) -> bool:
        """Read the new output, or wait a second; returns whether the terminal is still open."""
        if select.select([self._screen], [], [], 1.0)[0]:
            try:
                self._shown += os.read(self._screen, 1 << 16).decode().replace("\r\n", "\n")
            except OSError:
                return False
        return True

    def exit_code(self) -> int:
        """The exit code; the end must be soon."""
        deadline = time.monotonic() + PATIENCE_S
        while self._look():
            assert time.monotonic() < deadline, f"it goes on: {self._shown!r}"
        return self._wait()

    def _wait(self) -> int:
        pid, self._pid = self._pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()
        os.close(self._screen)
