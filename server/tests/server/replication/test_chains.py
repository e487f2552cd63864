"""A server between two others: what it passes on when the stream of its primary is renamed, or
stops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from server.tests.support.replicas import assert_same, cut, fill, syncs
from testkit.nodes import Node, wait_for_replicas
from testkit.proxy import Proxy
from testkit.waiting import wait_until

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


@pytest.mark.parametrize("kind", ["forebay", "redis"])
def test_a_server_without_its_primary_sends_its_replicas_no_byte_of_its_own(
    start: Start, kind: str
) -> None:
    """A Redis counts every byte of its link, an empty line too, and would lose its place."""
    top, middle, end = start("forebay"), start("forebay"), start(kind)
    fill(top)
    with Proxy(top.address) as proxy:
        middle.follow(proxy.address)
        end.follow(middle)
        wait_for_replicas(top, [middle, end])
        proxy.refuse()
        proxy.cut()
        wait_until("the primary is away for 3 s", lambda: seconds_down(middle) >= 3)
        proxy.accept()
        fill(top, first=200)
        assert_same(top, middle, end)
        cut(middle)
        fill(top, first=400)
        assert_same(top, middle, end)
        assert syncs(middle) == (1, 1), "the end came back to its place"


def seconds_down(node: Node) -> int:
    """For how long its link to its primary is down."""
    return int(node.info("replication").get("master_link_down_since_seconds", -1))
