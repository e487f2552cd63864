"""Planning: shares of a limit and pieces of a span, as pure functions."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.ids import FIRST, EntryId, from_number
from forebay_spark.read import planning
from forebay_spark.read.offsets import Piece, Position
from forebay_spark.read.planning import Wanted
from forebay_spark.servers.state import StreamState


def at(ms: int) -> EntryId:
    return EntryId(ms, 0)


def news(backlog: int, start_ms: int = 0) -> Wanted:
    start = Position(at(start_ms), 0)
    return Wanted(start, Position(at(start_ms + backlog), backlog), backlog, True)


class ListSplitter:
    """Entries at 1-0, 2-0, 3-0 and so on; counting is arithmetic."""

    def is_cheap(self, stream: str) -> bool:
        return False

    def split(
        self, stream: str, start: EntryId, end: EntryId, limit: int | None, parts: int
    ) -> list[Piece]:
        assert limit is not None
        last = min(start.ms + limit, end.ms)
        size = -(-limit // parts)
        cuts = [*range(start.ms + size, last, size), last]
        pieces = []
        for cut in cuts:
            pieces.append(Piece(start, at(cut), cut - start.ms))
            start = at(cut)
        return pieces


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8), st.integers(1, 2000))
def test_shares_keep_to_the_limit_and_leave_nobody_out(backlogs: list[int], limit: int) -> None:
    wanted = {f"s{i}": news(b, start_ms=i) for i, b in enumerate(backlogs)}
    shares = planning.shares(wanted, limit)
    if sum(backlogs) <= limit:
        assert shares == {stream: item.backlog for stream, item in wanted.items()}
    else:
        assert sum(shares.values()) <= limit
        assert all(count >= 1 for count in shares.values())
        assert len(shares) == min(limit, len(wanted))


def test_where_not_everyone_gets_one_the_oldest_come_first() -> None:
    wanted = {"new": news(100, 50), "old": news(1, 1), "middle": news(100, 20)}
    assert set(planning.shares(wanted, 2)) == {"old", "middle"}


@given(st.integers(0, 2**70), st.integers(1, 2**70), st.integers(1, 20))
def test_interpolated_pieces_tile_the_span(low: int, length: int, parts: int) -> None:
    start, end = from_number(low), from_number(low + length)
    pieces = planning.interpolate(start, end, parts)
    assert pieces[0].start == start and pieces[-1].end == end
    assert len(pieces) <= parts
    assert all(a.end == b.start for a, b in pairwise(pieces))
    assert all(piece.start < piece.end for piece in pieces)


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 9))
def test_a_limited_plan_reads_exactly_up_to_the_limit(
    backlog: int, limit: int, min_partitions: int
) -> None:
    spans = planning.plan({"s": news(backlog)}, limit, min_partitions, ListSplitter())
    span = spans["s"]
    wanted = min(limit, backlog)
    assert span.end.id == at(wanted) and span.end.n == wanted
    if limit < backlog:
        assert sum(piece.entries or 0 for piece in span.pieces) == wanted
        assert len(span.pieces) <= max(min_partitions, 1)


def test_one_piece_of_a_counted_span_knows_its_count() -> None:
    span = planning.plan({"s": news(100)}, None, 1, ListSplitter())["s"]
    assert span.pieces == (Piece(FIRST, at(100), 100, task=0),)


def test_a_large_span_is_cut_even_if_nobody_asks() -> None:
    span = planning.plan({"s": news(10 * planning.PIECE_ENTRIES)}, None, 1, ListSplitter())["s"]
    assert len(span.pieces) == 10


def test_min_partitions_are_shared_by_size() -> None:
    spans = planning.plan({"a": news(900), "b": news(100, 5)}, None, 10, ListSplitter())
    assert (len(spans["a"].pieces), len(spans["b"].pieces)) == (9, 1)


def test_nothing_new_is_nothing_wanted() -> None:
    state = StreamState(5, at(1), at(5), 5, FIRST)
    assert planning.wanted("s", Position(at(5), 5), Position(at(5), 5), state) is None


def test_entries_deleted_ahead_make_the_count_unknown() -> None:
    state = StreamState(5, at(1), at(9), 9, at(7))
    item = planning.wanted("s", Position(at(5), 5), Position(at(9), 9), state)
    assert item is not None and not item.counted


def test_a_limit_within_an_uncounted_span_leaves_the_position_uncounted() -> None:
    item = news(100)._replace(counted=False)
    span = planning.plan({"s": item}, 10, 1, ListSplitter())["s"]
    assert span.end == Position(at(10), None)


def test_what_was_never_read_is_counted_by_its_length_on_any_server() -> None:
    now = StreamState(length=7, first_id=at(1), last_id=at(9), added=None, max_deleted_id=FIRST)
    start, end = Position(at(1).before(), None), Position(at(9), None)
    assert planning.wanted("s", start, end, now) == planning.Wanted(start, end, 7, True)
    begun = planning.wanted("s", Position(at(1), None), end, now)
    assert begun is not None and not begun.counted


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=40), st.integers(1, 12))
def test_short_streams_share_tasks_of_about_equal_work(
    backlogs: list[int], min_partitions: int
) -> None:
    wanted = {f"s{i}": news(b, start_ms=i) for i, b in enumerate(backlogs)}
    spans = planning.plan(wanted, None, min_partitions, ListSplitter())
    work: dict[int, int] = {}
    pieces = [piece for span in spans.values() for piece in span.pieces]
    for piece in pieces:
        assert piece.task is not None
        cost = (piece.entries or 0) + planning.PART_COST
        work[piece.task] = work.get(piece.task, 0) + cost
    assert sorted(work) == list(range(len(work)))
    if all(piece.entries is not None for piece in pieces):
        assert len(work) >= min(min_partitions, len(pieces))


def test_a_thousand_short_streams_are_a_few_tasks() -> None:
    wanted = {f"s{i}": news(1000, start_ms=i) for i in range(1000)}
    spans = planning.plan(wanted, None, 1, ListSplitter())
    assert len({piece.task for span in spans.values() for piece in span.pieces}) == 3
