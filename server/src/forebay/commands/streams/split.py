"""FB.SPLIT: cut a range of a stream into parts of equal length, without reading the entries.

    nodes      [100] [100] [87] [100] [42]            live entries, known from the node
    3 parts    |----------143-----|----143----|-143-| first ID, last ID, count

Only the nodes in which the range begins or ends, or in which a part ends, are
walked.  By the count, the reader of a part can tell whether entries were removed
in the meantime.  COUNT limits the range to its first n entries.
"""

from __future__ import annotations

from itertools import pairwise

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.streams.parsing import integer
from forebay.core import ids
from forebay.core.node import Node
from forebay.core.stream import Stream
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

#: More parts than any cluster has cores; each part costs the walk of a node.
MOST_PARTS = 100_000

Id = tuple[int, int]


def split(ctx: Context, argv: Argv) -> None:
    """FB.SPLIT key start end parts [COUNT n]: [[first, last, count], ...], at most ``parts``."""
    start = ids.interval_start(argv[2], 0, len(argv[2]))
    end = ids.interval_end(argv[3], 0, len(argv[3]))
    parts = integer(argv, 4)
    if not 0 < parts <= MOST_PARTS:
        raise CommandError(b"ERR parts must be between 1 and %d" % MOST_PARTS)
    most = read_most(argv)
    stream = ctx.read_stream(argv, 1).stream
    found = [] if stream is None else Ruler(stream, start, end, most).cut(parts)
    ctx.reply.array(len(found))
    for first, last, count in found:
        ctx.reply.array(3)
        ctx.reply.stream_id(first[0], first[1])
        ctx.reply.stream_id(last[0], last[1])
        ctx.reply.integer(count)


def read_most(argv: Argv) -> int:
    """COUNT, or a number above any possible count."""
    if argv.n == 5:
        return mem.U64_MAX
    if argv.n != 7 or not argv.word(5, b"COUNT"):
        raise CommandError(SYNTAX)
    return max(0, integer(argv, 6))


class Ruler:
    """Counts the live entries of a range by whole nodes, up to a maximum."""

    def __init__(self, stream: Stream, start: Id, end: Id, most: int) -> None:
        self.stream = stream
        self.start, self.end = start, end
        self.nodes: list[Node] = []
        self.counts: list[int] = []
        self.total = min(self.measure(most), most)

    def measure(self, most: int) -> int:
        """Collect the nodes of the range and their counts, until there are enough."""
        end_ms, end_seq = self.end
        rax = self.stream.nodes
        ms, seq = self.start
        node = rax.floor_id(ms, seq) or rax.first_value()
        total = 0
        while node is not None and total < most:
            if ids.before(end_ms, end_seq, node.ms, node.seq):
                break
            after = rax.next_id(node.ms, node.seq)
            # Only the first and the last node can have entries outside of the range.
            whole = total > 0 and after is not None
            if whole and not ids.before(end_ms, end_seq, after.ms, after.seq):
                count = node.count
            else:
                count = len(self.ids_of(node))
            self.nodes.append(node)
            self.counts.append(count)
            total += count
            node = after
        return total

    def cut(self, parts: int) -> list[tuple[Id, Id, int]]:
        """The parts, in order; none is empty, and they differ by at most one entry."""
        total = self.total
        parts = min(parts, total)
        edges = [total * i // parts for i in range(parts + 1)] if parts else [0]
        found, before, i = [], 0, 0
        count = self.counts[0] if total else 0
        for low, high in pairwise(edges):
            ends = []
            for rank in (low, high - 1):
                while before + count <= rank:
                    before += count
                    i += 1
                    count = self.counts[i]
                ends.append(self.ids_of(self.nodes[i])[rank - before])
            found.append((ends[0], ends[1], high - low))
        return found

    def ids_of(self, node: Node) -> list[Id]:
        """The IDs of a node's live entries that are in the range."""
        ms, seq = max(self.start, (node.ms, node.seq))
        end_ms, end_seq = self.end
        cursor = self.stream.cursor()
        cursor.open(ms, seq, end_ms, end_seq, False)
        found = []
        while cursor.next() and cursor.node is node:
            found.append((cursor.ms, cursor.seq))
        return found


ROWS = [
    Command(
        name="fb.split",
        handler=split,
        arity=-5,
        flags=READONLY,
        categories="@read @stream @slow",
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="8.10.0",
        summary="Cuts a range of a stream into parts with equal numbers of entries.",
        group="stream",
        syntax="key start end parts [COUNT count]",
    ),
]
