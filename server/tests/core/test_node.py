"""One node of a stream: master entry, entries that share its fields, tombstones."""

from __future__ import annotations

import pytest

from forebay.core import listpack
from forebay.core.check import check_node
from forebay.core.node import Node
from forebay.core.stream import Stream

TOP = 2**64 - 1
NO_LIMIT = 0


def one_node(*entries: tuple[int, int, list[bytes]]) -> Node:
    """A node that holds all of these entries."""
    stream = stream_of(*entries)
    assert stream.nodes.count == 1
    return tail(stream)


def stream_of(*entries: tuple[int, int, list[bytes]]) -> Stream:
    stream = Stream()
    for ms, seq, flat in entries:
        stream.add(ms, seq, flat, NO_LIMIT, NO_LIMIT)
    return stream


def tail(stream: Stream) -> Node:
    assert stream.tail is not None
    return stream.tail


def elements(node: Node) -> list[bytes]:
    """All elements of a node's listpack, integers as decimals."""
    blob = node.blob()
    found, at = [], 6
    while blob[at] != 255:
        found.append(listpack.element(blob, at))
        at = listpack.skip(blob, at)
    return found


def test_a_node_begins_with_counts_and_the_fields_of_its_first_entry() -> None:
    node = one_node((10, 5, [b"name", b"ann", b"age", b"41"]))
    assert elements(node)[:6] == [b"1", b"0", b"2", b"name", b"age", b"0"]
    assert elements(node)[6:] == [b"2", b"0", b"0", b"ann", b"41", b"5"]


def test_an_entry_with_the_same_fields_stores_only_values() -> None:
    node = one_node((10, 5, [b"a", b"1", b"b", b"2"]), (10, 9, [b"a", b"3", b"b", b"4"]))
    assert elements(node)[-6:] == [b"2", b"0", b"4", b"3", b"4", b"5"]


@pytest.mark.parametrize(
    "flat",
    [
        [b"b", b"2", b"a", b"1"],
        [b"a", b"1"],
        [b"a", b"1", b"b", b"2", b"c", b"3"],
        [b"a", b"1", b"B", b"2"],
    ],
)
def test_other_fields_or_another_order_are_stored_in_full(flat: list[bytes]) -> None:
    node = one_node((10, 5, [b"a", b"1", b"b", b"2"]), (12, 0, flat))
    pairs = len(flat) // 2
    # Deltas are wrapping differences: sequence 0 is five below the node's own.
    head = [b"0", b"2", b"-5", b"%d" % pairs]
    assert elements(node)[-len(flat) - 5 :] == [*head, *flat, b"%d" % (2 * pairs + 4)]
    check_node(node)


@pytest.mark.parametrize("names", [[b"7", b"7"], [b"f", b"f"], [b"", b""], [b"x" * 5000]])
def test_fields_may_be_numbers_repeated_empty_or_long(names: list[bytes]) -> None:
    flat = [part for name in names for part in (name, b"v")]
    node = one_node((1, 0, flat), (1, 1, flat))
    assert elements(node)[-len(names) - 4] == b"2"
    check_node(node)


def test_deltas_wrap_around_the_largest_number() -> None:
    stream = stream_of((0, TOP, [b"f", b"1"]), (TOP, 0, [b"f", b"2"]))
    check_node(tail(stream))
    assert stream.range() == [(0, TOP, [b"f", b"1"]), (TOP, 0, [b"f", b"2"])]


def test_a_deleted_entry_stays_as_a_tombstone() -> None:
    stream = stream_of(*[(n, 0, [b"f", b"%d" % n]) for n in (1, 2, 3)])
    assert stream.delete(2, 0)
    node = tail(stream)
    assert (node.count, node.deleted) == (2, 1)
    assert elements(node)[:2] == [b"2", b"1"]
    assert check_node(node) == [(1, 0, True), (2, 0, False), (3, 0, True)]


@pytest.mark.parametrize("count", [127, 128, 129, 4095, 4096, 4097])
def test_the_counts_take_more_bytes_as_they_grow(count: int) -> None:
    stream = stream_of(*[(n, 0, [b"f", b"v"]) for n in range(1, count + 1)])
    node = tail(stream)
    assert elements(node)[:2] == [b"%d" % count, b"0"]
    check_node(node)
    stream.delete(1, 0)
    stream.delete(3, 0)
    assert elements(node)[:2] == [b"%d" % (count - 2), b"2"]
    check_node(node)


def test_the_counts_change_places_as_entries_are_deleted() -> None:
    stream = stream_of(*[(n, 0, [b"f", b"v"]) for n in range(1, 261)])
    for n in range(1, 260):
        stream.delete(n, 0)
        assert elements(tail(stream))[:2] == [b"%d" % (260 - n), b"%d" % n]
    check_node(tail(stream))
    assert stream.range() == [(260, 0, [b"f", b"v"])]


def test_a_header_with_many_elements_says_that_they_are_not_counted() -> None:
    wide = [b"f", b"v"] * 22_000
    node = one_node((1, 0, wide), (2, 0, wide))
    assert node.blob()[4:6] == b"\xff\xff"
    check_node(node)


def test_the_size_in_the_header_is_the_size_of_the_bytes() -> None:
    stream = Stream()
    for n in range(1, 200):
        stream.add(n, n, [b"f" * (n % 5), b"v" * n], NO_LIMIT, NO_LIMIT)
        blob = tail(stream).blob()
        assert int.from_bytes(blob[:4], "little") == len(blob) == tail(stream).size
        assert blob[-1] == 255


def test_the_last_record_counts_even_if_it_is_deleted() -> None:
    stream = stream_of((1, 0, [b"f", b"v"]), (5, 7, [b"f", b"v"]))
    stream.delete(5, 7)
    assert tuple(tail(stream).last_record()) == (5, 7)


def test_a_full_node_is_sealed_and_a_deletion_opens_it_again() -> None:
    stream = Stream()
    for n in range(1, 6):
        stream.add(n, 0, [b"f", b"v"], 4096, 2)
    first = stream.nodes.first_value()
    assert isinstance(first.buf, bytes)
    assert isinstance(tail(stream).buf, bytearray)
    stream.delete(1, 0)
    assert check_node(first) == [(1, 0, False), (2, 0, True)]


def test_a_copy_shares_nothing_with_its_original() -> None:
    stream = stream_of((1, 0, [b"f", b"v"]), (2, 0, [b"f", b"v"]))
    node = tail(stream)
    twin = node.copy()
    before = twin.blob()
    assert before == node.blob()
    stream.delete(1, 0)
    stream.add(3, 0, [b"f", b"w"], NO_LIMIT, NO_LIMIT)
    assert twin.blob() == before
    check_node(twin)
