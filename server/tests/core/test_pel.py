"""Pending entries: by ID, by owner, by time, and the zone of entries without an owner."""

from __future__ import annotations

import pytest

from forebay.core.check import check_pending
from forebay.core.pel import Pending
from forebay.core.view import View

Id = tuple[int, int]
TURNS = 1 << 18
TIME_MAX_MS = 2**45 - 1


def seqs(pending: Pending, view: View) -> list[int]:
    return [pending.id_seq(slot) for slot in view.slots()]


def filled(n: int, owners: int = 1) -> Pending:
    """n entries 1-0, 1-1, ... dealt to the owners in turn, one a millisecond."""
    pending = Pending()
    numbers = [pending.open_owner() for _ in range(owners)]
    for seq in range(n):
        pending.add(1, seq, numbers[seq % owners], 100 + seq, 1)
    return pending


def test_a_record_says_what_was_put_in() -> None:
    pending = Pending()
    owner = pending.open_owner()
    slot = pending.add(2**64 - 1, 2**64 - 1, owner, 1234, 3)
    assert (pending.id_ms(slot), pending.id_seq(slot)) == (2**64 - 1, 2**64 - 1)
    assert pending.time_ms(slot) == 1234
    assert pending.deliveries(slot) == 3
    assert pending.owner_no(slot) == owner == 1
    assert pending.count == 1
    check_pending(pending)


def test_an_empty_list_has_no_first_last_or_oldest() -> None:
    pending = Pending()
    assert [pending.first(), pending.last(), pending.oldest(), pending.seek(0, 0)] == [-1] * 4
    assert pending.find(1, 1) == -1


@pytest.mark.parametrize("n", [1, 7, 8, 9, 255, 256, 257, 511, 512, 513, 5000])
def test_entries_added_in_order_come_back_in_order(n: int) -> None:
    pending = filled(n, owners=3)
    check_pending(pending)
    assert seqs(pending, pending.by_id) == list(range(n))
    assert seqs(pending, pending.by_time) == list(range(n))
    assert seqs(pending, pending.owner(1)) == list(range(0, n, 3))
    assert pending.id_seq(pending.last()) == n - 1


def test_a_walk_may_remove_what_it_has_passed() -> None:
    pending = filled(1500)
    slot, walked = pending.first(), []
    while slot >= 0:
        following = pending.after(slot)
        walked.append(pending.id_seq(slot))
        if len(walked) % 3:
            pending.remove(slot)
        slot = following
    assert walked == list(range(1500))
    assert pending.count == 500
    check_pending(pending)


def test_seek_finds_the_next_entry_when_the_id_is_gone() -> None:
    pending = filled(1200)
    for seq in range(400, 900):
        pending.remove(pending.find(1, seq))
    check_pending(pending)
    assert pending.find(1, 400) == -1
    assert pending.id_seq(pending.seek(1, 400)) == 900
    assert pending.id_seq(pending.seek(0, 5)) == 0
    assert pending.seek(2, 0) == -1


def test_entries_may_be_added_below_all_others() -> None:
    pending = filled(600)
    for seq in range(600):
        pending.add(0, 1000 - seq, 1, 50 - seq // 100, 1)
    check_pending(pending)
    assert pending.id_ms(pending.first()) == 0
    assert pending.id_seq(pending.first()) == 401


def test_giving_an_entry_away_moves_it_between_owners_and_to_the_end_of_time() -> None:
    pending = filled(6, owners=2)
    slot = pending.find(1, 2)
    pending.give(slot, 2, 900)
    assert seqs(pending, pending.owner(1)) == [0, 4]
    assert seqs(pending, pending.owner(2)) == [1, 2, 3, 5]
    assert seqs(pending, pending.by_time) == [0, 1, 3, 4, 5, 2]
    assert pending.time_ms(slot) == 900
    check_pending(pending)


def test_entries_of_one_millisecond_are_in_the_order_of_their_delivery() -> None:
    pending = filled(5)
    for seq in (3, 1, 4):
        pending.give(pending.find(1, seq), 1, 900)
    assert seqs(pending, pending.by_time) == [0, 2, 3, 1, 4]
    for seq in (0, 2, 3):
        pending.give(pending.find(1, seq), 1, 901 if seq == 0 else 900)
    assert seqs(pending, pending.by_time) == [1, 4, 2, 3, 0]
    check_pending(pending)


@pytest.mark.compiled
def test_where_the_turns_of_a_millisecond_run_out_its_entries_are_ordered_by_id() -> None:
    pending = filled(3)
    slots = pending.find(1, 2), pending.find(1, 1)
    for n in range(3 * TURNS):
        pending.give(slots[n % 2], 1, 900)
    assert seqs(pending, pending.by_time) == [0, 1, 2]
    check_pending(pending)
    pending.give(pending.find(1, 0), 1, 901)
    assert seqs(pending, pending.by_time) == [1, 2, 0]


def test_a_time_beyond_all_years_is_kept_as_the_greatest() -> None:
    pending = filled(3)
    pending.give(pending.find(1, 1), 1, 2**63 - 1)
    assert pending.time_ms(pending.find(1, 1)) == TIME_MAX_MS
    pending.give(pending.find(1, 0), 1, TIME_MAX_MS)
    assert seqs(pending, pending.by_time) == [2, 1, 0]
    check_pending(pending)


def test_released_entries_come_first_in_the_order_of_their_release() -> None:
    pending = filled(6, owners=2)
    for seq in (4, 1, 3):
        pending.give(pending.find(1, seq), 0, 0)
    assert seqs(pending, pending.by_time) == [4, 1, 3, 0, 2, 5]
    assert pending.nacked == 3
    assert pending.time_ms(pending.find(1, 4)) == 0
    assert pending.owner_no(pending.find(1, 4)) == 0
    check_pending(pending)


def test_releasing_again_moves_to_the_end_of_the_zone() -> None:
    pending = filled(4)
    for seq in (2, 1, 2):
        pending.give(pending.find(1, seq), 0, 0)
    assert seqs(pending, pending.by_time) == [1, 2, 0, 3]
    assert pending.nacked == 2
    pending.give(pending.find(1, 1), 1, 500)
    assert seqs(pending, pending.by_time) == [2, 0, 3, 1]
    assert pending.nacked == 1
    check_pending(pending)


@pytest.mark.parametrize("n", [0, 2**32 - 2, 2**32 - 1, 2**32, 2**63 - 1])
def test_delivery_counts_have_63_bits(n: int) -> None:
    pending = filled(2)
    slot = pending.find(1, 1)
    pending.set_deliveries(slot, n)
    assert pending.deliveries(slot) == n
    assert pending.owner_no(slot) == 1
    pending.count_delivery(slot)
    assert pending.deliveries(slot) == min(n + 1, 2**63 - 1)
    check_pending(pending)
    pending.remove(slot)
    check_pending(pending)


def test_slots_are_used_again() -> None:
    pending = filled(100)
    for round_no in range(1, 50):
        for seq in range(100):
            pending.remove(pending.find(round_no, seq))
            pending.add(round_no + 1, seq, 1, round_no * 1000, 1)
        check_pending(pending)
    assert pending.records.used <= 102


def test_memory_is_given_back_when_nothing_is_pending() -> None:
    pending = filled(20_000, owners=2)
    large = pending.used_bytes()
    while pending.count > 0:
        pending.remove(pending.last())
    assert pending.used_bytes() < large / 100
    check_pending(pending)


def test_leftovers_of_a_large_list_do_not_keep_its_views() -> None:
    pending = filled(20_000)
    for seq in range(20_000):
        if seq % 100:
            pending.remove(pending.find(1, seq))
    check_pending(pending)
    assert pending.by_id.used_bytes() < 20_000 * 4 / 10


def test_a_filled_list_costs_44_bytes_an_entry() -> None:
    pending = filled(100_000)
    assert 44 <= pending.used_bytes() / 100_000 < 45


def test_closing_an_owner_drops_its_entries_and_frees_its_number() -> None:
    pending = filled(9, owners=3)
    pending.give(pending.find(1, 1), 0, 0)
    assert pending.close_owner(2) == 2
    assert seqs(pending, pending.by_id) == [0, 1, 2, 3, 5, 6, 8]
    check_pending(pending)
    assert pending.open_owner() == 2
    assert pending.owner(2).count == 0
    assert pending.open_owner() == 4
    check_pending(pending)


def test_a_clock_that_goes_backwards_keeps_the_order_by_time() -> None:
    pending = Pending()
    owner = pending.open_owner()
    for seq, time_ms in enumerate([50, 60, 40, 60, 10, 70]):
        pending.add(1, seq, owner, time_ms, 1)
    assert seqs(pending, pending.by_time) == [4, 2, 0, 1, 3, 5]
    check_pending(pending)
