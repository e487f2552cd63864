"""Sorted lists of slots: the same records in the order of ID or of time.

    View.chunks   [ . . 4 7 9 2 ] [ 5 1 8 . . . ]      slots, in the view's order
                        ^       ^
                      start    end of the first chunk

A slot costs four bytes in each of its views.  Appending after the greatest record
writes into the last chunk; removing the first one moves ``start``; a change in
the middle is a binary search over chunks, one inside a chunk, and a move of at
most half a chunk.

Rules
  1. A record must be in the slab before it is put into a view, and its key must
     not change while it is there.
  2. ``fences`` holds, per chunk, a key that is not above any key of the chunk and
     is above all keys of the chunk before: (ms, seq, time).  The first chunk has
     none.  Searches read the fences, which are adjacent in memory, before they
     read a record.
  3. No chunk is empty, except the only one of an empty view, which stays if it is
     small.  Chunks before number ``head`` are unused; the lists are shortened
     only from time to time.
  4. A chunk grows by doubling up to CHUNK_SLOTS; a full one is cut in half by an
     insertion, but an append begins a new one, so views filled in order are full.
  5. ``hint_no`` and ``hint_at`` are the place where the last search ended, or the
     place of the last removal.  They are a guess, always verified, and make walks
     and removals in order O(1).
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.core.layout import KEY_WORDS
from forebay.core.slab import Slab

CHUNK_SLOTS = 512
FIRST_SLOTS = 8
#: An empty view keeps a chunk up to this size; a chunk with fewer slots may be merged.
SMALL_SLOTS = 32

BLANK = array("I", bytes(4 * CHUNK_SLOTS))


class Chunk:
    """Up to CHUNK_SLOTS slots in order: cells[start:end]."""

    def __init__(self, room: int) -> None:
        self.cells: array[int] = BLANK[:room]
        self.p: array[int] = mem.cells(self.cells)
        self.room = room
        self.start = 0
        self.end = 0

    def make_room(self) -> bool:
        """Make room at the end: move slots down if half empty, or double; false at full size."""
        n = self.end - self.start
        if 2 * n > self.room:
            if self.room >= CHUNK_SLOTS:
                return False
            self.room *= 2
            self.cells = self.cells + self.cells
            self.p = mem.cells(self.cells)
        mem.move_cells(self.p, 0, self.start, n)
        self.start = 0
        self.end = n
        return True

    def insert(self, at: int, slot: int) -> None:
        """Put a slot before cells[at]; there must be room on one side."""
        if self.end < self.room and (self.start == 0 or self.end - at <= at - self.start):
            mem.move_cells(self.p, at + 1, at, self.end - at)
            self.end += 1
        else:
            mem.move_cells(self.p, self.start - 1, self.start, at - self.start)
            self.start -= 1
            at -= 1
        self.p[at] = slot

    def take(self, at: int) -> int:
        """Remove cells[at], moving the shorter side; the new index of the next slot."""
        if at == self.start:
            self.start += 1
            return at + 1
        if at - self.start <= self.end - 1 - at:
            mem.move_cells(self.p, self.start + 1, self.start, at - self.start)
            self.start += 1
            return at + 1
        mem.move_cells(self.p, at, at + 1, self.end - 1 - at)
        self.end -= 1
        return at

    def cut(self) -> Chunk:
        """Move the upper half to a new chunk."""
        upper = Chunk(self.room)
        middle = (self.start + self.end) >> 1
        upper.end = self.end - middle
        mem.copy_cells(upper.p, 0, self.p, middle, upper.end)
        self.end = middle
        return upper

    def absorb(self, upper: Chunk) -> None:
        """Take over the slots of the next chunk; both fit in one."""
        n = self.end - self.start
        mem.move_cells(self.p, 0, self.start, n)
        mem.copy_cells(self.p, n, upper.p, upper.start, upper.end - upper.start)
        self.start = 0
        self.end = n + upper.end - upper.start


#: Takes the place of a chunk that was before the head.
NO_CHUNK = Chunk(0)


class View:
    """Records of a slab in one order: by ID, or by time and ID."""

    def __init__(self, records: Slab, by_time: bool) -> None:
        self.records = records
        self.by_time = by_time
        self.count = 0
        self.reset()

    def reset(self) -> None:
        """Begin with one small chunk."""
        self.tail = Chunk(FIRST_SLOTS)
        self.chunks: list[Chunk] = [self.tail]
        self.head = 0
        self.fences: array[int] = array("Q", bytes(8 * KEY_WORDS))
        self.hint_no = 0
        self.hint_at = 0

    # -- order ------------------------------------------------------------------

    def search(self, slot: int) -> tuple[int, int]:
        """Chunk and index of the first record that does not sort below ``slot``."""
        fences = mem.words(self.fences)
        last = len(self.chunks) - 1
        no = self.records.fence_before(fences, self.head, last, slot, self.by_time)
        chunk = self.chunks[no]
        return no, self.records.place(chunk.p, chunk.start, chunk.end, slot, self.by_time)

    def position(self, slot: int) -> tuple[int, int]:
        """Chunk and index of a slot that is in this view."""
        if self.slot_at(self.hint_no, self.hint_at) == slot:
            return self.hint_no, self.hint_at
        chunk = self.chunks[self.head]
        if self.slot_at(self.head, chunk.start) == slot:
            return self.head, chunk.start
        no, at = self.search(slot)
        assert self.slot_at(no, at) == slot, "the record is not in this view"
        return no, at

    def slot_at(self, no: int, at: int) -> int:
        """The slot at a place, or -1 if the place is outside the view."""
        if no < self.head or no >= len(self.chunks):
            return -1
        chunk = self.chunks[no]
        if at < chunk.start or at >= chunk.end:
            return -1
        return chunk.p[at]

    def guess(self) -> int:
        """The slot that a walk or a removal in order would want next, or -1."""
        return self.slot_at(self.hint_no, self.hint_at)

    # -- changes ----------------------------------------------------------------

    def insert(self, slot: int) -> None:
        """Put a record where its key belongs."""
        if self.is_above(slot):
            self.append(slot)
        else:
            no, at = self.search(slot)
            self.put(no, at, slot)
            self.count += 1

    def append(self, slot: int) -> None:
        """Put a record that is above all others."""
        if self.tail.end == self.tail.room and not self.tail.make_room():
            self.add_chunk(len(self.chunks), Chunk(CHUNK_SLOTS), slot)
        self.tail.p[self.tail.end] = slot
        self.tail.end += 1
        self.count += 1

    def is_above(self, slot: int) -> bool:
        """Whether a record sorts above all in this view."""
        if self.count == 0:
            return True
        last = self.tail.p[self.tail.end - 1]
        return self.records.sorts_below(last, slot, self.by_time)

    def put(self, no: int, at: int, slot: int) -> None:
        """Insert into a chunk, cutting it in half if it is full."""
        chunk = self.chunks[no]
        if chunk.start == 0 and chunk.end == chunk.room and not chunk.make_room():
            upper = chunk.cut()
            self.add_chunk(no + 1, upper, upper.p[0])
            if at > chunk.end:
                at -= chunk.end
                chunk = upper
        chunk.insert(at, slot)

    def add_chunk(self, no: int, chunk: Chunk, slot: int) -> None:
        """Add a chunk as number ``no``, with a fence at the record ``slot``."""
        records = self.records
        key = [records.id_ms(slot), records.id_seq(slot), records.time_word(slot)]
        at = KEY_WORDS * no
        self.fences[at:at] = array("Q", key)
        self.chunks.insert(no, chunk)
        self.tail = self.chunks[len(self.chunks) - 1]

    def discard(self, slot: int) -> None:
        """Remove a slot that is in this view."""
        no, at = self.position(slot)
        chunk = self.chunks[no]
        self.hint_no = no
        self.hint_at = chunk.take(at)
        self.count -= 1
        n = chunk.end - chunk.start
        if n < SMALL_SLOTS and (n == 0 or len(self.chunks) > 1):
            self.tidy(no, chunk)

    def tidy(self, no: int, chunk: Chunk) -> None:
        """Drop a chunk that became empty, or merge a thin one with a neighbour."""
        if self.count == 0:
            if chunk.room > SMALL_SLOTS or self.head > 0:
                self.reset()
        elif chunk.start == chunk.end:
            self.drop(no)
        elif not self.merge(no):
            self.merge(no - 1)

    def drop(self, no: int) -> None:
        """Remove an empty chunk; the hint moves to the one after it."""
        following = no
        if no != self.head:
            self.cut_out(no, no + 1)
        elif 2 * no >= len(self.chunks):
            self.cut_out(0, no + 1)
            self.head = following = 0
        else:
            self.chunks[no] = NO_CHUNK
            self.head = following = no + 1
        self.hint_no = following
        if following < len(self.chunks):
            self.hint_at = self.chunks[following].start

    def cut_out(self, no: int, end: int) -> None:
        """Shorten the lists of chunks and fences."""
        del self.chunks[no:end]
        del self.fences[KEY_WORDS * no : KEY_WORDS * end]
        self.tail = self.chunks[len(self.chunks) - 1]

    def merge(self, no: int) -> bool:
        """Merge this chunk and the next, if the result is at most half full."""
        if no < self.head or no + 1 >= len(self.chunks):
            return False
        lower = self.chunks[no]
        upper = self.chunks[no + 1]
        n = lower.end - lower.start + upper.end - upper.start
        if 2 * n > CHUNK_SLOTS or n > lower.room:
            return False
        if self.hint_no == no:
            self.hint_at -= lower.start
        elif self.hint_no == no + 1:
            self.hint_no = no
            self.hint_at += lower.end - lower.start - upper.start
        lower.absorb(upper)
        self.cut_out(no + 1, no + 2)
        return True

    # -- walks ------------------------------------------------------------------

    def first(self) -> int:
        """The first slot, or -1."""
        return self.settle(self.head, self.chunks[self.head].start)

    def last(self) -> int:
        """The last slot, or -1."""
        return self.tail.p[self.tail.end - 1] if self.count > 0 else -1

    def seek(self, ms: int, seq: int) -> int:
        """By ID only: the first slot whose ID is not below this one, or -1."""
        slot = self.guess()
        if slot >= 0:
            if self.records.is_below(slot, ms, seq):
                slot = self.settle(self.hint_no, self.hint_at + 1)
                if slot < 0 or not self.records.is_below(slot, ms, seq):
                    return slot
            else:
                before = self.slot_at(self.hint_no, self.hint_at - 1)
                if before >= 0 and self.records.is_below(before, ms, seq):
                    return slot
        self.records.probe(ms, seq, 0)
        no, at = self.search(0)
        return self.settle(no, at)

    def last_until(self, time: int) -> int:
        """By time only: the last slot whose time word is not above this one, or -1."""
        slot = self.last()
        if slot < 0 or self.records.time_word(slot) <= time:
            return slot
        self.records.probe(mem.U64_MAX, mem.U64_MAX, time)
        no, at = self.search(0)
        chunk = self.chunks[no]
        if at == chunk.start:
            if no == self.head:
                return -1
            chunk = self.chunks[no - 1]
            at = chunk.end
        return chunk.p[at - 1]

    def after(self, slot: int) -> int:
        """The slot after one that is in this view, or -1."""
        no, at = self.position(slot)
        return self.settle(no, at + 1)

    def settle(self, no: int, at: int) -> int:
        """The slot at a place or, at the end of a chunk, the next one; remember the place."""
        chunk = self.chunks[no]
        if at == chunk.end:
            no += 1
            if no == len(self.chunks):
                return -1
            chunk = self.chunks[no]
            at = chunk.start
        self.hint_no = no
        self.hint_at = at
        return chunk.p[at]

    def slots(self) -> list[int]:
        """All slots in order."""
        return [s for chunk in self.chunks for s in chunk.cells[chunk.start : chunk.end]]

    def used_bytes(self) -> int:
        """Memory of the chunks."""
        total = 0
        for chunk in self.chunks:
            total += 4 * chunk.room
        return total
