"""A consumer group: its position, its consumers, and their pending entries.

    Group -- last_ms, last_seq   the last ID given to any consumer
        |-- entries_read         how many entries that is, -1 if unknown
        |-- consumers            Rax: name -> Consumer
        +-- pending              entries delivered and not acknowledged

entries_read and the lag.  An entry's number in the history of its stream is not
stored.  A group counts while it reads.  If its counter is unknown, an ID can
still be numbered if nothing was deleted on one side of it: see estimate().  If
neither works, the lag is unknown, and Redis answers nil.

References.  An entry is *referenced* as long as a group has not read it or
still has it pending.  There is no index from entries to groups: a stream has a
handful of groups and asking each costs one search in memory; an index would
cost every delivery and acknowledgement (docs/decisions has the numbers).

Invariants (core/check.py)
  1. A consumer's number is its number as an owner in ``pending``; its view
     there is the consumer's own.
  2. entries_read is -1 or not negative.
"""

from __future__ import annotations

from forebay import mem
from forebay.core.layout import NEVER, NOBODY, UNKNOWN
from forebay.core.pel import Pending
from forebay.core.rax import Rax
from forebay.core.stream import Stream
from forebay.core.view import View

#: The size of a group and of a consumer without names, records and slots, with their places in a
#: tree, as measured in the compiled build.
GROUP_BYTES = 2150
CONSUMER_BYTES = 800


class Consumer:
    """One reader of a group."""

    def __init__(self, name: bytes, number: int, view: View, now_ms: int) -> None:
        self.name = name
        self.number = number
        self.view = view
        self.seen_ms = now_ms
        self.active_ms = NEVER

    @property
    def pending(self) -> int:
        """How many entries it has not acknowledged."""
        return self.view.count


class Group:
    """One group of a stream; see the head of this file."""

    def __init__(self, name: bytes, last_ms: int, last_seq: int, entries_read: int) -> None:
        self.name = name
        self.last_ms = last_ms
        self.last_seq = last_seq
        self.entries_read = entries_read
        self.consumers = Rax()
        self.pending = Pending()
        #: Owner number -> consumer; None where the number is free.
        self.numbered: list[Consumer | None] = [None]

    # -- consumers --------------------------------------------------------------

    def consumer(self, name: bytes) -> Consumer | None:
        """The consumer with that name."""
        found: Consumer | None = self.consumers.find(name)
        return found

    def create_consumer(self, name: bytes, now_ms: int) -> Consumer:
        """A new consumer; the name must be free."""
        number = self.pending.open_owner()
        consumer = Consumer(name, number, self.pending.owner(number), now_ms)
        if number == len(self.numbered):
            self.numbered.append(None)
        self.numbered[number] = consumer
        new = self.consumers.insert(name, consumer)
        assert new, "a consumer of that name is there"
        return consumer

    def delete_consumer(self, name: bytes) -> int:
        """Remove a consumer with all its pending entries; how many those were."""
        consumer = self.consumer(name)
        if consumer is None:
            return 0
        self.consumers.remove(name)
        self.numbered[consumer.number] = None
        return self.pending.close_owner(consumer.number)

    def consumer_by_number(self, number: int) -> Consumer | None:
        """The consumer with this number; None for 0, which means no owner."""
        return self.numbered[number]

    def owner_name(self, slot: int) -> bytes:
        """The name of the consumer that holds a pending entry, empty if there is none."""
        owner = self.numbered[self.pending.owner_no(slot)]
        return b"" if owner is None else owner.name

    # -- deliveries -------------------------------------------------------------

    def deliver(
        self, stream: Stream, ms: int, seq: int, consumer: Consumer, now_ms: int, noack: bool
    ) -> None:
        """Give an entry above the group's last ID to a consumer.

        If the group was set back, the entry may already be pending: then it
        gets a new owner, and its delivery count starts again.
        """
        self.advance(stream, ms, seq)
        if not noack:
            consumer.active_ms = now_ms
            slot = self.pending.find(ms, seq)
            if slot < 0:
                self.pending.add(ms, seq, consumer.number, now_ms, 1)
            else:
                self.pending.give(slot, consumer.number, now_ms)
                self.pending.set_deliveries(slot, 1)

    def advance(self, stream: Stream, ms: int, seq: int) -> None:
        """Move the last ID up to an entry that is being delivered, and count it."""
        if (
            self.entries_read != UNKNOWN
            and not mem.before(self.last_ms, self.last_seq, stream.first_ms, stream.first_seq)
            and not tombstones_ahead(stream, self.last_ms, self.last_seq)
        ):
            if self.entries_read < mem.I64_MAX:
                self.entries_read += 1
        elif stream.entries_added > 0:
            self.entries_read = estimate(stream, ms, seq)
        self.last_ms = ms
        self.last_seq = seq

    def claim(self, slot: int, consumer: Consumer, now_ms: int, time_ms: int) -> None:
        """Give a pending entry to a consumer, as if delivered at ``time_ms``."""
        consumer.active_ms = now_ms
        self.pending.give(slot, consumer.number, time_ms)

    def ack(self, ms: int, seq: int) -> bool:
        """Remove the entry from the pending ones; whether it was pending."""
        slot = self.pending.find(ms, seq)
        if slot < 0:
            return False
        self.pending.remove(slot)
        return True

    def nack(self, slot: int, deliveries: int) -> None:
        """Release a pending entry to the end of the NACK zone, with this count."""
        self.pending.give(slot, NOBODY, 0)
        self.pending.set_deliveries(slot, deliveries)

    # -- the whole group --------------------------------------------------------

    def copy(self) -> Group:
        """A group like this one that shares nothing with it."""
        twin = Group(self.name, self.last_ms, self.last_seq, self.entries_read)
        numbers = {NOBODY: NOBODY}
        for consumer in self.consumers.values():
            other = twin.create_consumer(consumer.name, consumer.seen_ms)
            other.active_ms = consumer.active_ms
            numbers[consumer.number] = other.number
        records = self.pending.records
        # Records without an owner in the order of their release, then the others by ID.
        unowned = self.pending.by_time.slots()[: self.pending.nacked]
        owned = [slot for slot in self.pending.by_id.slots() if records.owner_no(slot) != NOBODY]
        for slot in unowned + owned:
            twin.pending.add(
                records.id_ms(slot),
                records.id_seq(slot),
                numbers[records.owner_no(slot)],
                records.time_ms(slot),
                records.deliveries(slot),
            )
        return twin

    def used_bytes(self) -> int:
        """Memory of the group, roughly, for MEMORY USAGE."""
        total = GROUP_BYTES + len(self.name) + self.pending.used_bytes()
        for consumer in self.consumers.values():
            total += CONSUMER_BYTES + len(consumer.name)
        return total


# -- progress of a group ----------------------------------------------------------


def tombstones_ahead(stream: Stream, ms: int, seq: int) -> bool:
    """Whether an entry at or above this ID may have been deleted."""
    if stream.length == 0 or (stream.maxdel_ms == 0 and stream.maxdel_seq == 0):
        return False
    return not mem.before(stream.maxdel_ms, stream.maxdel_seq, ms, seq)


def estimate(stream: Stream, ms: int, seq: int) -> int:
    """The number of entries ever added up to and including this ID, or -1 if unknown.

    The ends are known: everything below the first live entry was removed,
    unless an entry was deleted in the middle; and the last ID has the number of
    all entries added.
    """
    added: int = stream.entries_added
    if added == 0:
        return 0
    last_ms, last_seq = stream.last_ms, stream.last_seq
    if stream.length == 0 and not mem.before(last_ms, last_seq, ms, seq):
        return added
    if (ms != 0 or seq != 0) and mem.before(ms, seq, stream.maxdel_ms, stream.maxdel_seq):
        return UNKNOWN
    if ms == last_ms and seq == last_seq:
        return added
    if mem.before(last_ms, last_seq, ms, seq) or has_holes(stream):
        return UNKNOWN
    if mem.before(ms, seq, stream.first_ms, stream.first_seq):
        return added - stream.length
    if ms == stream.first_ms and seq == stream.first_seq:
        return added - stream.length + 1
    return UNKNOWN


def has_holes(stream: Stream) -> bool:
    """Whether an entry above the first live one may have been deleted."""
    if stream.maxdel_ms == 0 and stream.maxdel_seq == 0:
        return False
    return not mem.before(stream.maxdel_ms, stream.maxdel_seq, stream.first_ms, stream.first_seq)


def lag(stream: Stream, group: Group) -> int | None:
    """How many entries the group has yet to read; None if unknown."""
    added: int = stream.entries_added
    if added == 0 or stream.length == 0:
        return 0
    first_ms, first_seq = stream.first_ms, stream.first_seq
    behind = mem.before(group.last_ms, group.last_seq, first_ms, first_seq)
    if behind and mem.before(stream.maxdel_ms, stream.maxdel_seq, first_ms, first_seq):
        return stream.length
    number = group.entries_read
    if number == UNKNOWN or tombstones_ahead(stream, group.last_ms, group.last_seq):
        number = estimate(stream, group.last_ms, group.last_seq)
    return None if number == UNKNOWN else added - number


# -- references to an entry -------------------------------------------------------


def min_last_id(stream: Stream) -> tuple[int, int]:
    """The smallest last ID of all groups: every group has read all entries up to it.

    The greatest possible ID if there is no group.
    """
    low_ms = low_seq = mem.U64_MAX
    for group in stream.groups.values():
        if mem.before(group.last_ms, group.last_seq, low_ms, low_seq):
            low_ms, low_seq = group.last_ms, group.last_seq
    return low_ms, low_seq


def is_referenced(stream: Stream, ms: int, seq: int, low_ms: int, low_seq: int) -> bool:
    """Whether a group has yet to read the entry or has it pending.

    ``low`` is min_last_id(stream), computed once per command.
    """
    if mem.before(low_ms, low_seq, ms, seq):
        return True
    for group in stream.groups.values():
        if group.pending.find(ms, seq) >= 0:
            return True
    return False


def drop_references(stream: Stream, ms: int, seq: int) -> int:
    """Acknowledge the entry in every group; in how many groups it was pending."""
    dropped = 0
    for group in stream.groups.values():
        dropped += group.ack(ms, seq)
    return dropped
