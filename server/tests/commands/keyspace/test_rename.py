"""RENAME and RENAMENX."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NO_SUCH_KEY
from testkit.engine_client import BLOCKED, EngineClient


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET a 1")
    client("SET b 2")
    client.effects()
    return client


def test_the_new_key_holds_the_value_and_the_old_one_is_gone(client: EngineClient) -> None:
    assert client("RENAME a b") == "OK"
    assert client("GET b") == b"1"
    assert client("EXISTS a") == 0


def test_the_expiry_time_goes_along_and_that_of_the_overwritten_key_is_lost(
    client: EngineClient,
) -> None:
    client("PEXPIREAT b 5000000")
    client("RENAME a b")
    assert client("PEXPIRETIME b") == -1
    client("PEXPIREAT b 6000000")
    client("RENAME b c")
    assert client("PEXPIRETIME c") == 6000000


def test_renamenx_leaves_an_existing_key_alone(client: EngineClient) -> None:
    assert client("RENAMENX a b") == 0
    assert client("RENAMENX a c") == 1
    assert client("MGET a b c") == [None, b"2", b"1"]


def test_an_expired_key_is_free_to_be_taken(client: EngineClient) -> None:
    client("PEXPIRE b 1")
    client.effects()
    client.now_ms += 2
    assert client("RENAMENX a b") == 1
    assert client.effects() == [[b"MULTI"], [b"DEL", b"b"], [b"RENAMENX", b"a", b"b"], [b"EXEC"]]


def test_a_key_may_be_renamed_to_itself_which_changes_nothing(client: EngineClient) -> None:
    assert client("RENAME a a") == "OK"
    assert client("RENAMENX a a") == 0
    assert client.effects() == []


@pytest.mark.parametrize("name", ["RENAME", "RENAMENX"])
def test_what_is_not_there_cannot_be_renamed(client: EngineClient, name: str) -> None:
    assert client(name, "missing", "missing") == NO_SUCH_KEY
    assert client(name, "missing", "b") == NO_SUCH_KEY
    assert client.effects() == []


def test_it_is_propagated_as_it_came(client: EngineClient) -> None:
    client("rename a b")
    assert client.effects() == [[b"rename", b"a", b"b"]]


def test_both_keys_are_told_of_it(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("RENAME a b")
    assert events() == [(0, "new", "b"), (0, "rename_from", "a"), (0, "rename_to", "b")]


@pytest.mark.parametrize("watched", ["a", "b"])
def test_it_breaks_a_watch_on_either_key(client: EngineClient, watched: str) -> None:
    client("WATCH", watched)
    client.new()("RENAME a b")
    client("MULTI")
    client("PING")
    assert client("EXEC") is None


def test_a_stream_renamed_to_an_awaited_key_wakes_its_reader(client: EngineClient) -> None:
    client("XADD", "here", "1-1", "f", "v")
    reader = client.new()
    assert reader("XREAD BLOCK 0 STREAMS there 0") is BLOCKED
    client("RENAME here there")
    assert reader.read() == [[b"there", [[b"1-1", [b"f", b"v"]]]]]


def test_a_group_reader_is_told_when_its_stream_is_renamed_away(client: EngineClient) -> None:
    client("XGROUP CREATE s g 0 MKSTREAM")
    reader = client.new()
    assert reader("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") is BLOCKED
    client("RENAME s elsewhere")
    assert reader.read().args[0].startswith("NOGROUP")


def test_a_list_renamed_to_an_awaited_key_is_popped(client: EngineClient) -> None:
    reader = client.new()
    assert reader("BLPOP there 0") is BLOCKED
    client("RPUSH here x y")
    client("RENAME here there")
    assert reader.read() == [b"there", b"x"]
    assert client("LRANGE there 0 -1") == [b"y"]
