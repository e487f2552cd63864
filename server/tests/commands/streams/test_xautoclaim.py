"""XAUTOCLAIM: take over entries that have been idle for a long time."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.commands.api.notify_flags import KEYEVENT, NOTIFY_STREAM
from server.tests.support.stream_client import deliver, stream_client
from testkit.engine_client import START_MS, EngineClient, ReplyError

MOST = 9223372036854775807
# LONG_MAX / 16: the highest COUNT of Redis.
MOST_COUNT = 576460752303423487
BAD_COUNT = ReplyError("ERR COUNT must be > 0")
MAX_ID = "18446744073709551615-18446744073709551615"


@pytest.fixture
def client() -> EngineClient:
    """Ten entries, all alice's for 1000 ms."""
    client = stream_client(10)
    deliver(client, "g", "alice")
    client.now_ms += 1000
    return client


def names(*numbers: int) -> list[bytes]:
    return [b"%d-0" % n for n in numbers]


def row(client: EngineClient, entry_id: str) -> Any:
    rows = client("XPENDING", "s", "g", entry_id, entry_id, "1")
    return rows[0] if rows else None


def claims(ids: str, consumer: str, time_ms: int, retrycount: int) -> list[bytes]:
    line = (
        f"XCLAIM s g {consumer} 0 {ids} TIME {time_ms} RETRYCOUNT {retrycount}"
        " FORCE JUSTID LASTID 10-0"
    )
    return line.encode().split()


# The reply


def test_it_answers_cursor_entries_and_deleted_ids(client: EngineClient) -> None:
    client("XDEL", "s", "2-0")
    assert client.raw("XAUTOCLAIM", "s", "g", "bob", "0", "-", "COUNT", "3") == (
        b"*3\r\n$3\r\n4-0\r\n"
        b"*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
        b"*2\r\n$3\r\n3-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
        b"*1\r\n$3\r\n2-0\r\n"
    )


def test_the_reply_has_the_same_shape_in_resp3(client: EngineClient) -> None:
    client("HELLO", "3")
    assert client.raw("XAUTOCLAIM", "s", "g", "bob", "0", "10-0") == (
        b"*3\r\n$3\r\n0-0\r\n*1\r\n*2\r\n$4\r\n10-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n*0\r\n"
    )


def test_justid_answers_ids_and_does_not_count_a_delivery(client: EngineClient) -> None:
    reply = client.raw("XAUTOCLAIM", "s", "g", "bob", "0", "9", "justid")
    assert reply == b"*3\r\n$3\r\n0-0\r\n*2\r\n$3\r\n9-0\r\n$4\r\n10-0\r\n*0\r\n"
    assert row(client, "9-0") == [b"9-0", b"bob", 0, 1]


def test_without_justid_a_delivery_is_counted(client: EngineClient) -> None:
    client("XAUTOCLAIM", "s", "g", "bob", "0", "9")
    assert row(client, "9-0") == [b"9-0", b"bob", 0, 2]


def test_the_counter_stops_at_its_greatest_value(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FATAL", "IDS", "1", "9-0")
    client("XAUTOCLAIM", "s", "g", "bob", "0", "9")
    assert row(client, "9-0")[3] == MOST


def test_the_cursor_is_the_next_pending_entry(client: EngineClient) -> None:
    cursor: Any = "0-0"
    ids: list[bytes] = []
    for _ in range(4):
        cursor, claimed, _ = client(
            "XAUTOCLAIM", "s", "g", "bob", "1", cursor, "COUNT", "3", "JUSTID"
        )
        ids += claimed
    assert cursor == b"0-0"
    assert ids == names(*range(1, 11))


def test_the_cursor_is_zero_if_the_last_one_was_just_claimed(client: EngineClient) -> None:
    reply = client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "COUNT", "10", "JUSTID")
    assert reply == [b"0-0", names(*range(1, 11)), []]


def test_nothing_pending_is_an_empty_answer(client: EngineClient) -> None:
    client("XACK", "s", "g", *range(1, 11))
    assert client.raw("XAUTOCLAIM", "s", "g", "bob", "0", "-") == b"*3\r\n$3\r\n0-0\r\n*0\r\n*0\r\n"


def test_a_hundred_are_claimed_unless_count_says_otherwise() -> None:
    client = EngineClient()
    for i in range(1, 151):
        client("XADD", "s", f"{i}-0", "f", "v")
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    cursor, claimed, _ = client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "JUSTID")
    assert (cursor, len(claimed)) == (b"101-0", 100)


# Where it starts, what it takes


@pytest.mark.parametrize(
    ("start", "first"),
    [("-", 1), ("0", 1), ("5", 5), ("5-0", 5), ("(5-0", 6), ("5-1", 6), ("+", 0), ("11", 0)],
)
def test_start_may_be_any_bound(client: EngineClient, start: str, first: int) -> None:
    claimed = client("XAUTOCLAIM", "s", "g", "bob", "0", start, "JUSTID")[1]
    assert claimed == (names(*range(first, 11)) if first else [])


def test_only_what_has_been_idle_is_claimed(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "alice", "0", "2-0", "4-0")
    reply = client("XAUTOCLAIM", "s", "g", "bob", "1000", "-", "COUNT", "3", "JUSTID")
    assert reply == [b"6-0", names(1, 3, 5), []]
    assert client("XAUTOCLAIM", "s", "g", "bob", "1001", "-")[1] == []


def test_a_negative_idle_time_is_none(client: EngineClient) -> None:
    assert len(client("XAUTOCLAIM", "s", "g", "bob", "-1", "-")[1]) == 10


def test_what_was_given_back_is_claimed_whatever_the_idle_time(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "7-0")
    reply = client("XAUTOCLAIM", "s", "g", "bob", "999999999999", "-", "JUSTID")
    assert reply == [b"0-0", names(7), []]


def test_it_looks_at_ten_times_count_records(client: EngineClient) -> None:
    for i in range(11, 31):
        client("XADD", "s", f"{i}-0", "f", "v")
    client("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    client("XCLAIM", "s", "g", "alice", "0", *range(1, 31))
    client("XCLAIM", "s", "g", "alice", "0", "15-0", "IDLE", "5000")
    first = client("XAUTOCLAIM", "s", "g", "bob", "5000", "-", "COUNT", "1", "JUSTID")
    assert first == [b"11-0", [], []]
    second = client("XAUTOCLAIM", "s", "g", "bob", "5000", "11-0", "COUNT", "1", "JUSTID")
    assert second == [b"16-0", names(15), []]


# Entries that are gone


def test_records_of_deleted_entries_are_dropped_and_listed(client: EngineClient) -> None:
    client("XDEL", "s", "1-0", "5-0", "10-0")
    reply = client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "JUSTID")
    assert reply == [b"0-0", names(2, 3, 4, 6, 7, 8, 9), names(1, 5, 10)]
    assert client("XPENDING", "s", "g") == [7, b"2-0", b"9-0", [[b"bob", b"7"]]]


def test_dropped_records_count_toward_count(client: EngineClient) -> None:
    client("XDEL", "s", *names(1, 2, 3, 4))
    reply = client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "COUNT", "3", "JUSTID")
    assert reply == [b"4-0", [], names(1, 2, 3)]
    reply = client("XAUTOCLAIM", "s", "g", "bob", "0", "4-0", "COUNT", "2", "JUSTID")
    assert reply == [b"6-0", names(5), names(4)]


def test_dropped_records_need_not_have_been_idle(client: EngineClient) -> None:
    client("XDEL", "s", "3-0")
    reply = client("XAUTOCLAIM", "s", "g", "bob", "999999", "-", "JUSTID")
    assert reply == [b"0-0", [], names(3)]


def test_a_trimmed_stream_leaves_only_dropped_records(client: EngineClient) -> None:
    client("XTRIM", "s", "MAXLEN", "0")
    assert client("XAUTOCLAIM", "s", "g", "bob", "0", "-") == [b"0-0", [], names(*range(1, 11))]
    assert client("XPENDING", "s", "g")[0] == 0


def test_many_deleted_entries_between_live_ones() -> None:
    client = EngineClient(stream_node_max_entries=5)
    for i in range(1, 401):
        client("XADD", "s", f"{i}-0", "n", str(i))
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
    gone = [i for i in range(1, 401) if i % 3 == 0 or 100 < i < 200]
    client("XDEL", "s", *names(*gone))
    cursor, claimed, deleted = client("XAUTOCLAIM", "s", "g", "b", "0", "-", "COUNT", "1000")
    assert cursor == b"0-0"
    assert deleted == names(*gone)
    alive = [i for i in range(1, 401) if i not in gone]
    assert claimed == [[b"%d-0" % i, [b"n", b"%d" % i]] for i in alive]


# The consumer, events, records


def test_the_consumer_is_created_even_if_nothing_is_claimed(client: EngineClient) -> None:
    client.configure(notify_flags=KEYEVENT | NOTIFY_STREAM)
    listener = client.new()
    listener("PSUBSCRIBE", "*")
    client("XAUTOCLAIM", "s", "g", "bob", "99999", "-")
    client("XAUTOCLAIM", "s", "g", "bob", "0", "-")
    assert client("XINFO", "CONSUMERS", "s", "g")[1][1] == b"bob"
    events = [message[2] for message in listener.messages()]
    assert events == [b"__keyevent@0__:xgroup-createconsumer"]


def test_a_new_consumer_without_claims_is_recorded(client: EngineClient) -> None:
    client("XAUTOCLAIM", "s", "g", "bob", "99999", "-")
    assert client.effects() == [[b"XGROUP", b"CREATECONSUMER", b"s", b"g", b"bob"]]
    client("XAUTOCLAIM", "s", "g", "bob", "99999", "-")
    assert client.effects() == []


def test_claims_are_recorded_in_runs_and_drops_with_their_old_owner(
    client: EngineClient,
) -> None:
    client("XDEL", "s", "3-0", "4-0")
    client.effects()
    client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "COUNT", "6")
    assert client.effects() == [
        [b"MULTI"],
        claims("1-0 2-0", "bob", client.now_ms, 2),
        claims("3-0 4-0", "alice", START_MS, 1),
        claims("5-0 6-0", "bob", client.now_ms, 2),
        [b"EXEC"],
    ]


def test_a_dropped_record_of_nobody_is_recorded_as_acknowledged(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "1-0")
    client("XDEL", "s", "1-0")
    client.effects()
    client("XAUTOCLAIM", "s", "g", "alice", "0", "-", "COUNT", "1")
    assert client.effects() == [[b"XACK", b"s", b"g", b"1-0"]]


def test_it_does_not_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XAUTOCLAIM", "s", "g", "bob", "0", "-")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [10]


# Errors


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (["x", "bad", "FOO"], "ERR Invalid min-idle-time argument for XAUTOCLAIM"),
        (["0", "bad", "FOO"], "ERR Invalid stream ID specified as stream command argument"),
        (["0", "(-", "FOO"], "ERR Invalid stream ID specified as stream command argument"),
        (["0", "(" + MAX_ID, "FOO"], "ERR invalid start ID for the interval"),
        (["0", "-", "FOO"], "ERR syntax error"),
        (["0", "-", "COUNT"], "ERR syntax error"),
        (["0", "-", "COUNT", "0"], "ERR COUNT must be > 0"),
    ],
)
def test_arguments_are_checked_before_key_and_group(
    client: EngineClient, tail: list[str], error: str
) -> None:
    client("SET", "str", "v")
    for key in ("s", "none", "str"):
        assert client("XAUTOCLAIM", key, "none", "bob", *tail) == ReplyError(error)
    assert client.effects() == [[b"SET", b"str", b"v"]]


@pytest.mark.parametrize("count", ["0", "-1", "x", "1.0", str(MOST_COUNT + 1), str(MOST), "1" * 30])
def test_count_must_be_a_positive_number_that_is_not_too_large(
    client: EngineClient, count: str
) -> None:
    assert client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "COUNT", count) == BAD_COUNT


@pytest.mark.parametrize("count", [1 << 31, 1 << 32, 1 << 40, MOST_COUNT])
def test_a_huge_count_allocates_nothing_for_what_is_not_there(
    client: EngineClient, count: int
) -> None:
    client("XDEL", "s", "2-0")
    reply = client("XAUTOCLAIM", "s", "g", "bob", "0", "-", "COUNT", str(count), "JUSTID")
    assert reply == [b"0-0", names(1, *range(3, 11)), names(2)]


def test_without_key_or_group_it_is_nogroup(client: EngineClient) -> None:
    assert client("XAUTOCLAIM", "none", "g", "bob", "0", "-") == ReplyError(
        "NOGROUP No such key 'none' or consumer group 'g'"
    )
    assert client("XAUTOCLAIM", "s", "none", "bob", "0", "-") == ReplyError(
        "NOGROUP No such key 's' or consumer group 'none'"
    )


def test_another_type_is_wrongtype(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XAUTOCLAIM", "str", "g", "bob", "0", "-") == ReplyError(
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    )


def test_it_needs_at_least_six_words(client: EngineClient) -> None:
    assert client("XAUTOCLAIM", "s", "g", "bob", "0") == ReplyError(
        "ERR wrong number of arguments for 'xautoclaim' command"
    )
