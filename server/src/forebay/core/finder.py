"""Looks up entries whose IDs mostly rise, without a new search for each.

    pending    1-0    3-0          7-0
    stream     1-0 2-0 3-0 4-0 5-0 6-0 7-0 8-0
               ^--------^--------------^        one cursor that moves on

To find one entry, the code must walk a node from its beginning: half of it on
average.  A caller that looks for a whole list of pending entries has them in the
order of their IDs, so the next one is near the last one.

    the entry is one step ahead         take the step
    it is farther, in the same node     walk on: nearer than from the beginning
    it is elsewhere, or earlier         search again

The stream must not change between two lookups.
"""

from __future__ import annotations

from forebay import mem
from forebay.core.cursor import Cursor
from forebay.core.stream import Stream


class Finder:
    """Finds the entries of one stream; ``cursor`` is on the one found last."""

    def __init__(self, stream: Stream) -> None:
        self.cursor = Cursor(stream.nodes)
        self.stands = False

    def find(self, ms: int, seq: int) -> bool:
        """Whether this entry is in the stream; if so, the cursor is on it."""
        cursor = self.cursor
        if not self.stands or self.is_past(ms, seq):
            return self.seek(ms, seq)
        if cursor.ms == ms and cursor.seq == seq:
            return True
        self.stands = cursor.next()
        if not self.stands:
            return False
        if not self.is_before(ms, seq):
            return cursor.ms == ms and cursor.seq == seq
        if cursor.nodes.floor_id(ms, seq) is not cursor.node:
            return self.seek(ms, seq)
        while self.stands and self.is_before(ms, seq):
            self.stands = cursor.next()
        return self.stands and cursor.ms == ms and cursor.seq == seq

    def seek(self, ms: int, seq: int) -> bool:
        """Move to the first entry that is not before this ID; whether it has this ID."""
        cursor = self.cursor
        cursor.open(ms, seq, mem.U64_MAX, mem.U64_MAX, False)
        self.stands = cursor.next()
        return self.stands and cursor.ms == ms and cursor.seq == seq

    def is_before(self, ms: int, seq: int) -> bool:
        """Whether the cursor is before this ID."""
        cursor = self.cursor
        return cursor.ms < ms or (cursor.ms == ms and cursor.seq < seq)

    def is_past(self, ms: int, seq: int) -> bool:
        """Whether the cursor is after this ID."""
        cursor = self.cursor
        return cursor.ms > ms or (cursor.ms == ms and cursor.seq > seq)
