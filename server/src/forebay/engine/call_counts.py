"""How often each command ran, how long it took, how often it failed: the counters of one engine.

    words      row 0: calls usec rejected failed times_at | row 1: ... | row 2: ...
                                                   |
    times      [unused] [252 buckets of one row]  [252 of another] ...

A row of the command table is a description that all engines share; it has a number,
and the engine's counters of that row begin at FACTS * number.  So counting a call is
an index into an array, as quick as an attribute of the row.

Buckets of running times are there for rows that were called: TIMES_AT tells where
they begin, 0 before the first call.  commands/admin/histogram.py says which time
falls into which bucket.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from forebay import mem
from forebay.commands.api.services import CallCount
from forebay.commands.api.spec import Command

#: Words of a row: its four counts, and where its buckets begin.
FACTS = 5
CALLS, USEC, REJECTED, FAILED, TIMES_AT = range(FACTS)
#: Enough for any 63-bit number of microseconds.
BUCKETS = 252


class CallCounts:
    """The counters of all rows of one table."""

    def __init__(self, rows: Iterable[Command]) -> None:
        highest = 0
        for row in rows:
            for each in (row, *row.subcommands.values()):
                highest = max(highest, each.number)
        self.rows = highest + 1
        self.reset()

    def reset(self) -> None:
        """Forget all calls; CONFIG RESETSTAT."""
        self.facts: array[int] = array("Q", bytes(8 * FACTS * self.rows))
        self.w: mem.Words = mem.words(self.facts)
        self.times: array[int] = array("Q", [0])
        self.t: mem.Words = mem.words(self.times)

    def ran(self, row: Command, usec: int) -> None:
        """One call took so many microseconds."""
        if usec < 0:
            usec = 0
        at = FACTS * row.number
        w = self.w
        w[at + CALLS] += 1
        w[at + USEC] += usec
        if w[at + TIMES_AT] == 0:
            self.add_buckets(at)
        shift = 0
        while (usec >> shift) > 7:
            shift += 1
        self.t[w[at + TIMES_AT] + shift * 4 + (usec >> shift)] += 1

    def add_buckets(self, at: int) -> None:
        """Room for the running times of one more row."""
        self.w[at + TIMES_AT] = len(self.times)
        self.times = self.times + array("Q", bytes(8 * BUCKETS))
        self.t = mem.words(self.times)

    def rejected(self, row: Command) -> None:
        """A call was refused before it ran."""
        self.w[FACTS * row.number + REJECTED] += 1

    def failed(self, row: Command) -> None:
        """A call that ran was answered with an error."""
        self.w[FACTS * row.number + FAILED] += 1

    def of(self, row: Command) -> CallCount:
        """What is known of one row, as it is now."""
        at = FACTS * row.number
        w = self.w
        first = w[at + TIMES_AT]
        buckets = memoryview(self.times)[first : first + BUCKETS].tolist() if first else []
        return CallCount(w[at + CALLS], w[at + USEC], w[at + REJECTED], w[at + FAILED], buckets)
