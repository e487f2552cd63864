"""SORT and SORT_RO."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("RPUSH l 3 1 10 2")
    for name, weight in (("1", "30"), ("2", "20"), ("3", "5"), ("10", "1")):
        client("SET", f"w{name}", weight)
    client.effects()
    return client


def words(reply: list[bytes | None]) -> str:
    return " ".join("-" if word is None else word.decode() for word in reply)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "1 2 3 10"),
        ("DESC", "10 3 2 1"),
        ("ALPHA", "1 10 2 3"),
        ("LIMIT 1 2", "2 3"),
        ("LIMIT -5 2", "1 2"),
        ("LIMIT 9 2", ""),
        ("LIMIT 2 -1", "3 10"),
        ("BY w*", "10 3 2 1"),
        ("BY w* GET # GET w*", "10 1 3 5 2 20 1 30"),
        ("BY nosort", "3 1 10 2"),
        ("BY nosort DESC LIMIT 0 2", "2 10"),
        ("BY none* DESC", "3 2 10 1"),
        ("GET w*->field GET none", "- - - - - - - -"),
        ("BY w*->field", "1 10 2 3"),
        ("GET w*-> LIMIT 0 1", "-"),
        ("DESC ASC", "1 2 3 10"),
    ],
)
def test_a_list_is_sorted(client: EngineClient, options: str, expected: str) -> None:
    assert words(client("SORT l " + options)) == expected
    assert words(client("SORT_RO l " + options)) == expected
    assert client.effects() == []


def test_a_set_is_sorted(client: EngineClient) -> None:
    client("SADD s 3 1 10 2")
    assert words(client("SORT s DESC")) == "10 3 2 1"
    assert sorted(client("SORT s BY nosort")) == sorted([b"3", b"1", b"10", b"2"])


def test_what_is_stored_unsorted_of_a_set_is_the_same_everywhere(client: EngineClient) -> None:
    client("SADD s 3 1 10 2")
    assert client("SORT s BY nosort STORE dst") == 4
    assert words(client("LRANGE dst 0 -1")) == "1 10 2 3"


def test_equal_weights_are_in_the_order_of_the_elements(client: EngineClient) -> None:
    client("RPUSH names c a b")
    assert words(client("SORT names BY weight_*")) == "a b c"
    client("SET weight_a 1")
    assert words(client("SORT names BY weight_* ALPHA")) == "c b a"


def test_a_result_is_stored_as_a_list(client: EngineClient) -> None:
    client("SET dst 1 EX 100")
    events = listen(client)
    assert client("SORT l GET w* GET none* STORE dst") == 8
    assert words(client("LRANGE dst 0 -1")) == "30  20  5  1 "
    assert client("TTL dst") == -1
    assert client("SORT missing STORE dst") == 0
    assert client("SORT missing STORE dst") == 0
    assert client("EXISTS dst") == 0
    assert events() == [(0, "sortstore", "dst"), (0, "del", "dst")]
    assert client.effects()[1:] == [
        [b"SORT", b"l", b"GET", b"w*", b"GET", b"none*", b"STORE", b"dst"],
        [b"SORT", b"missing", b"STORE", b"dst"],
    ]


def test_a_stored_list_wakes_who_waits_for_it(client: EngineClient) -> None:
    waiting = client.new()
    assert waiting("BLPOP dst 0") is BLOCKED
    client("SORT l STORE dst")
    assert waiting.read() == [b"dst", b"1"]


@pytest.mark.parametrize("element", ["x", " 1", "1 ", "0x10", "nan", "1e", "--1", "1_0"])
def test_what_is_no_number_needs_alpha(client: EngineClient, element: str) -> None:
    client("RPUSH", "l", element)
    expected = ReplyError("ERR One or more scores can't be converted into double")
    assert client("SORT l") == expected
    assert client("SORT l STORE dst") == expected
    assert client("EXISTS dst") == 0
    assert len(client("SORT l ALPHA")) == 5


@pytest.mark.parametrize(
    ("element", "place"),
    [("", 0), ("+1", 0), ("-inf", 0), ("1e400", 4), ("Infinity", 4), (".5", 0), ("5.", 3),
     ("-0", 0), ("1e1", 4)],
)  # fmt: skip
def test_numbers_are_written_in_many_ways(client: EngineClient, element: str, place: int) -> None:
    client("RPUSH", "l", element)
    assert client("SORT l").index(element.encode()) == place


def test_only_lists_and_sets_are_sorted(client: EngineClient) -> None:
    client("XADD stream 1-1 f v")
    assert client("SORT stream") == WRONGTYPE
    assert client("SORT w1") == WRONGTYPE
    assert client("SORT missing") == []


@pytest.mark.parametrize("options", ["LIMIT 1", "STORE", "BY", "GET", "FOO", "LIMIT 1 2 3"])
def test_options_are_checked_before_anything(client: EngineClient, options: str) -> None:
    assert client("SORT w1 " + options) == SYNTAX


def test_the_read_only_one_stores_nothing(client: EngineClient) -> None:
    assert client("SORT_RO l STORE dst") == SYNTAX
    assert client("SORT l LIMIT x 1") == ReplyError("ERR value is not an integer or out of range")


def test_the_keys_of_a_call_are_found(client: EngineClient) -> None:
    call = "COMMAND GETKEYS SORT k BY STORE GET x STORE a LIMIT 1 STORE STORE b"
    assert client(call) == [b"k", b"b"]
    assert client("COMMAND GETKEYS SORT k STORE") == [b"k"]
    assert client("COMMAND GETKEYS SORT_RO k STORE b") == [b"k"]
    assert client("COMMAND GETKEYS LMPOP 2 a b LEFT") == [b"a", b"b"]
    assert client("COMMAND GETKEYS BLMPOP 0 1 a LEFT") == [b"a"]
    invalid = ReplyError("ERR Invalid arguments specified for command")
    assert client("COMMAND GETKEYS LMPOP 0 a LEFT") == invalid


def test_the_destination_is_overwritten_and_the_source_read(client: EngineClient) -> None:
    assert client("COMMAND GETKEYSANDFLAGS SORT k STORE dst") == [
        [b"k", ["RO", "access"]],
        [b"dst", ["OW", "update"]],
    ]
