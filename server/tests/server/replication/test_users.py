"""Replicas and Sentinels that log in as users with only the rights that they need; a Redis and a
Forebay in either role.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from server.tests.support.replicas import assert_same, fill
from testkit.nodes import Node, wait_for_replicas
from testkit.sentinels import Sentinels
from testkit.waiting import wait_until

Start = Callable[..., Node]
REPLICA = ("on", ">rp", "+psync", "+replconf", "+ping")
#: The rights that the documentation of Sentinel asks for.
SENTINEL = (
    *("on", ">sp", "allchannels", "+multi", "+slaveof", "+ping", "+exec", "+subscribe"),
    *("+config|rewrite", "+role", "+publish", "+info", "+client|setname", "+client|kill"),
    "+script|kill",
)
PAIRS = [("forebay", "forebay"), ("redis", "forebay"), ("forebay", "redis")]


def users(node: Node, word: str) -> set[str]:
    """The users of the clients whose line has this word."""
    lines = node("CLIENT", "LIST").decode().splitlines()
    found = [dict(part.partition("=")[::2] for part in line.split()) for line in lines]
    wanted = [facts for line, facts in zip(lines, found, strict=True) if word in line]
    return {str(facts["user"]) for facts in wanted}


@pytest.mark.parametrize("kinds", PAIRS)
def test_a_replica_follows_as_a_user_that_may_do_nothing_else(
    start: Start, kinds: tuple[str, str]
) -> None:
    primary, replica = (start(kind, appendonly="yes") for kind in kinds)
    primary("ACL", "SETUSER", "replica", *REPLICA)
    # A replica applies the stream whatever the rights of its own users are.
    replica("ACL", "SETUSER", "default", "-xadd")
    replica("CONFIG", "SET", "masteruser", "replica")
    replica("CONFIG", "SET", "masterauth", "rp")
    fill(primary)
    replica.follow(primary)
    wait_for_replicas(primary, [replica])
    assert users(primary, " flags=S") == {"replica"}
    fill(primary, first=200)
    wait_for_replicas(primary, [replica])
    assert_same(primary, replica)


def test_a_replica_that_may_not_follow_says_why(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    primary("ACL", "SETUSER", "replica", *REPLICA, "-psync")
    replica("CONFIG", "SET", "masteruser", "replica")
    replica("CONFIG", "SET", "masterauth", "rp")
    replica("REPLICAOF", *primary.address)
    wait_until("the log says why", lambda: "NOPERM" in replica.log())
    primary("ACL", "SETUSER", "replica", "+psync")
    wait_until("it follows", replica.is_linked)


@pytest.mark.parametrize("kinds", PAIRS[:2])
def test_sentinels_fail_over_as_a_user_of_their_own(
    start: Start, scratch: Path, kinds: tuple[str, str]
) -> None:
    old, new = (start(kind, appendonly="yes") for kind in kinds)
    for node in (old, new):
        node("ACL", "SETUSER", "watcher", *SENTINEL)
    fill(old)
    new.follow(old)
    wait_for_replicas(old, [new])
    with Sentinels(scratch) as sentinels:
        sentinels.monitor("orders", old.address)
        for number in range(3):
            login = ("auth-user", "watcher", "auth-pass", "sp")
            sentinels.ask(number, "SENTINEL", "SET", "orders", *login)
        for node in (old, new):
            # From here on only the Sentinels' user has the rights that they need.
            node("ACL", "SETUSER", "default", "-slaveof", "-publish", "-role")
        sentinels.wait_until_known("orders", replicas=1)
        wait_until("they are in as themselves", lambda: users(new, "sentinel-") == {"watcher"})
        mark = sentinels.mark()
        old.kill()
        sentinels.wait_for("+switch-master", mark)
        wait_until("all know it", lambda: sentinels.primary_of("orders") == new.address)
        assert new("XADD", "after", "*", "f", "v")
