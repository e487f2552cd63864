"""GET, MGET, GETDEL, GETSET, GETEX, STRLEN."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import START_MS, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET a 1")
    client("RPUSH list x")
    client.effects()
    return client


@pytest.mark.parametrize("name", ["GET", "GETDEL", "GETEX", "STRLEN"])
def test_only_strings_are_read(client: EngineClient, name: str) -> None:
    assert client(name, "list") == WRONGTYPE


@pytest.mark.parametrize("name", ["GET", "GETDEL", "GETEX"])
def test_what_is_missing_is_null(client: EngineClient, name: str) -> None:
    assert client.raw(name, "missing") == b"$-1\r\n"
    client("HELLO 3")
    assert client.raw(name, "missing") == b"_\r\n"
    assert client.effects() == []


def test_mget_has_null_for_what_is_no_string(client: EngineClient) -> None:
    assert client("MGET a list missing a") == [b"1", None, None, b"1"]


def test_strlen_of_nothing_is_nothing(client: EngineClient) -> None:
    client("SET b hello")
    assert [client("STRLEN", key) for key in ("b", "missing")] == [5, 0]


def test_getdel_deletes_what_it_answers(client: EngineClient) -> None:
    events = listen(client)
    assert client("GETDEL a") == b"1"
    assert client("EXISTS a") == 0
    assert client.effects() == [[b"DEL", b"a"]]
    assert events() == [(0, "del", "a")]


def test_getset_answers_what_it_overwrites(client: EngineClient) -> None:
    events = listen(client)
    client("EXPIRE a 100")
    events()
    client.effects()
    assert client("GETSET a 2") == b"1"
    assert client.raw("GETSET new 3") == b"$-1\r\n"
    assert client("MGET a new") == [b"2", b"3"]
    assert client("TTL a") == -1
    assert client.effects() == [b"SET a 2".split(), b"SET new 3".split()]
    assert events() == [(0, "set", "a"), (0, "set", "new")]
    assert client("GETSET list x") == WRONGTYPE


def test_a_string_that_was_changed_in_place_is_read_as_any_other(client: EngineClient) -> None:
    client("APPEND a 2")
    assert client("MGET a") == [b"12"]
    assert client("TYPE a") == "string"
    assert client("SCAN 0 TYPE string") == [b"0", [b"a"]]
    assert client("GETEX a") == client("GET a") == b"12"
    assert client("INCR a") == 13
    client("APPEND a 4")
    assert client("SET a new GET") == b"134"
    client("APPEND a er")
    assert client("GETSET a 1") == b"newer"
    client("APPEND a 0")
    assert client("GETDEL a") == b"10"


# GETEX


def test_getex_without_an_option_is_get(client: EngineClient) -> None:
    client("EXPIRE a 100")
    client.effects()
    assert client("GETEX a") == b"1"
    assert client("TTL a") == 100
    assert client.effects() == []


@pytest.mark.parametrize(
    ("option", "when_ms"),
    [("EX 10", START_MS + 10_000), ("PX 10", START_MS + 10), ("EXAT 2000", 2_000_000)],
)
def test_getex_sets_a_time(client: EngineClient, option: str, when_ms: int) -> None:
    events = listen(client)
    assert client("GETEX a " + option) == b"1"
    assert client("PEXPIRETIME a") == when_ms
    assert client.effects() == [[b"PEXPIREAT", b"a", b"%d" % when_ms]]
    assert events() == [(0, "expire", "a")]


def test_getex_with_a_time_that_is_past_deletes(client: EngineClient) -> None:
    assert client("GETEX a PXAT 5") == b"1"
    assert client("EXISTS a") == 0
    assert client.effects() == [[b"DEL", b"a"]]


def test_getex_persist_takes_the_time_away(client: EngineClient) -> None:
    client("GETEX a PERSIST")
    assert client.effects() == []
    client("EXPIRE a 100")
    client.effects()
    assert client("GETEX a PERSIST") == b"1"
    assert client("TTL a") == -1
    assert client.effects() == [[b"PERSIST", b"a"]]


@pytest.mark.parametrize("options", ["KEEPTTL", "NX", "EX 1 PERSIST", "EX", "PX 1 EX 1"])
def test_getex_knows_only_its_own_words(client: EngineClient, options: str) -> None:
    assert client("GETEX a " + options) == ReplyError("ERR syntax error")


def test_getex_looks_at_the_number_only_if_the_key_is_there(client: EngineClient) -> None:
    assert client("GETEX missing EX 0") is None
    assert client("GETEX a EX 0") == ReplyError("ERR invalid expire time in 'getex' command")
