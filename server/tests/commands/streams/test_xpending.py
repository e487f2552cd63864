"""XPENDING: entries that were delivered and not acknowledged."""

from __future__ import annotations

import pytest

from server.tests.support.replies import BAD_ID, NOT_AN_INTEGER, SYNTAX
from server.tests.support.stream_client import deliver, stream_client
from testkit.engine_client import EngineClient, ReplyError

MAX_ID = "18446744073709551615-18446744073709551615"


@pytest.fixture
def client() -> EngineClient:
    """1-0 and 2-0 are alice's since 1000 ms, 3-0 and 4-0 bob's since now; 5-0 is unread."""
    client = stream_client()
    deliver(client, "g", "alice", 2)
    client.now_ms += 1000
    deliver(client, "g", "bob", 2)
    return client


def ids(reply: list[list[bytes]]) -> list[bytes]:
    return [row[0] for row in reply]


# The summary


def test_the_summary_has_total_ends_and_consumers_with_counts_as_strings(
    client: EngineClient,
) -> None:
    assert client.raw("XPENDING", "s", "g") == (
        b"*4\r\n:4\r\n$3\r\n1-0\r\n$3\r\n4-0\r\n"
        b"*2\r\n*2\r\n$5\r\nalice\r\n$1\r\n2\r\n*2\r\n$3\r\nbob\r\n$1\r\n2\r\n"
    )


def test_the_summary_of_nothing_has_two_nulls_and_a_null_array(client: EngineClient) -> None:
    client("XACK", "s", "g", "1", "2", "3", "4")
    assert client.raw("XPENDING", "s", "g") == b"*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n"
    client("HELLO", "3")
    assert client.raw("XPENDING", "s", "g") == b"*4\r\n:0\r\n_\r\n_\r\n_\r\n"


def test_consumers_without_pending_entries_are_left_out_of_the_summary(
    client: EngineClient,
) -> None:
    client("XACK", "s", "g", "1", "2")
    client("XGROUP", "CREATECONSUMER", "s", "g", "carol")
    assert client("XPENDING", "s", "g")[3] == [[b"bob", b"2"]]


def test_consumers_stand_in_the_order_of_their_names(client: EngineClient) -> None:
    for name in ("zoe", "Zoe", "al", ""):
        client("XADD", "s", "*", "f", "v")
        client("XREADGROUP", "GROUP", "g", name, "COUNT", "1", "STREAMS", "s", ">")
    names = [row[0] for row in client("XPENDING", "s", "g")[3]]
    assert names == sorted(names) == [b"", b"Zoe", b"al", b"alice", b"bob", b"zoe"]


def test_what_was_given_back_counts_in_the_total_and_for_nobody(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "4", "1", "2", "3", "4")
    assert client.raw("XPENDING", "s", "g") == b"*4\r\n:4\r\n$3\r\n1-0\r\n$3\r\n4-0\r\n*0\r\n"


# Entry by entry


def test_a_row_has_id_consumer_idle_time_and_deliveries(client: EngineClient) -> None:
    client.now_ms += 5
    assert client.raw("XPENDING", "s", "g", "-", "+", "2") == (
        b"*2\r\n*4\r\n$3\r\n1-0\r\n$5\r\nalice\r\n:1005\r\n:1\r\n"
        b"*4\r\n$3\r\n2-0\r\n$5\r\nalice\r\n:1005\r\n:1\r\n"
    )
    before = client.raw("XPENDING", "s", "g", "-", "+", "10")
    client("HELLO", "3")
    assert client.raw("XPENDING", "s", "g", "-", "+", "10") == before


def test_a_row_of_nobody_has_an_empty_consumer_and_idle_minus_one(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "2-0")
    assert client("XPENDING", "s", "g", "2", "2", "1") == [[b"2-0", b"", -1, 1]]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("-", "+", [1, 2, 3, 4]),
        ("2-0", "3-0", [2, 3]),
        ("2", "3", [2, 3]),
        ("(1-0", "(4-0", [2, 3]),
        ("(1", "(4", [2, 3, 4]),
        ("5", "+", []),
        ("3", "2", []),
        ("+", "-", []),
    ],
)
def test_both_bounds_may_be_open_or_without_sequence(
    client: EngineClient, start: str, end: str, expected: list[int]
) -> None:
    found = ids(client("XPENDING", "s", "g", start, end, "10"))
    assert found == [b"%d-0" % n for n in expected]


@pytest.mark.parametrize(("count", "expected"), [("0", 0), ("-7", 0), ("1", 1), ("100", 4)])
def test_count_is_the_most_rows_shown(client: EngineClient, count: str, expected: int) -> None:
    assert len(client("XPENDING", "s", "g", "-", "+", count)) == expected


def test_count_may_be_as_large_as_a_number_gets(client: EngineClient) -> None:
    assert len(client("XPENDING", "s", "g", "-", "+", "9223372036854775807")) == 4


def test_one_consumer_can_be_asked_for(client: EngineClient) -> None:
    assert ids(client("XPENDING", "s", "g", "-", "+", "10", "bob")) == [b"3-0", b"4-0"]
    assert ids(client("XPENDING", "s", "g", "(3-0", "+", "10", "bob")) == [b"4-0"]
    assert client.raw("XPENDING", "s", "g", "-", "+", "10", "nobody") == b"*0\r\n"
    assert client.raw("XPENDING", "s", "g", "-", "+", "10", "") == b"*0\r\n"


def test_idle_leaves_out_what_was_delivered_lately(client: EngineClient) -> None:
    assert ids(client("XPENDING", "s", "g", "IDLE", "1000", "-", "+", "10")) == [b"1-0", b"2-0"]
    assert client("XPENDING", "s", "g", "idle", "1001", "-", "+", "10") == []
    assert ids(client("XPENDING", "s", "g", "IDLE", "1", "-", "+", "1", "alice")) == [b"1-0"]
    assert client("XPENDING", "s", "g", "IDLE", "1", "-", "+", "9", "bob") == []
    assert len(client("XPENDING", "s", "g", "IDLE", "-5", "-", "+", "9")) == 4


def test_idle_never_leaves_out_what_was_given_back(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "3-0")
    assert ids(client("XPENDING", "s", "g", "IDLE", "9999999999999", "-", "+", "9")) == [b"3-0"]


def test_what_idle_leaves_out_does_not_use_up_the_count(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "alice", "0", "4-0", "IDLE", "5000")
    assert ids(client("XPENDING", "s", "g", "IDLE", "5000", "-", "+", "1")) == [b"4-0"]


def test_a_clock_that_went_back_shows_idle_zero(client: EngineClient) -> None:
    client.now_ms -= 500
    assert client("XPENDING", "s", "g", "3", "3", "1") == [[b"3-0", b"bob", 0, 1]]
    assert client("XPENDING", "s", "g", "IDLE", "1", "3", "3", "1") == []


def test_entries_deleted_from_the_stream_stay_pending(client: EngineClient) -> None:
    client("XDEL", "s", "1-0")
    assert ids(client("XPENDING", "s", "g", "-", "+", "1")) == [b"1-0"]


def test_surplus_words_up_to_nine_are_ignored(client: EngineClient) -> None:
    reply = client("XPENDING", "s", "g", "-", "+", "10", "bob", "junk", "more")
    assert ids(reply) == [b"3-0", b"4-0"]


# Errors


@pytest.mark.parametrize(
    "tail",
    [
        ["-"],
        ["-", "+"],
        ["-", "+", "1", "a", "b", "c", "d"],
        ["IDLE", "1", "-"],
        ["IDLE", "1", "-", "+"],
    ],
)
def test_too_few_or_too_many_words_are_a_syntax_error(
    client: EngineClient, tail: list[str]
) -> None:
    assert client("XPENDING", "s", "g", *tail) == SYNTAX


def test_the_idle_time_is_read_before_the_words_are_counted(client: EngineClient) -> None:
    assert client("XPENDING", "s", "g", "IDLE", "x", "-") == NOT_AN_INTEGER


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (["bad", "bad", "x"], NOT_AN_INTEGER),
        (["IDLE", "x", "bad", "bad", "x"], NOT_AN_INTEGER),
        (["bad", "+", "1"], BAD_ID),
        (["-", "bad", "1"], BAD_ID),
        (["(-", "+", "1"], BAD_ID),
        (["-", "(+", "1"], BAD_ID),
        (["(", "+", "1"], BAD_ID),
        (["(" + MAX_ID, "+", "1"], ReplyError("ERR invalid start ID for the interval")),
        (["-", "(0-0", "1"], ReplyError("ERR invalid end ID for the interval")),
    ],
)
def test_arguments_are_checked_before_key_and_group(
    client: EngineClient, tail: list[str], error: ReplyError
) -> None:
    client("SET", "str", "v")
    for key in ("s", "none", "str"):
        assert client("XPENDING", key, "nobody", *tail) == error


def test_without_key_or_group_it_is_nogroup(client: EngineClient) -> None:
    for tail in ([], ["-", "+", "1"]):
        assert client("XPENDING", "s", "x", *tail) == ReplyError(
            "NOGROUP No such key 's' or consumer group 'x'"
        )
        assert client("XPENDING", "none", "g", *tail) == ReplyError(
            "NOGROUP No such key 'none' or consumer group 'g'"
        )


def test_another_type_is_wrongtype(client: EngineClient) -> None:
    client("SET", "str", "v")
    for tail in ([], ["-", "+", "1"]):
        assert client("XPENDING", "str", "g", *tail) == ReplyError(
            "WRONGTYPE Operation against a key holding the wrong kind of value"
        )


def test_it_changes_nothing(client: EngineClient) -> None:
    client("XPENDING", "s", "g")
    client("XPENDING", "s", "g", "-", "+", "10", "newcomer")
    assert client.effects() == []
    assert len(client("XINFO", "CONSUMERS", "s", "g")) == 2


def test_a_large_list_is_shown_whole_and_in_order() -> None:
    client = EngineClient()
    for i in range(1, 2001):
        client("XADD", "s", f"{i}-0", "f", "v")
    client("XGROUP", "CREATE", "s", "g", "0")
    for name in ("a", "b", "c"):
        client("XREADGROUP", "GROUP", "g", name, "COUNT", "600", "STREAMS", "s", ">")
    reply = client("XPENDING", "s", "g", "-", "+", "5000")
    assert ids(reply) == [b"%d-0" % i for i in range(1, 1801)]
    assert ids(client("XPENDING", "s", "g", "700", "+", "2", "c")) == [b"1201-0", b"1202-0"]
