"""Deliveries for the AOF and the replicas: as XCLAIM, one for a whole run of entries.

    XCLAIM key group consumer 0 id id id ... TIME ms RETRYCOUNT n FORCE JUSTID LASTID id

A server that runs this record makes the entries pending for the consumer, with that
delivery time and that count.  Redis writes one record per entry; since XCLAIM
takes many IDs, a run of entries with the same owner, time and count is one
record here, which any Redis can load.

    note 1-0 alice t 1 |
    note 2-0 alice t 1 | -> XCLAIM ... alice 0 1-0 2-0 TIME t RETRYCOUNT 1 ...
    note 3-0 alice t 2   -> XCLAIM ... alice 0 3-0     TIME t RETRYCOUNT 2 ...

Rules
  1. Make an object only if effects are enabled; call finish() once, or flush().
  2. LASTID is the group's last ID at the time of the record.
  3. An entry that was deleted from the stream is noted with its old owner: the reader
     does not find it either, and drops the record.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.commands.api.effects import Effects
from forebay.core.group import Group

FEW_IDS = 64
NO_IDS = array("Q")
# XCLAIM key group consumer 0 ... TIME ms RETRYCOUNT n FORCE JUSTID LASTID id
FIXED_ARGS = 13


class DeliveryEffects:
    """Collects the deliveries of one call in one group."""

    def __init__(self, effects: Effects, key: bytes, group: Group) -> None:
        self.effects = effects
        self.key = key
        # For Cython a field has a type; an argument of __init__ has none.
        self.group = group
        self.last_ms = self.group.last_ms
        self.last_seq = self.group.last_seq
        self.owner = b""
        self.time_ms = 0
        self.deliveries = 0
        self.n = 0
        self.records = 0
        #: Set when the group has read on: its position is recorded at the end.
        self.moved: Group | None = None
        #: The first ID of the run; most deliveries to a reader that waited are a single entry.
        self.first_ms = self.first_seq = 0
        #: The IDs after it.
        self.ids: array[int] = NO_IDS
        self.w: mem.Words = mem.words(self.ids)
        self.room = 0

    def note(self, ms: int, seq: int, owner: bytes, time_ms: int, deliveries: int) -> None:
        """One entry is now pending for ``owner``."""
        if self.n > 0 and not self.is_same(owner, time_ms, deliveries):
            self.flush()
        self.owner = owner
        self.time_ms = time_ms
        self.deliveries = deliveries
        if self.n == 0:
            self.first_ms = ms
            self.first_seq = seq
        else:
            at = self.n - 1
            if at == self.room:
                self.widen()
            self.w[2 * at] = ms
            self.w[2 * at + 1] = seq
        self.n += 1

    def is_same(self, owner: bytes, time_ms: int, deliveries: int) -> bool:
        """Whether this delivery continues the run."""
        if self.time_ms != time_ms or self.deliveries != deliveries:
            return False
        return self.owner is owner or self.owner == owner

    def widen(self) -> None:
        """Make room for twice as many IDs."""
        self.room = 2 * self.room if self.room > 0 else FEW_IDS
        wider = array("Q", bytes(16 * self.room))
        wider[: len(self.ids)] = self.ids
        self.ids = wider
        self.w = mem.words(wider)

    def flush(self) -> None:
        """Record the run, if there is one; the next note begins another."""
        if self.n > 0:
            self.record()
            self.n = 0
            self.records += 1

    def record(self) -> None:
        """One XCLAIM for the run."""
        effects = self.effects
        effects.begin_command(FIXED_ARGS + self.n)
        out = effects.out
        out.bulk(b"XCLAIM")
        out.bulk(self.key)
        out.bulk(self.group.name)
        out.bulk(self.owner)
        out.bulk(b"0")
        out.stream_id(self.first_ms, self.first_seq)
        for i in range(self.n - 1):
            out.stream_id(self.w[2 * i], self.w[2 * i + 1])
        out.bulk(b"TIME")
        out.number(self.time_ms)
        out.bulk(b"RETRYCOUNT")
        out.number(self.deliveries)
        out.bulk(b"FORCE")
        out.bulk(b"JUSTID")
        out.bulk(b"LASTID")
        out.stream_id(self.last_ms, self.last_seq)

    def finish(self) -> None:
        """Record the rest: the last run, and how far the group has read."""
        self.flush()
        if self.moved is not None:
            record_position(self.effects, self.key, self.moved)


def record_position(effects: Effects, key: bytes, group: Group) -> None:
    """Record how far a group has read; the caller has tested ``enabled``."""
    effects.begin_command(7)
    out = effects.out
    out.bulk(b"XGROUP")
    out.bulk(b"SETID")
    out.bulk(key)
    out.bulk(group.name)
    out.stream_id(group.last_ms, group.last_seq)
    out.bulk(b"ENTRIESREAD")
    out.number(group.entries_read)


def record_consumer(effects: Effects, key: bytes, group: bytes, consumer: bytes) -> None:
    """Record a consumer that was created and got nothing."""
    effects.record_command((b"XGROUP", b"CREATECONSUMER", key, group, consumer), 0)
