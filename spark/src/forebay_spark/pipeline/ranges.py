"""Which entries of a micro-batch the lake has already, and which it lacks.

    lake      ==================| cut
    batch A             |-------|                 there already: pass over
    batch B                     |-------|         new: write all
    batch C                |------------|         a checkpoint was lost: write what is new
    batch D                       |-----|         entries are missing in between

Spark's record of the batch (checkpoint.py), and not the rows, says what the batch covers: a
batch may have no rows of a stream because they were deleted, and still the cut moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.transactions import Cut
from forebay_spark.read.offsets import Piece, Position, Span


class Todo(NamedTuple):
    """What of a batch is to be written."""

    cuts: Mapping[str, Cut]
    """How far the lake will be."""
    spans: Mapping[str, Span]
    """What is left of the spans of the batch without entries that the lake has already."""


def plan(cuts: Mapping[str, Cut], spans: Mapping[str, Span], *, allow_gaps: bool) -> Todo | None:
    """What to write of a batch; None if the lake has all of it."""
    ahead, left = {}, {}
    for stream, span in spans.items():
        cut = cuts.get(stream)
        low, high = span.start.id, span.end.id
        if cut is not None and high <= cut.id:
            continue
        if cut is not None and low > cut.id and not allow_gaps:
            raise LakeError(
                f"The lake has stream {stream!r} up to {cut.id}, but this batch begins after "
                f"{low}: entries in between were never archived. Remove the checkpoint to go on "
                "at the end of the lake, or set fail_on_data_loss to false."
            )
        ahead[stream] = Cut(high, span.end.n)
        left[stream] = _after(cut, span)
    return Todo(ahead, left) if ahead else None


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
