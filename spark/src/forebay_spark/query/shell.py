"""The shell of ``forebay sql``: typed statements, on one Spark.

    sql> SELECT count(*)            a statement may take several lines,
      -> FROM orders;               its semicolon ends it
    .tables  .refresh  .help  .quit

The shell reports a mistake and continues.  Ctrl-D leaves the shell.  Ctrl-C ends a statement and
never the shell, at any time:

    while a line is typed       its text is dropped          a new line
    from Enter to the result    the statement is stopped     "stopped"
    after the result            nothing                      a new line

Text that the shell has not read yet is dropped too, so nothing runs that the user has given up.
The shell remembers lines in the folder of the XDG rules, ``~/.local/state/forebay/sql_history``.
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from forebay_spark.query.statements import cut
from forebay_spark.runtime.interrupts import CtrlC

PROMPT, MORE = "sql> ", "  -> "
KEPT_LINES = 5000
HELP = """\
A statement ends with a semicolon and may take several lines.
  .tables    the tables and what they are
  .refresh   read streams and lake again: tables show the time at which they were opened
  .help      this
  .quit      leave, as Ctrl-D does; Ctrl-C only ends a statement
"""

Command = Callable[[], None]


class Shell:
    """Reads lines until there are no more."""

    def __init__(
        self,
        execute: Callable[[str], None],
        commands: dict[str, Command],
        readable: Callable[[Exception], str],
        ctrl_c: CtrlC,
        read: Callable[[str], str] = input,
        out: TextIO = sys.stderr,
    ) -> None:
        self._execute = execute
        self._commands = {**commands, ".help": lambda: self._tell(HELP)}
        self._readable = readable
        self._ctrl_c = ctrl_c
        self._read = read
        self._out = out
        self._typed = ""

    def run(self) -> None:
        """Run until .quit or the end of the input."""
        while True:
            try:
                line = self._ctrl_c.read(self._read, MORE if self._typed else PROMPT)
            except EOFError:
                self._tell("\n")
                return
            except KeyboardInterrupt:
                self._give_up("\n")
                continue
            if not self._typed and line.strip().rstrip(";") in (".quit", ".exit"):
                return
            self._take(line)

    def _take(self, line: str) -> None:
        word = line.strip().rstrip(";")
        if not self._typed and word.startswith("."):
            self._try(self._commands.get(word, lambda: self._unknown(word)))
            return
        statements, self._typed = cut(f"{self._typed}{line}\n")
        for statement in statements:
            if not self._try(lambda statement=statement: self._execute(statement)):  # type: ignore[misc]
                return

    def _try(self, do: Command) -> bool:
        """Do it; whether it succeeded.  No error ends the shell."""
        try:
            self._ctrl_c.check()
            do()
        except KeyboardInterrupt:
            self._give_up("\nstopped\n")
        except Exception as error:  # noqa: BLE001
            self._tell(f"{self._readable(error)}\n")
        else:
            return True
        return False

    def _give_up(self, words: str) -> None:
        """Drop everything typed, and say so."""
        self._typed = ""
        drop_typed()
        self._tell(words)

    def _unknown(self, word: str) -> None:
        self._tell(f"there is no {word}; .help lists the commands\n")

    def _tell(self, words: str) -> None:
        self._out.write(words)
        self._out.flush()


def drop_typed() -> None:
    """Let the terminal, if there is one, drop unread input."""
    with suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def history_file() -> Path:
    """The file of remembered lines."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "forebay" / "sql_history"


@contextmanager
def history() -> Iterator[None]:
    """Arrow keys find earlier lines, also from earlier days, if Python has readline."""
    try:
        readline: Any = import_module("readline")
    except ImportError:
        yield
        return
    file = history_file()
    try:
        readline.read_history_file(file)
    except OSError:
        pass  # the first time, or not readable: start empty
    readline.set_history_length(KEPT_LINES)
    try:
        yield
    finally:
        _keep(readline, file)


def _keep(readline: Any, file: Path) -> None:
    """Write the lines for this user alone: they may hold secrets."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        readline.write_history_file(file)
    except OSError:
        return
