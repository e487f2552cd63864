"""One node of a stream: a listpack of entries that share the fields of the first.

    header | count deleted nfields field.. 0 | entry | entry | ... | FF
             `------- master entry --------'

    entry  =  flags  ms-delta  seq-delta  value..  lp-count               (SAME)
           |  flags  ms-delta  seq-delta  nfields  field value..  lp-count

``flags`` is SAME (the entry has the master's fields, only values are stored) and
DELETED (a tombstone: skipped by readers, kept until the node goes).  Deltas are
wrapping differences to the node's ID, which is the ID of its first entry.
``lp-count`` is the number of elements of the entry before it; a reader that goes
backwards needs it.

Invariants
  1. Between calls the bytes up to ``size`` are always a valid listpack.
  2. count and deleted are the first two elements; count + deleted entries follow.
  3. At least SLACK bytes follow them, so that readers can copy in blocks.
  4. A sealed node's buffer is immutable ``bytes``; writing to one copies it first.
     So no code above may depend on where the bytes of a sealed node are.
"""

from __future__ import annotations

from forebay import mem
from forebay.core import listpack
from forebay.core.layout import COUNT_AT, DELETED, END, MANY, PADDING, SAME

START_ROOM = 96
SMALL = 127
#: Strings up to this length have one byte in front: SHORT_HEAD and the length.
SHORT = 63
SHORT_HEAD = 128


class Node:
    """A listpack with a master entry; see the head of this file."""

    def __init__(self, ms: int, seq: int) -> None:
        self.ms = ms
        self.seq = seq
        self.buf: bytearray | bytes = bytearray(START_ROOM)
        self.p: mem.Pointer = self.buf
        self.cap = START_ROOM
        self.size = 0
        self.elements = 0
        self.count = 0
        self.deleted = 0
        self.nfields = 0
        self.fields_at = 0
        self.entries_at = 0

    def start(self, src: mem.Source, w: mem.Words, first: int, pairs: int) -> None:
        """Write the master entry: the field names at spans first, first+2, ... of src."""
        total = 0
        for i in range(pairs):
            total += w[2 * (first + 2 * i) + 1]
        self.need(total + (pairs + 5) * listpack.OVERHEAD_MAX + listpack.HEADER)
        p = self.p
        o = listpack.put_int(p, COUNT_AT, 0)
        o = listpack.put_int(p, o, 0)
        o = listpack.put_int(p, o, pairs)
        self.fields_at = o
        for i in range(pairs):
            k = 2 * (first + 2 * i)
            o = listpack.put_string(p, o, src, w[k], w[k + 1])
        o = listpack.put_int(p, o, 0)
        self.entries_at = o
        self.nfields = pairs
        self.finish(o, pairs + 4)

    def append(
        self,
        ms: int,
        seq: int,
        src: mem.Source,
        w: mem.Words,
        first: int,
        pairs: int,
        size: int,
    ) -> None:
        """Add an entry whose fields and values are the spans from ``first`` on, ``size`` bytes."""
        same = self.has_fields(src, w, first, pairs)
        self.set_counts(self.count + 1, self.deleted)
        self.need(size + (2 * pairs + 5) * listpack.OVERHEAD_MAX)
        p = self.p
        o = listpack.put_int(p, self.size - 1, SAME if same else 0)
        o = listpack.put_int(p, o, mem.signed(mem.wrap(ms - self.ms)))
        o = listpack.put_int(p, o, mem.signed(mem.wrap(seq - self.seq)))
        if same:
            for i in range(2 * first + 2, 2 * (first + 2 * pairs), 4):
                o = listpack.put_string(p, o, src, w[i], w[i + 1])
            steps = pairs + 3
        else:
            o = listpack.put_int(p, o, pairs)
            for i in range(2 * first, 2 * (first + 2 * pairs), 2):
                o = listpack.put_string(p, o, src, w[i], w[i + 1])
            steps = 2 * pairs + 4
        o = listpack.put_int(p, o, steps)
        self.finish(o, steps + 1)

    def has_fields(self, src: mem.Source, w: mem.Words, first: int, pairs: int) -> bool:
        """Whether the given fields are the master's, in order."""
        if pairs != self.nfields:
            return False
        p = self.p
        o = self.fields_at
        for i in range(2 * first, 2 * (first + 2 * pairs), 4):
            n = w[i + 1]
            # Nearly always a short string: its head is its length.
            if n <= SHORT and p[o] == SHORT_HEAD | n and mem.equal(p, o + 1, src, w[i], n):
                o += n + 2
            elif listpack.same_string(p, o, src, w[i], n):
                o = listpack.skip(p, o)
            else:
                return False
        return True

    def finish(self, end: int, added: int) -> None:
        """Close the listpack at ``end`` and bring its header up to date."""
        p = self.p
        p[end] = END
        self.size = end + 1
        self.elements += added
        mem.put_le(p, 0, 4, self.size)
        mem.put_le(p, 4, 2, self.elements if self.elements < MANY else MANY)

    def need(self, room: int) -> None:
        """Make sure that ``room`` more bytes fit."""
        wanted = self.size + room + mem.SLACK
        if wanted > self.cap:
            self.grow(wanted)

    def grow(self, wanted: int) -> None:
        """A buffer of ``wanted`` bytes, or twice the size it has."""
        self.buf = mem.grown(self.p, self.size, self.cap, wanted)
        self.p = self.buf
        self.cap = len(self.buf)

    def seal(self) -> None:
        """Give back spare room: from now on the buffer is the listpack and SLACK."""
        self.hold(self.blob() + PADDING)

    def hold(self, sealed: bytes) -> None:
        """Use this buffer; no code writes to it before unseal()."""
        self.buf = sealed
        self.p = self.buf  # type: ignore[assignment]
        self.cap = len(sealed)

    def unseal(self) -> None:
        """Make the buffer writable again."""
        if isinstance(self.buf, bytes):
            self.buf = bytearray(self.buf)
            self.p = self.buf

    def set_counts(self, count: int, deleted: int) -> None:
        """Write the two counters of the master entry; the bytes after them may move."""
        self.unseal()
        if count <= SMALL and self.count <= SMALL:
            self.p[COUNT_AT] = count
        else:
            self.replace_int(COUNT_AT, count)
        if deleted != self.deleted:
            self.replace_int(listpack.skip(self.p, COUNT_AT), deleted)
        self.count = count
        self.deleted = deleted

    def replace_int(self, at: int, value: int) -> None:
        """Write another integer over the one at ``at`` in the master entry."""
        after = listpack.skip(self.p, at)
        shift = listpack.int_size(value) - (after - at)
        if shift > 0:
            self.need(shift)
        if shift != 0:
            mem.move(self.p, after + shift, after, self.size - after)
            self.size += shift
            self.fields_at += shift
            self.entries_at += shift
            mem.put_le(self.p, 0, 4, self.size)
        listpack.put_int(self.p, at, value)

    def bury(self, at: int) -> None:
        """Turn the entry whose flags are at ``at`` into a tombstone."""
        self.unseal()
        self.p[at] = self.p[at] | DELETED
        self.set_counts(self.count - 1, self.deleted + 1)

    def last_record(self) -> tuple[int, int]:
        """The ID of the last record, live or not."""
        at = self.before(self.size - 1)
        ms_delta, o = listpack.read_int(self.p, at + 2)
        seq_delta, _ = listpack.read_int(self.p, o)
        return mem.wrap(self.ms + ms_delta), mem.wrap(self.seq + seq_delta)

    def before(self, end: int) -> int:
        """The start of the entry that ends at ``end``."""
        p = self.p
        at = listpack.back(p, end)
        steps, _ = listpack.read_int(p, at)
        for _ in range(steps):
            at = listpack.back(p, at)
        return at

    def blob(self) -> bytes:
        """The listpack as Redis would store it."""
        return mem.to_bytes(self.p, 0, self.size)

    def load(self, buf: bytes, count: int, deleted: int, nfields: int, fields_at: int) -> None:
        """Take over a listpack, which has SLACK bytes after it, as a sealed node.

        The caller that checks its elements also sets ``elements`` and ``entries_at``.
        """
        self.hold(buf)
        self.size = self.cap - mem.SLACK
        self.count = count
        self.deleted = deleted
        self.nfields = nfields
        self.fields_at = fields_at

    def copy(self) -> Node:
        """A node of its own with the same bytes."""
        twin = Node(self.ms, self.seq)
        twin.hold(self.blob() + PADDING)
        twin.size = self.size
        twin.elements = self.elements
        twin.count = self.count
        twin.deleted = self.deleted
        twin.nfields = self.nfields
        twin.fields_at = self.fields_at
        twin.entries_at = self.entries_at
        return twin
