"""DEL and UNLINK."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from testkit.engine_client import EngineClient


@pytest.mark.parametrize("name", ["DEL", "UNLINK"])
def test_it_answers_how_many_keys_were_there(name: str) -> None:
    client = EngineClient()
    client("MSET a 1 b 2")
    client("XADD", "s", "1-1", "f", "v")
    assert client(name, "a", "a", "s", "missing") == 2
    assert client("KEYS", "*") == [b"b"]


@pytest.mark.parametrize("name", ["DEL", "UNLINK"])
def test_it_is_propagated_as_it_came_if_a_key_was_there(name: str) -> None:
    client = EngineClient()
    client("SET a 1")
    client.effects()
    client(name, "missing")
    assert client.effects() == []
    client(name, "a", "missing")
    assert client.effects() == [[name.encode(), b"a", b"missing"]]


def test_each_deleted_key_is_an_event() -> None:
    client = EngineClient()
    events = listen(client)
    client("MSET a 1 b 2")
    events()
    client("DEL a missing b a")
    assert events() == [(0, "del", "a"), (0, "del", "b")]


def test_an_expired_key_is_not_counted_and_leaves_as_expired() -> None:
    client = EngineClient()
    events = listen(client)
    client("SET a 1 PX 10")
    client("SET b 1")
    client.effects()
    events()
    client.now_ms += 11
    assert client("DEL a b") == 1
    assert events() == [(0, "expired", "a"), (0, "del", "b")]
    assert client.effects() == [[b"MULTI"], [b"DEL", b"a"], [b"DEL", b"a", b"b"], [b"EXEC"]]


def test_it_breaks_a_watch() -> None:
    client = EngineClient()
    client("SET a 1")
    client("WATCH a")
    client.new()("DEL a")
    client("MULTI")
    client("PING")
    assert client("EXEC") is None
