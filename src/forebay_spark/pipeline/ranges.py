"""Which entries a micro-batch has, held against what the lake has already.

    lake      ==================| cut
    batch A             |-------|                 there already: pass over
    batch B                     |-------|         new: write all
    batch C                |------------|         a checkpoint was lost: write what is new
    batch D                       |-----|         entries are missing in between

Spark writes the offsets of a batch to ``checkpoint/offsets/N`` before it runs the batch.
That record, and not the rows, says what the batch covers: a batch may have no rows of a
stream because they were deleted, and still the cut moves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from forebay_spark import offsets
from forebay_spark.ids import EntryId
from forebay_spark.lake.commits import Cut
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.files import Files
from forebay_spark.offsets import Piece, Position, Span

OFFSETS, COMMITS = "offsets", "commits"
HEAD_LINES = 2
#: What Spark writes in place of an offset that a source does not have yet.
NO_OFFSET = "-"


class Todo(NamedTuple):
    """What of a batch is to be written."""

    ranges: Mapping[str, tuple[EntryId, EntryId]]
    cuts: Mapping[str, Cut]
    known: Mapping[str, EntryId]
    """Streams of which the batch brings entries up to an ID that the lake has already."""
    spans: Mapping[str, Span]
    """What is left of the spans of the batch without those entries."""


def spans_of_batch(checkpoint: Files, batch: int) -> dict[str, Span]:
    """The ranges of a batch, from Spark's own record of it."""
    record = _offsets(checkpoint, batch)
    if record is None:
        raise LakeError(
            f"The checkpoint {checkpoint.root} has no offsets of batch {batch}. "
            "Start the job with a new checkpoint: it goes on where the lake ends."
        )
    before = _offsets(checkpoint, batch - 1) or {}
    spans = {}
    for stream, entry in record.items():
        start = offsets.position(before[stream]) if stream in before else None
        span = offsets.decode(start, entry)
        if span.pieces:
            spans[stream] = span
    return spans


def _offsets(checkpoint: Files, batch: int) -> dict[str, offsets.Json] | None:
    content = checkpoint.read(f"{OFFSETS}/{batch}")
    if content is None:
        return None
    merged: dict[str, offsets.Json] = {}
    for line in content.decode().splitlines()[HEAD_LINES:]:
        merged |= {} if line == NO_OFFSET else json.loads(line)
    return merged


def committed(checkpoint: Files) -> dict[str, EntryId]:
    """Up to where Spark has noted each stream as done; it never asks for that again."""
    done = [int(name) for name in checkpoint.names(COMMITS) if name.isdigit()]
    record = _offsets(checkpoint, max(done)) if done else None
    return {stream: offsets.position(entry).id for stream, entry in (record or {}).items()}


def plan(cuts: Mapping[str, Cut], spans: Mapping[str, Span], *, allow_gaps: bool) -> Todo | None:
    """What to write of a batch; None if the lake has all of it."""
    ranges, ahead, known, left = {}, {}, {}, {}
    for stream, span in spans.items():
        cut = cuts.get(stream)
        low, high = span.start.id, span.end.id
        if cut is not None and high <= cut.id:
            known[stream] = high
            continue
        if cut is not None and low < cut.id:
            known[stream] = low = cut.id
        if cut is not None and low > cut.id and not allow_gaps:
            raise LakeError(
                f"The lake has stream {stream!r} up to {cut.id}, but this batch begins after "
                f"{low}: entries in between were never archived. Remove the checkpoint to go on "
                "at the end of the lake, or set fail_on_data_loss to false."
            )
        ranges[stream] = (low, high)
        ahead[stream] = Cut(high, span.end.n)
        left[stream] = _after(cut, span)
    return Todo(ranges, ahead, known, left) if ranges else None


def _after(cut: Cut | None, span: Span) -> Span:
    """What of a span lies after a cut; a piece that is cut has an unknown number of entries."""
    if cut is None or cut.id <= span.start.id:
        return span
    pieces = tuple(
        piece if piece.start >= cut.id else Piece(cut.id, piece.end, None)
        for piece in span.pieces
        if piece.end > cut.id
    )
    return Span(Position(cut.id, cut.n), span.end, pieces)
