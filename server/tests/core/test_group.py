"""Groups: consumers, deliveries, the read counter, the lag, references."""

from __future__ import annotations

import pytest

from forebay.core.check import check_group
from forebay.core.group import (
    Group,
    drop_references,
    estimate,
    is_referenced,
    lag,
    min_last_id,
    tombstones_ahead,
)
from forebay.core.stream import Stream


def stream_of(*seqs: int) -> Stream:
    """A stream with the entries 1-seq."""
    stream = Stream()
    for seq in seqs:
        stream.add(1, seq, [b"f", b"v"])
    return stream


def group_of(stream: Stream, name: bytes = b"g", last: int = 0, entries_read: int = 0) -> Group:
    group = Group(name, 1 if last else 0, last, entries_read)
    stream.groups.insert(name, group)
    return group


def read(stream: Stream, group: Group, *seqs: int, by: bytes = b"c", now_ms: int = 10) -> None:
    consumer = group.consumer(by) or group.create_consumer(by, now_ms)
    for seq in seqs:
        group.deliver(stream, 1, seq, consumer, now_ms, False)


# -- consumers --------------------------------------------------------------------


def test_a_new_consumer_was_seen_now_and_never_active() -> None:
    consumer = Group(b"g", 0, 0, 0).create_consumer(b"", 77)
    assert (consumer.name, consumer.number) == (b"", 1)
    assert (consumer.seen_ms, consumer.active_ms, consumer.pending) == (77, -1, 0)


def test_consumers_are_found_by_name_and_by_number() -> None:
    group = Group(b"g", 0, 0, 0)
    alice, bob = group.create_consumer(b"alice", 1), group.create_consumer(b"bob", 1)
    assert group.consumer(b"alice") is alice
    assert group.consumer_by_number(bob.number) is bob
    assert group.consumer_by_number(0) is None
    assert group.consumer(b"eve") is None
    check_group(group)


def test_deleting_a_consumer_drops_what_it_had_pending() -> None:
    stream = stream_of(1, 2, 3)
    group = group_of(stream)
    read(stream, group, 1, 2, by=b"alice")
    read(stream, group, 3, by=b"bob")
    assert group.delete_consumer(b"alice") == 2
    assert group.delete_consumer(b"alice") == 0
    assert group.pending.count == 1
    check_group(group)
    assert group.create_consumer(b"carol", 1).number == 1
    check_group(group)


# -- deliveries -------------------------------------------------------------------


def test_a_delivery_moves_the_group_and_is_pending_once() -> None:
    stream = stream_of(1, 2)
    group = group_of(stream)
    read(stream, group, 1, now_ms=50)
    slot = group.pending.find(1, 1)
    assert (group.last_ms, group.last_seq, group.entries_read) == (1, 1, 1)
    assert (group.pending.time_ms(slot), group.pending.deliveries(slot)) == (50, 1)
    assert group.owner_name(slot) == b"c"
    assert group.consumer(b"c").active_ms == 50  # type: ignore[union-attr]


def test_without_acknowledgements_the_group_moves_but_nothing_is_pending() -> None:
    stream = stream_of(1, 2)
    group = group_of(stream)
    consumer = group.create_consumer(b"c", 1)
    group.deliver(stream, 1, 1, consumer, 50, True)
    assert (group.last_seq, group.entries_read) == (1, 1)
    assert group.pending.count == 0
    assert consumer.active_ms == -1


def test_an_entry_read_again_after_setting_back_changes_hands_and_counts_anew() -> None:
    stream = stream_of(1, 2)
    group = group_of(stream)
    read(stream, group, 1, 2, by=b"alice", now_ms=10)
    group.pending.set_deliveries(group.pending.find(1, 1), 9)
    group.last_ms = group.last_seq = 0
    read(stream, group, 1, by=b"bob", now_ms=20)
    slot = group.pending.find(1, 1)
    assert group.owner_name(slot) == b"bob"
    assert (group.pending.deliveries(slot), group.pending.time_ms(slot)) == (1, 20)
    assert group.pending.count == 2
    check_group(group)


def test_acknowledging_twice_counts_once() -> None:
    stream = stream_of(1)
    group = group_of(stream)
    read(stream, group, 1)
    assert group.ack(1, 1) is True
    assert group.ack(1, 1) is False
    assert group.ack(7, 7) is False
    check_group(group)


def test_a_claim_makes_the_new_owner_active() -> None:
    stream = stream_of(1)
    group = group_of(stream)
    read(stream, group, 1, by=b"alice")
    bob = group.create_consumer(b"bob", 5)
    group.claim(group.pending.find(1, 1), bob, 60, 40)
    assert (bob.active_ms, bob.pending) == (60, 1)
    assert group.pending.time_ms(group.pending.find(1, 1)) == 40
    check_group(group)


def test_a_released_entry_is_nobodys_and_keeps_the_count_it_is_given() -> None:
    stream = stream_of(1, 2)
    group = group_of(stream)
    read(stream, group, 1, 2)
    slot = group.pending.find(1, 2)
    group.nack(slot, 2**63 - 1)
    assert group.owner_name(slot) == b""
    assert group.pending.deliveries(slot) == 2**63 - 1
    assert group.pending.oldest() == slot
    assert group.ack(1, 2)
    check_group(group)


def test_a_copy_is_equal_and_independent() -> None:
    stream = stream_of(1, 2, 3, 4)
    group = group_of(stream)
    read(stream, group, 1, 2, by=b"alice")
    read(stream, group, 3, 4, by=b"bob")
    group.delete_consumer(b"alice")
    read(stream, group, 5, 6, by=b"carol")
    for seq in (6, 3):
        group.nack(group.pending.find(1, seq), 5)
    twin = group.copy()
    check_group(twin)
    assert [twin.pending.id_seq(s) for s in twin.pending.by_time.slots()] == [6, 3, 4, 5]
    assert [twin.owner_name(s) for s in twin.pending.by_id.slots()] == [b"", b"bob", b"carol", b""]
    assert (twin.last_seq, twin.entries_read) == (group.last_seq, group.entries_read)
    twin.ack(1, 4)
    assert group.pending.find(1, 4) >= 0


# -- read counter and lag ----------------------------------------------------------


def test_a_group_from_the_start_counts_down_its_lag() -> None:
    stream = stream_of(1, 2, 3)
    group = group_of(stream)
    assert lag(stream, group) == 3
    read(stream, group, 1, 2)
    assert (group.entries_read, lag(stream, group)) == (2, 1)
    read(stream, group, 3)
    assert (group.entries_read, lag(stream, group)) == (3, 0)


def test_an_empty_stream_has_no_lag() -> None:
    assert lag(Stream(), Group(b"g", 5, 5, -1)) == 0
    stream = stream_of(1)
    stream.delete(1, 1)
    assert lag(stream, group_of(stream)) == 0


def test_a_group_in_the_middle_knows_nothing_until_it_reaches_the_end() -> None:
    stream = stream_of(1, 2, 3, 4)
    group = group_of(stream, last=2, entries_read=-1)
    assert lag(stream, group) is None
    read(stream, group, 3)
    assert (group.entries_read, lag(stream, group)) == (-1, None)
    read(stream, group, 4)
    assert (group.entries_read, lag(stream, group)) == (4, 0)


def test_a_deletion_ahead_hides_the_lag_until_the_group_has_passed_it() -> None:
    stream = stream_of(1, 2, 3, 4, 5)
    group = group_of(stream)
    read(stream, group, 1)
    stream.delete(1, 3)
    assert lag(stream, group) is None
    read(stream, group, 2)
    assert (group.entries_read, lag(stream, group)) == (-1, None)
    read(stream, group, 4)
    assert lag(stream, group) is None
    read(stream, group, 5)
    assert (group.entries_read, lag(stream, group)) == (5, 0)


def test_a_deletion_behind_changes_nothing() -> None:
    stream = stream_of(1, 2, 3)
    group = group_of(stream)
    read(stream, group, 1, 2)
    stream.delete(1, 1)
    assert lag(stream, group) == 1
    read(stream, group, 3)
    assert (group.entries_read, lag(stream, group)) == (3, 0)


def test_a_group_behind_the_first_entry_lags_by_the_length() -> None:
    stream = stream_of(1, 2, 3, 4)
    group = group_of(stream)
    read(stream, group, 1)
    stream.delete(1, 1)
    stream.delete(1, 2)
    assert lag(stream, group) == 2
    read(stream, group, 3)
    assert (group.entries_read, lag(stream, group)) == (3, 1)


@pytest.mark.parametrize(
    ("ms", "seq", "number"),
    [(0, 0, 0), (1, 0, 0), (1, 1, 1), (1, 2, -1), (1, 3, 3), (1, 4, -1), (9, 0, -1)],
)
def test_an_id_is_numbered_only_at_the_ends(ms: int, seq: int, number: int) -> None:
    assert estimate(stream_of(1, 2, 3), ms, seq) == number


def test_an_empty_stream_numbers_every_id_up_to_its_last() -> None:
    stream = stream_of(1, 2)
    stream.delete(1, 1)
    stream.delete(1, 2)
    assert [estimate(stream, 0, 0), estimate(stream, 1, 2), estimate(stream, 1, 3)] == [2, 2, -1]
    assert estimate(Stream(), 5, 5) == 0


def test_tombstones_are_ahead_up_to_the_greatest_deleted_id() -> None:
    stream = stream_of(1, 2, 3)
    assert not tombstones_ahead(stream, 0, 0)
    stream.delete(1, 2)
    assert [tombstones_ahead(stream, 1, seq) for seq in (1, 2, 3)] == [True, True, False]


def test_a_counter_set_above_the_number_of_entries_gives_a_negative_lag() -> None:
    stream = stream_of(1, 2)
    assert lag(stream, group_of(stream, last=1, entries_read=5)) == -3


# -- references --------------------------------------------------------------------


def test_without_groups_nothing_is_referenced() -> None:
    stream = stream_of(1)
    assert not is_referenced(stream, 1, 1, *min_last_id(stream))
    assert drop_references(stream, 1, 1) == 0


def test_an_entry_is_referenced_until_every_group_has_read_and_acknowledged_it() -> None:
    stream = stream_of(1, 2)
    first, second = group_of(stream, b"a"), group_of(stream, b"b")
    read(stream, first, 1, 2)
    assert min_last_id(stream) == (0, 0)
    assert is_referenced(stream, 1, 1, *min_last_id(stream))
    read(stream, second, 1)
    assert min_last_id(stream) == (1, 1)
    assert is_referenced(stream, 1, 1, *min_last_id(stream))
    first.ack(1, 1)
    second.ack(1, 1)
    assert not is_referenced(stream, 1, 1, *min_last_id(stream))
    assert is_referenced(stream, 1, 2, *min_last_id(stream))


def test_dropping_references_acknowledges_in_all_groups() -> None:
    stream = stream_of(1)
    groups = [group_of(stream, b"%d" % number) for number in range(3)]
    for group in groups[:2]:
        read(stream, group, 1)
    assert drop_references(stream, 1, 1) == 2
    assert drop_references(stream, 1, 1) == 0
    for group in groups:
        check_group(group)
