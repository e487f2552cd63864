"""The radix tree: keys of any bytes, in order, counted as Redis counts them."""

from __future__ import annotations

import pytest

from forebay.core.check import check_rax
from forebay.core.rax import Rax
from server.tests.core.rax_golden import TABLE


def key_of(text: str) -> bytes:
    ms, seq = text.split("-")
    return int(ms).to_bytes(8, "big") + int(seq).to_bytes(8, "big")


def tree_of(*keys: bytes) -> Rax:
    tree = Rax()
    for key in keys:
        tree.insert(key, key + b"!")
    return tree


@pytest.mark.parametrize(("added", "deleted", "keys", "nodes"), TABLE)
def test_keys_and_nodes_are_counted_as_redis_does(
    added: str, deleted: str, keys: int, nodes: int
) -> None:
    tree = tree_of(*map(key_of, added.split()))
    for text in deleted.split():
        assert tree.remove(key_of(text))
    assert (tree.count, tree.node_count) == (keys, nodes)
    check_rax(tree)


def test_an_empty_tree_has_one_node_and_no_neighbours() -> None:
    tree = Rax()
    assert (len(tree), tree.node_count) == (0, 1)
    assert tree.first() is None
    assert tree.last() is None
    assert tree.floor(b"a") is None
    assert tree.ceil(b"a") is None
    assert tree.floor_id(1, 1) is None
    assert tree.next_id(1, 1) is None
    assert tree.first_value() is None
    assert tree.items() == []


def test_the_empty_key_is_a_key_and_the_smallest_one() -> None:
    tree = tree_of(b"", b"a")
    assert tree.find(b"") == b"!"
    assert tree.first() == (b"", b"!")
    assert tree.lower(b"a") == (b"", b"!")
    assert tree.remove(b"")
    assert tree.find(b"") is None
    assert not tree.remove(b"")
    check_rax(tree)


def test_a_key_may_be_a_prefix_of_another() -> None:
    tree = tree_of(b"foobar", b"foo", b"footer", b"f")
    assert [key for key, _ in tree.items()] == [b"f", b"foo", b"foobar", b"footer"]
    assert tree.find(b"fo") is None
    assert tree.find(b"foobars") is None
    assert not tree.remove(b"fo")
    assert not tree.remove(b"fooba")
    assert not tree.remove(b"fox")
    assert tree.remove(b"foo")
    assert tree.ceil(b"foo") == (b"foobar", b"foobar!")
    check_rax(tree)


def test_inserting_a_key_again_replaces_its_value() -> None:
    tree = tree_of(b"a")
    assert tree.insert(b"a", 7) is False
    assert tree.find(b"a") == 7
    assert tree.count == 1


def test_none_cannot_be_stored() -> None:
    with pytest.raises(AssertionError, match="missing key"):
        Rax().insert(b"a", None)


def test_very_long_keys_work() -> None:
    long = b"x" * 100_000
    tree = tree_of(long + b"a", long + b"b", long)
    assert tree.count == 3
    assert tree.remove(long)
    assert tree.higher(long + b"a") == (long + b"b", long + b"b!")
    check_rax(tree)


def test_all_256_bytes_may_follow_a_prefix() -> None:
    tree = tree_of(*(b"p" + bytes([byte]) for byte in reversed(range(256))))
    assert [key[1] for key, _ in tree.items()] == list(range(256))
    assert tree.values() == [value for _, value in tree.items()]
    assert tree.higher(b"p\x7f") == (b"p\x80", b"p\x80!")
    check_rax(tree)


def test_ids_are_found_at_and_around_a_point() -> None:
    tree = tree_of(*map(key_of, ["1-5", "1-9", "300-0"]))
    five, nine, last = (key_of(text) + b"!" for text in ["1-5", "1-9", "300-0"])
    assert tree.floor_id(1, 4) is None
    assert tree.floor_id(1, 5) == five
    assert tree.floor_id(1, 8) == five
    assert tree.floor_id(2**64 - 1, 2**64 - 1) == last
    assert tree.prev_id(1, 9) == five
    assert tree.prev_id(1, 5) is None
    assert tree.next_id(0, 0) == five
    assert tree.next_id(1, 5) == nine
    assert tree.next_id(1, 9) == last
    assert tree.next_id(300, 0) is None
