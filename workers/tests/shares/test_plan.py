"""Partitions: the partition of a key, and how members share partitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_workers import ConfigError, Partitioned
from forebay_workers.partitioned import name_of
from forebay_workers.shares.plan import Plan, load, share

#: Fixed values; every client must compute the same, in every version.
PLACES = {
    b"": (0, 0),
    b"ann": (6, 22),
    b"bob": (11, 59),
    b"customer-42": (3, 51),
    b"123456789": (3, 3),
    "zoë".encode(): (2, 2),
    b"{ann}:basket": (6, 22),
}


def test_the_partition_of_a_key_is_the_one_of_the_table() -> None:
    found = {
        key: (Partitioned("s", 16).number(key), Partitioned("s", 64).number(key)) for key in PLACES
    }
    assert found == PLACES


def test_partitions_are_streams_with_their_number_as_the_hash_tag() -> None:
    orders = Partitioned("orders", 16, by="customer")
    assert orders.stream(3) == "orders:{3}"
    assert orders.stream_of([b"item", b"tea", b"customer", b"ann"]) == "orders:{6}"
    assert orders.stream_of([b"customer", b"ann", b"@key", b"bob"]) == "orders:{11}"
    assert (name_of("orders:{3}"), name_of("orders")) == ("orders", "orders")


@pytest.mark.parametrize(("name", "count"), [("s", 0), ("s", 5000), ("", 4), ("a{b}", 4)])
def test_what_cannot_be_partitioned_is_refused(name: str, count: int) -> None:
    with pytest.raises(ConfigError):
        Partitioned(name, count)


def test_a_message_without_its_key_is_refused_with_one_sentence() -> None:
    with pytest.raises(ConfigError, match="has no 'customer', which chooses its partition"):
        Partitioned("orders", 4, by="customer").stream_of([b"item", b"tea"])
    with pytest.raises(ConfigError, match="Nothing chooses the partition of 'orders'"):
        Partitioned("orders", 4).stream_of([b"item", b"tea"])


members = st.sets(st.sampled_from([f"w{n}" for n in range(20)]), min_size=1)


@given(st.lists(members, min_size=1, max_size=6), st.integers(1, 64))
def test_members_share_evenly_and_only_what_must_move_moves(
    steps: list[set[str]], count: int
) -> None:
    plan = Plan()
    for step in steps:
        before, plan = plan, share(plan, step, count)
        sizes = [len(plan.of(name)) for name in step]
        assert sum(sizes) == count == len(plan.owners)
        assert max(sizes) - min(sizes) <= 1
        stay = [owner for owner in before.owners if owner in step]
        moved = sum(a != b for a, b in zip(before.owners, plan.owners, strict=False))
        gone = len(before.owners) - len(stay)
        # Besides partitions of members that left, only those above a member's new share move.
        share_size = -(-count // len(step))
        surplus = sum(max(0, len(before.of(name)) - share_size + 1) for name in step)
        assert moved <= gone + surplus
        assert load(plan.dump().encode()) == plan


def test_partitions_that_are_added_do_not_move_others() -> None:
    before = share(Plan(), ["a", "b"], 4)
    after = share(before, ["a", "b"], 8)
    assert after.owners[:4] == before.owners
    assert len(after.of("a")) == len(after.of("b")) == 4
