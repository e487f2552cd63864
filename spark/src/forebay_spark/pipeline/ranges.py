"""Which entries of a micro-batch the lake has already, and which it lacks.

    lake      ==================| cut
    batch A             |-------|                 already there: skip
    batch B                     |-------|         new: write all
    batch C                |------------|         a checkpoint was lost: write the new part
    batch D                       |-----|         entries are missing in between

Spark's record of the batch (checkpoint.py), not the rows, says what the batch covers: a batch may
have no rows of a stream because they were deleted, but the cut still moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.transactions import Cut
from forebay_spark.read.offsets import Piece, Position, Span


class Todo(NamedTuple):
    """The part of a batch that must be written."""

    cuts: Mapping[str, Cut]
    """How far the lake will be afterwards."""
    spans: Mapping[str, Span]
    """The spans of the batch without entries that the lake already has."""


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
                f"{low}: entries in between were never archived. Remove the checkpoint to continue "
                "at the end of the lake, or set fail_on_data_loss to false."
            )
        ahead[stream] = Cut(high, span.end.n)
        left[stream] = _after(cut, span)
    return Todo(ahead, left) if ahead else None


def _after(cut: Cut | None, span: Span) -> Span:
    """The part of a span after a cut; a divided piece has an unknown number of entries."""
    if cut is None or cut.id <= span.start.id:
        return span
    pieces = tuple(
        piece if piece.start >= cut.id else Piece(cut.id, piece.end, None)
        for piece in span.pieces
        if piece.end > cut.id
    )
    return Span(Position(cut.id, cut.n), span.end, pieces)
