"""SCAN, KEYS, RANDOMKEY: finding keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tests.support.replies import SYNTAX
from testkit.engine_client import EngineClient, ReplyError


def client_with(*keys: str) -> EngineClient:
    client = EngineClient()
    for key in keys:
        client("SET", key, "1")
    return client


def walk(client: EngineClient, *options: str) -> list[bytes]:
    found: list[bytes] = []
    cursor = b"0"
    for _ in range(10_000):
        cursor, keys = client("SCAN", cursor, *options)
        found += keys
        if cursor == b"0":
            return found
    raise AssertionError("the walk does not end")


# SCAN


def test_a_walk_over_an_empty_database_ends_at_once() -> None:
    assert EngineClient()("SCAN 0") == [b"0", []]


def test_a_walk_meets_every_key_once_if_nothing_changes() -> None:
    client = client_with(*map(str, range(95)))
    assert sorted(walk(client)) == sorted(b"%d" % i for i in range(95))


def test_count_says_how_many_keys_are_looked_at() -> None:
    client = client_with(*map(str, range(25)))
    cursor, keys = client("SCAN 0 COUNT 20")
    assert (cursor, len(keys)) == (b"5", 20)
    cursor, keys = client("SCAN", cursor, "COUNT", "20")
    assert (cursor, len(keys)) == (b"0", 5)


def test_match_and_type_leave_keys_out_but_not_the_way() -> None:
    client = client_with("a1", "a2", "b1")
    client("RPUSH a3 x")
    client("XADD", "a4", "1-1", "f", "v")
    assert sorted(walk(client, "MATCH", "a*", "TYPE", "STRING")) == [b"a1", b"a2"]
    assert walk(client, "TYPE", "stream") == [b"a4"]
    assert walk(client, "TYPE", "nonsense") == []


def test_a_key_past_its_time_is_left_out_and_removed() -> None:
    client = client_with("a", "b")
    client("PEXPIRE a 1")
    client.effects()
    client.now_ms += 2
    assert walk(client) == [b"b"]
    assert client.effects() == [[b"DEL", b"a"]]


@pytest.mark.parametrize(
    "cursor",
    ["x", "1x", "", "1 ", "18446744073709551616", "-", "1.0", "-1", "-9223372036854775808"],
)
def test_a_cursor_is_a_number(cursor: str) -> None:
    assert EngineClient()("SCAN", cursor) == ReplyError("ERR invalid cursor")


@pytest.mark.parametrize("cursor", ["-0", "+1", " 1", "18446744073709551615", "007", " -1", "1\0x"])
def test_any_number_will_do_as_a_cursor(cursor: str) -> None:
    assert client_with("a")("SCAN", cursor) == [b"0", [b"a"]]


@pytest.mark.parametrize(
    "options", ["COUNT 0", "COUNT -1", "COUNT", "MATCH", "TYPE", "FOO", "MATCH a FOO"]
)
def test_what_scan_does_not_know_is_a_syntax_error(options: str) -> None:
    assert EngineClient()("SCAN 0 " + options) == SYNTAX


def test_count_must_be_an_integer() -> None:
    expected = ReplyError("ERR value is not an integer or out of range")
    assert EngineClient()("SCAN 0 COUNT x") == expected


change = st.tuples(st.sampled_from(["SET", "DEL"]), st.integers(0, 30))


@given(st.sets(st.integers(0, 30)), st.lists(st.lists(change, max_size=6)), st.integers(1, 7))
def test_a_key_that_stays_is_met_whatever_happens_to_the_others(
    start: set[int], turns: list[list[tuple[str, int]]], count: int
) -> None:
    client = client_with(*map(str, start))
    staying, found, cursor = set(start), set(), b"0"
    for changes in [*turns, []]:
        cursor, keys = client("SCAN", cursor, "COUNT", count)
        found.update(map(int, keys))
        if cursor == b"0":
            break
        for name, key in changes:
            client(*([name, key] if name == "DEL" else [name, key, "1"]))
            if name == "DEL":
                staying.discard(key)
    else:
        found.update(map(int, walk_on(client, cursor)))
    assert staying <= found


def walk_on(client: EngineClient, cursor: bytes) -> list[bytes]:
    found: list[bytes] = []
    while cursor != b"0":
        cursor, keys = client("SCAN", cursor)
        found += keys
    return found


# KEYS


def test_keys_are_chosen_by_a_pattern() -> None:
    client = client_with("one", "two", "three")
    assert sorted(client("KEYS *")) == [b"one", b"three", b"two"]
    assert sorted(client("KEYS t*")) == [b"three", b"two"]
    assert client("KEYS [^t]?e") == [b"one"]
    assert client("KEYS x") == []


def test_keys_leaves_expired_keys_out_but_does_not_remove_them() -> None:
    client = client_with("a", "b")
    client("PEXPIRE a 1")
    client.now_ms += 2
    assert client("KEYS *") == [b"b"]
    assert client("DBSIZE") == 2


# RANDOMKEY


def test_a_random_key_is_any_of_the_keys() -> None:
    client = client_with("a", "b", "c")
    assert {client("RANDOMKEY") for _ in range(100)} == {b"a", b"b", b"c"}


def test_there_is_no_random_key_in_an_empty_database() -> None:
    assert EngineClient().raw("RANDOMKEY") == b"$-1\r\n"


def test_a_random_key_is_never_an_expired_one() -> None:
    client = client_with("a", "b", "c")
    client("PEXPIRE a 1")
    client("PEXPIRE b 1")
    client.now_ms += 2
    assert client("RANDOMKEY") == b"c"
    client("PEXPIRE c 1")
    client.now_ms += 2
    assert client("RANDOMKEY") is None
