"""A list holds what a plain Python list would hold; its encoding follows the rules of Redis."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.core import elements, listpack
from forebay.core.elements import EMPTY_BYTES, Elements, entry_bytes

FILL = -2
words = st.one_of(
    st.sampled_from([b"a", b"b", b"", b"1", b"-5000", b"x" * 63, b"x" * 64, b"y" * 5000]),
    st.integers(-(1 << 63), (1 << 63) - 1).map(lambda n: b"%d" % n),
    st.binary(max_size=80),
)


@given(words)
def test_an_entry_is_as_long_as_a_listpack_writes_it(word: bytes) -> None:
    room = bytearray(len(word) + 64)
    assert entry_bytes(word) == listpack.put_string(room, 0, word, 0, len(word))


Step = Callable[[Elements, list[bytes], list[bytes]], None]


def step_push_left(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    items.push(some, True, FILL)
    model[:0] = reversed(some)


def step_push_right(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    items.push(some, False, FILL)
    model += some


def step_take(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    count = len(some)
    assert items.take(count, True, FILL) == model[:count]
    del model[:count]


def step_keep(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    start, end = min(len(some), len(model)), max(len(model) - 2, min(len(some), len(model)))
    assert items.keep(start, end, FILL) == len(model) - (end - start)
    model[:] = model[start:end]


def step_drop(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    removed = 0
    for word in reversed(range(len(model))):
        if some and model[word] == some[0] and removed < 2:
            del model[word]
            removed += 1
    assert items.drop_equal(some[0] if some else b"none", -2, FILL) == removed


def step_set(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    if model and some:
        items.put_at(-1, some[0], FILL)
        model[-1] = some[0]


def step_insert(items: Elements, model: list[bytes], some: list[bytes]) -> None:
    if some:
        items.insert_at(len(model) // 2, some[0], FILL)
        model.insert(len(model) // 2, some[0])


STEPS: list[Step] = [
    *(step_push_left, step_push_right, step_push_right, step_take),
    *(step_keep, step_drop, step_set, step_insert),
]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.lists(words, max_size=6)), max_size=30))
def test_a_list_is_a_list(steps: list[tuple[Step, list[bytes]]]) -> None:
    items, model = Elements(), list[bytes]()
    for step, some in steps:
        step(items, model, some)
        assert list(items) == model
        total = EMPTY_BYTES + sum(map(entry_bytes, model))
        if items.is_packed(FILL):
            assert items.packed_bytes == total
        else:
            assert total > 4096


def packed(count: int, fill: int, more: int = 0) -> Elements:
    items = Elements()
    items.push([b"x"] * count, False, fill)
    if more:
        items.push([b"x"] * more, False, fill)
    return items


def test_a_quicklist_is_a_listpack_again_at_half_of_the_limit() -> None:
    items = packed(10, 10, more=1)
    assert not items.is_packed(10)
    items.take(5, True, 10)
    assert not items.is_packed(10)
    items.take(1, True, 10)
    assert items.is_packed(10)


def test_a_list_that_came_whole_needs_no_half() -> None:
    assert Elements([b"x"] * 10).is_packed(10)
    assert not Elements([b"x"] * 11).is_packed(10)


@pytest.mark.parametrize(
    ("fill", "most"), [(-1, 4096), (-2, 8192), (-3, 16384), (-4, 32768), (-5, 65536), (-9, 65536)]
)
def test_a_fill_below_zero_is_a_size(fill: int, most: int) -> None:
    # An entry of 30 bytes takes 32.
    fits = (most - EMPTY_BYTES) // 32
    assert Elements([b"x" * 30] * fits).is_packed(fill)
    assert not Elements([b"x" * 30] * (fits + 1)).is_packed(fill)


def test_however_many_are_allowed_a_listpack_does_not_pass_eight_kilobytes() -> None:
    assert not Elements([b"x" * 100] * 100).is_packed(1000)


def test_a_copy_is_stored_alike_and_apart() -> None:
    items = packed(10, 10, more=1)
    items.take(3, True, 10)
    twin = items.copy()
    twin.push([b"y"], False, 10)
    assert not twin.is_packed(10)
    assert len(items) == 8


def test_to_drain_a_long_list_does_not_measure_it_at_each_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = 0

    def counting(word: bytes) -> int:
        nonlocal measured
        measured += 1
        return entry_bytes(word)

    items = Elements([b"some words %05d" % i for i in range(20000)])
    items.settle(FILL)
    monkeypatch.setattr(elements, "entry_bytes", counting)
    while items:
        items.take(1, True, FILL)
    assert measured < 20000
