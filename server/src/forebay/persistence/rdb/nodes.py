"""Nodes of a stream in and out of an RDB file: unchanged, after a check of every byte.

A node is stored as its 16-byte ID and its listpack (core/node.py), so writing
one is a copy.  Reading one is a copy too, but readers of a node do not check
it: a wrong offset would be a read beyond the buffer.  So NodeCheck walks each
listpack once, here:

    header | count deleted nfields field.. 0 | entry | entry | ... | FF
    size     canonical     >= 1          ^     |
    is true                            zero    flags 0..3, ms, seq, [nfields], values, lp-count

Rules for a node; if one is broken, the stream is refused
  1. Every element ends inside the listpack, and its backlen matches its size.
  2. Counters and flags are in their shortest form: they are written in place.
  3. An entry has at least one field, and lp-count is its number of elements.
  4. IDs of nodes rise, and those of live entries; the first is the node's own.
  5. count and deleted are the numbers of live and of deleted entries.
A node without live entries is valid, and is left out: Redis keeps some.  A
deleted entry out of order is valid too, since XSETID of Redis 7.0 may go below
one; but no reader here expects that, so ``is_untidy`` requests new nodes.
"""

from __future__ import annotations

from forebay import mem
from forebay.core import listpack
from forebay.core.layout import COUNT_AT, DELETED, END, ID_SIZE, MANY, SAME
from forebay.core.node import Node
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb.reader import RdbReader
from forebay.persistence.rdb.writer import RdbWriter

FLAGS_MAX = 3
#: Header, a master entry of one field, an end mark: the minimum size of a node.
NODE_MIN = 17

# The faults of a node, 0 if there is none.
BAD_HEADER = 1
BAD_ELEMENT = 2
BAD_COUNTER = 3
BAD_FIELDS = 4
BAD_FLAGS = 5
BAD_ID = 6
BAD_LENGTH = 7
BAD_TOTALS = 8
REASONS = (
    "nothing",
    "its header does not fit its bytes",
    "an element is broken",
    "a counter is no number in its shortest form",
    "an entry has no fields",
    "an entry has unknown flags",
    "IDs do not rise from the node's own",
    "the size of an entry is wrong",
    "its counters do not fit its entries",
)


def element_size(p: mem.Source, at: int) -> int:
    """Bytes of the element at ``at`` without its backlen; 0 if its encoding is unknown."""
    head: int = p[at]
    if head < 128:
        return 1
    if head < 192:
        return 1 + (head & 63)
    if head < 224:
        return 2
    if head < 240:
        low: int = p[at + 1]
        return 2 + ((head & 15) << 8 | low)
    if head == 240:
        return 5 + mem.get_le(p, at + 1, 4)
    if head < 244:
        return head - 238
    return 9 if head == 244 else 0


def step(p: mem.Source, at: int, end: int) -> int:
    """The index after the element at ``at``; -1 if it is invalid or does not end before ``end``.

    It may read SLACK bytes after ``end``.
    """
    if at >= end:
        return -1
    size = element_size(p, at)
    if size == 0 or size >= end - at:
        return -1
    after = at + size
    if size <= 127:
        return after + 1 if p[after] == size else -1
    return long_backlen(p, after, end, size)


def long_backlen(p: mem.Source, at: int, end: int, size: int) -> int:
    """The index after the backlen of a long element, -1 if it has another size."""
    shift = 7 * (listpack.backlen_size(size) - 1)
    flag = 0
    while shift >= 0:
        if at >= end or p[at] != (size >> shift & 127 | flag):
            return -1
        at += 1
        shift -= 7
        flag = 128
    return at


class NodeCheck:
    """The check of one node; it remembers the IDs of the nodes before."""

    def __init__(self) -> None:
        self.nodes = 0
        #: The ID of the node before, the greatest ID so far, and that of a live entry.
        self.node_ms = self.node_seq = 0
        self.last_ms = self.last_seq = 0
        self.live_ms = self.live_seq = 0
        self.total = 0
        self.is_untidy = False
        self.p: mem.Source = b""
        self.end = 0
        self.elements = 0
        self.live = 0
        self.dead = 0
        self.nfields = 0
        self.value = 0
        self.wrong = 0

    def number(self, at: int) -> int:
        """Read an integer element into ``value``; the index after it, -1 if it is not one."""
        p = self.p
        head: int = p[at]
        if head < 128:
            self.value = head
            return at + 2 if at + 2 <= self.end and p[at + 1] == 1 else -1
        after = step(p, at, self.end)
        if after < 0 or not listpack.is_int(p, at):
            return -1
        self.value, _ = listpack.read_int(p, at)
        return after

    def counter(self, at: int) -> int:
        """The same for a counter: not negative, and in its shortest form."""
        after = self.number(at)
        if after < 0 or self.value < 0 or after - at != listpack.int_size(self.value):
            return -1
        return after

    def skip(self, at: int, count: int) -> int:
        """Walk over ``count`` elements; the index after, -1 if one is broken."""
        p = self.p
        end = self.end
        while count > 0:
            head: int = p[at]
            # Nearly always a short string or a small number.
            size = 1 if head < 128 else 1 + (head & 63)
            if head < 192 and size < end - at:
                if p[at + size] != size:
                    return -1
                at += size + 1
            else:
                at = step(p, at, end)
                if at < 0:
                    return -1
            count -= 1
        return at

    def check(self, node: Node, buf: bytes) -> int:
        """Check every element of a listpack and give it to the node; the fault."""
        size = len(buf) - mem.SLACK
        self.p = buf
        self.end = size - 1
        if size < NODE_MIN or mem.get_le(self.p, 0, 4) != size or self.p[self.end] != END:
            return BAD_HEADER
        wrong = self.master(node, buf)
        if wrong == 0:
            wrong = self.entries(node)
        if wrong != 0:
            return wrong
        if self.live != node.count or self.dead != node.deleted:
            return BAD_TOTALS
        node.elements = self.elements
        if mem.get_le(self.p, 4, 2) != (self.elements if self.elements < MANY else MANY):
            return BAD_HEADER
        return 0

    def master(self, node: Node, buf: bytes) -> int:
        """Check the master entry; the fault."""
        at = self.counter(COUNT_AT)
        count = self.value
        if at >= 0:
            at = self.counter(at)
        if at < 0:
            return BAD_COUNTER
        deleted = self.value
        at = self.number(at)
        if at < 0 or self.value < 1 or self.value > self.end:
            return BAD_FIELDS
        self.nfields = self.value
        node.load(buf, count, deleted, self.nfields, at)
        at = self.skip(at, self.nfields)
        if at >= 0:
            at = self.number(at)
        if at < 0 or self.value != 0:
            return BAD_ELEMENT
        node.entries_at = at
        self.elements = self.nfields + 4
        return 0

    def entries(self, node: Node) -> int:
        """Check the entries; the fault."""
        self.live = self.dead = 0
        at = node.entries_at
        if at >= self.end or self.p[at + 2] != 0 or self.p[at + 4] != 0:
            return BAD_ID  # the first entry has the node's own ID: both differences are 0
        if self.nodes > 0 and not mem.before(self.node_ms, self.node_seq, node.ms, node.seq):
            return BAD_ID
        self.nodes += 1
        self.node_ms = node.ms
        self.node_seq = node.seq
        while at < self.end:
            flags: int = self.p[at]
            if flags > FLAGS_MAX or self.p[at + 1] != 1 or at + 2 > self.end:
                return BAD_FLAGS
            at = self.entry_id(node, at + 2, flags & DELETED == 0)
            if at < 0:
                return BAD_ID
            at = self.content(at, flags & SAME != 0)
            if at < 0:
                return self.wrong
            if flags & DELETED:
                self.dead += 1
            else:
                self.live += 1
        return 0

    def content(self, at: int, same: bool) -> int:
        """Walk over fields, values and lp-count of an entry; the index after, or -1."""
        fields = self.nfields
        self.wrong = BAD_FIELDS
        if not same:
            at = self.number(at)
            fields = self.value
            # An impossible number of fields would make sums of it wrong.
            if at < 0 or fields < 1 or fields > self.end:
                return -1
        self.wrong = BAD_ELEMENT
        at = self.skip(at, fields if same else 2 * fields)
        if at < 0:
            return -1
        self.wrong = BAD_LENGTH
        steps = fields + 3 if same else 2 * fields + 4
        at = self.number(at)
        self.elements += steps + 1
        return at if at >= 0 and self.value == steps else -1

    def entry_id(self, node: Node, at: int, is_live: bool) -> int:
        """Read the ID of an entry, which must be in order; the index after, or -1."""
        at = self.number(at)
        if at < 0:
            return -1
        ms = mem.wrap(node.ms + self.value)
        at = self.number(at)
        if at < 0:
            return -1
        seq = mem.wrap(node.seq + self.value)
        if is_live:
            if self.total > 0 and not mem.before(self.live_ms, self.live_seq, ms, seq):
                return -1
            self.live_ms = ms
            self.live_seq = seq
            self.total += 1
        if mem.before(self.last_ms, self.last_seq, ms, seq):
            self.last_ms = ms
            self.last_seq = seq
        elif self.nodes > 1 or self.live + self.dead > 0:
            self.is_untidy = True
        return at


def read_nodes(reader: RdbReader, stream: Stream, check: NodeCheck, count: int) -> None:
    """Read ``count`` nodes and append those with live entries to the stream."""
    for _ in range(count):
        start = reader.base + reader.at
        key = reader.string()
        if len(key) != ID_SIZE:
            raise CorruptDataError(f"the ID of a node has {len(key)} bytes, at offset {start}")
        node = Node(mem.get_be64(key, 0), mem.get_be64(key, 8))
        wrong = check.check(node, reader.padded_string())
        if wrong != 0:
            raise CorruptDataError(
                f"the node {node.ms}-{node.seq} is damaged ({REASONS[wrong]}), at offset {start}"
            )
        if node.count > 0:
            stream.nodes.insert(key, node)
            stream.tail = node
            stream.length += node.count


def write_nodes(writer: RdbWriter, nodes: list[Node], start: int, end: int) -> None:
    """Write nodes[start:end]."""
    for i in range(start, end):
        node = nodes[i]
        writer.length(ID_SIZE)
        writer.entry_id(node.ms, node.seq)
        writer.span(node.p, 0, node.size)
