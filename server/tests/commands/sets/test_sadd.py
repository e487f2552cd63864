"""SADD, SREM, SISMEMBER, SMEMBERS, SCARD."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import EngineClient


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_members_are_there_once(client: EngineClient) -> None:
    assert client("SADD set a b a") == 2
    assert client("SADD set b c") == 1
    assert sorted(client("SMEMBERS set")) == [b"a", b"b", b"c"]
    assert client("SCARD set") == 3
    assert [client("SISMEMBER", "set", member) for member in "ax"] == [1, 0]


def test_removing_answers_how_many_were_there(client: EngineClient) -> None:
    client("SADD set a b")
    assert client("SREM set a x a") == 1
    assert client("SREM missing a") == 0


def test_the_key_goes_with_the_last_member(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("SADD set a")
    client("SREM set a")
    assert client("EXISTS set") == 0
    assert events() == [
        (0, "new", "set"),
        (0, "sadd", "set"),
        (0, "srem", "set"),
        (0, "del", "set"),
    ]


def test_what_changes_nothing_is_neither_propagated_nor_announced(client: EngineClient) -> None:
    client("SADD set a")
    assert client.effects() == [[b"SADD", b"set", b"a"]]
    events = listen(client)
    client("SADD set a")
    client("SREM set x")
    assert client.effects() == []
    assert events() == []
    client("SREM set a x")
    assert client.effects() == [[b"SREM", b"set", b"a", b"x"]]


def test_nothing_is_an_empty_set(client: EngineClient) -> None:
    assert client.raw("SMEMBERS missing") == b"*0\r\n"
    client("HELLO 3")
    assert client.raw("SMEMBERS missing") == b"~0\r\n"
    assert client("SCARD missing") == 0
    assert client("SISMEMBER missing a") == 0


@pytest.mark.parametrize(
    "command", ["SADD text a", "SREM text a", "SISMEMBER text a", "SMEMBERS text", "SCARD text"]
)
def test_only_sets_will_do(client: EngineClient, command: str) -> None:
    client("SET text 1")
    assert client(command) == WRONGTYPE
