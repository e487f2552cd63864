"""XREADGROUP: new entries for a consumer, its history, and the group afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import BAD_ID, NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from testkit.engine_client import START_MS, EngineClient, ReplyError

TOP = 2**64 - 1
MISSING_GROUP = ReplyError("ERR Missing GROUP option for XREADGROUP")
UNBALANCED = ReplyError(
    "ERR Unbalanced 'xreadgroup' list of streams: "
    "for each stream key an ID or '>' must be specified."
)


def no_group(key: str, group: str) -> ReplyError:
    return ReplyError(
        f"NOGROUP No such key '{key}' or consumer group '{group}' in XREADGROUP with GROUP option"
    )


def meaningless(sign: str) -> ReplyError:
    return ReplyError(
        f"ERR The {sign} ID is meaningless in the context of XREADGROUP: you want to read the "
        "history of this consumer by specifying a proper ID, or use the > ID to get new "
        f"messages. The {sign} ID would just return an empty result set."
    )


@pytest.fixture
def client() -> EngineClient:
    """Streams s and t with 1-0 to 4-0, and group g at their beginning."""
    client = EngineClient(stream_node_max_entries=3)
    for key in "st":
        client("XGROUP", "CREATE", key, "g", "0", "MKSTREAM")
        for n in range(1, 5):
            client("XADD", key, f"{n}-0", "f", f"{n}")
    client("SET", "str", "v")
    client.effects()
    return client


def read(client: EngineClient, *words: str, who: str = "alice") -> Any:
    return client("XREADGROUP", "GROUP", "g", who, *words)


def ids(reply: Any) -> list[str]:
    """The IDs of a reply about one stream."""
    assert len(reply) == 1
    return [entry[0].decode() for entry in reply[0][1]]


def pending(client: EngineClient) -> list[tuple[str, str, int, int]]:
    rows = client("XPENDING", "s", "g", "-", "+", "100")
    return [(row[0].decode(), row[1].decode(), row[2], row[3]) for row in rows]


def consumers(client: EngineClient) -> dict[bytes, list[int]]:
    """Name -> pending, idle, inactive."""
    return {row[1]: [row[3], row[5], row[7]] for row in client("XINFO", "CONSUMERS", "s", "g")}


# New entries


def test_in_resp2_the_reply_is_an_array_of_pairs(client: EngineClient) -> None:
    reply = client.raw("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">")
    assert reply == b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n"


def test_in_resp3_the_reply_is_a_map_and_entries_are_flat(client: EngineClient) -> None:
    client("HELLO", "3")
    reply = client.raw("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">")
    assert reply == b"%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n"


def test_each_entry_goes_to_one_consumer_and_becomes_pending(client: EngineClient) -> None:
    assert ids(read(client, "COUNT", "3", "STREAMS", "s", ">")) == ["1-0", "2-0", "3-0"]
    client.now_ms += 70
    assert ids(read(client, "STREAMS", "s", ">", who="bob")) == ["4-0"]
    assert client.raw("XREADGROUP", "GROUP", "g", "bob", "STREAMS", "s", ">") == b"*-1\r\n"
    assert pending(client) == [
        ("1-0", "alice", 70, 1),
        ("2-0", "alice", 70, 1),
        ("3-0", "alice", 70, 1),
        ("4-0", "bob", 0, 1),
    ]


def test_a_stream_with_nothing_new_is_left_out(client: EngineClient) -> None:
    read(client, "STREAMS", "s", ">")
    reply = read(client, "COUNT", "1", "STREAMS", "s", "t", ">", ">")
    assert [key for key, _ in reply] == [b"t"]
    assert len(read(client, "STREAMS", "t", "s", "t", ">", "0", ">")) == 2


def test_a_deleted_top_is_no_news(client: EngineClient) -> None:
    read(client, "COUNT", "2", "STREAMS", "s", ">")
    client("XDEL", "s", "3-0", "4-0")
    assert read(client, "STREAMS", "s", ">") is None


def test_an_entry_that_is_pending_already_changes_hands_and_counts_anew(
    client: EngineClient,
) -> None:
    read(client, "STREAMS", "s", ">")
    read(client, "STREAMS", "s", "0")
    client("XGROUP", "SETID", "s", "g", "2-0")
    client.now_ms += 10
    assert ids(read(client, "STREAMS", "s", ">", who="bob")) == ["3-0", "4-0"]
    rows = pending(client)
    assert [row[1:] for row in rows[:2]] == [("alice", 10, 2)] * 2
    assert [row[1:] for row in rows[2:]] == [("bob", 0, 1)] * 2


@pytest.mark.parametrize("count", ["0", "-1"])
def test_a_count_of_nothing_is_no_bound(client: EngineClient, count: str) -> None:
    assert len(ids(read(client, "COUNT", count, "STREAMS", "s", ">"))) == 4


def test_the_largest_id_means_new_entries_too(client: EngineClient) -> None:
    assert ids(read(client, "COUNT", "2", "STREAMS", "s", f"{TOP}-{TOP}")) == ["1-0", "2-0"]
    assert ids(read(client, "COUNT", "2", "STREAMS", "s", f"{TOP}-{TOP - 1}")) == []


def test_names_may_be_empty_or_binary(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "", "0")
    reply = client("XREADGROUP", "GROUP", "", "", "COUNT", "1", "STREAMS", "s", ">")
    assert ids(reply) == ["1-0"]
    reply = client("XREADGROUP", "GROUP", "g", b"\x00\xff", "COUNT", "1", "STREAMS", "s", ">")
    assert ids(reply) == ["1-0"]
    assert list(consumers(client)) == [b"\x00\xff"]


def test_with_noack_nothing_becomes_pending(client: EngineClient) -> None:
    assert ids(read(client, "NOACK", "COUNT", "3", "STREAMS", "s", ">")) == ["1-0", "2-0", "3-0"]
    assert pending(client) == []
    assert ids(read(client, "noack", "STREAMS", "s", ">")) == ["4-0"]
    assert consumers(client) == {b"alice": [0, 0, -1]}


def test_entries_read_and_lag_follow(client: EngineClient) -> None:
    read(client, "COUNT", "3", "STREAMS", "s", ">")
    group = client("XINFO", "GROUPS", "s")[0]
    assert group[6:] == [b"last-delivered-id", b"3-0", b"entries-read", 3, b"lag", 1]


# Consumers


def test_a_consumer_is_made_even_if_it_gets_nothing(client: EngineClient) -> None:
    read(client, "STREAMS", "s", ">")
    client.now_ms += 5
    assert read(client, "STREAMS", "s", ">", who="bob") is None
    assert read(client, "STREAMS", "s", "0", who="carol") == [[b"s", []]]
    assert consumers(client) == {b"alice": [4, 5, 5], b"bob": [0, 0, -1], b"carol": [0, 0, -1]}


def test_history_is_an_attempt_but_no_activity(client: EngineClient) -> None:
    read(client, "STREAMS", "s", ">")
    client.now_ms += 30
    read(client, "STREAMS", "s", "0")
    assert consumers(client) == {b"alice": [4, 0, 30]}


# History


def test_history_is_what_the_consumer_has_pending_above_the_id(client: EngineClient) -> None:
    read(client, "COUNT", "3", "STREAMS", "s", ">")
    read(client, "STREAMS", "s", ">", who="bob")
    client("XACK", "s", "g", "2-0")
    assert ids(read(client, "STREAMS", "s", "0")) == ["1-0", "3-0"]
    assert ids(read(client, "STREAMS", "s", "1-0")) == ["3-0"]
    assert ids(read(client, "COUNT", "1", "STREAMS", "s", "0")) == ["1-0"]
    assert ids(read(client, "STREAMS", "s", "0", who="bob")) == ["4-0"]


def test_history_counts_a_delivery_for_entries_that_exist(client: EngineClient) -> None:
    read(client, "COUNT", "2", "STREAMS", "s", ">")
    client("XDEL", "s", "1-0")
    client.now_ms += 40
    reply = read(client, "STREAMS", "s", "0")
    assert reply == [[b"s", [[b"1-0", None], [b"2-0", [b"f", b"2"]]]]]
    assert pending(client) == [("1-0", "alice", 40, 1), ("2-0", "alice", 0, 2)]


def test_a_deleted_entry_of_history_has_a_null_array(client: EngineClient) -> None:
    read(client, "COUNT", "1", "STREAMS", "s", ">")
    client("XDEL", "s", "1-0")
    words = ["XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", "0"]
    assert client.raw(*words) == b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*-1\r\n"
    client("HELLO", "3")
    assert client.raw(*words) == b"%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n_\r\n"


def test_history_is_answered_at_once_even_if_empty(client: EngineClient) -> None:
    for words in (["s", "0"], ["s", "9-9"], ["s", "0-0"]):
        assert read(client, "BLOCK", "0", "NOACK", "STREAMS", *words) == [[b"s", []]]
    reply = read(client, "BLOCK", "0", "COUNT", "1", "STREAMS", "s", "t", "0", ">")
    assert [len(entries) for _, entries in reply] == [0, 1]


# Errors


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["STREAMS", "s", "t", ">"], UNBALANCED),
        (["STREAMS", "s", "$"], meaningless("$")),
        (["STREAMS", "s", "+"], meaningless("+")),
        (["STREAMS", "s", "x"], BAD_ID),
        (["STREAMS", "s", "-"], BAD_ID),
        (["STREAMS", "s", "(1"], BAD_ID),
        (["STREAMS", "none", ">"], no_group("none", "g")),
        (["STREAMS", "s", "none", ">", ">"], no_group("none", "g")),
        (["STREAMS", "str", ">"], WRONGTYPE),
        (["FOO", "STREAMS", "s", ">"], SYNTAX),
        (["NOACK", "COUNT", "1"], SYNTAX),
        (["NOACK", "NOACK", "STREAMS"], SYNTAX),
        (["COUNT", "x", "STREAMS", "s", ">"], NOT_AN_INTEGER),
        (["BLOCK", "-1", "STREAMS", "s", ">"], ReplyError("ERR timeout is negative")),
        (
            ["BLOCK", "x", "STREAMS", "s", ">"],
            ReplyError("ERR timeout is not an integer or out of range"),
        ),
        (
            ["BLOCK", str(2**63 - 1), "STREAMS", "s", ">"],
            ReplyError("ERR timeout is out of range"),
        ),
        (
            ["CLAIM", "x", "STREAMS", "s", ">"],
            ReplyError("ERR min-idle-time is not an integer or out of range"),
        ),
        (
            ["CLAIM", "-1", "STREAMS", "s", ">"],
            ReplyError("ERR min-idle-time must be a positive integer"),
        ),
    ],
)
def test_each_mistake_has_its_error(
    client: EngineClient, words: list[str], error: ReplyError
) -> None:
    assert read(client, *words) == error
    assert consumers(client) == {}
    assert client.effects() == []


def test_the_group_must_be_named_and_be_there(client: EngineClient) -> None:
    assert client("XREADGROUP", "COUNT", "1", "STREAMS", "s", "t", ">", ">") == MISSING_GROUP
    reply = client("XREADGROUP", "GROUP", "h", "c", "STREAMS", "s", ">")
    assert reply == no_group("s", "h")
    arity = ReplyError("ERR wrong number of arguments for 'xreadgroup' command")
    assert client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s") == arity


def test_keys_are_checked_left_to_right_type_group_then_id(client: EngineClient) -> None:
    client("XADD", "u", "1-0", "f", "v")
    assert read(client, "STREAMS", "u", "str", "bad", ">") == no_group("u", "g")
    assert read(client, "STREAMS", "s", "str", "bad", ">") == BAD_ID
    assert read(client, "STREAMS", "str", "s", "bad", "$") == WRONGTYPE
    assert read(client, "STREAMS", "s", "t", ">", "$") == meaningless("$")
    assert pending(client) == []


def test_a_line_end_in_a_name_cannot_end_the_error(client: EngineClient) -> None:
    reply = client.raw("XREADGROUP", "GROUP", "x\r\n+OK", "c", "STREAMS", "s", ">")
    assert reply.count(b"\r\n") == 1 and reply.endswith(b"\r\n")


def test_the_first_real_streams_word_begins_the_keys(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "STREAMS", "STREAMS", "$", "MKSTREAM")
    client("XADD", "STREAMS", "5-0", "f", "v")
    words = ["GROUP", "STREAMS", "STREAMS", "COUNT", "1", "STREAMS", "STREAMS", ">"]
    assert client("XREADGROUP", *words) == [[b"STREAMS", [[b"5-0", [b"f", b"v"]]]]]


def test_of_repeated_options_the_last_counts(client: EngineClient) -> None:
    words = ["GROUP", "none", "x", "COUNT", "9", "GROUP", "g", "bob", "COUNT", "1"]
    assert ids(client("XREADGROUP", *words, "STREAMS", "s", ">")) == ["1-0"]
    assert list(consumers(client)) == [b"bob"]


# Its effects


def claim_record(who: bytes, *entry_ids: bytes, last: bytes, count: bytes = b"1") -> list[bytes]:
    words = [b"TIME", b"%d" % START_MS, b"RETRYCOUNT", count, b"FORCE", b"JUSTID", b"LASTID", last]
    return [b"XCLAIM", b"s", b"g", who, b"0", *entry_ids, *words]


def position_record(last: bytes, entries_read: bytes) -> list[bytes]:
    return [b"XGROUP", b"SETID", b"s", b"g", last, b"ENTRIESREAD", entries_read]


CREATE = [b"XGROUP", b"CREATECONSUMER", b"s", b"g", b"alice"]


def test_a_delivery_is_recorded_as_a_claim_and_a_position(client: EngineClient) -> None:
    read(client, "COUNT", "2", "STREAMS", "s", ">")
    assert client.effects() == [
        [b"MULTI"],
        claim_record(b"alice", b"1-0", b"2-0", last=b"0-0"),
        position_record(b"2-0", b"2"),
        [b"EXEC"],
    ]
    read(client, "COUNT", "1", "STREAMS", "s", ">")
    assert client.effects()[1] == claim_record(b"alice", b"3-0", last=b"2-0")


def test_with_noack_consumer_and_position_are_recorded(client: EngineClient) -> None:
    read(client, "NOACK", "COUNT", "2", "STREAMS", "s", ">")
    records = client.effects()
    assert records[0] == [b"MULTI"] and records[-1] == [b"EXEC"]
    assert sorted(records[1:-1]) == sorted([CREATE, position_record(b"2-0", b"2")])
    read(client, "NOACK", "COUNT", "1", "STREAMS", "s", ">")
    assert client.effects() == [position_record(b"3-0", b"3")]


def test_a_new_consumer_that_got_nothing_is_recorded(client: EngineClient) -> None:
    client("XGROUP", "SETID", "s", "g", "$")
    client.effects()
    read(client, "STREAMS", "s", ">")
    assert client.effects() == [CREATE]
    read(client, "STREAMS", "s", ">")
    assert client.effects() == []


def test_history_is_not_recorded(client: EngineClient) -> None:
    read(client, "STREAMS", "s", ">")
    client.effects()
    read(client, "STREAMS", "s", "0")
    assert client.effects() == []


def test_several_streams_are_one_unit(client: EngineClient) -> None:
    read(client, "COUNT", "1", "STREAMS", "s", "t", ">", ">")
    words = [(record[0], record[1] if record[0] != b"XGROUP" else record[2])
             for record in client.effects()[1:-1]]  # fmt: skip
    assert words == [(b"XCLAIM", b"s"), (b"XGROUP", b"s"), (b"XCLAIM", b"t"), (b"XGROUP", b"t")]


def test_only_a_new_consumer_is_an_event(client: EngineClient) -> None:
    events = listen(client)
    read(client, "COUNT", "1", "STREAMS", "s", "t", ">", ">")
    assert events() == [(0, "xgroup-createconsumer", "s"), (0, "xgroup-createconsumer", "t")]
    read(client, "STREAMS", "s", ">")
    read(client, "STREAMS", "s", "0")
    assert events() == []


def test_it_does_not_disturb_who_watches(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    read(client, "STREAMS", "s", ">")
    watcher("MULTI")
    watcher("PING")
    assert watcher("EXEC") == ["PONG"]
