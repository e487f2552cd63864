"""FB.SPLIT cuts a range into parts of equal length that cover it without gap or overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testkit.engine_client import EngineClient, ReplyError


@given(
    st.integers(0, 80),
    st.sets(st.integers(1, 80)),
    st.integers(1, 12),
    st.integers(1, 20),
    st.tuples(st.integers(0, 90), st.integers(0, 90)),
    st.none() | st.integers(0, 90),
)
def test_the_parts_are_even_and_hold_the_range_in_order(
    length: int,
    deleted: set[int],
    node_entries: int,
    parts: int,
    bounds: tuple[int, int],
    most: int | None,
) -> None:
    client = EngineClient(stream_node_max_entries=node_entries)
    for i in range(1, length + 1):
        client("XADD", "s", f"{i}-0", "f", "v")
    for i in deleted:
        client("XDEL", "s", f"{i}-0")
    low, high = sorted(bounds)
    live = [entry_id for entry_id, _ in client("XRANGE", "s", low, high) or []][:most]
    limit = [] if most is None else ["COUNT", most]
    found = client("FB.SPLIT", "s", low, high, parts, *limit)
    assert len(found) == min(parts, len(live))
    seen: list[bytes] = []
    for first, last, count in found:
        part = [entry_id for entry_id, _ in client("XRANGE", "s", first, last)]
        assert (part[0], part[-1], len(part)) == (first, last, count)
        seen += part
    assert seen == live
    counts = [count for _, _, count in found]
    assert not counts or max(counts) - min(counts) <= 1


def test_a_missing_stream_has_no_parts() -> None:
    assert EngineClient()("FB.SPLIT", "s", "-", "+", 3) == []


@pytest.mark.parametrize("parts", ["0", "-1", "x", "100001"])
def test_a_senseless_number_of_parts_is_refused(parts: str) -> None:
    client = EngineClient()
    client("XADD", "s", "1-1", "f", "v")
    assert isinstance(client("FB.SPLIT", "s", "-", "+", parts), ReplyError)


@pytest.mark.parametrize("words", [("COUNT",), ("WHAT", "1"), ("COUNT", "x"), ("COUNT", "1", "2")])
def test_a_wrong_limit_is_refused(words: tuple[str, ...]) -> None:
    client = EngineClient()
    client("XADD", "s", "1-1", "f", "v")
    assert isinstance(client("FB.SPLIT", "s", "-", "+", 1, *words), ReplyError)
