"""Cutting a range by count: the server's way and the walk give the same pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay_spark import ids
from forebay_spark.errors import OptionError
from forebay_spark.ids import FIRST, EntryId
from forebay_spark.options import BATCH
from forebay_spark.read import splitting
from forebay_spark.read.splitting import AskingSplitter, WalkingSplitter
from forebay_spark.servers.capabilities import Helper
from forebay_spark.servers.connect import Server
from spark.tests.support.spark_streams import Target


def helper(target: Target, **given: Any) -> tuple[Server, Helper]:
    options = target.options(BATCH, streams="s", **given)
    server = Server(options)
    return server, Helper(server, options)


@pytest.mark.parametrize(
    ("limit", "parts", "expected"),
    [(10, 1, [10]), (10, 3, [4, 3, 3]), (99, 2, [50, 49]), (100, 2, [50, 50]), (500, 2, [100])],
)
def test_a_walk_cuts_by_counting(
    target: Target, monkeypatch: pytest.MonkeyPatch, limit: int, parts: int, expected: list[int]
) -> None:
    monkeypatch.setattr(splitting, "WALK_PAGE", 7)
    entry_ids = target.add("s", 100)
    splitter = WalkingSplitter(Server(target.options(BATCH, streams="s")))
    pieces = splitter.split("s", FIRST, ids.parse(entry_ids[-1]), limit, parts)
    assert [piece.entries for piece in pieces] == expected
    reached = min(limit, 100) - 1
    assert str(pieces[-1].end) == entry_ids[reached]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.integers(0, 30),
    st.sets(st.integers(1, 30)),
    st.tuples(st.integers(0, 20), st.integers(1, 20)),
    st.integers(1, 40),
    st.integers(1, 6),
)
def test_both_ways_cover_the_same_entries(
    target: Target, count: int, deleted: set[int], span: tuple[int, int], limit: int, parts: int
) -> None:
    target.client.flushall()
    target.add_at("s", [f"{ms}-1" for ms in range(1, count + 1)])
    for ms in deleted:
        target.client.xdel("s", f"{ms}-1")
    start, end = EntryId(span[0], 0), EntryId(span[0] + span[1], 9)
    server, help_ = helper(target)
    walked = WalkingSplitter(server).split("s", start, end, limit, parts)
    asked = AskingSplitter(server, help_).split("s", start, end, limit, parts)
    for pieces in (walked, asked):
        edges = [start, *(piece.end for piece in pieces)]
        assert [piece.start for piece in pieces] == edges[:-1]
        for piece in pieces:
            found: Any = target.client.xrange("s", f"({piece.start}", str(piece.end))
            assert len(found) == piece.entries
    assert asked[-1].end == walked[-1].end


def test_forebay_helps_and_a_stock_server_does_not(target: Target) -> None:
    target.add("s", 1)
    assert helper(target)[1].helps("s") == (target.name == "forebay")


def test_nobody_helps_who_is_not_asked(target: Target) -> None:
    assert not helper(target, fetch="range")[1].helps("s")


def test_help_that_must_be_and_is_not_there_is_one_sentence(redis_target: Target) -> None:
    with pytest.raises(OptionError, match=r"does not send columns .* Set it to auto or range"):
        helper(redis_target, fetch="columns")[1].helps("s")


def test_a_whole_range_is_cut_and_counted_without_a_limit(forebay_server: Any) -> None:
    target = Target(forebay_server)
    entry_ids = target.add("s", 100)
    server, help_ = helper(target)
    pieces = AskingSplitter(server, help_).split("s", FIRST, ids.LAST, None, 3)
    assert [piece.entries for piece in pieces] == [33, 33, 34]
    assert pieces[-1].end == ids.LAST and str(pieces[0].end) == entry_ids[32]
