"""Views of many chunks, filled, emptied and searched in every order, against a sorted list."""

from __future__ import annotations

from random import Random

import pytest

from forebay.core.check import check_pending
from forebay.core.pel import Pending

#: The number of slots of a chunk (view.py), and enough entries for several chunks.
CHUNK_SLOTS = 512
MANY = 3 * CHUNK_SLOTS


def filled(numbers: list[int]) -> Pending:
    """Entries 1-number, each delivered in the millisecond of its number, in this order."""
    pending = Pending()
    owner = pending.open_owner()
    for number in numbers:
        pending.add(1, number, owner, number, 1)
    check_pending(pending)
    return pending


def shuffled(n: int) -> list[int]:
    numbers = list(range(n))
    Random(n).shuffle(numbers)
    return numbers


def assert_same(pending: Pending, numbers: list[int]) -> None:
    """Both orders are that of the numbers, and each entry is found."""
    check_pending(pending)
    for view in (pending.by_id, pending.by_time, pending.owner(1)):
        assert [pending.id_seq(slot) for slot in view.slots()] == numbers
    for number in numbers:
        assert pending.id_seq(pending.find(1, number)) == number


def test_entries_that_come_in_any_order_stand_in_order() -> None:
    assert_same(filled(shuffled(MANY)), list(range(MANY)))


def test_entries_that_come_from_the_end_stand_in_order() -> None:
    assert_same(filled(list(range(MANY))[::-1]), list(range(MANY)))


@pytest.mark.parametrize("place", [0, 1, 254, 255, 256, 257, 258, 511])
def test_a_full_chunk_is_cut_wherever_the_next_one_belongs(place: int) -> None:
    even = list(range(0, 2 * CHUNK_SLOTS, 2))
    late = 2 * place + 1
    assert_same(filled([*even, late]), sorted([*even, late]))


def test_the_first_is_always_the_smallest_that_is_left() -> None:
    pending = filled(list(range(MANY)))
    for number in range(MANY):
        slot = pending.first()
        assert slot == pending.oldest()
        assert pending.id_seq(slot) == number
        pending.remove(slot)
        if number % 100 == 0:
            check_pending(pending)
    assert (pending.count, pending.first()) == (0, -1)


def test_after_the_first_chunks_are_gone_new_ones_are_found() -> None:
    pending = filled(list(range(4 * CHUNK_SLOTS)))
    for _ in range(3 * CHUNK_SLOTS):
        pending.remove(pending.first())
    for number in range(4 * CHUNK_SLOTS, 6 * CHUNK_SLOTS):
        pending.add(1, number, 1, number, 1)
    assert_same(pending, list(range(3 * CHUNK_SLOTS, 6 * CHUNK_SLOTS)))


def test_few_that_are_left_of_many_are_still_found_from_anywhere() -> None:
    pending, numbers = filled(list(range(MANY))), list(range(MANY))
    dice = Random(7)
    while len(numbers) > 20:
        number = numbers.pop(dice.randrange(len(numbers)))
        pending.remove(pending.find(1, number))
        if len(numbers) % 50 == 0:
            wanted = dice.randrange(MANY)
            rest = [number for number in numbers if number >= wanted]
            slot = pending.seek(1, wanted)
            assert (pending.id_seq(slot) if slot >= 0 else None) == (rest[0] if rest else None)
    assert_same(pending, numbers)


def test_runs_of_neighbours_may_go_in_either_direction() -> None:
    pending, numbers = filled(list(range(MANY))), list(range(MANY))
    for start in (CHUNK_SLOTS - 100, 2 * CHUNK_SLOTS + 50, 10):
        run = numbers[start : start + 400]
        for number in run if start % 4 else run[::-1]:
            pending.remove(pending.find(1, number))
        numbers = [number for number in numbers if number not in set(run)]
        assert_same(pending, numbers)


def test_deliveries_of_the_past_stand_where_their_time_belongs() -> None:
    """Also in the gap before a chunk whose first entries are gone."""
    pending = filled(list(range(MANY)))
    for number in range(CHUNK_SLOTS, CHUNK_SLOTS + 10):
        pending.remove(pending.find(1, number))
    for time_ms in (0, CHUNK_SLOTS - 1, CHUNK_SLOTS + 5, CHUNK_SLOTS + 10, 2 * CHUNK_SLOTS, MANY):
        pending.give(pending.find(1, 700), 1, time_ms)
        assert pending.time_ms(pending.find(1, 700)) == time_ms
        times = [pending.time_ms(slot) for slot in pending.by_time.slots()]
        assert times == sorted(times)
        assert len(times) == MANY - 10
        check_pending(pending)
