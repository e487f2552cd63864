"""A stream of entries: when nodes begin, what deletion leaves, what trimming removes."""

from __future__ import annotations

import pytest

from forebay.core.check import check_stream
from forebay.core.group import Group
from forebay.core.stream import Stream
from forebay.core.trim import ACKED, DELREF, KEEPREF, Trimmer

TOP = 2**64 - 1


def numbers(*ms: int, node_entries: int = 100) -> Stream:
    """A stream with entries ms-0."""
    stream = Stream()
    for n in ms:
        stream.add(n, 0, [b"n", b"%d" % n], 4096, node_entries)
    return stream


def left(stream: Stream) -> list[int]:
    check_stream(stream)
    return [ms for ms, _, _ in stream.range()]


def node_counts(stream: Stream) -> list[int]:
    return [node.count for node in stream.nodes.values()]


def order(
    *,
    maxlen: int | None = None,
    minid: int = 0,
    approx: bool = False,
    limit: int = 0,
    policy: int = KEEPREF,
) -> Trimmer:
    trimmer = Trimmer()
    trimmer.by_length = maxlen is not None
    trimmer.maxlen = maxlen or 0
    trimmer.min_ms, trimmer.approx, trimmer.limit, trimmer.policy = minid, approx, limit, policy
    return trimmer


def group(stream: Stream, name: bytes, last_ms: int, *pending: int) -> Group:
    """A group that has read up to ``last_ms`` and has these entries pending."""
    made = Group(name, last_ms, 0, -1)
    owner = made.create_consumer(b"c", 0)
    for ms in pending:
        made.pending.add(ms, 0, owner.number, 0, 1)
    stream.groups.insert(name, made)
    return made


# Nodes


@pytest.mark.parametrize(("limit", "nodes"), [(1, 9), (2, 5), (4, 3), (9, 1), (10, 1), (0, 1)])
def test_a_node_takes_as_many_entries_as_it_may(limit: int, nodes: int) -> None:
    assert numbers(*range(1, 10), node_entries=limit).nodes.count == nodes


def test_tombstones_count_towards_a_full_node() -> None:
    stream = numbers(1, 2, 3, node_entries=3)
    stream.delete(2, 0)
    stream.add(4, 0, [b"n", b"4"], 4096, 3)
    assert node_counts(stream) == [2, 1]


def test_a_node_that_would_reach_the_byte_limit_is_followed_by_another() -> None:
    size = numbers(1).nodes.first_value().size
    for room, nodes in ((size + 21, 2), (size + 22, 1)):
        stream = numbers(1)
        stream.add(2, 0, [b"n", b"x" * 20], room, 100)
        assert stream.nodes.count == nodes


def test_an_entry_larger_than_a_node_gets_one_of_its_own() -> None:
    stream = Stream()
    for n in range(1, 4):
        stream.add(n, 0, [b"f", b"x" * 10_000], 4096, 100)
    assert node_counts(stream) == [1, 1, 1]
    check_stream(stream)


def test_the_next_entry_goes_to_the_node_that_became_the_last() -> None:
    stream = numbers(1, 2, 3, node_entries=2)
    stream.delete(3, 0)
    stream.add(4, 0, [b"n", b"4"], 4096, 100)
    assert node_counts(stream) == [3]
    assert left(stream) == [1, 2, 4]


# Entries


def test_entries_are_found_by_their_id_and_only_by_it() -> None:
    stream = numbers(5, 7)
    assert stream.exists(5, 0) and not stream.exists(5, 1) and not stream.exists(6, 0)
    assert not stream.exists(4, 0) and not stream.exists(8, 0)
    assert stream.get(7, 0) == [b"n", b"7"]
    assert stream.get(7, 1) is None


def test_the_last_live_entry_is_not_always_the_last_id() -> None:
    stream = numbers(1, 2, 3)
    stream.delete(3, 0)
    assert tuple(stream.last_live()) == (True, 2, 0)
    assert (stream.last_ms, stream.last_seq) == (3, 0)
    assert stream.has_after(1, 0) and not stream.has_after(2, 0)
    for n in (1, 2):
        stream.delete(n, 0)
    assert not stream.last_live()[0]
    assert not stream.has_after(0, 0)


def test_deleting_keeps_the_largest_deleted_id_and_the_first_entry() -> None:
    stream = numbers(1, 2, 3, 4)
    assert stream.delete(3, 0) and stream.delete(1, 0)
    assert not stream.delete(3, 0) and not stream.delete(9, 0)
    assert (stream.maxdel_ms, stream.first_ms, stream.length, stream.entries_added) == (3, 2, 2, 4)
    stream.delete(2, 0)
    stream.delete(4, 0)
    assert (stream.maxdel_ms, stream.first_ms, stream.length) == (4, 0, 0)
    assert (stream.nodes.count, stream.tail) == (0, None)


def test_the_first_entry_after_all_were_deleted_is_the_first() -> None:
    stream = numbers(1)
    stream.delete(1, 0)
    stream.add(9, 0, [b"n", b"9"])
    assert (stream.first_ms, stream.entries_added) == (9, 2)
    check_stream(stream)


def test_ranges_cross_nodes_and_skip_tombstones_both_ways() -> None:
    stream = numbers(*range(1, 12), node_entries=3)
    for n in (1, 4, 5, 6, 11):
        stream.delete(n, 0)
    assert [ms for ms, _, _ in stream.range(2, 0, 9, 0)] == [2, 3, 7, 8, 9]
    assert [ms for ms, _, _ in stream.range(2, 0, 9, 0, 3, True)] == [9, 8, 7]
    assert stream.range(4, 0, 6, TOP) == [] == stream.range(4, 0, 6, TOP, -1, True)
    assert stream.range(9, 0, 2, 0) == []


# Trimming


@pytest.mark.parametrize("spread", ["times", "sequences", "crowded at the end"])
@pytest.mark.parametrize("gone", [(), (1,), (20,), (7, 8, 9, 19, 20)])
def test_a_range_begins_at_the_same_entry_whichever_end_of_its_node_is_nearer(
    spread: str, gone: tuple[int, ...]
) -> None:
    ids = {
        "times": [(2 * n, 0) for n in range(1, 21)],
        "sequences": [(5, 2 * n) for n in range(1, 21)],
        "crowded at the end": [(1, 0)] + [(10**15, 3 * n) for n in range(1, 20)],
    }[spread]
    stream = Stream()
    for ms, seq in ids:
        stream.add(ms, seq, [b"f", b"v"], node_entries=8)
    for n in gone:
        stream.delete(*ids[n - 1])
    live = [entry_id for n, entry_id in enumerate(ids, 1) if n not in gone]
    for start in [(0, 0), *ids, *((ms, seq + 1) for ms, seq in ids)]:
        found = [(ms, seq) for ms, seq, _ in stream.range(*start, TOP, TOP)]
        assert found == [entry_id for entry_id in live if entry_id >= start]


def test_an_exact_trim_stops_at_the_length() -> None:
    stream = numbers(*range(1, 11), node_entries=4)
    assert order(maxlen=5).apply(stream) == 5
    assert left(stream) == [6, 7, 8, 9, 10]
    assert order(maxlen=5).apply(stream) == 0
    assert order(maxlen=0).apply(stream) == 5
    assert (stream.first_ms, stream.last_ms, stream.maxdel_ms) == (0, 10, 0)


def test_an_exact_trim_by_id_keeps_that_id() -> None:
    stream = numbers(*range(1, 11), node_entries=4)
    assert order(minid=6).apply(stream) == 5
    assert (left(stream)[0], stream.first_ms) == (6, 6)
    assert order(minid=TOP).apply(stream) == 5
    assert left(stream) == []


def test_an_approximate_trim_takes_whole_nodes_only() -> None:
    stream = numbers(*range(1, 11), node_entries=4)
    assert order(maxlen=7, approx=True).apply(stream) == 0
    assert order(maxlen=5, approx=True).apply(stream) == 4
    assert order(minid=8, approx=True).apply(stream) == 0
    assert order(minid=9, approx=True).apply(stream) == 4
    assert left(stream) == [9, 10]


@pytest.mark.parametrize(("limit", "removed"), [(1, 0), (3, 0), (4, 4), (7, 4), (8, 8), (0, 8)])
def test_a_limit_is_never_exceeded(limit: int, removed: int) -> None:
    stream = numbers(*range(1, 11), node_entries=4)
    assert order(maxlen=1, approx=True, limit=limit).apply(stream) == removed


def test_the_last_record_of_a_node_decides_even_if_it_is_deleted() -> None:
    stream = numbers(*range(1, 7), node_entries=3)
    stream.delete(3, 0)
    assert order(minid=3, approx=True).apply(stream) == 0
    assert order(minid=4, approx=True).apply(stream) == 2


def test_nothing_to_trim_leaves_a_sealed_node_sealed() -> None:
    stream = numbers(*range(1, 7), node_entries=3)
    order(minid=1).apply(stream)
    assert isinstance(stream.nodes.first_value().buf, bytes)
    check_stream(stream)


def test_a_node_whose_last_live_entry_is_trimmed_goes() -> None:
    stream = numbers(1, 5)
    stream.delete(5, 0)
    assert order(minid=3).apply(stream) == 1
    assert (stream.length, stream.nodes.count) == (0, 0)
    check_stream(stream)


@pytest.mark.parametrize("approx", [False, True])
def test_delref_drops_the_records_of_all_groups(approx: bool) -> None:
    stream = numbers(*range(1, 7), node_entries=3)
    g, h = group(stream, b"g", 6, 1, 3, 5), group(stream, b"h", 6, 3)
    assert order(maxlen=3, approx=approx, policy=DELREF).apply(stream) == 3
    assert (g.pending.count, h.pending.count) == (1, 0)
    assert left(stream) == [4, 5, 6]


def test_keepref_keeps_the_records_of_all_groups() -> None:
    stream = numbers(*range(1, 7), node_entries=3)
    g = group(stream, b"g", 6, 1, 3, 5)
    assert order(maxlen=0).apply(stream) == 6
    assert g.pending.count == 3


@pytest.mark.parametrize("approx", [False, True])
def test_acked_passes_over_what_is_pending_or_unread(approx: bool) -> None:
    stream = numbers(*range(1, 10), node_entries=3)
    group(stream, b"g", 7, 2, 5)
    group(stream, b"h", 8)
    assert order(maxlen=0, approx=approx, policy=ACKED).apply(stream) == 5
    assert left(stream) == [2, 5, 8, 9]


def test_without_groups_acked_takes_everything() -> None:
    stream = numbers(*range(1, 10), node_entries=3)
    assert order(maxlen=0, policy=ACKED).apply(stream) == 9
    assert left(stream) == []


def test_a_copy_has_the_same_state_and_its_own_groups() -> None:
    stream = numbers(1, 2, 3)
    stream.delete(2, 0)
    g = group(stream, b"g", 1, 1)
    twin = stream.copy()
    check_stream(twin)
    assert twin.range() == stream.range()
    assert (twin.entries_added, twin.maxdel_ms, twin.last_ms, twin.first_ms) == (3, 2, 3, 1)
    g.ack(1, 0)
    assert twin.groups.find(b"g").pending.count == 1
    stream.delete(1, 0)
    assert left(twin) == [1, 3]
