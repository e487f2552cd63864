"""The radix tree against a plain dictionary, step by step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from hypothesis import given
from hypothesis import strategies as st

from forebay.core.check import check_rax
from forebay.core.rax import Rax

# Few letters and short words make prefixes, forks and joins frequent.
words = st.text("ab", max_size=6).map(str.encode)
numbers = st.integers(0, 3) | st.integers(254, 258) | st.just(2**64 - 1)
ids = st.tuples(numbers, numbers).map(lambda i: i[0].to_bytes(8, "big") + i[1].to_bytes(8, "big"))
keys = words | ids | st.binary(max_size=40)
steps = st.lists(st.tuples(st.booleans(), keys), max_size=40)


def neighbours(model: dict[bytes, int], key: bytes) -> list[tuple[bytes, int] | None]:
    """The expected answers of floor, lower, ceil and higher."""
    order = sorted(model)
    places = [
        bisect_right(order, key) - 1,
        bisect_left(order, key) - 1,
        bisect_left(order, key),
        bisect_right(order, key),
    ]
    return [(order[i], model[order[i]]) if 0 <= i < len(order) else None for i in places]


@given(steps, st.lists(keys, max_size=10))
def test_a_rax_is_a_sorted_dictionary(steps: list[tuple[bool, bytes]], probes: list[bytes]) -> None:
    tree, model = Rax(), dict[bytes, int]()
    for number, (add, key) in enumerate(steps):
        if add:
            assert tree.insert(key, number) is (key not in model)
            model[key] = number
        else:
            assert tree.remove(key) is (model.pop(key, None) is not None)
        check_rax(tree)
        assert tree.items() == sorted(model.items())
    for key in probes + list(model):
        assert tree.find(key) == model.get(key)
        found = [tree.floor(key), tree.lower(key), tree.ceil(key), tree.higher(key)]
        assert found == neighbours(model, key)
    for key in list(model):
        assert tree.remove(key)
        check_rax(tree)
    assert (tree.count, tree.node_count) == (0, 1)


@given(st.lists(ids, max_size=30), ids)
def test_search_by_id_agrees_with_search_by_key(keys: list[bytes], probe: bytes) -> None:
    tree = Rax()
    for key in keys:
        tree.insert(key, key)
    ms, seq = int.from_bytes(probe[:8], "big"), int.from_bytes(probe[8:], "big")
    order = sorted(set(keys))
    at, after = bisect_left(order, probe), bisect_right(order, probe)
    assert tree.floor_id(ms, seq) == (order[after - 1] if after > 0 else None)
    assert tree.prev_id(ms, seq) == (order[at - 1] if at > 0 else None)
    assert tree.next_id(ms, seq) == (order[after] if after < len(order) else None)
    assert tree.first_value() == (order[0] if order else None)
    assert tree.last_value() == (order[-1] if order else None)
