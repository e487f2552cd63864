"""Servers that end or are killed, and come back: which ones need a copy of all data."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from server.tests.support.replicas import assert_same, fill, syncs
from testkit.nodes import Node, wait_for_replicas
from testkit.resp import encode
from testkit.waiting import wait_until

Start = Callable[..., Node]
Ending = Callable[[Node], object]


def kill(node: Node) -> None:
    """kill -9."""
    node.kill()


def stop(node: Node) -> None:
    """SIGTERM."""
    assert node.stop() == 0


def remember(node: Node) -> None:
    """Let the node follow its primary after a restart."""
    node("CONFIG", "REWRITE")


@pytest.mark.parametrize("kind", ["forebay", "redis"])
@pytest.mark.parametrize("end", [kill, stop])
def test_a_replica_with_an_aof_comes_back_without_a_copy(
    start: Start, kind: str, end: Ending
) -> None:
    primary, replica = start(kind), start("forebay", appendonly="yes")
    fill(primary)
    replica.follow(primary)
    remember(replica)
    fill(primary, first=200)
    wait_for_replicas(primary, [replica])
    for round_ in range(2, 5):
        end(replica)
        fill(primary, first=200 * round_)
        replica.restart()
        assert_same(primary, replica)
    assert syncs(primary) == (1, 3)


def test_a_replica_that_was_rewritten_comes_back_without_a_copy(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay", appendonly="yes")
    fill(primary)
    replica.follow(primary)
    remember(replica)
    wait_for_replicas(primary, [replica])
    replica("BGREWRITEAOF")
    wait_until("it is rewritten", lambda: replica.info("persistence")["aof_rewrites"] == "1")
    replica.kill()
    fill(primary, first=200)
    replica.restart()
    assert_same(primary, replica)
    assert syncs(primary) == (1, 1)


def test_a_replica_with_snapshots_comes_back_from_its_last_one(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay", save="3600 1")
    fill(primary)
    replica.follow(primary)
    remember(replica)
    wait_for_replicas(primary, [replica])
    replica("SAVE")
    replica.kill()
    fill(primary, first=200)
    replica.restart()
    assert_same(primary, replica)
    assert syncs(primary) == (1, 1)


def test_a_replica_that_keeps_nothing_gets_all_data_again(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    fill(primary)
    replica.follow(primary)
    remember(replica)
    wait_for_replicas(primary, [replica])
    replica.kill()
    replica.restart()
    assert_same(primary, replica)
    assert syncs(primary) == (2, 0)


def test_replicas_go_on_after_their_primary_was_restarted(start: Start) -> None:
    primary = start("forebay", appendonly="yes")
    replica = start("forebay")
    fill(primary)
    replica.follow(primary)
    fill(primary, first=200)
    wait_for_replicas(primary, [replica])
    assert primary.stop() == 0
    primary.restart()
    fill(primary, first=400)
    assert_same(primary, replica)
    assert syncs(primary) == (0, 1)


def test_a_killed_primary_comes_back_as_a_replica_without_a_copy(start: Start) -> None:
    old, new = start("forebay", appendonly="yes"), start("forebay", appendonly="yes")
    fill(old)
    new.follow(old)
    fill(old, first=200)
    wait_for_replicas(old, [new])
    old.kill()
    new.lead()
    fill(new, first=400)
    old.restart()
    old.follow(new)
    assert_same(new, old)
    assert syncs(new) == (0, 1)


def test_a_killed_primary_with_writes_of_its_own_gives_them_up(start: Start) -> None:
    old, new = start("forebay", appendonly="yes"), start("forebay")
    fill(old)
    new.follow(old)
    wait_for_replicas(old, [new])
    new.lead()
    old("SET", "never-replicated", "1")
    old("SET", "never-replicated", "2")
    old.kill()
    fill(new, first=200)
    old.restart()
    old.follow(new)
    assert_same(new, old)
    assert old("EXISTS", "never-replicated") == 0
    assert syncs(new) == (1, 0)


def test_a_full_sync_is_on_disk_when_it_is_over(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay", appendonly="yes")
    replica("SET", "old", "1")
    fill(primary)
    replica.follow(primary)
    remember(replica)
    wait_for_replicas(primary, [replica])
    replica.kill()
    primary.kill()
    replica.restart()
    assert replica("EXISTS", "old") == 0
    assert replica("XLEN", "orders") > 0
    assert replica.info("replication")["role"] == "slave"
    names = {path.name for path in (replica.folder / "appendonlydir").iterdir()}
    assert not [name for name in names if name.startswith("temp-")]


@pytest.mark.parametrize("files", [{"save": "3600 1"}, {"appendonly": "yes"}])
def test_keys_that_ran_out_of_time_while_their_primary_was_away_are_deleted_everywhere(
    start: Start, files: dict[str, str]
) -> None:
    primary, replica = start("forebay", **files), start("forebay")
    replica.follow(primary)
    fill(primary)
    primary("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    primary("SET", "short", "lived", "PX", 20)
    wait_for_replicas(primary, [replica])
    stop(primary)
    wait_until("its time is up", lambda: replica("GET", "short") is None)
    assert replica("DBSIZE") == 5, "it is hidden, and not deleted"
    primary.restart()
    wait_until("it is deleted", lambda: replica("DBSIZE") == 4)
    assert_same(primary, replica)
    assert syncs(primary) == (0, 1)
    assert primary("DBSIZE") == 4


def test_a_new_count_of_syncs_begins_with_resetstat(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    assert syncs(primary) == (1, 0)
    primary("CONFIG", "RESETSTAT")
    assert syncs(primary) == (0, 0)


def test_a_write_and_a_message_in_one_turn_are_run_once_when_the_killed_primary_comes_back(
    start: Start,
) -> None:
    old, new = start("forebay", appendonly="yes"), start("forebay")
    new.follow(old)
    fill(old)
    with old.control() as client:
        client.send(encode("INCR", "n") + encode("PUBLISH", "news", "n grew"))
        client.read_many(2)
    wait_for_replicas(old, [new])
    old.kill()
    new.lead()
    old.restart()
    old.follow(new)
    assert_same(new, old)
    assert new("GET", "n") == b"1"
    assert syncs(new) == (0, 1)
