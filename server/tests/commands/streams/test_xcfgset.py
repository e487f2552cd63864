"""XCFGSET: how long, and how many messages per producer, a stream remembers."""

from __future__ import annotations

import pytest

from server.tests.support.replies import NOT_AN_INTEGER
from testkit.engine_client import EngineClient, ReplyError

BAD_DURATION = ReplyError("ERR IDMP-DURATION must be between 1 and 86400 seconds")
BAD_MAXSIZE = ReplyError("ERR IDMP-MAXSIZE must be between 1 and 10000 entries")


@pytest.fixture
def client() -> EngineClient:
    """A stream that remembers one message."""
    client = EngineClient()
    client("XADD", "s", "IDMP", "p", "i", "*", "f", "v")
    client.effects()
    return client


def fields(client: EngineClient) -> list[int]:
    """Duration, maximum, producers, messages, added, duplicates."""
    values: list[int] = client("XINFO", "STREAM", "s")[15:26:2]
    return values


def test_a_value_is_set(client: EngineClient) -> None:
    assert client.raw("XCFGSET", "s", "IDMP-DURATION", "5") == b"+OK\r\n"
    assert client("XCFGSET", "s", "idmp-maxsize", "7") == "OK"
    assert fields(client)[:2] == [5, 7]


def test_both_may_be_set_at_once_in_any_order(client: EngineClient) -> None:
    assert client("XCFGSET", "s", "IDMP-MAXSIZE", "7", "IDMP-DURATION", "5") == "OK"
    assert fields(client)[:2] == [5, 7]


def test_the_ends_of_the_ranges_are_allowed(client: EngineClient) -> None:
    assert client("XCFGSET", "s", "IDMP-DURATION", "86400", "IDMP-MAXSIZE", "10000") == "OK"
    assert client("XCFGSET", "s", "IDMP-DURATION", "1", "IDMP-MAXSIZE", "1") == "OK"


def test_another_value_forgets_the_messages_and_keeps_the_counters(client: EngineClient) -> None:
    client("XADD", "s", "IDMP", "p", "i", "*", "f", "v")
    assert fields(client) == [100, 100, 1, 1, 1, 1]
    client("XCFGSET", "s", "IDMP-MAXSIZE", "99")
    assert fields(client) == [100, 99, 0, 0, 1, 1]
    client("XADD", "s", "IDMP", "p", "i", "*", "f", "v")
    assert client("XLEN", "s") == 2


def test_the_same_value_changes_nothing_and_is_not_recorded(client: EngineClient) -> None:
    assert client("XCFGSET", "s", "IDMP-DURATION", "100", "IDMP-MAXSIZE", "100") == "OK"
    assert fields(client) == [100, 100, 1, 1, 1, 0]
    assert client.effects() == []


def test_a_change_is_recorded_as_it_came(client: EngineClient) -> None:
    client("XCFGSET", "s", "IDMP-DURATION", "100", "IDMP-MAXSIZE", "5")
    assert client.effects() == [[b"XCFGSET", b"s", b"IDMP-DURATION", b"100", b"IDMP-MAXSIZE", b"5"]]


def test_the_key_is_looked_up_first(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XCFGSET", "none", "FOO") == ReplyError("ERR no such key")
    assert client("XCFGSET", "str", "FOO") == ReplyError(
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    )


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        ([], ReplyError("ERR At least one parameter must be specified")),
        (["FOO", "1"], ReplyError("ERR syntax error")),
        (["DURATION", "1"], ReplyError("ERR syntax error")),
        (["IDMP-DURATION"], ReplyError("ERR syntax error")),
        (["IDMP-MAXSIZE", "5", "x"], ReplyError("ERR syntax error")),
        (["IDMP-DURATION", "x"], NOT_AN_INTEGER),
        (["IDMP-MAXSIZE", "1.5"], NOT_AN_INTEGER),
        (["IDMP-DURATION", "0"], BAD_DURATION),
        (["IDMP-DURATION", "-1"], BAD_DURATION),
        (["IDMP-DURATION", "86401"], BAD_DURATION),
        (["IDMP-MAXSIZE", "0"], BAD_MAXSIZE),
        (["IDMP-MAXSIZE", "10001"], BAD_MAXSIZE),
        (
            ["IDMP-DURATION", "1", "IDMP-DURATION", "1"],
            ReplyError("ERR IDMP-DURATION specified multiple times"),
        ),
        (
            ["IDMP-MAXSIZE", "1", "IDMP-DURATION", "1", "IDMP-MAXSIZE", "1"],
            ReplyError("ERR IDMP-MAXSIZE specified multiple times"),
        ),
    ],
)
def test_every_fault_has_its_text_and_changes_nothing(
    client: EngineClient, tail: list[str], error: ReplyError
) -> None:
    assert client("XCFGSET", "s", *tail) == error
    assert fields(client) == [100, 100, 1, 1, 1, 0]
    assert client.effects() == []


def test_a_smaller_maximum_makes_the_oldest_messages_go(client: EngineClient) -> None:
    client("XCFGSET", "s", "IDMP-MAXSIZE", "2")
    for iid in ("a", "b", "c"):
        client("XADD", "s", "IDMP", "p", iid, "*", "f", "v")
    assert fields(client)[2:4] == [1, 2]


def test_it_does_not_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XCFGSET", "s", "IDMP-MAXSIZE", "2")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [1]
