"""EXISTS, TOUCH, TYPE, DBSIZE: asking about keys without changing them."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from testkit.engine_client import EngineClient


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET text 1")
    client("RPUSH list a")
    client("SADD set a")
    client("XADD", "stream", "1-1", "f", "v")
    return client


@pytest.mark.parametrize("name", ["EXISTS", "TOUCH"])
def test_a_key_named_twice_counts_twice(client: EngineClient, name: str) -> None:
    assert client(name, "text", "text", "missing", "stream") == 3


def test_type_names_every_kind_of_value(client: EngineClient) -> None:
    keys = ("text", "list", "set", "stream", "missing")
    assert [client("TYPE", key) for key in keys] == ["string", "list", "set", "stream", "none"]


def test_dbsize_counts_the_keys_of_one_database(client: EngineClient) -> None:
    assert client("DBSIZE") == 4
    client("SELECT 1")
    assert client("DBSIZE") == 0


def test_a_key_past_its_time_does_not_exist(client: EngineClient) -> None:
    client("PEXPIRE text 10")
    client.now_ms += 10
    assert client("EXISTS text") == 1
    client.now_ms += 1
    assert client("DBSIZE") == 4
    assert client("EXISTS text") == 0
    assert client("DBSIZE") == 3


def test_looking_propagates_nothing(client: EngineClient) -> None:
    client.effects()
    client("EXISTS text")
    client("TOUCH text")
    client("TYPE text")
    assert client.effects() == []


def test_hits_and_misses_are_counted_and_a_miss_is_an_event(client: EngineClient) -> None:
    events = listen(client, "Em")
    stats = client.engine.services.stats
    hits, misses = stats.keyspace_hits, stats.keyspace_misses
    client("EXISTS text missing")
    client("GET missing")
    assert (stats.keyspace_hits - hits, stats.keyspace_misses - misses) == (1, 2)
    assert events() == [(0, "keymiss", "missing")] * 2
