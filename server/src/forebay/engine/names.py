"""From the bytes of a command name to its row, without making an object of the name.

    slots   [None, XADD row, None, PING row, ...]     open addressing, at most half full

The hash and the comparison ignore letter case.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay import mem
from forebay.commands.api.spec import Command
from forebay.wire.argv import Argv

# Longer than any command's name; longer words are unknown without a search.
LONGEST_NAME = 64


class Names:
    """A fixed set of rows by name."""

    def __init__(self, rows: Iterable[Command]) -> None:
        all_rows = list(rows)
        size = 16
        while size < 2 * len(all_rows):
            size *= 2
        self.mask = size - 1
        #: The row found last: a pipeline asks for the same one again and again.
        self.latest: Command = all_rows[0]
        self.slots: list[Command | None] = [None] * size
        for row in all_rows:
            i = name_hash(row.name, 0, len(row.name)) & self.mask
            while self.slots[i] is not None:
                i = (i + 1) & self.mask
            self.slots[i] = row

    def find(self, argv: Argv) -> Command | None:
        """The row of argument 0; the Argv holds at least one argument."""
        p = argv.p
        at = argv.w[0]
        n = argv.w[1]
        latest = self.latest
        if mem.same_word(p, at, n, latest.upper, len(latest.upper)):
            return latest
        if n > LONGEST_NAME:
            return None
        i = name_hash(p, at, n) & self.mask
        while True:
            row = self.slots[i]
            if row is None:
                return None
            if mem.same_word(p, at, n, row.upper, len(row.upper)):
                self.latest = row
                return row
            i = (i + 1) & self.mask


def name_hash(p: mem.Source, at: int, n: int) -> int:
    """A hash that ignores letter case."""
    h = n
    for i in range(n):
        h = (h * 31 + (p[at + i] | 32)) & 0xFFFFFF
    return h ^ (h >> 9)
