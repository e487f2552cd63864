"""The log of the server, one line at a time.

    12345:M 15 Nov 2026 21:20:31.123 * Ready to accept connections
    |     | |                        | |
    pid  role  date                  level  message

Role M is a primary.  Levels: ``.`` debug, ``-`` verbose, ``*`` notice, ``#``
warning.  Lines go to standard output, or are appended to the log file, which
is opened for each line so that it may be renamed and rotated at any time.
A line is one line: control characters from outside are replaced.
"""

from __future__ import annotations

import os
import sys

from forebay.errors import ConfigError
from forebay.server.net.timers import Clock

LEVELS = {"debug": 0, "verbose": 1, "notice": 2, "warning": 3, "nothing": 4}
MARKS = ".-*#"


class Log:
    """Writes the lines at or above a level."""

    def __init__(self, clock: Clock, path: str = "", level: str = "notice") -> None:
        self.clock = clock
        self.path = path
        #: The letter of the server's role, as Redis prints it: M is a primary, S a replica.
        self.role = "M"
        self.set_level(level)

    def debug(self, message: str) -> None:
        """For a developer who looks for a fault in the server itself."""
        self._write(0, message)

    def verbose(self, message: str) -> None:
        """Things that happen often and are seldom of interest."""
        self._write(1, message)

    def notice(self, message: str) -> None:
        """Things that an operator wants to see in a day's log."""
        self._write(2, message)

    def warning(self, message: str) -> None:
        """Things that an operator must see."""
        self._write(3, message)

    def traceback(self, fault: BaseException) -> None:
        """A bug of ours, line by line."""
        from traceback import format_exception  # only needed after a fault

        for piece in format_exception(fault):
            for line in piece.rstrip().splitlines():
                self.warning(line)

    def set_level(self, level: str) -> None:
        """From now on write the lines at or above this level."""
        self.threshold = LEVELS[level]

    def _write(self, level: int, message: str) -> None:
        if level < self.threshold:
            return
        stamp = self.clock.stamp(self.clock.now_ms())
        text = "".join(c if c.isprintable() else "?" for c in message)
        line = f"{os.getpid()}:{self.role} {stamp} {MARKS[level]} {text}\n"
        try:
            self._append(line)
        except OSError:
            return  # a full disk or a closed pipe must not end the server

    def _append(self, line: str) -> None:
        if not self.path:
            sys.stdout.write(line)
            sys.stdout.flush()
            return
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line)

    def check(self) -> None:
        """Refuse a log file that cannot be written, while the user can still see the error."""
        try:
            self._append("")
        except OSError as fault:
            raise ConfigError(f"cannot write the log file {self.path}: {fault.strerror}") from fault
