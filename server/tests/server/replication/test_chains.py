"""A server between two others: what it passes on when the stream of its primary is renamed."""

from __future__ import annotations

from collections.abc import Callable

from server.tests.support.replicas import assert_same, fill, syncs
from testkit.nodes import Node, wait_for_replicas

Start = Callable[..., Node]


def test_what_follows_a_new_name_is_not_passed_on_under_the_old_one(start: Start) -> None:
    old, heir, leaf = start("forebay"), start("forebay"), start("forebay")
    fill(old)
    heir.follow(old)
    leaf.follow(old)
    wait_for_replicas(old, [heir, leaf])
    heir.lead()
    fill(heir, first=200)
    old.follow(heir)
    assert_same(heir, old, leaf)
    assert syncs(old) == (2, 1), "the leaf went on without a copy"


def test_a_replica_of_a_replica_gets_nothing_of_new_data_before_it_asks_for_it(
    start: Start,
) -> None:
    first, second = start("forebay"), start("forebay")
    middle, leaf = start("forebay"), start("forebay")
    fill(first, count=600)
    fill(second)
    middle.follow(first)
    leaf.follow(middle)
    wait_for_replicas(first, [middle, leaf])
    middle.follow(second)
    fill(second, first=2000)
    assert_same(second, middle, leaf)
    assert syncs(middle) == (2, 0)
