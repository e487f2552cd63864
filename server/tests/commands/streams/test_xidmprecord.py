"""XIDMPRECORD: restore a known message in a stream's memory."""

from __future__ import annotations

import pytest

from server.tests.support.replies import BAD_ID
from testkit.engine_client import EngineClient, ReplyError

OTHER_ENTRY = ReplyError("ERR IID already exists for this producer with a different stream ID")


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("XADD", "s", "1-0", "f", "v")
    client("XADD", "s", "2-0", "f", "v")
    client.effects()
    return client


def test_a_recorded_message_is_a_duplicate_from_then_on(client: EngineClient) -> None:
    assert client.raw("XIDMPRECORD", "s", "p", "i", "1-0") == b"+OK\r\n"
    assert client("XADD", "s", "IDMP", "p", "i", "*", "f", "v") == b"1-0"
    assert client("XLEN", "s") == 2


def test_it_is_recorded_as_it_came_once(client: EngineClient) -> None:
    client("XIDMPRECORD", "s", "p", "i", "1-0")
    assert client("XIDMPRECORD", "s", "p", "i", "1") == "OK"
    assert client.effects() == [[b"XIDMPRECORD", b"s", b"p", b"i", b"1-0"]]


def test_the_same_message_cannot_be_two_entries(client: EngineClient) -> None:
    client("XIDMPRECORD", "s", "p", "i", "1-0")
    assert client("XIDMPRECORD", "s", "p", "i", "2-0") == OTHER_ENTRY
    assert client("XIDMPRECORD", "s", "q", "i", "2-0") == "OK"


def test_the_entry_must_be_in_the_stream(client: EngineClient) -> None:
    missing = ReplyError("ERR No such message in stream")
    assert client("XIDMPRECORD", "s", "p", "i", "3-0") == missing
    client("XDEL", "s", "1-0")
    assert client("XIDMPRECORD", "s", "p", "i", "1-0") == missing


def test_the_oldest_message_of_the_producer_makes_room(client: EngineClient) -> None:
    client("XCFGSET", "s", "IDMP-MAXSIZE", "1")
    client("XIDMPRECORD", "s", "p", "a", "1-0")
    client("XIDMPRECORD", "s", "p", "b", "2-0")
    info = client("XINFO", "STREAM", "s")
    assert info[18:24] == [b"pids-tracked", 1, b"iids-tracked", 1, b"iids-added", 2]


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (["", "", "bad"], BAD_ID),
        (["", "", "1-0"], ReplyError("ERR producer ID must be non-empty")),
        (["p", "", "1-0"], ReplyError("ERR idempotent ID must be non-empty")),
        (["p", "i", "1-0"], ReplyError("ERR no such key")),
    ],
)
def test_arguments_are_checked_before_the_key(
    client: EngineClient, tail: list[str], error: ReplyError
) -> None:
    assert client("XIDMPRECORD", "none", *tail) == error


def test_another_type_is_wrongtype(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XIDMPRECORD", "str", "p", "i", "1-0") == ReplyError(
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    )


@pytest.mark.parametrize("words", [["s", "p", "i"], ["s", "p", "i", "1-0", "x"]])
def test_it_takes_exactly_four_arguments(client: EngineClient, words: list[str]) -> None:
    assert client("XIDMPRECORD", *words) == ReplyError(
        "ERR wrong number of arguments for 'xidmprecord' command"
    )
