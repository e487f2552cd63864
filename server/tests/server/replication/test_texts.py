"""Replication commands answer in each state of a server with the texts of a real redis-server.

    alone     a primary without replicas         followed   a primary with one
    follower  a replica whose link is up         orphan     one without a reachable primary

A client, a tool or Sentinel may rely on these texts, so both servers get the same wrong calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from testkit.nodes import Node, info_of, wait_for_replicas
from testkit.resp import encode
from testkit.waiting import wait_until

pytestmark = pytest.mark.oracle

WRONG = """
REPLICAOF a
REPLICAOF localhost port
REPLICAOF localhost 70000
REPLICAOF localhost -1
ROLE x
WAIT 1
WAIT a 1
WAIT 1 a
WAIT 1 -1
FAILOVER x
FAILOVER ABORT
FAILOVER ABORT x
FAILOVER TO localhost
FAILOVER TO localhost x
FAILOVER TO localhost 1
FAILOVER TO localhost 1 FORCE
FAILOVER TO localhost 1 FORCE TIMEOUT 10
FAILOVER TO localhost 1 TIMEOUT 10 FORCE
FAILOVER FORCE
FAILOVER FORCE TIMEOUT 10
FAILOVER FORCE FORCE
FAILOVER TIMEOUT
FAILOVER TIMEOUT x
FAILOVER TIMEOUT 0
FAILOVER TIMEOUT 10 TIMEOUT 20
FAILOVER TO localhost 1 TO localhost 2
FAILOVER TIMEOUT 10 ABORT
PSYNC a
PSYNC a 1 FAILOVER
SYNC x
REPLCONF a
REPLCONF a b
REPLCONF listening-port x
REPLCONF rdb-only x
REPLCONF rdb-only 2
REPLCONF rdb-filter-only x
REPLCONF rdb-filter-only ""
REPLCONF capa anything capa psync2
CLIENT KILL TYPE x
CLIENT LIST TYPE x
CONFIG SET replicaof x
CONFIG SET repl-timeout 0
CONFIG SET repl-backlog-size 0
CONFIG SET slave-read-only maybe
SHUTDOWN x
SHUTDOWN ABORT NOW
SHUTDOWN SAVE NOSAVE
"""
TOO_LONG = ("REPLCONF", "ip-address", "x" * 256)

Start = Callable[..., Node]


def alone(start: Start, kind: str) -> Node:
    return start(kind)


def followed(start: Start, kind: str) -> Node:
    node, replica = start(kind), start("redis")
    replica.follow(node)
    wait_for_replicas(node, [replica])
    return node


def follower(start: Start, kind: str) -> Node:
    node = start(kind)
    node.follow(start("redis"))
    return node


def orphan(start: Start, kind: str) -> Node:
    node, primary = start(kind), start("redis")
    node.follow(primary)
    primary.kill()
    wait_until("the link is down", lambda: not node.is_linked())
    return node


def answers(node: Node) -> dict[tuple[str, ...], Any]:
    """Each call on its own connection: some calls turn it into a replica's."""
    calls = [tuple(line.replace('""', " ").split(" ")) for line in WRONG.strip().splitlines()]
    found = {}
    for call in [*calls, TOO_LONG]:
        with node.client() as client:
            found[call] = client(*(word.strip() for word in call))
    return found


@pytest.mark.parametrize("state", [alone, followed, follower, orphan])
def test_wrong_calls_get_the_answers_of_redis(start: Start, state: Any) -> None:
    expected = answers(state(start, "redis"))
    assert answers(state(start, "forebay")) == expected


def test_a_server_that_hands_its_role_over_takes_no_new_replicas(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    wait_for_replicas(primary, [replica])
    replica.pause()
    primary("SET", "k", "v")
    primary("FAILOVER", "TIMEOUT", 600000)
    with primary.client() as client:
        error = client("PSYNC", "?", "-1")
    assert str(error) == "NOMASTERLINK Can't SYNC while failing over"
    primary("FAILOVER", "ABORT")


def test_a_time_to_wait_that_no_clock_reaches_is_refused(start: Start) -> None:
    for wanted in (0, 1):
        with start("forebay").client() as client:
            error = client("WAIT", wanted, 9223372036854775807)
            assert str(error) == "ERR timeout is out of range"


@pytest.mark.parametrize("first", [("SYNC",), ("PSYNC", "?", "-1")])
@pytest.mark.parametrize("second", [("PING",), ("XINFO", "HELP"), ("GET", "k"), ("NONSENSE",)])
def test_a_replica_that_asks_for_an_answer_is_closed_because_the_stream_has_no_place_for_it(
    start: Start, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    primary = start("forebay")
    with primary.client() as link:
        link.send(encode(*first) + encode("REPLCONF", "ACK", 0) + encode(*second))
        received = b""
        while piece := link.socket.recv(1 << 16):
            received += piece
    assert b"PONG" not in received
    assert b"Replica can't interact" not in received
    wait_until("the log says why", lambda: f"it sent '{second[0]}'" in primary.log())


@pytest.mark.parametrize("kind", ["redis", "forebay"])
def test_a_replica_is_not_counted_as_a_client_of_its_primary(start: Start, kind: str) -> None:
    primary = followed(start, kind)
    with primary.control() as client:
        assert info_of(client, "clients")["connected_clients"] == "1"
