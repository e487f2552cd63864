"""Which entries of a batch a lake still lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay_spark.errors import OptionError
from forebay_spark.ids import EntryId
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.transactions import Cut
from forebay_spark.pipeline.checkpoint import Checkpoint, LocalFiles
from forebay_spark.pipeline.ranges import plan
from forebay_spark.read.offsets import Piece, Position, Span


def entry(ms: int) -> EntryId:
    return EntryId(ms, 0)


def span(low: int, high: int) -> dict[str, Span]:
    piece = Piece(entry(low), entry(high), high - low)
    return {"s": Span(Position(entry(low), low), Position(entry(high), high), (piece,))}


def cut(at: int) -> dict[str, Cut]:
    return {"s": Cut(entry(at), at)}


def test_a_batch_that_begins_at_the_cut_is_written_whole() -> None:
    todo = plan(cut(5), span(5, 9), allow_gaps=False)
    assert todo is not None
    assert todo.spans == span(5, 9)
    assert todo.cuts == cut(9)


def test_a_stream_that_the_lake_does_not_know_begins_anywhere() -> None:
    todo = plan({}, span(5, 9), allow_gaps=False)
    assert todo is not None and todo.spans == span(5, 9)


@pytest.mark.parametrize("low", [0, 4])
def test_a_batch_that_the_lake_has_is_passed_over(low: int) -> None:
    assert plan(cut(9), span(low, 9), allow_gaps=False) is None


def test_of_a_batch_that_begins_before_the_cut_the_rest_is_written() -> None:
    todo = plan(cut(5), span(2, 9), allow_gaps=False)
    assert todo is not None
    assert todo.cuts == cut(9)
    assert todo.spans["s"].pieces == (Piece(entry(5), entry(9), None),)


def test_what_is_left_of_a_batch_begins_at_the_cut_and_is_counted_where_it_was_not_cut() -> None:
    pieces = tuple(Piece(entry(low), entry(low + 3), 3) for low in (0, 3, 6))
    whole = {"s": Span(Position(entry(0), 0), Position(entry(9), 9), pieces)}
    todo = plan(cut(5), whole, allow_gaps=False)
    assert todo is not None
    left = (Piece(entry(5), entry(6), None), pieces[2])
    assert todo.spans == {"s": Span(Position(entry(5), 5), Position(entry(9), 9), left)}
    untouched = plan({}, whole, allow_gaps=False)
    assert untouched is not None and untouched.spans == whole


def test_one_stream_may_be_known_while_another_is_new() -> None:
    both = {**span(0, 5), "t": span(0, 7)["s"]}
    todo = plan(cut(5), both, allow_gaps=False)
    assert todo is not None
    assert list(todo.cuts) == ["t"]


def test_a_gap_stops_the_job_unless_it_is_allowed() -> None:
    with pytest.raises(LakeError, match="up to 5-0, but this batch begins after 6-0"):
        plan(cut(5), span(6, 9), allow_gaps=False)
    todo = plan(cut(5), span(6, 9), allow_gaps=True)
    assert todo is not None and todo.spans == span(6, 9)


def test_ranges_come_from_the_record_that_spark_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "offsets"
    folder.mkdir()
    (folder / "0").write_text('v1\n{"batchWatermarkMs":0}\n-\n{"s": {"id": "4-0", "n": 4}}')
    (folder / "1").write_text(
        'v1\n{}\n{"s": {"id": "9-0", "n": 9, "from": {"id": "4-0", "n": 4}, "cuts": [["9-0", 5]]}}'
    )
    checkpoint = Checkpoint("here", LocalFiles(tmp_path))
    assert checkpoint.spans_of(0) == {}
    assert checkpoint.spans_of(1) == span(4, 9)


def test_a_checkpoint_without_the_record_is_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no offsets of batch 3"):
        Checkpoint("here", LocalFiles(tmp_path)).spans_of(3)
