"""Times to come, soonest first, each of which may be cancelled.

    heap   [at_ms, number, what]     what is None once cancelled

Cancelling does not search: the entry is emptied where it stands and dropped when
its time comes.  So that clients who block for an hour and are served at once do
not fill the heap, it is rebuilt when more than half of it is cancelled.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from forebay import mem

# Times are signed 64-bit numbers wherever they are compiled.
LATEST_MS = mem.I64_MAX
# Not worth rebuilding a heap for fewer.
FEW_CANCELLED = 64

Entry = list[Any]


class Deadlines:
    """A heap of (time, thing)."""

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.number = 0
        self.cancelled = 0

    def add(self, at_ms: int, what: object) -> Entry:
        """Note a time; cancel() takes the entry returned."""
        # The number decides between equal times: first come, first served.
        self.number += 1
        entry: Entry = [at_ms, self.number, what]
        heappush(self.heap, entry)
        return entry

    def cancel(self, entry: Entry) -> None:
        """Forget a time; one that has passed or was cancelled may be cancelled again."""
        if entry[2] is None:
            return
        entry[2] = None
        self.cancelled += 1
        if self.cancelled > FEW_CANCELLED and self.cancelled > len(self.heap) // 2:
            self.heap = [kept for kept in self.heap if kept[2] is not None]
            heapify(self.heap)
            self.cancelled = 0

    def shift(self, by_ms: int) -> None:
        """The clock was set: what lay ahead lies as far ahead as before."""
        for entry in self.heap:
            entry[0] = max(0, min(entry[0] + by_ms, LATEST_MS))

    def next_ms(self) -> int:
        """The soonest time, -1 if there is none."""
        heap = self.heap
        while heap:
            entry = heap[0]
            if entry[2] is not None:
                return int(entry[0])
            heappop(heap)
            self.cancelled -= 1
        return -1

    def is_due(self, now_ms: int) -> bool:
        """Whether a time has come."""
        soonest_ms = self.next_ms()
        return 0 <= soonest_ms <= now_ms

    def pop_due(self, now_ms: int) -> list[Any]:
        """Everything whose time has come, in order."""
        due = []
        while self.is_due(now_ms):
            entry = heappop(self.heap)
            due.append(entry[2])
            entry[2] = None
        return due
