"""A stream: an append-only log of entries, in nodes, under a radix tree.

    Stream -- nodes   Rax: ID of a node's first entry -> Node (a listpack)
          |-- tail    the last node, the only one that is appended to
          |-- groups  Rax: name -> Group
          +-- idmp    which producer's message became which entry, or None

Invariants (core/check.py holds them as functions)
  1. length = live entries = sum of node.count; no node has count 0.
  2. IDs of records rise strictly, over nodes too; none is above last_id.
  3. first_id is the ID of the first live entry, 0-0 if there is none.
  4. last_id and max_deleted_id never fall by appends and deletions;
     entries_added >= length.
  5. Every node but the tail is sealed, unless it was written to later.

The stream does not know its groups' type: deliveries and references are in
group.py and trim.py, one layer above.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from forebay import mem
from forebay.core import ids
from forebay.core.cursor import Cursor
from forebay.core.node import Node
from forebay.core.rax import Rax

if TYPE_CHECKING:
    from forebay.core.idmp import Idmp

#: No node grows beyond this size, whatever the settings say: offsets stay 32-bit.
NODE_BYTES_MAX = 1 << 30
#: XSETID can set the counter up to this; no reply and no record could hold more.
COUNTER_MAX = mem.I64_MAX
#: The size of everything but the bytes of the nodes, as measured in the compiled build: the stream
#: with its two trees, a node with the head of its buffer, a key in a tree.
STREAM_BYTES = 550
NODE_BYTES = 200
TREE_KEY_BYTES = 240


class Stream:
    """A log of entries; see the head of this file."""

    def __init__(self) -> None:
        self.nodes = Rax()
        self.groups = Rax()
        self.tail: Node | None = None
        self.length = 0
        self.first_ms = self.first_seq = 0
        self.last_ms = self.last_seq = 0
        self.maxdel_ms = self.maxdel_seq = 0
        self.entries_added = 0
        self.idmp: Idmp | None = None
        self.idmp_duration_s = 100
        self.idmp_maxsize = 100
        self.iids_added = 0
        self.iids_duplicates = 0

    def append(
        self,
        ms: int,
        seq: int,
        src: mem.Source,
        w: mem.Words,
        first: int,
        pairs: int,
        size: int,
        node_bytes: int,
        node_entries: int,
    ) -> None:
        """Add an entry above last_id; fields and values are spans of src from ``first`` on.

        ``size`` is the sum of their lengths.  ``node_bytes`` and ``node_entries`` say when a
        node is full; 0 is no limit.
        """
        node = self.tail
        if node is None or self.is_full(node, size, node_bytes, node_entries):
            node = self.new_tail(ms, seq, src, w, first, pairs)
        node.append(ms, seq, src, w, first, pairs, size)
        self.length += 1
        if self.entries_added < COUNTER_MAX:
            self.entries_added += 1
        self.last_ms = ms
        self.last_seq = seq
        if self.length == 1:
            self.first_ms = ms
            self.first_seq = seq

    def add(
        self, ms: int, seq: int, flat: list[bytes], node_bytes: int = 4096, node_entries: int = 100
    ) -> None:
        """Like append(), for fields and values that are Python objects."""
        spans = array("Q")
        at = 0
        for text in flat:
            spans.extend((at, len(text)))
            at += len(text)
        joined = b"".join(flat)
        words = mem.words(spans)
        pairs = len(flat) // 2
        self.append(ms, seq, joined, words, 0, pairs, at, node_bytes, node_entries)

    def is_full(self, node: Node, size: int, node_bytes: int, node_entries: int) -> bool:
        """Whether an entry of ``size`` payload bytes must start a new node."""
        if node_bytes == 0 or node_bytes > NODE_BYTES_MAX:
            node_bytes = NODE_BYTES_MAX
        if node.size + size >= node_bytes:
            return True
        return node_entries != 0 and node.count + node.deleted >= node_entries

    def new_tail(
        self, ms: int, seq: int, src: mem.Source, w: mem.Words, first: int, pairs: int
    ) -> Node:
        """Seal the tail and start a node with this entry's fields."""
        if self.tail is not None:
            self.tail.seal()
        node = Node(ms, seq)
        node.start(src, w, first, pairs)
        self.nodes.insert(ids.key(ms, seq), node)
        self.tail = node
        return node

    def cursor(self) -> Cursor:
        """A cursor over this stream's entries."""
        return Cursor(self.nodes)

    def find(self, ms: int, seq: int) -> Cursor | None:
        """A cursor on the live entry with this ID, or None."""
        cursor = Cursor(self.nodes)
        cursor.open(ms, seq, ms, seq, False)
        return cursor if cursor.next() else None

    def exists(self, ms: int, seq: int) -> bool:
        """Whether a live entry has this ID."""
        if self.length == 0 or ids.before(ms, seq, self.first_ms, self.first_seq):
            return False
        return self.find(ms, seq) is not None

    def get(self, ms: int, seq: int) -> list[bytes] | None:
        """Fields and values of an entry, as a flat list; None if it does not exist."""
        cursor = self.find(ms, seq)
        return None if cursor is None else cursor.fields()

    def last_live(self) -> tuple[bool, int, int]:
        """The ID of the last live entry; false if there is none."""
        if self.length == 0:
            return False, 0, 0
        cursor = Cursor(self.nodes)
        cursor.open(0, 0, mem.U64_MAX, mem.U64_MAX, True)
        cursor.next()
        return True, cursor.ms, cursor.seq

    def has_after(self, ms: int, seq: int) -> bool:
        """Whether there is a live entry above this ID."""
        if self.length == 0 or not ids.before(ms, seq, self.last_ms, self.last_seq):
            return False
        _, last_ms, last_seq = self.last_live()
        return ids.before(ms, seq, last_ms, last_seq)

    def delete(self, ms: int, seq: int) -> bool:
        """Delete one entry and note its ID as deleted; false if it did not exist."""
        cursor = self.find(ms, seq)
        if cursor is None:
            return False
        self.bury(cursor)
        if ids.before(self.maxdel_ms, self.maxdel_seq, ms, seq):
            self.maxdel_ms = ms
            self.maxdel_seq = seq
        if self.length == 0 or (ms == self.first_ms and seq == self.first_seq):
            self.find_first()
        return True

    def bury(self, cursor: Cursor) -> None:
        """Remove the entry under the cursor; the caller updates first_id."""
        node = cursor.node
        assert node is not None
        self.length -= 1
        if node.count > 1:
            cursor.bury()
        else:
            self.drop_node(node)

    def drop_node(self, node: Node) -> None:
        """Remove a whole node; the caller updates length and first_id."""
        self.nodes.remove(ids.key(node.ms, node.seq))
        if node is self.tail:
            self.tail = self.nodes.last_value()

    def find_first(self) -> None:
        """Compute first_id from the entries."""
        self.first_ms = self.first_seq = 0
        if self.length > 0:
            cursor = Cursor(self.nodes)
            cursor.open(0, 0, mem.U64_MAX, mem.U64_MAX, False)
            cursor.next()
            self.first_ms = cursor.ms
            self.first_seq = cursor.seq

    def range(
        self,
        start_ms: int = 0,
        start_seq: int = 0,
        end_ms: int = mem.U64_MAX,
        end_seq: int = mem.U64_MAX,
        count: int = -1,
        reverse: bool = False,
    ) -> list[tuple[int, int, list[bytes]]]:
        """Entries as Python values, for callers that are not hot."""
        cursor = Cursor(self.nodes)
        cursor.open(start_ms, start_seq, end_ms, end_seq, reverse)
        found: list[tuple[int, int, list[bytes]]] = []
        while len(found) != count and cursor.next():
            found.append((cursor.ms, cursor.seq, cursor.fields()))
        return found

    def used_bytes(self) -> int:
        """About how much memory the entries take."""
        total = STREAM_BYTES
        for node in self.nodes.values():
            total += len(node.buf) + NODE_BYTES + TREE_KEY_BYTES
        return total

    def copy(self) -> Stream:
        """A stream of its own with the same entries; groups are copied by their owner."""
        twin = Stream()
        for key, node in self.nodes.items():
            twin.tail = node.copy()
            twin.nodes.insert(key, twin.tail)
        twin.length, twin.entries_added = self.length, self.entries_added
        twin.first_ms, twin.first_seq = self.first_ms, self.first_seq
        twin.last_ms, twin.last_seq = self.last_ms, self.last_seq
        twin.maxdel_ms, twin.maxdel_seq = self.maxdel_ms, self.maxdel_seq
        twin.idmp = None if self.idmp is None else self.idmp.copy()
        twin.idmp_duration_s, twin.idmp_maxsize = self.idmp_duration_s, self.idmp_maxsize
        twin.iids_added, twin.iids_duplicates = self.iids_added, self.iids_duplicates
        for name, group in self.groups.items():
            twin.groups.insert(name, group.copy())
        return twin
