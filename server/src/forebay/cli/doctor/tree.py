"""/proc and /sys as a tree of files below a folder: the machine's own, or one that a test made.

A file that is missing, cannot be read or holds something else is None: a fact that the kernel
does not give becomes a finding of the level ``unknown``, never an error.
"""

from __future__ import annotations

import os
from pathlib import Path

from forebay.cli.words import whole


class Tree:
    """Files below a root."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def text(self, path: str) -> str | None:
        """The whole file without white space around it."""
        try:
            return (self.root / path.lstrip("/")).read_text("utf-8", "replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """The file as one number; None if it is no number, such as ``max``."""
        return whole(self.text(path))

    def fields(self, path: str) -> dict[str, str]:
        """A file of lines ``Name: value`` or ``name value``; empty if it cannot be read."""
        pairs = (line.split(None, 1) for line in (self.text(path) or "").splitlines())
        return {pair[0].rstrip(":"): pair[1].strip() for pair in pairs if len(pair) == 2}

    def size(self, path: str, name: str) -> int | None:
        """A field that is given in kB, in bytes."""
        count = whole(self.fields(path).get(name, "").removesuffix(" kB"))
        return None if count is None else count * 1024

    def process_age_s(self, pid: int) -> float | None:
        """How long a process has been running; None if there is none."""
        stat, uptime = self.text(f"/proc/{pid}/stat"), self.text("/proc/uptime")
        words = (stat or "").rpartition(")")[2].split()
        try:
            started_s = int(words[19]) / os.sysconf("SC_CLK_TCK")
            return float((uptime or "").split()[0]) - started_s
        except (IndexError, ValueError):
            return None
