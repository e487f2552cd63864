"""WAIT and WAITAOF: which replicas they count, when they answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from testkit.nodes import Node, wait_for_replicas
from testkit.resp import ReplyError, encode
from testkit.waiting import wait_until

Start = Callable[..., Node]


@pytest.mark.parametrize("kind", ["forebay", "redis"])
def test_a_write_is_confirmed_by_the_replicas_that_have_it(start: Start, kind: str) -> None:
    primary, replica = start("forebay"), start(kind)
    replica.follow(primary)
    with primary.client() as client:
        client.insist("XADD", "s", "*", "f", "v")
        assert client("WAIT", 1, 0) == 1
        assert client("WAIT", 0, 0) == 1
        client.insist("XADD", "s", "*", "f", "v")
        assert client("WAIT", 2, 50) == 1, "time is up with one of two"


def test_a_replica_that_stands_still_confirms_nothing(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with primary.client() as writer, primary.client() as other:
        writer.insist("XADD", "s", "*", "f", "v")
        assert writer("WAIT", 1, 0) == 1
        replica.pause()
        writer.insist("XADD", "s", "*", "f", "v")
        assert writer("WAIT", 1, 50) == 0
        assert other("WAIT", 1, 0) == 1, "who has written nothing waits for nothing"
        writer.send(encode("WAIT", 1, 0))
        wait_until("it waits", lambda: primary.info("clients")["blocked_clients"] == "1")
        replica.resume()
        assert writer.read() == b":1\r\n"


def test_a_pipeline_of_writes_is_confirmed_as_a_whole(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with primary.client() as client:
        adds = b"".join(encode("XADD", "s", "*", "n", n) for n in range(100))
        client.send(adds + encode("WAIT", 1, 0))
        for _ in range(100):
            client.read()
        assert client.read() == b":1\r\n"
        assert replica("XLEN", "s") == 100


def test_in_a_transaction_nobody_waits(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    replica.pause()
    with primary.client() as client:
        client.insist("MULTI")
        client.insist("SET", "a", "1")
        client.insist("WAIT", 2, 0)
        assert client("EXEC") == ["OK", 1], "the replica has all that was written before"
    replica.resume()


def test_disks_of_replicas_confirm_too(start: Start) -> None:
    primary = start("forebay", appendonly="yes")
    replica = start("forebay", appendonly="yes", appendfsync="always")
    replica.follow(primary)
    with primary.client() as client:
        client.insist("XADD", "s", "*", "f", "v")
        assert client("WAITAOF", 1, 1, 0) == [1, 1]
        assert client("WAITAOF", 0, 2, 50) == [1, 1]
    replica.kill()
    replica.restart()
    assert replica("XLEN", "s") == 1


def test_one_confirmation_after_another_is_given_while_disks_sync(start: Start) -> None:
    primary, replica = start("forebay", appendonly="yes"), start("forebay", appendonly="yes")
    replica.follow(primary)
    with primary.client() as client:
        for _ in range(50):
            client.insist("XADD", "s", "*", "f", "v")
            assert client("WAIT", 1, 0) == 1
        assert client("WAITAOF", 1, 1, 0) == [1, 1]
    assert primary.info("stats")["sync_partial_ok"] == "0", "the link was never lost"


def test_a_replica_without_an_aof_confirms_no_disk(start: Start) -> None:
    primary, replica = start("forebay", appendonly="yes"), start("forebay")
    replica.follow(primary)
    with primary.client() as client:
        client.insist("XADD", "s", "*", "f", "v")
        assert client("WAITAOF", 1, 1, 100) == [1, 0]


def test_a_replica_has_nobody_to_wait_for(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with replica.client() as client:
        for words in (("WAIT", 0, 0), ("WAITAOF", 0, 0, 0)):
            reply = client(*words)
            assert isinstance(reply, ReplyError)
            assert "cannot be used with replica instances" in str(reply)
    wait_for_replicas(primary, [replica])
