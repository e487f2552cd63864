"""The range of the next batch, and the part of each task.

    per stream        start ---------------------> newest entry
    limit             start ------> end            share of maxEntriesPerTrigger
    pieces            start -|--|-> end            each with its count of entries
    tasks             a long stream has several, many short streams share one

Nothing here talks to a server or knows Spark: states of streams go in, spans come out.
Only the server can find the n-th entry after an ID; this is left to a ``Splitter``: a
server with FB.SPLIT answers in one call, on others the entries are walked (see
splitting.py).  Without a limit, walking is not worth it; then pieces are cut by time,
and only a piece that is the whole span has a count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from forebay_spark import ids
from forebay_spark.ids import EntryId
from forebay_spark.read import offsets
from forebay_spark.read.loss import deleted
from forebay_spark.read.offsets import Piece, Position, Span
from forebay_spark.servers.state import StreamState

#: A task streams its entries in pages, so this bounds its time (seconds), not its memory.
PIECE_ENTRIES = 500_000
#: The fixed cost of a stream, in entries: a request, and decoding its own page.
PART_COST = 200


class Splitter(Protocol):
    """Finds IDs by counting entries; the server's part of planning."""

    def is_cheap(self, stream: str) -> bool:
        """Whether counting does not read the entries, and needs no limit."""

    def split(
        self, stream: str, start: EntryId, end: EntryId, limit: int | None, parts: int
    ) -> list[Piece]:
        """Cut the first ``limit`` entries of ``(start, end]`` into about equal pieces.

        If there are fewer, the last piece still ends at ``end``.
        """


class Wanted(NamedTuple):
    """A stream with unread entries: start, end, and about how many."""

    start: Position
    end: Position
    backlog: int
    counted: bool


def wanted(stream: str, start: Position, end: Position, now: StreamState) -> Wanted | None:
    """The unread part of a stream, or None if nothing is new."""
    if end.id <= start.id:
        return None
    count = offsets.entries_between(start, end)
    if deleted(stream, start, now):
        count = None
    elif count is None and end.id == now.last_id and (now.first_id or end.id) > start.id:
        # No existing entry was read yet, so the length is the count on any server.
        count = now.length
    backlog = now.length if count is None else count
    return Wanted(start, end, backlog, count is not None)


def shares(backlogs: Mapping[str, Wanted], limit: int | None) -> dict[str, int]:
    """Divide a limit among streams by their backlog; each gets one entry if it can.

    If there is not one entry for each, the stream with the oldest start comes first, so that a
    small stream never waits for a large one for ever.
    """
    by_age = sorted(backlogs, key=lambda stream: (backlogs[stream].start.id, stream))
    total = sum(item.backlog for item in backlogs.values())
    if limit is None or total <= limit:
        return {stream: backlogs[stream].backlog for stream in by_age}
    chosen = by_age[:limit]
    spare = limit - len(chosen)
    return {
        stream: min(max(backlogs[stream].backlog, 1), 1 + spare * backlogs[stream].backlog // total)
        for stream in chosen
    }


def parts_for(count: int, total: int, min_partitions: int) -> int:
    """How many pieces a stream is cut into, for its share of the whole."""
    wished = math.ceil(min_partitions * count / total) if total else 1
    return max(1, min(max(wished, math.ceil(count / PIECE_ENTRIES)), max(count, 1)))


def plan(
    news: Mapping[str, Wanted], limit: int | None, min_partitions: int, splitter: Splitter
) -> dict[str, Span]:
    """The spans of the next batch."""
    share = shares(news, limit)
    total = sum(share.values())
    spans = {
        stream: _span(
            stream,
            news[stream],
            None if limit is None or _all_fits(news[stream], count) else count,
            parts_for(count, total, min_partitions),
            splitter,
        )
        for stream, count in share.items()
    }
    return bundle(spans, share, min_partitions)


def bundle(
    spans: Mapping[str, Span], share: Mapping[str, int], min_partitions: int
) -> dict[str, Span]:
    """The same spans, with pieces of short streams that share tasks of about equal work.

    The pieces record which streams share a task, so that a replay has the same tasks, also with
    other options.
    """
    costs = {
        stream: [
            PART_COST + (share[stream] // len(span.pieces) if p.entries is None else p.entries)
            for p in span.pieces
        ]
        for stream, span in spans.items()
    }
    most = min(PIECE_ENTRIES, math.ceil(sum(map(sum, costs.values())) / min_partitions))
    task, filled = 0, 0
    numbered = {}
    for stream, span in spans.items():
        pieces = []
        for piece, cost in zip(span.pieces, costs[stream], strict=True):
            if filled and filled + cost > most:
                task, filled = task + 1, 0
            filled += cost
            pieces.append(piece._replace(task=task))
        numbered[stream] = span._replace(pieces=tuple(pieces))
    return numbered


def _all_fits(item: Wanted, share: int) -> bool:
    return item.counted and share >= item.backlog


def _span(stream: str, item: Wanted, limit: int | None, parts: int, splitter: Splitter) -> Span:
    """One stream: to its end without counting, or by counting up to a limit."""
    start, end = item.start, item.end
    if limit is None and parts == 1 and item.counted:
        whole = Piece(start.id, end.id, item.backlog)
        return Span(start, start.ahead(end.id, end.n), (whole,))
    if limit is None and not splitter.is_cheap(stream):
        pieces = interpolate(start.id, end.id, parts)
        return Span(start, start.ahead(end.id, end.n), tuple(pieces))
    pieces = splitter.split(stream, start.id, end.id, limit, parts)
    reached = pieces[-1].end
    if reached == end.id:
        return Span(start, start.ahead(end.id, end.n), tuple(pieces))
    n = None
    if item.counted and start.n is not None:
        n = start.n + sum(piece.entries or 0 for piece in pieces)
    return Span(start, start.ahead(reached, n), tuple(pieces))


def interpolate(start: EntryId, end: EntryId, parts: int) -> list[Piece]:
    """Cut ``(start, end]`` into equal periods, without counts.

    IDs are times, so this needs no look at the entries; bursts make uneven pieces.
    """
    low, high = start.number, end.number
    bounds = [ids.from_number(low + (high - low) * i // parts) for i in range(1, parts)]
    pieces = []
    for bound in [*bounds, end]:
        if bound > start:
            pieces.append(Piece(start, bound, None))
            start = bound
    return pieces


def recover(record: offsets.Json, start: offsets.Json | None) -> Span:
    """The span of a batch to read, from its record and Spark's start."""
    return offsets.decode(offsets.position(start) if start else None, record)
