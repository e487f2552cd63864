"""FB.SPLIT: cut a range of a stream into parts of equal length, without reading the entries.

    nodes      [100] [100] [87] [100] [42]            live entries, known without a look
    3 parts    |----------143-----|----143----|-143-| first ID, last ID, how many

Only the nodes in which the range begins or ends, or in which a part ends, are
walked.  A reader that is given a part can tell by the count whether something
was taken away before it came.
"""

from __future__ import annotations

from itertools import pairwise

from forebay.commands.context import Context
from forebay.commands.spec import READONLY, Command, Keys
from forebay.commands.stream_args import integer
from forebay.core import ids
from forebay.core.node import Node
from forebay.core.stream import Stream
from forebay.errors import CommandError
from forebay.wire.argv import Argv

#: More parts than any cluster has cores; each costs the walk of a node.
MOST_PARTS = 100_000

Id = tuple[int, int]


def split(ctx: Context, argv: Argv) -> None:
    """FB.SPLIT key start end parts: [[first, last, count], ...], at most ``parts`` of them."""
    w = argv.w
    start = ids.interval_start(argv.p, w[4], w[5])
    end = ids.interval_end(argv.p, w[6], w[7])
    parts = integer(argv, 4)
    if not 0 < parts <= MOST_PARTS:
        raise CommandError(b"ERR parts must be between 1 and %d" % MOST_PARTS)
    stream = ctx.read_stream(argv, 1)
    found = [] if stream is None else Ruler(stream, start, end).cut(parts)
    ctx.out.array(len(found))
    for first, last, count in found:
        ctx.out.array(3)
        ctx.out.stream_id(*first)
        ctx.out.stream_id(*last)
        ctx.out.integer(count)


class Ruler:
    """Counts the live entries of a range by whole nodes."""

    def __init__(self, stream: Stream, start: Id, end: Id) -> None:
        self.stream = stream
        self.start, self.end = start, end
        self.nodes = self._nodes_of_range()
        self.counts = [node.count for node in self.nodes]
        for i in {0, len(self.nodes) - 1} if self.nodes else ():
            self.counts[i] = len(self._ids_of(self.nodes[i]))

    def cut(self, parts: int) -> list[tuple[Id, Id, int]]:
        """The parts, in order; none is empty, and they differ by at most one entry."""
        total = sum(self.counts)
        parts = min(parts, total)
        edges = [total * i // parts for i in range(parts + 1)] if parts else [0]
        found, before, i = [], 0, 0
        for low, high in pairwise(edges):
            ends = []
            for rank in (low, high - 1):
                while before + self.counts[i] <= rank:
                    before += self.counts[i]
                    i += 1
                ends.append(self._ids_of(self.nodes[i])[rank - before])
            found.append((ends[0], ends[1], high - low))
        return found

    def _nodes_of_range(self) -> list[Node]:
        """The nodes that may hold entries of the range."""
        nodes: list[Node] = []
        node = self.stream.nodes.floor_id(*self.start) or self.stream.nodes.first_value()
        while node is not None and (node.ms, node.seq) <= self.end:
            nodes.append(node)
            node = self.stream.nodes.next_id(node.ms, node.seq)
        return nodes

    def _ids_of(self, node: Node) -> list[Id]:
        """The IDs of a node's live entries that are in the range."""
        cursor = self.stream.cursor()
        cursor.open(*max(self.start, (node.ms, node.seq)), *self.end, False)
        found = []
        while cursor.next() and cursor.node is node:
            found.append((cursor.ms, cursor.seq))
        return found


ROWS = [
    Command(
        "fb.split",
        split,
        5,
        READONLY,
        "@read @stream @slow",
        Keys(1, 1, 1, "RO ACCESS"),
        "8.10.0",
        "Cuts a range of a stream into parts with equal numbers of entries.",
        "stream",
        "key start end parts",
    ),
]
