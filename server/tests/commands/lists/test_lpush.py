"""LPUSH, RPUSH, LPOP, RPOP, LLEN, LRANGE."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

NOT_POSITIVE = ReplyError("ERR value is out of range, must be positive")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_elements_are_pushed_one_after_the_other(client: EngineClient) -> None:
    assert client("RPUSH list a b") == 2
    assert client("LPUSH list c d") == 4
    assert client("LRANGE list 0 -1") == [b"d", b"c", b"a", b"b"]
    assert client("LLEN list") == 4


def test_pushing_is_announced_and_propagated_as_it_came(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("LPUSH list a")
    client("RPUSH list b c")
    assert events() == [(0, "new", "list"), (0, "lpush", "list"), (0, "rpush", "list")]
    assert client.effects() == [[b"LPUSH", b"list", b"a"], [b"RPUSH", b"list", b"b", b"c"]]


def test_popping_takes_from_the_ends_and_the_key_goes_with_the_last(client: EngineClient) -> None:
    client("RPUSH list a b c")
    client.effects()
    events = listen(client)
    assert client("LPOP list") == b"a"
    assert client("RPOP list") == b"c"
    assert client("rpop list") == b"b"
    assert client("EXISTS list") == 0
    assert events() == [
        (0, "lpop", "list"), (0, "rpop", "list"), (0, "rpop", "list"), (0, "del", "list"),
    ]  # fmt: skip
    assert client.effects() == [[b"LPOP", b"list"], [b"RPOP", b"list"], [b"rpop", b"list"]]


def test_several_are_popped_at_once(client: EngineClient) -> None:
    client("RPUSH list a b c d e")
    assert client("LPOP list 2") == [b"a", b"b"]
    assert client("RPOP list 2") == [b"e", b"d"]
    assert client("LPOP list 9") == [b"c"]
    assert client("EXISTS list") == 0


def test_what_is_missing_is_null_or_a_null_array(client: EngineClient) -> None:
    assert client.raw("LPOP missing") == b"$-1\r\n"
    assert client.raw("LPOP missing 1") == b"*-1\r\n"
    assert client.raw("RPOP missing 0") == b"*-1\r\n"
    assert client.effects() == []


def test_none_of_an_existing_list_is_an_empty_array(client: EngineClient) -> None:
    client("RPUSH list a")
    client.effects()
    assert client.raw("LPOP list 0") == b"*0\r\n"
    assert client.effects() == []


@pytest.mark.parametrize("count", ["-1", "x", "1.5", "9223372036854775808"])
def test_a_count_is_a_positive_number(client: EngineClient, count: str) -> None:
    assert client("LPOP", "missing", count) == NOT_POSITIVE
    assert client("RPOP", "missing", count) == NOT_POSITIVE


def test_one_count_is_enough(client: EngineClient) -> None:
    expected = ReplyError("ERR wrong number of arguments for 'rpop' command")
    assert client("RPOP list 1 2") == expected


@pytest.mark.parametrize(
    "command", ["LPUSH s x", "RPUSH s x", "LPOP s", "RPOP s 0", "LLEN s", "LRANGE s 0 1"]
)
def test_only_lists_will_do(client: EngineClient, command: str) -> None:
    client("SADD s x")
    assert client(command) == WRONGTYPE


def test_a_missing_list_is_an_empty_one(client: EngineClient) -> None:
    assert client("LLEN missing") == 0
    assert client.raw("LRANGE missing 0 -1") == b"*0\r\n"


def test_lrange_wants_integers(client: EngineClient) -> None:
    expected = ReplyError("ERR value is not an integer or out of range")
    assert client("LRANGE missing 0 x") == expected
    assert client("LRANGE missing 1.0 0") == expected


@given(st.integers(0, 12), st.integers(-20, 20), st.integers(-20, 20))
def test_lrange_is_a_slice_with_both_ends(size: int, start: int, stop: int) -> None:
    client = EngineClient()
    items = [b"%d" % i for i in range(size)]
    if items:
        client("RPUSH", "list", *items)
    low = max(start + size, 0) if start < 0 else start
    high = stop + size if stop < 0 else stop
    assert client("LRANGE", "list", start, stop) == items[low : max(high + 1, 0)]


def test_a_push_breaks_a_watch(client: EngineClient) -> None:
    client("RPUSH list a")
    client("WATCH list")
    client.new()("RPUSH list b")
    client("MULTI")
    client("PING")
    assert client("EXEC") is None
