"""MOVE and SWAPDB: keys that change their database."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

OUT_OF_RANGE = ReplyError("ERR DB index is out of range")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


# MOVE


def test_a_moved_key_keeps_value_and_expiry_time(client: EngineClient) -> None:
    client("SET a 1 PXAT 5000000")
    assert client("MOVE a 1") == 1
    assert client("EXISTS a") == 0
    client("SELECT 1")
    assert client("GET a") == b"1"
    assert client("PEXPIRETIME a") == 5000000


def test_a_key_that_is_there_already_is_not_overwritten(client: EngineClient) -> None:
    client("SET a 1")
    client("COPY a a DB 1")
    assert client("MOVE a 1") == 0
    assert client("MOVE missing 1") == 0


def test_an_expired_key_in_the_other_database_gives_way(client: EngineClient) -> None:
    client("SELECT 1")
    client("SET a old PX 1")
    client("SELECT 0")
    client("SET a 1")
    client.effects()
    client.now_ms += 2
    assert client("MOVE a 1") == 1
    assert client.effects() == [
        [b"MULTI"],
        [b"SELECT", b"1"],
        [b"DEL", b"a"],
        [b"SELECT", b"0"],
        [b"MOVE", b"a", b"1"],
        [b"EXEC"],
    ]


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ("0", "ERR source and destination objects are the same"),
        ("16", "ERR DB index is out of range"),
        ("-1", "ERR DB index is out of range"),
        ("x", "ERR value is not an integer or out of range"),
    ],
)
def test_move_refuses_other_databases(client: EngineClient, index: str, text: str) -> None:
    client("SET a 1")
    assert client("MOVE", "a", index) == ReplyError(text)


def test_a_move_is_an_event_in_both_databases(client: EngineClient) -> None:
    client("SET a 1")
    client.effects()
    events = listen(client, "EAn")
    client("MOVE a 2")
    assert events() == [(2, "new", "a"), (0, "move_from", "a"), (2, "move_to", "a")]
    assert client.effects() == [[b"MOVE", b"a", b"2"]]


def test_a_moved_list_wakes_who_waits_for_it_there(client: EngineClient) -> None:
    reader = client.new()
    reader("SELECT 1")
    assert reader("BLPOP list 0") is BLOCKED
    client("RPUSH list x")
    client("MOVE list 1")
    assert reader.read() == [b"list", b"x"]


# SWAPDB


def test_swapped_databases_show_each_others_keys(client: EngineClient) -> None:
    client("SET a 1 PXAT 5000000")
    assert client("SWAPDB 0 1") == "OK"
    assert client("DBSIZE") == 0
    client("SELECT 1")
    assert client("PEXPIRETIME a") == 5000000
    assert client("SCAN 0") == [b"0", [b"a"]]


def test_keys_still_expire_after_a_swap(client: EngineClient) -> None:
    client("SET a 1 PX 50")
    client("SWAPDB 0 1")
    client.effects()
    client.sleep(1000)
    assert client.effects() == [[b"SELECT", b"1"], [b"DEL", b"a"]]


def test_a_swap_with_itself_is_fine_and_is_propagated(client: EngineClient) -> None:
    assert client("SWAPDB 2 2") == "OK"
    assert client.effects() == [[b"SWAPDB", b"2", b"2"]]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("x", "1", "ERR invalid first DB index"),
        ("0", "x", "ERR invalid second DB index"),
        ("0", "99999999999", "ERR invalid second DB index"),
        ("0", "16", "ERR DB index is out of range"),
        ("-1", "0", "ERR DB index is out of range"),
    ],
)
def test_swapdb_refuses_bad_indexes(
    client: EngineClient, first: str, second: str, text: str
) -> None:
    assert client("SWAPDB", first, second) == ReplyError(text)
    assert client.effects() == []


@pytest.mark.parametrize("database", ["0", "1"])
def test_a_swap_breaks_a_watch_in_both_databases(client: EngineClient, database: str) -> None:
    client("SET a 1")
    client("SELECT", database)
    client("WATCH a")
    client.new()("SWAPDB 0 1")
    client("MULTI")
    client("PING")
    assert client("EXEC") is None


def test_a_watch_on_a_key_that_neither_database_has_holds(client: EngineClient) -> None:
    client("SET a 1")
    client("WATCH b")
    client.new()("SWAPDB 0 1")
    client("MULTI")
    client("PING")
    assert client("EXEC") == ["PONG"]


def test_a_swap_wakes_who_waits_for_a_key_that_comes(client: EngineClient) -> None:
    client("XADD", "s", "1-1", "f", "v")
    reader = client.new()
    reader("SELECT 1")
    assert reader("XREAD BLOCK 0 STREAMS s 0") is BLOCKED
    client("SWAPDB 0 1")
    assert reader.read() == [[b"s", [[b"1-1", [b"f", b"v"]]]]]


def test_a_swap_tells_a_group_reader_that_its_stream_went_away(client: EngineClient) -> None:
    client("XGROUP CREATE s g 0 MKSTREAM")
    reader = client.new()
    assert reader("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") is BLOCKED
    client("SWAPDB 0 1")
    assert reader.read().args[0].startswith("NOGROUP")
