"""XRANGE and XREVRANGE: entries between two IDs, in either direction."""

from __future__ import annotations

from random import Random

import pytest

from server.tests.support.replies import BAD_ID, NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

TOP = 2**64 - 1
BAD_START = ReplyError("ERR invalid start ID for the interval")
BAD_END = ReplyError("ERR invalid end ID for the interval")


@pytest.fixture
def client() -> EngineClient:
    """Entries 1-1, 1-2, 2-1, 2-2, ... 5-2, three to a node."""
    client = EngineClient(stream_node_max_entries=3)
    for ms in range(1, 6):
        for seq in (1, 2):
            client("XADD", "s", f"{ms}-{seq}", "n", f"{ms}{seq}")
    return client


def forward(client: EngineClient, *words: str) -> list[str]:
    return [entry[0].decode() for entry in client("XRANGE", "s", *words)]


def backward(client: EngineClient, *words: str) -> list[str]:
    return [entry[0].decode() for entry in client("XREVRANGE", "s", *words)]


@pytest.mark.parametrize("protocol", ["2", "3"])
def test_an_entry_is_its_id_and_a_flat_array(client: EngineClient, protocol: str) -> None:
    client("HELLO", protocol)
    client("XADD", "t", "1-0", "a", "1", "b", "text")
    expected = b"*1\r\n*2\r\n$3\r\n1-0\r\n*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$4\r\ntext\r\n"
    assert client.raw("XRANGE", "t", "-", "+") == expected
    assert client.raw("XREVRANGE", "t", "+", "-") == expected


def test_the_whole_stream_comes_in_order_and_in_reverse(client: EngineClient) -> None:
    everything = forward(client, "-", "+")
    assert everything == [f"{ms}-{seq}" for ms in range(1, 6) for seq in (1, 2)]
    assert backward(client, "+", "-") == everything[::-1]


def test_both_bounds_are_included(client: EngineClient) -> None:
    assert forward(client, "2-2", "3-1") == ["2-2", "3-1"]
    assert backward(client, "3-1", "2-2") == ["3-1", "2-2"]


def test_a_bound_without_sequence_means_the_whole_millisecond(client: EngineClient) -> None:
    assert forward(client, "2", "2") == ["2-1", "2-2"]
    assert backward(client, "2", "2") == ["2-2", "2-1"]


def test_a_parenthesis_leaves_the_bound_out(client: EngineClient) -> None:
    assert forward(client, "(2-1", "(3-1") == ["2-2"]
    assert backward(client, "(3-1", "(2-1") == ["2-2"]
    assert forward(client, "(2", "2") == ["2-1", "2-2"]
    assert forward(client, "2", "(2") == ["2-1", "2-2"]
    assert forward(client, f"(1-{TOP}", "(3-0") == ["2-1", "2-2"]


def test_bounds_between_entries_are_fine(client: EngineClient) -> None:
    assert forward(client, "2-3", "4-0") == ["3-1", "3-2"]
    assert forward(client, "6", "+") == []
    assert forward(client, "-", "1-0") == []


def test_a_start_behind_the_end_is_an_empty_array(client: EngineClient) -> None:
    assert client.raw("XRANGE", "s", "3", "2") == b"*0\r\n"
    assert client.raw("XREVRANGE", "s", "2", "3") == b"*0\r\n"
    assert client.raw("XRANGE", "s", "+", "-") == b"*0\r\n"


def test_deleted_entries_are_passed_over(client: EngineClient) -> None:
    client("XDEL", "s", "1-1", "2-2", "3-1", "3-2", "5-2")
    assert forward(client, "-", "+") == ["1-2", "2-1", "4-1", "4-2", "5-1"]
    assert backward(client, "+", "-", "COUNT", "2") == ["5-1", "4-2"]


def test_count_ends_the_reply(client: EngineClient) -> None:
    assert forward(client, "-", "+", "COUNT", "2") == ["1-1", "1-2"]
    assert backward(client, "+", "-", "count", "3") == ["5-2", "5-1", "4-2"]
    assert len(forward(client, "-", "+", "COUNT", "9223372036854775807")) == 10
    assert forward(client, "-", "+", "COUNT", "5", "COUNT", "1") == ["1-1"]


@pytest.mark.parametrize("count", ["0", "-1", "-9223372036854775808"])
def test_a_count_of_nothing_is_a_null_array(client: EngineClient, count: str) -> None:
    assert client.raw("XRANGE", "s", "-", "+", "COUNT", count) == b"*-1\r\n"
    client("HELLO", "3")
    assert client.raw("XREVRANGE", "s", "+", "-", "COUNT", count) == b"_\r\n"
    assert client.raw("XRANGE", "none", "-", "+", "COUNT", count) == b"*0\r\n"


def test_a_missing_key_is_an_empty_array(client: EngineClient) -> None:
    assert client.raw("XRANGE", "none", "-", "+") == b"*0\r\n"
    client("XTRIM", "s", "MAXLEN", "0")
    assert client.raw("XREVRANGE", "s", "+", "-") == b"*0\r\n"


@pytest.mark.parametrize("bad", ["", "x", "(", "(-", "(+", "1-", "-1", "$", ">", "*", "1-*", "((1"])
def test_a_bad_bound_is_an_error(client: EngineClient, bad: str) -> None:
    for command in ("XRANGE", "XREVRANGE"):
        assert client(command, "s", bad, "+") == BAD_ID
        assert client(command, "s", "-", bad) == BAD_ID


def test_an_open_bound_at_the_very_end_is_an_error(client: EngineClient) -> None:
    top = f"({TOP}-{TOP}"
    assert client("XRANGE", "s", top, "+") == client("XREVRANGE", "s", "+", top) == BAD_START
    assert client("XRANGE", "s", "-", f"({TOP}-{TOP}") == client("XRANGE", "s", "-", "+")


def test_an_open_end_at_the_very_start_is_an_error(client: EngineClient) -> None:
    assert client("XRANGE", "s", "-", "(0-0") == BAD_END
    assert client("XREVRANGE", "s", "(0-0", "-") == BAD_END
    assert client("XRANGE", "s", "-", "(0") == []


@pytest.mark.parametrize("count", ["x", "", "1.0", "+1", "01", "9223372036854775808"])
def test_count_must_be_a_number(client: EngineClient, count: str) -> None:
    assert client("XRANGE", "s", "-", "+", "COUNT", count) == NOT_AN_INTEGER


@pytest.mark.parametrize(
    "tail", [["COUNT"], ["FOO"], ["COUNT", "1", "FOO"], ["COUNT", "1", "COUNT"]]
)
def test_other_words_are_a_syntax_error(client: EngineClient, tail: list[str]) -> None:
    assert client("XRANGE", "s", "-", "+", *tail) == SYNTAX
    assert client("XREVRANGE", "s", "+", "-", *tail) == SYNTAX


def test_words_are_checked_before_the_key_and_start_before_end(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XRANGE", "str", "bad", "+") == BAD_ID
    assert client("XRANGE", "str", "-", "+", "COUNT", "x") == NOT_AN_INTEGER
    assert client("XRANGE", "str", "-", "+") == WRONGTYPE
    assert client("XRANGE", "str", "-", "+", "COUNT", "0") == WRONGTYPE
    top = f"({TOP}-{TOP}"
    assert client("XRANGE", "s", top, "bad") == BAD_START
    assert client("XREVRANGE", "s", "bad", top) == BAD_START


def test_a_wrong_number_of_words_is_an_arity_error(client: EngineClient) -> None:
    for name in ("xrange", "xrevrange"):
        error = ReplyError(f"ERR wrong number of arguments for '{name}' command")
        assert client(name, "s", "-") == client(name) == error


def test_the_largest_and_smallest_ids_are_entries_like_others(client: EngineClient) -> None:
    client("XADD", "t", "0-1", "f", "v")
    client("XADD", "t", f"{TOP}-{TOP}", "f", "v")
    top = f"{TOP}-{TOP}".encode()
    assert [e[0] for e in client("XRANGE", "t", "-", "+")] == [b"0-1", top]
    assert [e[0] for e in client("XRANGE", "t", "(0-1", "+")] == [top]
    assert [e[0] for e in client("XREVRANGE", "t", f"({TOP}-{TOP}", "-")] == [b"0-1"]


def test_entries_of_mixed_shapes_come_back_whole() -> None:
    dice = Random(7)
    client = EngineClient()
    expected = []
    for n in range(1, 400):
        names = dice.choice([[b"f"], [b"f", b"g"], [b"g", b"f"], [b"1", b"2", b"3"], [b""]])
        flat = []
        for name in names:
            value = dice.choice(
                [b"%d" % dice.randint(-(2**63), 2**63), b"x" * dice.randint(0, 200)]
            )
            flat += [name, value]
        client("XADD", "s", f"{n}-0", *flat)
        expected.append([b"%d-0" % n, flat])
    for n in range(3, 400, 7):
        client("XDEL", "s", f"{n}-0")
    live = [entry for n, entry in enumerate(expected, 1) if (n - 3) % 7]
    assert client("XRANGE", "s", "-", "+") == live
    assert client("XREVRANGE", "s", "+", "-") == live[::-1]


def test_they_record_nothing(client: EngineClient) -> None:
    client.effects()
    client("XRANGE", "s", "-", "+")
    client("XREVRANGE", "s", "+", "-")
    assert client.effects() == []
