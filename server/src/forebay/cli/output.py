"""Output of the tools: text for people, JSON lines for programs, a bar for long work.

standard output   the answer, and nothing else
standard error    problems, one line each; the progress bar, on a terminal
"""

from __future__ import annotations

import base64
import json
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

#: At most this much of one word is shown as text; JSON has all of it.
SHOWN_BYTES = 200
BAR_EVERY_S = 0.1
#: Work that is over sooner than this needs no bar.
BAR_AFTER_S = 0.3


def complain(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"forebay: {text}\n")


def number(value: int) -> str:
    """12,345,678"""
    return f"{value:,}"


def counted(value: int, noun: str) -> str:
    """``1 key``, ``2 keys``, ``no keys``."""
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{number(value) if value else 'no'} {noun if value == 1 else plural}"


def are(value: int) -> str:
    """The verb after a number: is or are."""
    return "is" if value == 1 else "are"


def text_of(word: bytes, limit: int = SHOWN_BYTES) -> str:
    """A word for people: plain if possible, else in quotes with escapes."""
    text = word[:limit].decode("utf-8", "surrogateescape")
    if not text or not text.isprintable() or any(c in text for c in " \"'\\"):
        text = '"' + "".join(map(_escaped, text)) + '"'
    return text if len(word) <= limit else f"{text}... ({number(len(word))} bytes)"


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"  # a byte that is no UTF-8
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def json_of(word: bytes) -> Any:
    """A word for JSON: text if it is UTF-8, else an object that keeps every bit."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(word).decode()}


def write_json(value: dict[str, Any], file: TextIO | None = None) -> None:
    """One line."""
    (file or sys.stdout).write(json.dumps(value, ensure_ascii=False) + "\n")


class Bar:
    """The progress of long work; drawn only on a terminal, and wiped at the end.

    verifying ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  33% 12.1/36.4 MB 0:00:02
    orders ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  33% 333,000/1,000,000 entries 412,345/s 0:00:02

    The work is counted in bytes, or in ``unit``, with its rate.
    """

    def __init__(self, what: str, unit: str = "") -> None:
        self.what = what
        self.unit = unit
        self.is_wanted = sys.stderr.isatty()
        self.next_s = time.monotonic() + BAR_AFTER_S
        self.drawn: Progress | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """``done`` of ``total``, if the total is known."""
        if not self.is_wanted or time.monotonic() < self.next_s:
            return
        self.next_s = time.monotonic() + BAR_EVERY_S
        if self.drawn is None:
            self.drawn = started_bar(self.what, self.unit)
        self.drawn.update(self.drawn.task_ids[0], completed=done, total=total, refresh=True)

    def wipe(self) -> None:
        """Clear the line."""
        if self.drawn is not None:
            self.drawn.stop()
        self.drawn = None


def started_bar(what: str, unit: str) -> Progress:
    """A bar of rich on standard error, which draws on demand and has no thread."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Done, total and rate."""

        def render(self, task: Task) -> Text:
            total = f"/{number(int(task.total))}" if task.total else ""
            rate = f" {number(int(task.speed))}/s" if task.speed else ""
            return Text(f"{number(int(task.completed))}{total} {unit}{rate}")

    counts: ProgressColumn = RateColumn() if unit else DownloadColumn()
    columns = (BarColumn(), TaskProgressColumn(), counts, TimeRemainingColumn())
    bar = Progress(
        TextColumn("{task.description}"),
        *columns,
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    bar.add_task(what)
    bar.start()
    return bar
