"""Finder: many lookups in one stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.core.finder import Finder
from forebay.core.stream import Stream
from testkit.engine_client import EngineClient


def stream_of(added: list[int], deleted: list[int], node_entries: int) -> Stream:
    client = EngineClient(stream_node_max_entries=node_entries)
    for n in added:
        client("XADD", "s", f"{n}-0", "n", str(n))
    if deleted:
        client("XDEL", "s", *[f"{n}-0" for n in deleted])
    stream: Stream = client.session.db.values[b"s"]
    return stream


@pytest.mark.parametrize("node_entries", [1, 3, 100])
def test_rising_falling_and_repeated_ids_are_found(node_entries: int) -> None:
    finder = Finder(stream_of(list(range(1, 50)), [], node_entries))
    for n in [1, 2, 3, 3, 30, 31, 49, 5, 4, 4, 48, 49, 49, 1]:
        assert finder.find(n, 0), n
        assert (finder.cursor.ms, finder.cursor.fields()) == (n, [b"n", b"%d" % n])


def test_an_id_that_is_not_there_does_not_stop_the_next() -> None:
    finder = Finder(stream_of([2, 4, 6, 8], [], 2))
    found = [finder.find(n, 0) for n in [1, 2, 3, 4, 5, 8, 9, 6, 10, 11, 2]]
    assert found == [False, True, False, True, False, True, False, True, False, False, True]


def test_an_empty_stream_has_nothing() -> None:
    assert not Finder(Stream()).find(1, 0)


@given(
    added=st.sets(st.integers(1, 60), min_size=1),
    deleted=st.sets(st.integers(1, 60)),
    wanted=st.lists(st.integers(0, 62), max_size=40),
    node_entries=st.sampled_from([1, 2, 5, 100]),
)
def test_it_finds_exactly_the_live_entries_in_any_order(
    added: set[int], deleted: set[int], wanted: list[int], node_entries: int
) -> None:
    finder = Finder(stream_of(sorted(added), sorted(deleted), node_entries))
    alive = added - deleted
    for n in wanted:
        assert finder.find(n, 0) == (n in alive)
        if n in alive:
            assert finder.cursor.fields() == [b"n", b"%d" % n]
