"""The pending entries of one group: consumer, time and number of deliveries of each.

    by_id     every record, by ID                      XPENDING, XCLAIM, XACK
    by_time   unowned records, then owned by time      XREADGROUP ... CLAIM
    owners    per consumer its records, by ID          history, XPENDING consumer

One record (slab.py) is in by_id, in by_time and, if it has an owner, in the
owner's view; the views (view.py) hold slots only.  So an entry costs 32 bytes
for the record and four for each view, and nothing is allocated per entry.

Rules
  1. A *slot* names a record from add() until remove(); it does not change when
     other records are added or removed.  Walk by after(slot); to remove a record
     or change its owner on the way, ask for the next one first.
  2. Owners are numbers from 1 up, made by open_owner(); 0 means no owner.
     Numbers are reused after close_owner().
  3. Records without an owner are the NACK zone, the head of by_time, in the
     order of their release.  Their delivery time reads as 0.
  4. Within one millisecond the first delivery is first (slab.py, rule 1).
"""

from __future__ import annotations

from forebay import mem
from forebay.core.layout import DELIVERIES_MAX
from forebay.core.slab import Slab, first_turn, last_turn, next_turn
from forebay.core.view import View


class Pending:
    """The slab and its views."""

    def __init__(self) -> None:
        self.records = Slab()
        self.by_id = View(self.records, by_time=False)
        self.by_time = View(self.records, by_time=True)
        #: Owner number -> view; None for numbers that are free.
        self.owners: list[View | None] = [None]
        self.free_numbers: list[int] = []
        self.nacked = 0
        #: No ID and no time word of the records is above these.
        self.top_ms = self.top_seq = self.top_time = 0

    @property
    def count(self) -> int:
        """How many entries are pending."""
        return self.by_id.count

    # -- owners -----------------------------------------------------------------

    def open_owner(self) -> int:
        """A number for a new owner, which has no records yet."""
        view = View(self.records, by_time=False)
        if self.free_numbers:
            number: int = self.free_numbers.pop()
            self.owners[number] = view
            return number
        self.owners.append(view)
        return len(self.owners) - 1

    def close_owner(self, owner_no: int) -> int:
        """Drop all records of an owner and free its number; how many there were."""
        view = self.owner(owner_no)
        dropped = view.count
        while view.count > 0:
            self.remove(view.first())
        self.owners[owner_no] = None
        self.free_numbers.append(owner_no)
        return dropped

    def owner(self, owner_no: int) -> View:
        """The view of an owner."""
        view = self.owners[owner_no]
        assert view is not None, "no such owner"
        return view

    # -- changes ----------------------------------------------------------------

    def add(self, ms: int, seq: int, owner_no: int, time_ms: int, deliveries: int) -> int:
        """A record for an ID that is not pending; its slot."""
        time = first_turn(time_ms)
        is_last = mem.before(self.top_ms, self.top_seq, ms, seq)
        if owner_no != 0 and is_last and last_turn(time) >= self.top_time:
            # The last one in every order, in the same turn as the others of its millisecond.
            self.top_ms, self.top_seq = ms, seq
            self.top_time = max(self.top_time, time)
            slot = self.records.add(ms, seq, owner_no, self.top_time)
            self.by_id.append(slot)
            self.by_time.append(slot)
            self.owner(owner_no).append(slot)
        else:
            slot = self.records.add(ms, seq, owner_no, self.turn(ms, seq, owner_no, time))
            if is_last:
                self.top_ms, self.top_seq = ms, seq
            self.insert(slot, owner_no)
        if deliveries != 1:
            self.records.set_deliveries(slot, deliveries)
        return slot

    def turn(self, ms: int, seq: int, owner_no: int, time: int) -> int:
        """The time word that puts a record after all others of its millisecond."""
        if owner_no == 0:
            return 0
        last = self.by_time.last_until(last_turn(time))
        if last >= 0 and self.records.time_word(last) >= time:
            time = self.records.time_word(last)
            if not self.records.is_below(last, ms, seq):
                time = next_turn(time)
        self.top_time = max(self.top_time, time)
        return time

    def insert(self, slot: int, owner_no: int) -> None:
        """Put a record into the views at its place."""
        self.by_id.insert(slot)
        self.by_time.insert(slot)
        if owner_no == 0:
            self.nacked += 1
        else:
            self.owner(owner_no).insert(slot)

    def remove(self, slot: int) -> None:
        """The entry is no longer pending."""
        owner_no = self.records.owner_no(slot)
        self.by_id.discard(slot)
        self.by_time.discard(slot)
        if owner_no == 0:
            self.nacked -= 1
        else:
            self.owner(owner_no).discard(slot)
        self.records.release(slot)
        if self.by_id.count == 0:
            self.records.empty()
            self.top_ms = self.top_seq = self.top_time = 0

    def give(self, slot: int, owner_no: int, time_ms: int) -> None:
        """Deliver again, to this owner at this time; number 0 releases the record."""
        records = self.records
        before = records.owner_no(slot)
        self.by_time.discard(slot)
        time = self.turn(records.id_ms(slot), records.id_seq(slot), owner_no, first_turn(time_ms))
        records.own(slot, owner_no, time)
        self.by_time.insert(slot)
        if before != owner_no:
            self.hand_over(slot, before, owner_no)

    def hand_over(self, slot: int, before: int, owner_no: int) -> None:
        """Move a record from the view of one owner to that of another."""
        if before == 0:
            self.nacked -= 1
        else:
            self.owner(before).discard(slot)
        if owner_no == 0:
            self.nacked += 1
        else:
            self.owner(owner_no).insert(slot)

    def set_deliveries(self, slot: int, n: int) -> None:
        """Set how often the entry was delivered."""
        self.records.set_deliveries(slot, n)

    def count_delivery(self, slot: int) -> None:
        """Add one delivery; the number stops at its greatest value."""
        n = self.records.deliveries(slot)
        if n < DELIVERIES_MAX:
            self.records.set_deliveries(slot, n + 1)

    # -- one record -------------------------------------------------------------

    def id_ms(self, slot: int) -> int:
        """First half of the entry's ID."""
        return self.records.id_ms(slot)

    def id_seq(self, slot: int) -> int:
        """Second half of the entry's ID."""
        return self.records.id_seq(slot)

    def time_ms(self, slot: int) -> int:
        """When it was last delivered; 0 if it has no owner."""
        return self.records.time_ms(slot)

    def deliveries(self, slot: int) -> int:
        """How often it was delivered."""
        return self.records.deliveries(slot)

    def owner_no(self, slot: int) -> int:
        """The number of its owner, 0 if it has none."""
        return self.records.owner_no(slot)

    # -- searches and walks; every answer is a slot, or -1 ----------------------

    def find(self, ms: int, seq: int) -> int:
        """The record of an ID."""
        if mem.before(self.top_ms, self.top_seq, ms, seq):
            return -1
        slot = self.by_id.guess()
        if slot >= 0 and self.has_id(slot, ms, seq):
            return slot
        slot = self.by_id.seek(ms, seq)
        return slot if slot >= 0 and self.has_id(slot, ms, seq) else -1

    def has_id(self, slot: int, ms: int, seq: int) -> bool:
        """Whether a record is that of an ID."""
        return self.records.id_ms(slot) == ms and self.records.id_seq(slot) == seq

    def seek(self, ms: int, seq: int) -> int:
        """The first record whose ID is not below this one."""
        return self.by_id.seek(ms, seq)

    def first(self) -> int:
        """The record with the smallest ID."""
        return self.by_id.first()

    def last(self) -> int:
        """The record with the greatest ID."""
        return self.by_id.last()

    def after(self, slot: int) -> int:
        """The next record by ID."""
        return self.by_id.after(slot)

    def oldest(self) -> int:
        """The first record by time: the head of the NACK zone, or the oldest delivery."""
        return self.by_time.first()

    def after_by_time(self, slot: int) -> int:
        """The next record by time."""
        return self.by_time.after(slot)

    def used_bytes(self) -> int:
        """Memory of records and views."""
        total = self.records.used_bytes() + self.by_id.used_bytes() + self.by_time.used_bytes()
        for view in self.owners:
            if view is not None:
                total += view.used_bytes()
        return total
