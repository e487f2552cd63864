"""BLPOP and BRPOP."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_the_first_list_that_is_there_is_popped(client: EngineClient) -> None:
    client("RPUSH b 1 2")
    client("RPUSH c 3")
    client.effects()
    events = listen(client)
    assert client("BLPOP a b c 0") == [b"b", b"1"]
    assert client("BRPOP a b c 0") == [b"b", b"2"]
    assert client("EXISTS b") == 0
    assert client.effects() == [[b"LPOP", b"b"], [b"RPOP", b"b"]]
    assert events() == [(0, "lpop", "b"), (0, "rpop", "b"), (0, "del", "b")]


def test_a_client_waits_until_something_is_pushed(client: EngineClient) -> None:
    waiting = client.new()
    assert waiting("BLPOP a b 0") is BLOCKED
    client("RPUSH b 1 2")
    assert waiting.read() == [b"b", b"1"]
    assert client("LRANGE b 0 -1") == [b"2"]
    assert client.effects() == [[b"RPUSH", b"b", b"1", b"2"], [b"LPOP", b"b"]]


def test_clients_are_served_in_the_order_in_which_they_came(client: EngineClient) -> None:
    first, second, third = client.new(), client.new(), client.new()
    for each in (first, second, third):
        assert each("BRPOP list 0") is BLOCKED
    client("RPUSH list a b")
    assert (first.read(), second.read(), third.read()) == (
        [b"list", b"b"], [b"list", b"a"], BLOCKED,
    )  # fmt: skip


def test_time_runs_out_with_a_null_array(client: EngineClient) -> None:
    waiting = client.new()
    assert waiting("BLPOP list 0.5") is BLOCKED
    client.sleep(499)
    assert waiting.read() is BLOCKED
    client.sleep(1)
    assert waiting.session.out.take() == b"*-1\r\n"


def test_a_value_of_another_type_does_not_wake_anybody(client: EngineClient) -> None:
    waiting = client.new()
    assert waiting("BLPOP list 0") is BLOCKED
    client("SET list 1")
    client("DEL list")
    assert waiting.read() is BLOCKED
    client("RPUSH list x")
    assert waiting.read() == [b"list", b"x"]


def test_what_is_pushed_and_taken_in_one_transaction_wakes_nobody(client: EngineClient) -> None:
    waiting = client.new()
    assert waiting("BLPOP list 0") is BLOCKED
    for command in ("MULTI", "RPUSH list x", "DEL list", "EXEC"):
        client(command)
    assert waiting.read() is BLOCKED


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("BLPOP list 0", b"*1\r\n*-1\r\n"),
        ("BLMPOP 0 1 list LEFT", b"*1\r\n*-1\r\n"),
        ("BLMOVE list other LEFT LEFT 0", b"*1\r\n$-1\r\n"),
        ("BRPOPLPUSH list other 0", b"*1\r\n$-1\r\n"),
    ],
)
def test_in_a_transaction_nobody_waits(client: EngineClient, line: str, reply: bytes) -> None:
    client("MULTI")
    client(line)
    assert client.raw("EXEC") == reply


def test_a_key_of_another_type_is_refused_when_it_is_met(client: EngineClient) -> None:
    client("SET text 1")
    client("RPUSH list a b")
    assert client("BLPOP list text 0") == [b"list", b"a"]
    assert client("BLPOP missing text list 0") == WRONGTYPE


@pytest.mark.parametrize("timeout", ["x", "", "1_0", " 1", "nan", "0xzz", "1e5000"])
def test_a_timeout_is_a_number(client: EngineClient, timeout: str) -> None:
    expected = ReplyError("ERR timeout is not a float or out of range")
    assert client("BLPOP", "list", timeout) == expected


@pytest.mark.parametrize("timeout", ["-1", "-0.5", "-inf"])
def test_a_timeout_is_not_negative(client: EngineClient, timeout: str) -> None:
    assert client("BLPOP", "list", timeout) == ReplyError("ERR timeout is negative")


@pytest.mark.parametrize("timeout", ["inf", "1e18", "9223372036854775.807"])
def test_a_timeout_ends_before_time_does(client: EngineClient, timeout: str) -> None:
    assert client("BLPOP", "list", timeout) == ReplyError("ERR timeout is out of range")


@pytest.mark.parametrize("timeout", ["0x1p-1", "5e-1", ".5", "0.4991"])
def test_a_timeout_may_be_written_in_many_ways(client: EngineClient, timeout: str) -> None:
    assert client("BLPOP", "list", timeout) is BLOCKED
    client.sleep(499)
    assert client.read() is BLOCKED
    client.sleep(1)
    assert client.read() is None
