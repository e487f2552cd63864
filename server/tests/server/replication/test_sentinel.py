"""Three real Sentinels find, watch and promote our nodes; clients follow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from redis.sentinel import Sentinel

from server.tests.support.replicas import assert_same, fill
from testkit.nodes import Node, wait_for_replicas
from testkit.sentinels import Sentinels
from testkit.waiting import wait_until

Start = Callable[..., Node]


def follows(node: Node) -> bool:
    """Whether its link is up; a Sentinel that changes its role may close our connection."""
    try:
        return node.is_linked()
    except OSError:
        return False


@pytest.mark.parametrize("kinds", [("forebay", "forebay"), ("redis", "forebay")])
def test_a_killed_primary_is_replaced_and_comes_back_as_a_replica(
    start: Start, scratch: Path, kinds: tuple[str, str]
) -> None:
    nodes = [start(kind, appendonly="yes") for kind in kinds]
    old, new = nodes
    fill(old)
    new.follow(old)
    wait_for_replicas(old, [new])
    with Sentinels(scratch) as sentinels:
        sentinels.monitor("orders", old.address)
        sentinels.wait_until_known("orders", replicas=1)
        ports = [("127.0.0.1", process.port) for process in sentinels.processes]
        client = Sentinel(ports).master_for("orders", redis_class=redis.Redis, retry=None)
        client.set("before", "1")
        client.execute_command("WAIT", 1, 0)
        mark = sentinels.mark()
        old.kill()
        sentinels.wait_for("+switch-master", mark)

        def writes() -> bool:
            try:
                return bool(client.set("after", "1"))
            except redis.RedisError:
                return False

        wait_until("a client of redis-py has followed", writes)
        assert client.get("before") == b"1"
        old.restart()
        wait_until("the old primary follows", lambda: follows(old))
        fill(new, first=200)
        assert_same(new, old)
    assert f"{new.address[0]} {new.address[1]}" in (old.folder / "node.conf").read_text()


def test_a_replica_with_priority_0_is_never_promoted(start: Start, scratch: Path) -> None:
    primary = start("forebay")
    never, heir = start("forebay", replica_priority=0), start("forebay")
    for node in (never, heir):
        node.follow(primary)
    with Sentinels(scratch) as sentinels:
        sentinels.monitor("orders", primary.address)
        sentinels.wait_until_known("orders", replicas=2)
        mark = sentinels.mark()
        primary.kill()
        event = sentinels.wait_for("+switch-master", mark)
        assert event.text.endswith(f"{heir.address[0]} {heir.address[1]}")
        wait_until("the other follows", lambda: follows(never))
