"""XREAD: entries above given IDs, from several streams at once."""

from __future__ import annotations

import pytest

from server.tests.support.replies import BAD_ID, NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

TOP = 2**64 - 1
UNBALANCED = ReplyError(
    "ERR Unbalanced 'xread' list of streams: "
    "for each stream key an ID, '+', or '$' must be specified."
)
GREATER = ReplyError(
    "ERR The > ID can be specified only when calling XREADGROUP using the "
    "GROUP <group> <consumer> option."
)


@pytest.fixture
def client() -> EngineClient:
    """Stream a with 1-0 to 5-0, stream b with 1-0 and 2-0."""
    client = EngineClient(stream_node_max_entries=2)
    for key, count in (("a", 5), ("b", 2)):
        for n in range(1, count + 1):
            client("XADD", key, f"{n}-0", "f", f"{key}{n}")
    client("SET", "str", "v")
    client.effects()
    return client


def read(client: EngineClient, *words: str) -> dict[str, list[str]] | None:
    """The IDs that were returned, by stream."""
    reply = client("XREAD", *words)
    if reply is None:
        return None
    rows = reply.items() if isinstance(reply, dict) else reply
    return {key.decode(): [entry[0].decode() for entry in entries] for key, entries in rows}


# Shape


def test_in_resp2_the_reply_is_an_array_of_pairs(client: EngineClient) -> None:
    assert client.raw("XREAD", "STREAMS", "b", "1-0") == (
        b"*1\r\n*2\r\n$1\r\nb\r\n*1\r\n*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nf\r\n$2\r\nb2\r\n"
    )


def test_in_resp3_the_reply_is_a_map_and_entries_are_flat(client: EngineClient) -> None:
    client("HELLO", "3")
    assert client.raw("XREAD", "STREAMS", "b", "1-0") == (
        b"%1\r\n$1\r\nb\r\n*1\r\n*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nf\r\n$2\r\nb2\r\n"
    )


def test_nothing_at_all_is_a_null_array(client: EngineClient) -> None:
    for words in (["a", "5-0"], ["none", "0"], ["a", "$"], ["a", "none", "9", "$"]):
        assert client.raw("XREAD", "STREAMS", *words) == b"*-1\r\n"
    client("HELLO", "3")
    assert client.raw("XREAD", "STREAMS", "a", "5-0") == b"_\r\n"


# IDs


def test_it_reads_above_each_id(client: EngineClient) -> None:
    assert read(client, "STREAMS", "a", "b", "3-0", "0") == {
        "a": ["4-0", "5-0"],
        "b": ["1-0", "2-0"],
    }
    assert read(client, "STREAMS", "a", "4") == {"a": ["5-0"]}
    assert read(client, "STREAMS", "a", f"4-{TOP}") == {"a": ["5-0"]}


def test_a_stream_with_nothing_to_say_is_left_out(client: EngineClient) -> None:
    assert read(client, "STREAMS", "a", "none", "b", "5-0", "0", "1") == {"b": ["2-0"]}


def test_a_stream_may_be_asked_twice(client: EngineClient) -> None:
    reply = client("XREAD", "STREAMS", "b", "b", "0", "1-0")
    assert [len(entries) for _, entries in reply] == [2, 1]


def test_a_deleted_top_is_no_news(client: EngineClient) -> None:
    client("XDEL", "a", "5-0", "4-0")
    assert read(client, "STREAMS", "a", "3-0") is None
    assert read(client, "STREAMS", "a", "2-0") == {"a": ["3-0"]}
    client("XTRIM", "a", "MAXLEN", "0")
    assert read(client, "STREAMS", "a", "0") is None


def test_plus_is_the_last_entry_alone(client: EngineClient) -> None:
    assert read(client, "STREAMS", "a", "b", "+", "+") == {"a": ["5-0"], "b": ["2-0"]}
    assert read(client, "COUNT", "10", "STREAMS", "a", "+") == {"a": ["5-0"]}
    client("XDEL", "a", "5-0")
    assert read(client, "STREAMS", "a", "+") == {"a": ["4-0"]}
    client("XTRIM", "a", "MAXLEN", "0")
    assert read(client, "STREAMS", "a", "none", "+", "+") is None


def test_the_largest_id_is_read_and_has_nothing_above_it(client: EngineClient) -> None:
    top = f"{TOP}-{TOP}"
    client("XADD", "a", top, "f", "v")
    assert read(client, "STREAMS", "a", "5-0") == {"a": [top]}
    assert read(client, "STREAMS", "a", "+") == {"a": [top]}
    assert read(client, "STREAMS", "a", top) is None


# COUNT


def test_count_bounds_each_stream(client: EngineClient) -> None:
    expected = {"a": ["1-0", "2-0"], "b": ["1-0", "2-0"]}
    assert read(client, "COUNT", "2", "STREAMS", "a", "b", "0", "0") == expected
    assert read(client, "COUNT", "1", "count", "2", "STREAMS", "a", "b", "0", "0") == expected


@pytest.mark.parametrize("count", ["0", "-1", "9223372036854775807", "-9223372036854775808"])
def test_a_count_of_nothing_is_no_bound(client: EngineClient, count: str) -> None:
    assert read(client, "COUNT", count, "STREAMS", "a", "2") == {"a": ["3-0", "4-0", "5-0"]}


# Errors


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["STREAMS", "a", "b", "0"], UNBALANCED),
        (["STREAMS", "a", "b", "c"], UNBALANCED),
        (["STREAMS", "a", ">"], GREATER),
        (["STREAMS", "a", "-"], BAD_ID),
        (["STREAMS", "a", "(1-0"], BAD_ID),
        (["STREAMS", "a", "x"], BAD_ID),
        (["STREAMS", "a", "*"], BAD_ID),
        (["STREAMS", "a", ""], BAD_ID),
        (["STREAMS", "a", "$$"], BAD_ID),
        (["COUNT", "x", "STREAMS", "a", "0"], NOT_AN_INTEGER),
        (["COUNT", "1.0", "STREAMS", "a", "0"], NOT_AN_INTEGER),
        (["FOO", "STREAMS", "a", "0"], SYNTAX),
        (["COUNT", "1", "BLOCK", "2"], SYNTAX),
        (["COUNT", "1", "STREAMS"], SYNTAX),
        (["COUNT", "STREAMS", "a", "0"], NOT_AN_INTEGER),
        (
            ["BLOCK", "x", "STREAMS", "a", "0"],
            ReplyError("ERR timeout is not an integer or out of range"),
        ),
        (
            ["BLOCK", "1.5", "STREAMS", "a", "0"],
            ReplyError("ERR timeout is not an integer or out of range"),
        ),
        (["BLOCK", "-1", "STREAMS", "a", "0"], ReplyError("ERR timeout is negative")),
        (
            ["BLOCK", "9223372036854775807", "STREAMS", "a", "0"],
            ReplyError("ERR timeout is out of range"),
        ),
        *[
            (
                words,
                ReplyError(
                    f"ERR The {words[0]} option is only supported by XREADGROUP. "
                    "You called XREAD instead."
                ),
            )
            for words in (
                ["GROUP", "g", "c", "STREAMS", "a", "0"],
                ["NOACK", "STREAMS", "a", "0"],
                ["CLAIM", "x", "STREAMS", "a", "0"],
            )
        ],
    ],
)
def test_each_mistake_has_its_error(
    client: EngineClient, words: list[str], error: ReplyError
) -> None:
    assert client("XREAD", *words) == error


def test_too_few_words_are_an_arity_error(client: EngineClient) -> None:
    arity = ReplyError("ERR wrong number of arguments for 'xread' command")
    assert client("XREAD", "STREAMS", "a") == client("XREAD") == arity


def test_keys_are_checked_left_to_right_type_before_id(client: EngineClient) -> None:
    assert client("XREAD", "STREAMS", "str", "a", "bad", "bad") == WRONGTYPE
    assert client("XREAD", "STREAMS", "a", "str", "bad", "0") == BAD_ID
    assert client("XREAD", "STREAMS", "a", "str", "0", "bad") == WRONGTYPE
    assert client("XREAD", "STREAMS", "none", "a", "0", ">") == GREATER


def test_an_error_comes_before_any_entry(client: EngineClient) -> None:
    assert client.raw("XREAD", "STREAMS", "a", "b", "0", "bad").startswith(b"-ERR Invalid")


def test_options_may_be_called_like_keys_and_keys_like_options(client: EngineClient) -> None:
    client("XADD", "STREAMS", "7-0", "f", "v")
    client("XADD", "COUNT", "8-0", "f", "v")
    assert read(client, "STREAMS", "STREAMS", "COUNT", "0", "0") == {
        "STREAMS": ["7-0"],
        "COUNT": ["8-0"],
    }
    assert read(client, "streams", "COUNT", "0") == {"COUNT": ["8-0"]}


def test_it_records_nothing_and_disturbs_nobody(client: EngineClient) -> None:
    client("WATCH", "a")
    client("XREAD", "STREAMS", "a", "0")
    client("MULTI")
    client("XREAD", "BLOCK", "0", "STREAMS", "a", "$")
    assert client("EXEC") == [None]
    assert client.effects() == []


# Waiting (more in server/tests/engine/test_blocking.py)


def test_dollar_is_fixed_when_the_wait_begins(client: EngineClient) -> None:
    reader = client.new()
    assert reader("XREAD", "BLOCK", "0", "STREAMS", "a", "none", "$", "$") is BLOCKED
    client("XSETID", "a", "9-0")
    client("XADD", "a", "10-0", "f", "v")
    assert reader.read() == [[b"a", [[b"10-0", [b"f", b"v"]]]]]
    assert reader("XREAD", "BLOCK", "0", "STREAMS", "none", "$") is BLOCKED
    client("XADD", "none", "0-1", "f", "v")
    assert reader.read() == [[b"none", [[b"0-1", [b"f", b"v"]]]]]


def test_an_entry_below_the_id_does_not_wake(client: EngineClient) -> None:
    reader = client.new()
    assert reader("XREAD", "BLOCK", "0", "STREAMS", "a", "7-0") is BLOCKED
    client("XADD", "a", "6-0", "f", "v")
    assert reader.read() is BLOCKED
    client("XADD", "a", "7-1", "f", "v")
    assert reader.read() == [[b"a", [[b"7-1", [b"f", b"v"]]]]]


def test_plus_waits_for_the_first_entry_and_gives_the_last(client: EngineClient) -> None:
    reader = client.new()
    assert reader("XREAD", "BLOCK", "0", "STREAMS", "new", "+") is BLOCKED
    for words in (["MULTI"], ["XADD", "new", "1-0", "f", "v"], ["XADD", "new", "2-0", "f", "w"]):
        client(*words)
    assert reader.read() is BLOCKED
    client("EXEC")
    assert reader.read() == [[b"new", [[b"2-0", [b"f", b"w"]]]]]


def test_a_key_that_was_deleted_is_waited_for_with_the_old_id(client: EngineClient) -> None:
    client("XADD", "s", "666-0", "f", "v")
    reader = client.new()
    assert reader("XREAD", "BLOCK", "0", "STREAMS", "s", "$") is BLOCKED
    client("DEL", "s")
    client("XADD", "s", "665-0", "f", "v")
    assert reader.read() is BLOCKED
    client("XADD", "s", "667-0", "f", "v")
    assert reader.read() == [[b"s", [[b"667-0", [b"f", b"v"]]]]]


def test_the_protocol_of_the_waiting_client_shapes_the_reply(client: EngineClient) -> None:
    reader = client.new()
    reader("HELLO", "3")
    reader("XREAD", "BLOCK", "50", "STREAMS", "b", "$")
    client("XADD", "b", "3-0", "f", "v")
    assert reader.session.out.take() == (
        b"%1\r\n$1\r\nb\r\n*1\r\n*2\r\n$3\r\n3-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    )
    reader("XREAD", "BLOCK", "50", "STREAMS", "b", "$")
    client.sleep(50)
    assert reader.session.out.take() == b"_\r\n"


def test_what_is_there_is_given_at_once_and_all_keys_are_looked_at(client: EngineClient) -> None:
    assert read(client, "BLOCK", "0", "STREAMS", "none", "a", "b", "$", "4", "1") == {
        "a": ["5-0"],
        "b": ["2-0"],
    }
