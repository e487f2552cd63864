"""A cursor over the live entries of a stream, forward or backward.

    cursor.open(start, end, reverse)         from start to end, both included
    while cursor.next():                     is now on a live entry
        cursor.ms, cursor.seq                its ID
        cursor.pairs, cursor.same            how many fields; are they the master's
        cursor.values_at                     where its own elements begin in cursor.p
        cursor.gather(spots, ids, ...)       this entry and similar ones after it

A reader that walks the elements of an entry anyway stores the index after the
last one in ``cursor.after``; then the next step costs nothing.  Otherwise next()
walks them itself.  A cursor never shows tombstones.  It becomes invalid when the
stream changes, except that its current entry may be buried.
"""

from __future__ import annotations

from forebay import mem
from forebay.core import listpack
from forebay.core.layout import DELETED, END, SAME, SHORT_STRING, WIDE
from forebay.core.node import Node
from forebay.core.rax import Rax


def deltas(p: mem.Source, at: int) -> tuple[int, int, int]:
    """The difference of an entry's ID from its node's, in both halves; the index after them."""
    # They are nearly always small numbers: those are read here, the others by a call.
    o = at + 4
    ms_delta = p[at + 2]
    if ms_delta >= SHORT_STRING:
        ms_delta, o = listpack.read_int(p, at + 2)
    seq_delta = p[o]
    if seq_delta < SHORT_STRING:
        return ms_delta, seq_delta, o + 2
    seq_delta, o = listpack.read_int(p, o)
    return ms_delta, seq_delta, o


class Cursor:
    """Walks live entries; see the head of this file."""

    def __init__(self, nodes: Rax) -> None:
        self.nodes = nodes
        self.node: Node | None = None
        self.p: mem.Source = b""
        self.at = 0
        self.after = 0
        self.ms = 0
        self.seq = 0
        self.pairs = 0
        self.same = False
        self.values_at = 0
        self.reverse = False
        self.start_ms = self.start_seq = self.end_ms = self.end_seq = 0

    def open(self, start_ms: int, start_seq: int, end_ms: int, end_seq: int, reverse: bool) -> None:
        """Prepare to walk from start to end, both included; backward if reverse."""
        self.start_ms = start_ms
        self.start_seq = start_seq
        self.end_ms = end_ms
        self.end_seq = end_seq
        self.reverse = reverse
        if reverse:
            self.enter(self.nodes.floor_id(end_ms, end_seq))
        else:
            node = self.nodes.floor_id(start_ms, start_seq)
            self.enter(node if node is not None else self.nodes.first_value())
            if node is not None and node.entries_at < node.size - 1 and not self.is_first(node):
                self.approach(node)

    def is_first(self, node: Node) -> bool:
        """Whether the interval begins with the first ID of the node."""
        return self.start_ms == node.ms and self.start_seq == node.seq

    def approach(self, node: Node) -> None:
        """Move before the first entry of the interval, from the nearer end of the node.

        A reader at the tail of a stream wants the last one or two of a hundred
        entries.
        """
        at = node.before(node.size - 1)
        self.read(at)
        if self.is_early() or self.is_near_end(node):
            self.after = node.size - 1
            while not self.is_early():
                self.after = at
                if at <= node.entries_at:
                    break
                at = node.before(at)
                self.read(at)

    def is_near_end(self, node: Node) -> bool:
        """Whether the interval begins nearer to the entry just read than to the node's first ID."""
        if self.ms != node.ms:
            return self.ms - self.start_ms < self.start_ms - node.ms
        return self.seq - self.start_seq < self.start_seq - node.seq

    def enter(self, node: Node | None) -> None:
        """Move before the first entry of a node, or after the last one if backward."""
        self.node = node
        if node is not None:
            self.p = node.p
            self.after = node.entries_at
            self.at = node.size - 1

    def next(self) -> bool:
        """Go to the next live entry of the interval; false if there is none."""
        if self.reverse:
            return self.previous()
        while self.node is not None:
            at = self.after if self.after != 0 else self.skip_values()
            while self.p[at] != END:
                if self.read(at) and not self.is_early():
                    if self.is_late():
                        self.node = None
                        return False
                    self.after = 0
                    return True
                at = self.skip_values()
            self.enter(self.nodes.next_id(self.node.ms, self.node.seq))
        return False

    def gather(self, spots: mem.Words, ids: mem.Words, most: int, most_bytes: int) -> int:
        """Collect the places of the values of this entry and of SAME entries after it in its node.

        At most ``most`` entries, and none after ``most_bytes`` bytes; returns the number of
        entries.  ``ids`` gets two words for each.  next() continues after the last of them.
        """
        node = self.node
        assert node is not None
        p = self.p
        at = self.values_at
        stop = at + most_bytes
        ms, seq = self.ms, self.seq
        node_ms, node_seq = node.ms, node.seq
        pairs = self.pairs
        n = o = 0
        while True:
            ids[2 * n] = ms
            ids[2 * n + 1] = seq
            n += 1
            for _ in range(pairs):
                spots[o] = at
                o += 1
                head = p[at]
                if head >= WIDE:
                    at = listpack.skip(p, at)
                elif head >= SHORT_STRING:
                    at += (head & 63) + 2
                else:
                    at += 2
            # The count of its elements is nearly always a small number.
            at = at + 2 if p[at] < SHORT_STRING else listpack.skip(p, at)
            if n == most or at >= stop or p[at] != SAME:
                break
            ms_delta, seq_delta, values_at = deltas(p, at)
            ms = mem.wrap(node_ms + ms_delta)
            seq = mem.wrap(node_seq + seq_delta)
            if mem.before(self.end_ms, self.end_seq, ms, seq):
                break
            at = values_at
        self.after = at
        return n

    def previous(self) -> bool:
        """Like next(), towards smaller IDs."""
        while self.node is not None:
            at = self.at
            while at > self.node.entries_at:
                at = self.node.before(at)
                if self.read(at) and not self.is_late():
                    if self.is_early():
                        self.node = None
                        return False
                    return True
            self.enter(self.nodes.prev_id(self.node.ms, self.node.seq))
        return False

    def read(self, at: int) -> bool:
        """Read the head of the entry at ``at``; false for a tombstone."""
        node = self.node
        assert node is not None
        p = self.p
        flags: int = p[at]
        self.at = at
        ms_delta, seq_delta, o = deltas(p, at)
        self.ms = mem.wrap(node.ms + ms_delta)
        self.seq = mem.wrap(node.seq + seq_delta)
        self.same = flags & SAME != 0
        if self.same:
            self.pairs = node.nfields
        else:
            pairs, o = listpack.read_int(p, o)
            self.pairs = pairs
        self.values_at = o
        return flags & DELETED == 0

    def skip_values(self) -> int:
        """Walk over the elements of the entry just read; the index of the next entry."""
        p = self.p
        o = self.values_at
        steps = self.pairs if self.same else 2 * self.pairs
        for _ in range(steps + 1):
            o = listpack.skip(p, o)
        return o

    def is_early(self) -> bool:
        """Whether the entry is before the interval."""
        return self.ms < self.start_ms or (self.ms == self.start_ms and self.seq < self.start_seq)

    def is_late(self) -> bool:
        """Whether the entry is after the interval."""
        return self.ms > self.end_ms or (self.ms == self.end_ms and self.seq > self.end_seq)

    def fields(self) -> list[bytes]:
        """The entry's fields and values, as a flat list."""
        flat = []
        p = self.p
        o = self.values_at
        assert self.node is not None
        f = self.node.fields_at
        for _ in range(self.pairs):
            if self.same:
                flat.append(listpack.element(p, f))
                f = listpack.skip(p, f)
            else:
                flat.append(listpack.element(p, o))
                o = listpack.skip(p, o)
            flat.append(listpack.element(p, o))
            o = listpack.skip(p, o)
        return flat

    def bury(self) -> None:
        """Delete the current entry; the cursor must be opened again afterwards."""
        assert self.node is not None
        self.node.bury(self.at)
