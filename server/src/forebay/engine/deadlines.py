"""Future times, soonest first; each of them can be cancelled.

    heap   of Deadline: (at_ms, number) decides, what is None once it was cancelled

Cancelling does not search: the entry is emptied in place and dropped when its
time is reached.  The heap is rebuilt when more than half of it is cancelled; so
it is not filled by clients that block for an hour and are served at once.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from forebay import mem

# Compiled code stores times as signed 64-bit numbers.
LATEST_MS = mem.I64_MAX
# A heap with fewer entries is not rebuilt.
FEW_CANCELLED = 64


class Deadline:
    """A future time and its owner."""

    def __init__(self, at_ms: int, number: int, what: object) -> None:
        self.at_ms = at_ms
        #: Decides between equal times: first come, first served.
        self.number = number
        #: None once the time was reached or cancelled.
        self.what: Any = what

    def __lt__(self, other: Deadline) -> bool:
        if self.at_ms != other.at_ms:
            return self.at_ms < other.at_ms
        return self.number < other.number


class Deadlines:
    """A heap of times."""

    def __init__(self) -> None:
        self.heap: list[Deadline] = []
        self.number = 0
        self.cancelled = 0

    def add(self, at_ms: int, what: object) -> Deadline:
        """Add a time; cancel() takes the returned entry."""
        self.number += 1
        entry = Deadline(at_ms, self.number, what)
        heappush(self.heap, entry)
        return entry

    def cancel(self, entry: Deadline) -> None:
        """Cancel a time; one that has passed or was cancelled may be cancelled again."""
        if entry.what is None:
            return
        entry.what = None
        self.cancelled += 1
        if self.cancelled > FEW_CANCELLED and self.cancelled > len(self.heap) // 2:
            self.heap = [kept for kept in self.heap if kept.what is not None]
            heapify(self.heap)
            self.cancelled = 0

    def shift(self, by_ms: int) -> None:
        """The clock was set: keep the distance of every time from now."""
        for entry in self.heap:
            at_ms = entry.at_ms  # An object when compiled: the sum must not wrap.
            entry.at_ms = max(0, min(at_ms + by_ms, LATEST_MS))

    def next_ms(self) -> int:
        """The soonest time, -1 if there is none."""
        heap = self.heap
        while heap:
            entry = heap[0]
            if entry.what is not None:
                return entry.at_ms
            heappop(heap)
            self.cancelled -= 1
        return -1

    def is_due(self, now_ms: int) -> bool:
        """Whether a time has been reached."""
        soonest_ms = self.next_ms()
        return 0 <= soonest_ms <= now_ms

    def pop_due(self, now_ms: int) -> list[Any]:
        """Everything that is due, in order."""
        due = []
        while self.is_due(now_ms):
            entry = heappop(self.heap)
            due.append(entry.what)
            entry.what = None
        return due
