"""XCLAIM: a consumer takes over pending entries."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.commands.api.notify_flags import KEYEVENT, NOTIFY_STREAM
from server.tests.support.many import COUNTS
from server.tests.support.replies import BAD_ID
from server.tests.support.stream_client import deliver, stream_client
from testkit.engine_client import START_MS, EngineClient, ReplyError

MOST = 9223372036854775807
ENTRY_2 = [b"2-0", [b"f", b"v"]]


@pytest.fixture
def client() -> EngineClient:
    """Five entries; alice has had the first four for 1000 ms."""
    client = stream_client()
    deliver(client, "g", "alice", 4)
    client.now_ms += 1000
    return client


def row(client: EngineClient, entry_id: str) -> Any:
    rows = client("XPENDING", "s", "g", entry_id, entry_id, "1")
    return rows[0] if rows else None


def claims(
    ids: str, consumer: str, time_ms: int, retrycount: int, last_id: str = "4-0"
) -> list[bytes]:
    """The record of a run of claims."""
    line = (
        f"XCLAIM s g {consumer} 0 {ids} TIME {time_ms} RETRYCOUNT {retrycount}"
        f" FORCE JUSTID LASTID {last_id}"
    )
    return line.encode().split()


# Its results


def test_it_answers_the_entries_it_claimed(client: EngineClient) -> None:
    assert client.raw("XCLAIM", "s", "g", "bob", "0", "2-0") == (
        b"*1\r\n*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    )
    assert row(client, "2-0") == [b"2-0", b"bob", 0, 2]


def test_fields_stay_a_flat_array_in_resp3(client: EngineClient) -> None:
    client("HELLO", "3")
    assert client.raw("XCLAIM", "s", "g", "bob", "0", "2-0") == (
        b"*1\r\n*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    )


def test_entries_come_in_the_order_asked_for(client: EngineClient) -> None:
    reply = client("XCLAIM", "s", "g", "bob", "0", "3-0", "1-0", "4-0", "2-0")
    assert [entry[0] for entry in reply] == [b"3-0", b"1-0", b"4-0", b"2-0"]


def test_an_id_that_comes_twice_is_claimed_twice(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "0", "2-0", "2-0") == [ENTRY_2, ENTRY_2]
    assert row(client, "2-0")[3] == 3


def test_it_may_claim_its_own_entries(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "alice", "0", "2-0") == [ENTRY_2]
    assert row(client, "2-0") == [b"2-0", b"alice", 0, 2]


def test_an_entry_is_claimed_only_after_the_idle_time(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "1001", "2-0") == []
    assert client("XCLAIM", "s", "g", "bob", "1000", "2-0") == [ENTRY_2]
    assert client("XCLAIM", "s", "g", "carol", "1", "2-0") == []


def test_a_negative_idle_time_is_none(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "-5", "2-0") == [ENTRY_2]


def test_what_was_given_back_is_claimed_whatever_the_idle_time(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "2-0")
    assert client("XCLAIM", "s", "g", "bob", "999999999999", "2-0") == [ENTRY_2]
    assert row(client, "2-0") == [b"2-0", b"bob", 0, 2]


def test_what_is_not_pending_is_passed_over(client: EngineClient) -> None:
    assert client.raw("XCLAIM", "s", "g", "bob", "0", "5-0", "9-0") == b"*0\r\n"


def test_justid_answers_ids_and_does_not_count_a_delivery(client: EngineClient) -> None:
    reply = client.raw("XCLAIM", "s", "g", "bob", "0", "2-0", "1-0", "JUSTID")
    assert reply == b"*2\r\n$3\r\n2-0\r\n$3\r\n1-0\r\n"
    assert row(client, "2-0") == [b"2-0", b"bob", 0, 1]


def test_idle_says_how_long_ago_it_was_delivered(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "IDLE", "300")
    assert row(client, "2-0")[2] == 300


def test_time_says_when_it_was_delivered(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "TIME", str(START_MS + 400))
    assert row(client, "2-0")[2] == 600


@pytest.mark.parametrize(
    "option",
    [
        ["IDLE", "-1"],
        ["IDLE", str(MOST)],
        ["IDLE", "-9223372036854775808"],
        ["TIME", "-1"],
        ["TIME", str(MOST)],
        ["TIME", "-9223372036854775808"],
    ],
)
def test_a_time_that_cannot_be_is_now(client: EngineClient, option: list[str]) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", *option)
    assert row(client, "2-0")[2] == 0


def test_a_primary_whose_clock_is_ahead_is_believed(client: EngineClient) -> None:
    link = client.new()
    link.session.is_replaying = True
    link("XCLAIM", "s", "g", "bob", "0", "2-0", "TIME", str(START_MS + 5000), "FORCE", "JUSTID")
    client.now_ms = START_MS + 5300
    assert row(client, "2-0")[2] == 300


def test_retrycount_sets_the_counter(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "RETRYCOUNT", "9")
    assert row(client, "2-0")[3] == 9
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "RETRYCOUNT", "0", "JUSTID")
    assert row(client, "2-0")[3] == 0


def test_a_negative_retrycount_is_as_if_not_given(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "RETRYCOUNT", "-3")
    assert row(client, "2-0")[3] == 2


def test_the_counter_stops_at_its_greatest_value(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "RETRYCOUNT", str(MOST))
    client("XCLAIM", "s", "g", "bob", "0", "2-0")
    assert row(client, "2-0")[3] == MOST


def test_force_makes_an_entry_pending(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "99999", "5-0", "FORCE") == [[b"5-0", [b"f", b"v"]]]
    assert row(client, "5-0") == [b"5-0", b"bob", 0, 2]


def test_a_forced_entry_starts_with_one_delivery(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "5-0", "FORCE", "JUSTID")
    assert row(client, "5-0") == [b"5-0", b"bob", 0, 1]


def test_force_does_not_bring_back_what_is_not_in_the_stream(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "0", "9-0", "FORCE") == []
    assert row(client, "9-0") is None


def test_a_pending_record_whose_entry_is_gone_is_dropped(client: EngineClient) -> None:
    client("XDEL", "s", "2-0")
    reply = client("XCLAIM", "s", "g", "bob", "99999", "2-0", "3-0", "FORCE")
    assert reply == []
    assert row(client, "2-0") is None
    assert client("XPENDING", "s", "g")[3] == [[b"alice", b"3"]]


def test_lastid_moves_the_group_up_and_never_down(client: EngineClient) -> None:
    def last_id() -> object:
        return client("XINFO", "GROUPS", "s")[0][7]

    client("XCLAIM", "s", "g", "bob", "0", "1-0", "LASTID", "2-0")
    assert last_id() == b"4-0"
    client("XCLAIM", "s", "g", "bob", "0", "1-0", "LASTID", "7")
    assert last_id() == b"7-0"
    assert client("XINFO", "GROUPS", "s")[0][9] == 4


def test_options_repeat_and_the_last_one_counts(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0", "IDLE", "5", "idle", "7", "FORCE", "force")
    assert row(client, "2-0")[2] == 7


# The consumer


def test_the_consumer_is_created_even_if_nothing_is_claimed(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "99999", "2-0")
    assert client("XINFO", "CONSUMERS", "s", "g")[1] == [
        b"name", b"bob", b"pending", 0, b"idle", 0, b"inactive", -1,
    ]  # fmt: skip


def test_seen_moves_always_and_active_only_with_a_claim(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0")
    client.now_ms += 50
    client("XCLAIM", "s", "g", "bob", "99999", "2-0")
    client.now_ms += 7
    assert client("XINFO", "CONSUMERS", "s", "g")[1] == [
        b"name", b"bob", b"pending", 1, b"idle", 7, b"inactive", 57,
    ]  # fmt: skip


def test_creating_the_consumer_raises_an_event_and_claiming_does_not(
    client: EngineClient,
) -> None:
    client.configure(notify_flags=KEYEVENT | NOTIFY_STREAM)
    listener = client.new()
    listener("PSUBSCRIBE", "*")
    client("XCLAIM", "s", "g", "bob", "0", "2-0")
    client("XCLAIM", "s", "g", "bob", "0", "3-0")
    events = [message[2] for message in listener.messages()]
    assert events == [b"__keyevent@0__:xgroup-createconsumer"]


# Its effects


def test_a_run_of_claims_is_one_record(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "1-0", "3-0", "2-0")
    assert client.effects() == [claims("1-0 3-0 2-0", "bob", client.now_ms, 2)]


def test_a_run_ends_where_the_counter_changes(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "2-0")
    client.effects()
    client("XCLAIM", "s", "g", "carol", "0", "1-0", "2-0", "3-0", "IDLE", "10")
    time_ms = client.now_ms - 10
    assert client.effects() == [
        [b"MULTI"],
        claims("1-0", "carol", time_ms, 2),
        claims("2-0", "carol", time_ms, 3),
        claims("3-0", "carol", time_ms, 2),
        [b"EXEC"],
    ]


def test_a_dropped_record_is_recorded_with_its_old_owner(client: EngineClient) -> None:
    client("XDEL", "s", "2-0", "3-0")
    client.effects()
    client("XCLAIM", "s", "g", "bob", "0", "1-0", "2-0", "3-0")
    assert client.effects() == [
        [b"MULTI"],
        claims("1-0", "bob", client.now_ms, 2),
        claims("2-0 3-0", "alice", START_MS, 1),
        [b"EXEC"],
    ]


def test_a_dropped_record_of_nobody_is_recorded_as_acknowledged(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "2-0")
    client("XDEL", "s", "2-0")
    client("XGROUP", "CREATECONSUMER", "s", "g", "bob")
    client.effects()
    client("XCLAIM", "s", "g", "bob", "0", "2-0")
    assert client.effects() == [[b"XACK", b"s", b"g", b"2-0"]]


def test_a_raised_last_id_goes_with_the_claims(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "1-0", "LASTID", "5-0")
    assert client.effects() == [claims("1-0", "bob", client.now_ms, 2, "5-0")]


def test_a_raised_last_id_without_claims_is_recorded_as_setid(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "alice", "0", "9-0", "LASTID", "5-0")
    setid = [b"XGROUP", b"SETID", b"s", b"g", b"5-0", b"ENTRIESREAD", b"4"]
    assert client.effects() == [setid]


def test_a_new_consumer_without_claims_is_recorded(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "9-0")
    assert client.effects() == [[b"XGROUP", b"CREATECONSUMER", b"s", b"g", b"bob"]]


def test_nothing_claimed_nothing_recorded(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "alice", "99999", "1-0", "9-0")
    assert client.effects() == []


def test_the_records_lead_to_the_same_state_elsewhere(client: EngineClient) -> None:
    twin = EngineClient(now_ms=client.now_ms)
    for i in (1, 2, 4, 5):
        twin("XADD", "s", f"{i}-0", "f", "v")
    twin("XGROUP", "CREATE", "s", "g", "0")
    client("XDEL", "s", "3-0")
    client("XCLAIM", "s", "g", "bob", "0", "1-0", "3-0")
    client("XCLAIM", "s", "g", "carol", "0", "1-0", "2-0", "4-0", "5-0", "FORCE")
    for command in client.effects():
        if command[0] in (b"XCLAIM", b"XGROUP"):
            twin(*command)
    rows = ["XPENDING", "s", "g", "-", "+", "10"]
    assert twin(*rows) == client(*rows)


def test_it_does_not_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XCLAIM", "s", "g", "bob", "0", "1-0")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [5]


# Errors


def test_key_and_group_are_checked_first(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XCLAIM", "none", "g", "c", "x", "bad") == ReplyError(
        "NOGROUP No such key 'none' or consumer group 'g'"
    )
    assert client("XCLAIM", "s", "none", "c", "x", "bad") == ReplyError(
        "NOGROUP No such key 's' or consumer group 'none'"
    )
    assert client("XCLAIM", "str", "g", "c", "x", "bad") == ReplyError(
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    )


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (["x", "bad"], "ERR Invalid min-idle-time argument for XCLAIM"),
        (["0", "1-0", "IDLE", "x"], "ERR Invalid IDLE option argument for XCLAIM"),
        (["0", "1-0", "TIME", "x"], "ERR Invalid TIME option argument for XCLAIM"),
        (["0", "1-0", "RETRYCOUNT", "x"], "ERR Invalid RETRYCOUNT option argument for XCLAIM"),
        (["0", "1-0", "bad", "2-0"], "ERR Unrecognized XCLAIM option 'bad'"),
        (["0", "-"], "ERR Unrecognized XCLAIM option '-'"),
        (["0", "1-0", "FORCE", "2-0"], "ERR Unrecognized XCLAIM option '2-0'"),
        (["0", "1-0", "IDLE"], "ERR Unrecognized XCLAIM option 'IDLE'"),
        (["0", "1-0", "LASTID"], "ERR Unrecognized XCLAIM option 'LASTID'"),
        (["0", "1-0", "a\r\nb"], "ERR Unrecognized XCLAIM option 'a  b'"),
    ],
)
def test_every_fault_has_its_text_and_changes_nothing(
    client: EngineClient, tail: list[str], error: str
) -> None:
    assert client("XCLAIM", "s", "g", "bob", *tail) == ReplyError(error)
    assert client.effects() == []
    assert len(client("XINFO", "CONSUMERS", "s", "g")) == 1


def test_a_bad_lastid_is_a_bad_id(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "0", "1-0", "LASTID", "x") == BAD_ID


def test_options_alone_claim_nothing(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "0", "JUSTID") == []


def test_it_needs_at_least_six_words(client: EngineClient) -> None:
    assert client("XCLAIM", "s", "g", "bob", "0") == ReplyError(
        "ERR wrong number of arguments for 'xclaim' command"
    )


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_ids_is_taken(client: EngineClient, count: int) -> None:
    ids = [f"{n}-0" for n in range(1, count + 1)]
    reply = client("XCLAIM", "s", "g", "bob", "0", *ids, "JUSTID")
    assert reply == [b"%d-0" % n for n in range(1, min(count, 4) + 1)]


def test_claims_across_many_nodes_find_their_entries() -> None:
    client = EngineClient(stream_node_max_entries=3)
    for i in range(1, 301):
        client("XADD", "s", f"{i}-0", "n", str(i))
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
    for i in range(5, 300, 7):
        client("XDEL", "s", f"{i}-0")
    wanted = [1, 2, 290, 17, 5, 18, 19, 12, 150, 151, 160, 299, 300, 1]
    reply = client("XCLAIM", "s", "g", "b", "0", *wanted)
    assert reply == [[b"%d-0" % n, [b"n", b"%d" % n]] for n in wanted if n % 7 != 5]
