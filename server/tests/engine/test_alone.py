"""Replication in an engine without a server around it: a primary without replicas."""

from __future__ import annotations

import pytest

from testkit.engine_client import BLOCKED, EngineClient, ReplyError

NO_LINKS = "ERR this server has no links to others"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("REPLICAOF localhost 6379", NO_LINKS),
        ("REPLCONF capa eof", NO_LINKS),
        ("PSYNC ? -1", NO_LINKS),
        ("PSYNC ? -1 FAILOVER", NO_LINKS),
        ("SYNC", NO_LINKS),
        ("FAILOVER", "ERR FAILOVER requires connected replicas."),
        ("FAILOVER ABORT", "ERR No failover in progress."),
    ],
)
def test_what_needs_another_server_is_refused(line: str, error: str) -> None:
    client = EngineClient()
    assert client(line) == ReplyError(error)
    assert client("ROLE") == [b"master", 0, []]


def test_a_primary_that_nobody_follows_stays_one() -> None:
    client = EngineClient()
    assert client("REPLICAOF NO ONE") == "OK"
    assert client("ROLE") == [b"master", 0, []]
    assert client("PUBLISH c m") == 0


def test_nobody_confirms_a_write() -> None:
    client = EngineClient()
    client("SET k v")
    assert client("WAIT 0 0") == 0
    assert client("WAIT 1 100") is BLOCKED
    client.sleep(100)
    assert client.read() == 0
