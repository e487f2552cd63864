"""WATCH and UNWATCH: EXEC fails when a key changed meanwhile, and only then."""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET a 1")
    client("XADD s 1-1 f v")
    client("XGROUP CREATE s g 0")
    return client


def outcome(client: EngineClient) -> object:
    client("MULTI")
    client("PING")
    return client("EXEC")


@pytest.mark.parametrize(
    "change",
    [
        "SET a 2",
        "DEL a",
        "APPEND a x",
        "EXPIRE a 100",
        "RENAME a b",
        "FLUSHALL",
        "FLUSHDB",
        "SWAPDB 0 1",
        "RPUSH new x",
        "XADD s 2-1 f v",
        "XDEL s 1-1",
        "XTRIM s MAXLEN 0",
    ],
)
def test_a_change_by_another_client_makes_exec_fail(client: EngineClient, change: str) -> None:
    assert client("WATCH a new s") == "OK"
    client.new()(change)
    assert outcome(client) is None
    assert outcome(client) == ["PONG"]


@pytest.mark.parametrize(
    "change", ["SET b 2", "GET a", "DEL none", "XREADGROUP GROUP g c STREAMS s >", "XACK s g 1-1"]
)
def test_what_is_no_change_of_the_value_leaves_exec_alone(
    client: EngineClient, change: str
) -> None:
    client("WATCH a new s")
    client.new()(change)
    assert outcome(client) == ["PONG"]


def test_an_own_change_counts_too(client: EngineClient) -> None:
    client("WATCH a")
    client("SET a 2")
    assert outcome(client) is None


def test_unwatch_and_discard_forget(client: EngineClient) -> None:
    client("WATCH a")
    client("SET a 2")
    assert client("UNWATCH") == "OK"
    assert outcome(client) == ["PONG"]
    client("WATCH a")
    client("SET a 2")
    client("MULTI")
    client("DISCARD")
    assert outcome(client) == ["PONG"]


def test_a_key_of_another_database_is_another_key(client: EngineClient) -> None:
    client("WATCH a")
    other = client.new()
    other("SELECT 1")
    other("SET a 1")
    assert outcome(client) == ["PONG"]
    client("SELECT 1")
    client("WATCH a")
    other("SET a 2")
    client("SELECT 0")
    assert outcome(client) is None


def test_a_key_that_expires_meanwhile_is_a_change(client: EngineClient) -> None:
    client("PEXPIRE a 100")
    client("WATCH a")
    client.now_ms += 101
    assert outcome(client) is None


def test_a_key_that_was_expired_already_is_no_change_when_it_is_removed(
    client: EngineClient,
) -> None:
    client("PEXPIRE a 100")
    client.now_ms += 101
    client("WATCH a")
    assert client.new()("GET a") is None
    assert outcome(client) == ["PONG"]


def test_watching_twice_is_watching_once(client: EngineClient) -> None:
    client("WATCH a a")
    client("WATCH a")
    assert len(client.session.watched) == 1
    client.close()
    assert all(not db.watchers for db in client.engine.keyspace.databases)


@pytest.mark.parametrize(
    ("here", "there", "runs"),
    [
        ("nothing", "expired", True),
        ("expired", "nothing", True),
        ("expired", "expired", True),
        ("nothing", "nothing", True),
        ("value", "expired", False),
        ("value", "nothing", False),
        ("nothing", "value", False),
        ("expired", "value", False),
    ],
)
def test_swapdb_is_no_change_if_the_key_was_and_is_gone_or_expired(
    here: str, there: str, runs: bool
) -> None:
    client = EngineClient()
    for index, state in enumerate((here, there)):
        client("SELECT", index)
        if state != "nothing":
            client("SET k v")
        if state == "expired":
            client("PEXPIRE k 10")
    client("SELECT 0")
    client.now_ms += 11
    client("WATCH k")
    client.new()("SWAPDB 0 1")
    assert outcome(client) == (["PONG"] if runs else None)


def test_an_expired_key_that_came_by_swapdb_may_be_removed(client: EngineClient) -> None:
    client("SELECT 1")
    client("SET k v PX 10")
    client("SELECT 0")
    client("WATCH k")
    client.now_ms += 11
    other = client.new()
    other("SWAPDB 0 1")
    assert other("GET k") is None
    assert outcome(client) == ["PONG"]
