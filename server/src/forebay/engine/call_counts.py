"""How often each command ran, how long it took, how often it failed: the counters of one engine.

    calls, usec, rejected, failed      by the number of a row
    times_at                           by the number of a row: where its buckets begin
                   |
    times    [unused] [252 buckets of one row] [252 of another] ...

A row of the command table is a description that all engines share; its number is
the index of an engine's counters for that row.  So counting a call is an index into
an array, as quick as an attribute of the row.

Only rows that were called have buckets of running times; 0 means none.
commands/admin/histogram.py says which time falls into which bucket.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from forebay import mem
from forebay.commands.api.services import CallCount
from forebay.commands.api.spec import Command

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
        blank = bytes(8 * self.rows)
        self.counts: list[array[int]] = [array("Q", blank) for _ in range(5)]
        self.calls: mem.Words = mem.words(self.counts[0])
        self.usec: mem.Words = mem.words(self.counts[1])
        self.rejected_calls: mem.Words = mem.words(self.counts[2])
        self.failed_calls: mem.Words = mem.words(self.counts[3])
        self.times_at: mem.Words = mem.words(self.counts[4])
        self.times: array[int] = array("Q", [0])
        self.t: mem.Words = mem.words(self.times)

    def ran(self, row: Command, usec: int) -> None:
        """Count one call of this many microseconds."""
        if usec < 0:
            usec = 0
        n = row.number
        self.calls[n] += 1
        self.usec[n] += usec
        if self.times_at[n] == 0:
            self.add_buckets(n)
        shift = 0
        while (usec >> shift) > 7:
            shift += 1
        self.t[self.times_at[n] + shift * 4 + (usec >> shift)] += 1

    def add_buckets(self, n: int) -> None:
        """Make room for the running times of one more row."""
        self.times_at[n] = len(self.times)
        self.times = self.times + array("Q", bytes(8 * BUCKETS))
        self.t = mem.words(self.times)

    def rejected(self, row: Command) -> None:
        """Count a call that was refused before it ran."""
        self.rejected_calls[row.number] += 1

    def failed(self, row: Command) -> None:
        """Count a call that ran and was answered with an error."""
        self.failed_calls[row.number] += 1

    def of(self, row: Command) -> CallCount:
        """The present counters of one row."""
        n = row.number
        first = self.times_at[n]
        buckets = memoryview(self.times)[first : first + BUCKETS].tolist() if first else []
        return CallCount(
            self.calls[n], self.usec[n], self.rejected_calls[n], self.failed_calls[n], buckets
        )
