"""WAIT and WAITAOF with replicas: which replicas they count, when they answer.

test_waitaof.py tests the server's own disk without replicas.
"""

from __future__ import annotations

import pytest

from server.tests.support.admin_client import AdminClient
from server.tests.support.sim_rig import MakeRig, chain
from testkit.engine_client import BLOCKED
from testkit.resp import ReplyError


def test_wait_answers_when_the_replica_has_the_write(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, _ = chain(rig)
    client, bystander = primary.client(), primary.client()
    client("SET", "k", "v")
    assert client("WAIT", 1, 0) is None
    assert bystander("WAIT", 1, 0) == 1, "it has written nothing"
    rig.rounds(3)
    assert client.replies() == [b":1\r\n"]
    assert client("WAIT", 1, 0) == 1, "nothing was written since"


def test_waitaof_answers_when_both_disks_have_the_write(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, replica = chain(rig)
    client = primary.client()
    client("SET", "k", "v")
    assert client("WAITAOF", 1, 1, 0) is None
    while not primary.durability.is_synced(primary.durability.mark()):
        primary.syncer.step()
        primary.turn()
    assert client.replies() == [], "the replica has heard of nothing"
    rig.rounds(20)
    assert client.replies() == [b"*2\r\n:1\r\n:1\r\n"]
    assert replica.client()("GET", "k") == b"v"


def test_waitaof_for_replicas_does_not_wait_for_the_disk_here(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, replica = chain(rig)
    client = primary.client()
    client("SET", "k", "v")
    assert client("WAITAOF", 0, 1, 0) is None
    for _ in range(20):
        for wire in rig.network.wires:
            rig.network.carry(wire)
        rig.time.pass_ms(100)
        replica.turn()
        replica.syncer.step()
        primary.turn()
    assert client.replies() == [b"*2\r\n:0\r\n:1\r\n"]


def test_a_replica_waits_for_nobody(make_rig: MakeRig) -> None:
    _, replica = chain(make_rig(2))
    client = replica.client()
    assert client("WAIT", 0, 0) == ReplyError(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 "
        "if a replica is configured to be writable (which is not the default) writes to replicas "
        "are just local and are not propagated."
    )
    assert client("WAITAOF", 0, 0, 0) == ReplyError(
        "ERR WAITAOF cannot be used with replica instances. Please also note that writes to "
        "replicas are just local and are not propagated."
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["x", "1"], "ERR value is not an integer or out of range"),
        (["1", "x"], "ERR timeout is not an integer or out of range"),
        (["1", "-1"], "ERR timeout is negative"),
        (["1", "9223372036854775807"], "ERR timeout is out of range"),
    ],
)
def test_wait_refuses_what_is_no_number(words: list[str], error: str) -> None:
    assert AdminClient()("WAIT", *words) == ReplyError(error)


def test_wait_for_no_replica_answers_at_once() -> None:
    assert AdminClient()("WAIT", "0", "1000") == 0


def test_wait_for_a_replica_answers_zero_when_time_is_up() -> None:
    client = AdminClient()
    assert client("WAIT", "1", "500") is BLOCKED
    client.sleep(499)
    assert client.read() is BLOCKED
    client.sleep(2)
    assert client.read() == 0


def test_wait_inside_a_transaction_answers_at_once() -> None:
    client = AdminClient()
    client("MULTI")
    client("WAIT", "1", "0")
    assert client("EXEC") == [0]
