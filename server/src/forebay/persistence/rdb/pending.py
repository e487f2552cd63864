"""Pending entries of a group in and out of an RDB file.

    group       n, n times: ID, delivery time, deliveries        by ID
    consumers   per consumer: n, n times ID                      the owners
    NACK zone   n, n times ID                                    released entries, in order

The file first lists the pending entries and then their owners, so a table holds
them in between: four words per entry, and its owner.  fill() makes a Pending of
it when both are known.

Rules for the file (an attacker can make a server that does not check them free
an entry twice: CVE-2026-63639)
  1. IDs of the group rise, so none occurs twice.
  2. A consumer's ID is one of the group's, and has no owner yet.
  3. At the end each entry has a consumer or is in the NACK zone, not both.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.core.layout import DELIVERIES_MAX, NOBODY, RECORD_WORDS
from forebay.core.pel import Pending
from forebay.core.view import View
from forebay.persistence.rdb.reader import RdbReader
from forebay.persistence.rdb.writer import RdbWriter

#: The minimum size of an entry in the file, in the group and in a consumer.
ENTRY_SIZE = 25
#: In the table of owners: in the NACK zone.
RELEASED = mem.U32_MAX


class PendingTable:
    """The pending entries of one group while they are read."""

    def __init__(self, count: int) -> None:
        self.count = count
        #: How many were read, or put into the group.
        self.done = 0
        self.records = array("Q", bytes(8 * RECORD_WORDS)) * count
        self.w = mem.words(self.records)
        self.owned_by = array("I", bytes(4)) * count
        self.owners = mem.cells(self.owned_by)
        #: The NACK zone in order.
        self.zone = array("I")
        self.hint = 0

    def read(self, reader: RdbReader, limit: int) -> bool:
        """Read up to ``limit`` entries of the group; whether there are more."""
        w = self.w
        end = min(self.done + limit, self.count)
        for i in range(self.done, end):
            at = RECORD_WORDS * i
            w[at] = reader.be64()
            w[at + 1] = reader.be64()
            w[at + 2] = reader.time_ms()
            deliveries = reader.length()
            w[at + 3] = deliveries if deliveries < DELIVERIES_MAX else DELIVERIES_MAX
            if i > 0 and not mem.before(w[at - 4], w[at - 3], w[at], w[at + 1]):
                raise reader.fail("pending entries do not rise")
        self.done = end
        return end < self.count

    def find(self, ms: int, seq: int) -> int:
        """The index of an ID, -1 if it is not pending; IDs in order are found at once."""
        w = self.w
        low = self.hint
        if low < self.count and w[RECORD_WORDS * low] == ms and w[RECORD_WORDS * low + 1] == seq:
            self.hint = low + 1
            return low
        low = 0
        high = self.count
        while low < high:
            middle = (low + high) >> 1
            if mem.before(w[RECORD_WORDS * middle], w[RECORD_WORDS * middle + 1], ms, seq):
                low = middle + 1
            else:
                high = middle
        if low < self.count and w[RECORD_WORDS * low] == ms and w[RECORD_WORDS * low + 1] == seq:
            self.hint = low + 1
            return low
        return -1

    def own(self, reader: RdbReader, owner_no: int, count: int) -> None:
        """Read ``count`` IDs of this owner."""
        for _ in range(count):
            ms = reader.be64()
            seq = reader.be64()
            place = self.find(ms, seq)
            if place < 0:
                raise reader.fail("a consumer has an entry that its group has not")
            if self.owners[place] != NOBODY:
                raise reader.fail("a pending entry has two owners")
            self.owners[place] = owner_no

    def release(self, ms: int, seq: int, owner_no: int) -> bool:
        """Put an entry of this owner after the NACK zone; false if it has another owner."""
        place = self.find(ms, seq)
        if place < 0 or self.owners[place] != owner_no:
            return False
        self.owners[place] = RELEASED
        self.zone.append(place)
        return True

    def read_zone(self, reader: RdbReader, count: int) -> None:
        """Read ``count`` IDs of the NACK zone."""
        for _ in range(count):
            ms = reader.be64()
            seq = reader.be64()
            if not self.release(ms, seq, NOBODY):
                raise reader.fail("a released entry is not pending, or is somebody's")

    def owned(self, owner_no: int) -> int:
        """How many entries this owner has."""
        found = 0
        for i in range(self.count):
            if self.owners[i] == owner_no:
                found += 1
        return found

    def fill(self, pending: Pending) -> None:
        """Put all entries into the group: the released ones in their order, the others by ID."""
        w = self.w
        cells = mem.cells(self.zone)
        for i in range(len(self.zone)):
            at = RECORD_WORDS * cells[i]
            pending.add(w[at], w[at + 1], NOBODY, 0, w[at + 3])
        for i in range(self.count):
            if self.owners[i] != RELEASED:
                at = RECORD_WORDS * i
                pending.add(w[at], w[at + 1], self.owners[i], w[at + 2], w[at + 3])


def write_pending(writer: RdbWriter, pending: Pending, slot: int, limit: int) -> int:
    """Write up to ``limit`` entries from a slot on, by ID; the next slot, or -1."""
    while slot >= 0 and limit > 0:
        writer.entry_id(pending.id_ms(slot), pending.id_seq(slot))
        writer.le64(pending.time_ms(slot))
        writer.length(pending.deliveries(slot))
        slot = pending.after(slot)
        limit -= 1
    return slot


def write_owned(writer: RdbWriter, pending: Pending, view: View, slot: int, limit: int) -> int:
    """Write up to ``limit`` IDs of a view from a slot on; the next slot, or -1."""
    while slot >= 0 and limit > 0:
        writer.entry_id(pending.id_ms(slot), pending.id_seq(slot))
        slot = view.after(slot)
        limit -= 1
    return slot


def write_zone(writer: RdbWriter, pending: Pending) -> None:
    """Write the IDs of the NACK zone, in its order."""
    slot = pending.oldest()
    for _ in range(pending.nacked):
        writer.entry_id(pending.id_ms(slot), pending.id_seq(slot))
        slot = pending.after_by_time(slot)
