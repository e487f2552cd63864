"""REPLICAOF, ROLE, FAILOVER: which server is the primary."""

from __future__ import annotations

import pytest

from forebay.commands.api.services import FailoverPlan
from server.tests.support.admin_client import AdminClient
from server.tests.support.sim_rig import MakeRig, chain
from testkit.resp import ReplyError
from testkit.sim_node import SimNode

SYNTAX = "ERR syntax error"
NOT_A_NUMBER = "ERR value is not an integer or out of range"
NO_TARGET = "ERR FAILOVER target HOST and PORT is not a replica."
NEEDS_TARGET = "ERR FAILOVER with force option requires both a timeout and target HOST and IP."


@pytest.fixture
def followed(make_rig: MakeRig) -> SimNode:
    """A primary with one replica, which is paused from now on."""
    primary, _ = chain(make_rig(2))
    return primary


def test_a_server_alone_is_a_primary_without_replicas() -> None:
    assert AdminClient()("ROLE") == [b"master", 0, []]


@pytest.mark.parametrize("name", ["REPLICAOF", "slaveof"])
def test_a_server_follows_another_and_leads_again_with_its_data(
    make_rig: MakeRig, name: str
) -> None:
    rig = make_rig(2)
    primary, node = rig.nodes
    primary.start()
    node.start()
    rig.settle()
    primary.client()("SET", "k", "theirs")
    client = node.client()
    client("SET", "mine", "1")
    assert client(name, *map(str, primary.address)) == "OK"
    assert client("ROLE") == [b"slave", b"10.0.0.1", 6379, b"connecting", -1]
    rig.settle()
    assert client("ROLE") == [b"slave", b"10.0.0.1", 6379, b"connected", primary.place[1]]
    assert (client("GET", "k"), client("EXISTS", "mine")) == (b"theirs", 0)
    again = client(name, *map(str, primary.address))
    assert again == "OK Already connected to specified master"
    assert client(name, "no", "One") == "OK"
    assert client("ROLE") == [b"master", node.place[1], []]
    assert client("SET", "k", "ours") == "OK"


def test_a_primary_that_is_to_follow_nobody_stays_as_it_is(followed: SimNode) -> None:
    place = followed.place
    assert followed.client()("REPLICAOF", "NO", "ONE") == "OK"
    assert followed.place == place


@pytest.mark.parametrize("port", ["x", "-1", "65536", ""])
def test_a_port_that_is_none_is_refused(followed: SimNode, port: str) -> None:
    client = followed.client()
    assert client("REPLICAOF", "10.0.0.2", port) == ReplyError("ERR Invalid master port")
    assert client("ROLE")[0] == b"master"


def test_a_replica_cannot_tell_its_primary_whom_to_follow(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    (node,) = chain(rig)
    link = node.client()
    link.send("SYNC")
    rig.rounds(2)
    link.send("REPLICAOF", "10.0.0.9", "1")
    node.turn()
    assert not node.replication.is_replica
    assert any("it sent 'REPLICAOF', and answers have no place" in line for line in node.lines)


def test_a_role_that_is_being_handed_over_is_not_changed_otherwise(followed: SimNode) -> None:
    client = followed.client()
    assert client("FAILOVER") == "OK"
    error = ReplyError("ERR REPLICAOF not allowed while failing over.")
    assert client("REPLICAOF", "10.0.0.2", "6379") == error
    assert client("REPLICAOF", "NO", "ONE") == error


# FAILOVER


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("x", SYNTAX),
        ("ABORT x", SYNTAX),
        ("TO 10.0.0.2", SYNTAX),
        ("TIMEOUT", SYNTAX),
        ("TIMEOUT 10 TIMEOUT 20", SYNTAX),
        ("TIMEOUT 10 ABORT", SYNTAX),
        ("TO 10.0.0.2 1 TO 10.0.0.2 2", SYNTAX),
        ("FORCE FORCE", SYNTAX),
        ("TO 10.0.0.2 x", NOT_A_NUMBER),
        ("TIMEOUT x", NOT_A_NUMBER),
        ("TIMEOUT 0", "ERR FAILOVER timeout must be greater than 0"),
        ("TIMEOUT -1", "ERR FAILOVER timeout must be greater than 0"),
        ("FORCE", NEEDS_TARGET),
        ("FORCE TIMEOUT 10", NEEDS_TARGET),
        ("TO 10.0.0.2 6379 FORCE", NEEDS_TARGET),
        ("TO 10.0.0.2 1", NO_TARGET),
        ("TO 10.0.0.3 6379 TIMEOUT 10", NO_TARGET),
        ("ABORT", "ERR No failover in progress."),
    ],
)
def test_a_wrong_call_changes_nothing(followed: SimNode, line: str, error: str) -> None:
    client = followed.client()
    assert client("FAILOVER", *line.split()) == ReplyError(error)
    assert client("SET", "k", "v") == "OK"


@pytest.mark.parametrize(
    ("line", "plan"),
    [
        ("", FailoverPlan("", 0, 0, False)),
        ("timeout 10", FailoverPlan("", 0, 10, False)),
        ("to 10.0.0.2 6379", FailoverPlan("10.0.0.2", 6379, 0, False)),
        ("FORCE TIMEOUT 10 TO 10.0.0.2 6379", FailoverPlan("10.0.0.2", 6379, 10, True)),
        ("TO 10.0.0.2 6379 FORCE TIMEOUT 10", FailoverPlan("10.0.0.2", 6379, 10, True)),
    ],
)
def test_writes_wait_from_the_call_until_it_is_given_up(
    followed: SimNode, line: str, plan: FailoverPlan
) -> None:
    client, writer = followed.client(), followed.client()
    client("SET", "k", "v")
    assert client("FAILOVER", *line.split()) == "OK"
    assert followed.replication.handover.plan == plan
    assert client("FAILOVER") == ReplyError("ERR FAILOVER already in progress.")
    assert writer("SET", "k", "w") is None
    assert client("failover", "abort") == "OK"
    followed.turn()
    assert writer.replies() == [b"+OK\r\n"]
    assert client("GET", "k") == b"w"


def test_the_role_goes_to_the_replica_that_has_everything(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    old, new = chain(rig)
    old.client()("SET", "k", "v")
    assert old.client()("FAILOVER", "TO", *map(str, new.address)) == "OK"
    rig.until(lambda: old.replication.is_replica)
    rig.settle()
    assert new.client()("SET", "k", "w") == "OK"
    assert old.client()("SET", "k", "x") == ReplyError(
        "READONLY You can't write against a read only replica."
    )
    assert (old.engine.stats.full_syncs, new.engine.stats.full_syncs) == (1, 0)


def test_nobody_but_a_primary_with_replicas_hands_its_role_over(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, replica = rig.nodes
    primary.start()
    rig.settle()
    assert primary.client()("FAILOVER") == ReplyError("ERR FAILOVER requires connected replicas.")
    replica.start(primary.address)
    rig.settle()
    assert replica.client()("FAILOVER") == ReplyError(
        "ERR FAILOVER is not valid when server is a replica."
    )
