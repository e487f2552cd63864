"""INCR, DECR, INCRBY, DECRBY, APPEND, MSET: changing strings."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NOT_AN_INTEGER, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

OVERFLOW = ReplyError("ERR increment or decrement would overflow")
MAX, MIN = 2**63 - 1, -(2**63)


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


@pytest.mark.parametrize(
    ("command", "expected"),
    [("INCR n", 6), ("DECR n", 4), ("INCRBY n -7", -2), ("DECRBY n -7", 12)],
)
def test_counting(client: EngineClient, command: str, expected: int) -> None:
    client("SET n 5 EX 100")
    client.effects()
    events = listen(client)
    assert client(command) == expected
    assert client("GET n") == b"%d" % expected
    assert client("TTL n") == 100
    assert client.effects() == [command.encode().split()]
    assert events() == [(0, "incrby", "n")]


def test_a_missing_number_is_zero(client: EngineClient) -> None:
    assert client("DECRBY n 3") == -3


@pytest.mark.parametrize("value", ["", "x", "1.5", " 1", "01", "+1", "-0", str(MAX + 1)])
def test_only_a_number_is_counted_up(client: EngineClient, value: str) -> None:
    client("SET", "n", value)
    assert client("INCR n") == NOT_AN_INTEGER
    assert client("INCRBY", "m", value) == NOT_AN_INTEGER
    assert client("EXISTS m") == 0


def test_numbers_have_64_bits(client: EngineClient) -> None:
    client("SET", "n", MAX)
    assert client("INCR n") == OVERFLOW
    assert client("DECRBY n -1") == OVERFLOW
    client("SET", "n", MIN)
    assert client("DECR n") == OVERFLOW
    assert client("DECRBY", "n", MIN) == ReplyError("ERR decrement would overflow")
    assert client("INCRBY", "n", MAX) == -1


@pytest.mark.parametrize("command", ["INCR list", "DECRBY list 1", "APPEND list x"])
def test_only_strings_change_this_way(client: EngineClient, command: str) -> None:
    client("RPUSH list x")
    assert client(command) == WRONGTYPE


# APPEND


def test_append_makes_or_lengthens_a_string(client: EngineClient) -> None:
    events = listen(client, "EAn")
    assert client("APPEND a hello") == 5
    assert client("APPEND", "a", " world") == 11
    assert client("GET a") == b"hello world"
    assert events() == [(0, "new", "a"), (0, "append", "a"), (0, "append", "a")]
    assert client.effects()[0] == [b"APPEND", b"a", b"hello"]


def test_append_of_nothing_still_makes_a_key(client: EngineClient) -> None:
    assert client("APPEND", "a", "") == 0
    assert client("EXISTS a") == 1


def test_a_string_has_a_greatest_length(client: EngineClient) -> None:
    client.configure(proto_max_bulk_len=10)
    client("SET a 123456")
    expected = ReplyError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
    assert client("APPEND a 12345") == expected
    assert client("APPEND a 1234") == 10


# MSET


def test_mset_sets_all_of_them(client: EngineClient) -> None:
    client("SET a old EX 100")
    client.effects()
    events = listen(client)
    assert client("MSET a 1 b 2 a 3") == "OK"
    assert client("MGET a b") == [b"3", b"2"]
    assert client("TTL a") == -1
    assert client.effects() == [b"MSET a 1 b 2 a 3".split()]
    assert events() == [(0, "set", "a"), (0, "set", "b"), (0, "set", "a")]


def test_mset_wants_pairs(client: EngineClient) -> None:
    expected = ReplyError("ERR wrong number of arguments for 'mset' command")
    assert client("MSET a 1 b") == expected
    assert client("EXISTS a") == 0
