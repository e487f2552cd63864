"""Records of pending entries, four words each, in pages that never move.

    slot 0            slot 1            slot 2
    [probe          ] [ms seq time who] [ms seq time who] ...      page 0
    [ms seq time who] ...                                          page 1

A record is known by its *slot*, a number of 32 bits; views (view.py) are lists
of such numbers in some order.  Its words:

    ms, seq   the ID of the entry
    time      owned: top bit set, delivery time in ms, number of the turn (18 bits)
              unowned: a rising serial number, top bit clear
    who       number of the owner in the high half, 0 for unowned;
              number of deliveries in the low half

Rules
  1. (time, ms, seq) compared as numbers is the order by time: unowned records
     are first, in the order of their release, then the owned ones in the order
     of their delivery.  Within one millisecond a delivery in the order of IDs
     needs no turn of its own; a delivery with a smaller ID begins the next
     turn.  If the turns of a millisecond run out, the rest of it is ordered by
     ID.
  2. A delivery count that does not fit in 32 bits is in ``large``; the low half
     then holds its greatest value.
  3. Free slots are a chain: the first word of one names the next, 0 ends it.
  4. Slot 0 is never used for a record.  A search for a key that no record has
     writes the key there, so that all searches look for a slot.
  5. The first page begins small and doubles up to the full size, so that a
     group with one pending entry costs 256 bytes here and not 8 KiB.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.core.layout import KEY_WORDS, RECORD_WORDS

# As in page_of and word_of.
PAGE_RECORDS = 256
FIRST_RECORDS = 8

OWNED = 1 << 63
TURN_BITS = 18
TURNS = (1 << TURN_BITS) - 1
#: The year 3084: a later time (a payload may hold any number) is stored as this one.
TIME_MAX_MS = (1 << 45) - 1
OWNER_SHIFT = 32

ZEROS = array("Q", bytes(8 * RECORD_WORDS * PAGE_RECORDS))


def page_of(slot: int) -> int:
    """The number of the page of a record."""
    return slot >> 8


def word_of(slot: int) -> int:
    """Where in its page a record begins."""
    return (slot & 255) << 2


def first_turn(time_ms: int) -> int:
    """The time word of an owned record in the first turn of a millisecond."""
    return OWNED | min(time_ms, TIME_MAX_MS) << TURN_BITS


def last_turn(time: int) -> int:
    """The greatest time word of the same millisecond."""
    return time | TURNS


def next_turn(time: int) -> int:
    """The time word of the turn after this one; the last turn is its own successor."""
    return time + 1 if time & TURNS != TURNS else time


def is_key_below(
    w: mem.Words, at: int, ms: int, seq: int, time: int, by_time: bool, if_same: bool
) -> bool:
    """Whether the words ms, seq, time at w[at:] sort below a key; ``if_same`` if they are equal."""
    if by_time and w[at + 2] != time:
        return w[at + 2] < time
    if w[at] != ms:
        return w[at] < ms
    if w[at + 1] != seq:
        return w[at + 1] < seq
    return if_same


class Slab:
    """The records of one group."""

    table: list[array[int]]

    def __init__(self) -> None:
        self.pages: list[array[int]] = []
        self.addresses: array[int] = array("Q")
        self.large: dict[int, int] = {}
        self.serial = 0
        self.room = 0
        self.empty()

    def empty(self) -> None:
        """No record is left: start again, with one page at most."""
        if len(self.pages) != 1:
            self.pages = [ZEROS[: RECORD_WORDS * FIRST_RECORDS]]
            self.room = FIRST_RECORDS
            self.table = mem.word_arrays(self.pages, self.addresses)
        self.used = 1
        self.free = 0

    def add(self, ms: int, seq: int, owner_no: int, time: int) -> int:
        """The slot of a new record, delivered once."""
        slot = self.free
        if slot != 0:
            self.free = self.table[page_of(slot)][word_of(slot)]
        else:
            if self.used == self.room:
                self.grow()
            slot = self.used
            self.used = slot + 1
        w = self.table[page_of(slot)]
        at = word_of(slot)
        w[at] = ms
        w[at + 1] = seq
        w[at + 3] = 1
        self.own(slot, owner_no, time)
        return slot

    def grow(self) -> None:
        """Make room: double the first page, or add a whole one."""
        if self.used >= mem.U32_MAX:
            raise MemoryError("a consumer group holds at most 2**32 pending entries")
        if self.room < PAGE_RECORDS:
            self.pages[0] = self.pages[0] + ZEROS[: len(self.pages[0])]
            self.room *= 2
        else:
            self.pages.append(ZEROS[:])
            self.room += PAGE_RECORDS
        self.table = mem.word_arrays(self.pages, self.addresses)

    def release(self, slot: int) -> None:
        """The slot is free again."""
        w = self.table[page_of(slot)]
        at = word_of(slot)
        if w[at + 3] & mem.U32_MAX == mem.U32_MAX:
            del self.large[slot]
        w[at] = self.free
        self.free = slot

    def probe(self, ms: int, seq: int, time: int) -> None:
        """Write the key of a search into slot 0."""
        w = self.table[0]
        w[0] = ms
        w[1] = seq
        w[2] = time

    def own(self, slot: int, owner_no: int, time: int) -> None:
        """Change owner and time word; number 0 moves it to the end of the unowned records."""
        w = self.table[page_of(slot)]
        at = word_of(slot)
        w[at + 2] = time
        w[at + 3] = owner_no << OWNER_SHIFT | w[at + 3] & mem.U32_MAX
        if owner_no == 0:
            self.serial += 1
            w[at + 2] = self.serial

    def id_ms(self, slot: int) -> int:
        """The ID's first half."""
        return self.table[page_of(slot)][word_of(slot)]

    def id_seq(self, slot: int) -> int:
        """The ID's second half."""
        return self.table[page_of(slot)][word_of(slot) + 1]

    def time_ms(self, slot: int) -> int:
        """When it was last delivered; 0 for an unowned record."""
        word = self.table[page_of(slot)][word_of(slot) + 2]
        return (word ^ OWNED) >> TURN_BITS if word & OWNED != 0 else 0

    def time_word(self, slot: int) -> int:
        """The sort key of the order by time: rule 1."""
        return self.table[page_of(slot)][word_of(slot) + 2]

    def owner_no(self, slot: int) -> int:
        """The number of the consumer that holds it, 0 for none."""
        return self.table[page_of(slot)][word_of(slot) + 3] >> OWNER_SHIFT

    def deliveries(self, slot: int) -> int:
        """How often it was delivered."""
        n = self.table[page_of(slot)][word_of(slot) + 3] & mem.U32_MAX
        return n if n != mem.U32_MAX else self.large[slot]

    def set_deliveries(self, slot: int, n: int) -> None:
        """Set the count, at most DELIVERIES_MAX."""
        w = self.table[page_of(slot)]
        at = word_of(slot) + 3
        if w[at] & mem.U32_MAX == mem.U32_MAX:
            del self.large[slot]
        low = n
        if low >= mem.U32_MAX:
            self.large[slot] = n
            low = mem.U32_MAX
        w[at] = w[at] >> OWNER_SHIFT << OWNER_SHIFT | low

    # -- order ------------------------------------------------------------------

    def is_below(self, slot: int, ms: int, seq: int) -> bool:
        """Whether the ID of a record is below this one."""
        w = self.table[page_of(slot)]
        at = word_of(slot)
        return mem.before(w[at], w[at + 1], ms, seq)

    def sorts_below(self, slot: int, other: int, by_time: bool) -> bool:
        """Whether a record sorts below another, by time and ID or by ID alone."""
        w = self.table[page_of(other)]
        at = word_of(other)
        ms, seq, time = w[at], w[at + 1], w[at + 2]
        w = self.table[page_of(slot)]
        return is_key_below(w, word_of(slot), ms, seq, time, by_time, False)

    def place(self, slots: mem.Words, low: int, high: int, slot: int, by_time: bool) -> int:
        """Index of the first of slots[low:high], which are sorted, that is not below ``slot``."""
        table = self.table
        w = table[page_of(slot)]
        at = word_of(slot)
        ms, seq, time = w[at], w[at + 1], w[at + 2]
        while low < high:
            middle = (low + high) >> 1
            other = slots[middle]
            w = table[page_of(other)]
            if is_key_below(w, word_of(other), ms, seq, time, by_time, False):
                low = middle + 1
            else:
                high = middle
        return low

    def fence_before(self, fences: mem.Words, low: int, high: int, slot: int, by_time: bool) -> int:
        """The last of the fences after number ``low`` that is not above a record, or ``low``."""
        w = self.table[page_of(slot)]
        at = word_of(slot)
        ms, seq, time = w[at], w[at + 1], w[at + 2]
        while low < high:
            middle = (low + high + 1) >> 1
            if is_key_below(fences, KEY_WORDS * middle, ms, seq, time, by_time, True):
                low = middle
            else:
                high = middle - 1
        return low

    def used_bytes(self) -> int:
        """Memory of the pages."""
        return 8 * RECORD_WORDS * self.room
