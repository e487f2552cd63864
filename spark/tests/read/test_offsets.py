"""Offsets: the record of a batch's end says which entries were in the batch."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark import ids
from forebay_spark.errors import OptionError
from forebay_spark.ids import FIRST, EntryId
from forebay_spark.read import offsets
from forebay_spark.read.offsets import Piece, Position, Span
from forebay_spark.servers.state import StreamState

A, B, C, D = (EntryId(ms, 0) for ms in (10, 20, 30, 40))
STATE = StreamState(length=3, first_id=B, last_id=D, added=5, max_deleted_id=FIRST)

ENTRY_IDS = st.builds(EntryId, st.integers(0, 50), st.integers(0, 3))
COUNTS = st.one_of(st.none(), st.integers(0, 100))


@st.composite
def spans(draw: st.DrawFn) -> Span:
    bounds = sorted(draw(st.sets(ENTRY_IDS, min_size=2, max_size=5)))
    pieces = [Piece(a, b, draw(COUNTS)) for a, b in pairwise(bounds)]
    start = Position(bounds[0], draw(COUNTS), draw(st.booleans()))
    return Span(start, Position(bounds[-1], draw(COUNTS)), tuple(pieces))


@given(spans())
def test_a_span_survives_the_checkpoint(span: Span) -> None:
    record = json.loads(json.dumps(offsets.encode(span)))
    assert offsets.decode(None, record) == span
    assert offsets.decode(span.start, record) == span


@given(spans())
def test_a_start_that_moved_on_does_not_shorten_a_recorded_batch(span: Span) -> None:
    later = Position(span.end.id, span.end.n)
    assert offsets.decode(later, offsets.encode(span)) == span


def test_records_that_spark_skipped_are_read_as_one_more_piece() -> None:
    span = Span(Position(B, 20), Position(C, 30), (Piece(B, C, 10),))
    assert offsets.decode(Position(A, 10), offsets.encode(span)) == Span(
        Position(A, 10), Position(C, 30), (Piece(A, B, 10), Piece(B, C, 10))
    )


def test_a_stream_at_rest_is_read_only_if_spark_skipped_records() -> None:
    rest = offsets.at_rest(Position(B, 20))
    assert offsets.decode(Position(B, 20), rest).pieces == ()
    assert offsets.decode(Position(C, 30), rest).pieces == ()
    assert offsets.decode(Position(A, 10), rest).pieces == (Piece(A, B, 10),)


def test_what_was_deleted_before_the_query_is_remembered_until_it_is_passed() -> None:
    start = Position(A, 1, deleted=C)
    assert start.ahead(B, 2).deleted == C
    assert start.ahead(C, 3).deleted == FIRST
    assert offsets.position(offsets.at_rest(start)) == start


def test_earliest_is_just_before_the_oldest_entry() -> None:
    assert offsets.earliest(STATE) == Position(B.before(), 2)


def test_earliest_of_an_empty_stream_is_its_end() -> None:
    empty = STATE._replace(length=0, first_id=None)
    assert offsets.earliest(empty) == Position(D, 5)


@pytest.mark.parametrize(
    ("wish", "position"),
    [
        ("earliest", Position(B.before(), 2)),
        ("latest", Position(D, 5)),
        ("30-0", Position(C.before(), None, seen=False)),
        ("(30-0", Position(C, None, seen=False)),
        ("30", Position(C.before(), None, seen=False)),
    ],
)
def test_a_start_is_said_as_xrange_says_it(wish: str, position: Position) -> None:
    assert offsets.start_of(wish, STATE) == position


@pytest.mark.parametrize(
    ("wish", "position"),
    [
        ("latest", Position(D, 5)),
        ("30-0", Position(C, None)),
        ("(30-0", Position(C.before(), None)),
        ("30", Position(ids.parse("30", ids.WORD_MAX), None)),
        ("99-0", Position(D, 5)),
    ],
)
def test_an_end_is_said_so_too_and_is_never_past_the_newest(wish: str, position: Position) -> None:
    assert offsets.end_of(wish, STATE) == position


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "is not JSON"),
        ("[1]", "does not map streams to IDs"),
        ('{"a": 5}', "does not map streams to IDs"),
        ('{"a": "x"}', "which is not an ID"),
        ("newest", "is not JSON"),
    ],
)
def test_offsets_that_cannot_be_read_are_refused_with_an_example(text: str, fault: str) -> None:
    with pytest.raises(OptionError, match=fault) as caught:
        offsets.read_wishes("startingOffsets", text, "latest")
    assert "startingOffsets" in str(caught.value) and "1700000000000-0" in str(caught.value)
