"""XINFO: details of streams, groups and consumers."""

from __future__ import annotations

from typing import Any

import pytest

from server.tests.support.replies import NO_SUCH_KEY, WRONGTYPE
from testkit.engine_client import START_MS, EngineClient, ReplyError

BAD_STREAM = ReplyError(
    "ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP."
)
COMMON = [
    b"length", b"radix-tree-keys", b"radix-tree-nodes", b"last-generated-id",
    b"max-deleted-entry-id", b"entries-added", b"recorded-first-entry-id", b"idmp-duration",
    b"idmp-maxsize", b"pids-tracked", b"iids-tracked", b"iids-added", b"iids-duplicates",
]  # fmt: skip


@pytest.fixture
def client() -> EngineClient:
    """Twelve entries; alice has read three, bob one; 2-0 was given back; RESP3."""
    client = EngineClient()
    for i in range(1, 13):
        client("XADD", "s", f"{i}-0", "f", str(i))
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "alice", "COUNT", "3", "STREAMS", "s", ">")
    client.now_ms += 100
    client("XREADGROUP", "GROUP", "g", "bob", "COUNT", "1", "STREAMS", "s", ">")
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "2-0")
    client("HELLO", "3")
    client.effects()
    return client


def entry(n: int) -> list[Any]:
    return [b"%d-0" % n, [b"f", b"%d" % n]]


# STREAM


def test_stream_has_sixteen_fields_in_their_order(client: EngineClient) -> None:
    info = client("XINFO", "STREAM", "s")
    assert list(info) == [*COMMON, b"groups", b"first-entry", b"last-entry"]
    assert list(info.values()) == [
        12, 1, 2, b"12-0", b"0-0", 12, b"1-0", 100, 100, 0, 0, 0, 0, 1, entry(1), entry(12),
    ]  # fmt: skip


def test_stream_is_a_flat_array_in_resp2(client: EngineClient) -> None:
    as_map = client("XINFO", "STREAM", "s")
    client("HELLO", "2")
    flat = client("XINFO", "STREAM", "s")
    assert len(flat) == 32
    assert dict(zip(flat[::2], flat[1::2], strict=True)) == as_map


def test_an_empty_stream_has_no_first_and_last_entry(client: EngineClient) -> None:
    client("XTRIM", "s", "MAXLEN", "0")
    info = client("XINFO", "STREAM", "s")
    assert (info[b"first-entry"], info[b"last-entry"]) == (None, None)
    assert (info[b"radix-tree-keys"], info[b"radix-tree-nodes"]) == (0, 1)
    assert (info[b"last-generated-id"], info[b"recorded-first-entry-id"]) == (b"12-0", b"0-0")
    client("HELLO", "2")
    assert client.raw("XINFO", "STREAM", "s").endswith(
        b"$11\r\nfirst-entry\r\n$-1\r\n$10\r\nlast-entry\r\n$-1\r\n"
    )


def test_deletions_show_in_the_greatest_deleted_and_the_first_id(client: EngineClient) -> None:
    client("XDEL", "s", "1-0", "5-0")
    info = client("XINFO", "STREAM", "s")
    assert info[b"max-deleted-entry-id"] == b"5-0"
    assert info[b"recorded-first-entry-id"] == b"2-0"
    assert (info[b"length"], info[b"entries-added"]) == (10, 12)
    assert info[b"first-entry"] == entry(2)


def test_trimming_does_not_show_in_the_greatest_deleted_id(client: EngineClient) -> None:
    client("XTRIM", "s", "MAXLEN", "5")
    info = client("XINFO", "STREAM", "s")
    assert info[b"max-deleted-entry-id"] == b"0-0"
    assert info[b"recorded-first-entry-id"] == b"8-0"


def test_messages_of_producers_are_counted(client: EngineClient) -> None:
    for pid, iid in [("p", "1"), ("p", "2"), ("q", "1"), ("q", "1")]:
        client("XADD", "s", "IDMP", pid, iid, "*", "f", "v")
    info = client("XINFO", "STREAM", "s")
    assert [info[field] for field in COMMON[7:]] == [100, 100, 2, 3, 3, 1]


def test_new_streams_take_the_settings_of_the_server() -> None:
    client = EngineClient(stream_idmp_duration_s=7, stream_idmp_maxsize=9)
    client("XADD", "s", "1-0", "f", "v")
    client("XGROUP", "CREATE", "t", "g", "$", "MKSTREAM")
    for key in ("s", "t"):
        assert client("XINFO", "STREAM", key)[14:18] == [
            b"idmp-duration", 7, b"idmp-maxsize", 9,
        ]  # fmt: skip


# STREAM ... FULL


def test_full_has_fifteen_fields_with_entries_and_groups(client: EngineClient) -> None:
    info = client("XINFO", "STREAM", "s", "FULL")
    assert list(info) == [*COMMON, b"entries", b"groups"]
    assert info[b"entries"] == [entry(n) for n in range(1, 11)]


def test_full_shows_a_group_with_its_pending_entries_and_consumers(client: EngineClient) -> None:
    group = client("XINFO", "STREAM", "s", "full")[b"groups"][0]
    then, later = START_MS, START_MS + 100
    assert list(group.items()) == [
        (b"name", b"g"),
        (b"last-delivered-id", b"4-0"),
        (b"entries-read", 4),
        (b"lag", 8),
        (b"pel-count", 4),
        (b"nacked-count", 1),
        (
            b"pending",
            [
                [b"1-0", b"alice", then, 1],
                [b"2-0", b"", 0, 1],
                [b"3-0", b"alice", then, 1],
                [b"4-0", b"bob", later, 1],
            ],
        ),
        (b"consumers", group[b"consumers"]),
    ]
    assert [list(consumer.items()) for consumer in group[b"consumers"]] == [
        [
            (b"name", b"alice"),
            (b"seen-time", then),
            (b"active-time", then),
            (b"pel-count", 2),
            (b"pending", [[b"1-0", then, 1], [b"3-0", then, 1]]),
        ],
        [
            (b"name", b"bob"),
            (b"seen-time", later),
            (b"active-time", later),
            (b"pel-count", 1),
            (b"pending", [[b"4-0", later, 1]]),
        ],
    ]


def test_full_is_flat_arrays_at_every_level_in_resp2(client: EngineClient) -> None:
    client("HELLO", "2")
    info = client("XINFO", "STREAM", "s", "FULL")
    assert len(info) == 30
    group = info[-1][0]
    assert (len(group), len(group[-1][0])) == (16, 10)


@pytest.mark.parametrize(("count", "shown"), [("2", 2), ("0", 12), ("-3", 10), ("100", 12)])
def test_count_limits_the_entries(client: EngineClient, count: str, shown: int) -> None:
    info = client("XINFO", "STREAM", "s", "FULL", "COUNT", count)
    assert len(info[b"entries"]) == shown


def test_count_limits_every_list_of_pending_entries(client: EngineClient) -> None:
    group = client("XINFO", "STREAM", "s", "FULL", "count", "1")[b"groups"][0]
    assert [row[0] for row in group[b"pending"]] == [b"1-0"]
    assert group[b"pel-count"] == 4
    alice = group[b"consumers"][0]
    assert (alice[b"pel-count"], [row[0] for row in alice[b"pending"]]) == (2, [b"1-0"])


def test_full_of_a_stream_without_groups_has_an_empty_array(client: EngineClient) -> None:
    client("XADD", "t", "1-0", "f", "v")
    assert client("XINFO", "STREAM", "t", "FULL")[b"groups"] == []


def test_a_consumer_that_never_got_anything_was_never_active(client: EngineClient) -> None:
    client("XGROUP", "CREATECONSUMER", "s", "g", "carol")
    consumer = client("XINFO", "STREAM", "s", "FULL")[b"groups"][0][b"consumers"][2]
    assert (consumer[b"name"], consumer[b"active-time"]) == (b"carol", -1)


@pytest.mark.parametrize(
    "tail",
    [
        ["FOO"],
        ["FULL", "COUNT"],
        ["FULL", "FOO", "1"],
        ["COUNT", "1"],
        ["FOO", "COUNT", "1"],
        ["FULL", "COUNT", "1", "x"],
    ],
)
def test_other_options_point_to_help(client: EngineClient, tail: list[str]) -> None:
    assert client("XINFO", "STREAM", "s", *tail) == BAD_STREAM


def test_count_must_be_a_number(client: EngineClient) -> None:
    assert client("XINFO", "STREAM", "s", "FULL", "COUNT", "x") == ReplyError(
        "ERR value is not an integer or out of range"
    )


def test_the_key_is_looked_up_before_the_options(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XINFO", "STREAM", "none", "FOO") == NO_SUCH_KEY
    assert client("XINFO", "STREAM", "str", "FOO") == WRONGTYPE


# GROUPS


def test_groups_have_six_fields_and_stand_in_the_order_of_their_names(
    client: EngineClient,
) -> None:
    client("XGROUP", "CREATE", "s", "G", "12")
    client("XGROUP", "CREATE", "s", "f", "7")
    groups = client("XINFO", "GROUPS", "s")
    assert [group[b"name"] for group in groups] == [b"G", b"f", b"g"]
    assert list(groups[2].items()) == [
        (b"name", b"g"),
        (b"consumers", 2),
        (b"pending", 4),
        (b"last-delivered-id", b"4-0"),
        (b"entries-read", 4),
        (b"lag", 8),
    ]


def test_a_group_at_any_id_knows_its_lag_only_at_the_ends(client: EngineClient) -> None:
    for name, start in [("a", "0"), ("b", "7"), ("c", "12"), ("d", "$")]:
        client("XGROUP", "CREATE", "s", name, start)
    groups = client("XINFO", "GROUPS", "s")[:4]
    assert [group[b"lag"] for group in groups] == [12, None, 0, 0]
    assert [group[b"entries-read"] for group in groups] == [None] * 4


def test_a_deletion_ahead_of_the_group_hides_its_lag_until_it_is_passed(
    client: EngineClient,
) -> None:
    client("XDEL", "s", "8-0")
    assert client("XINFO", "GROUPS", "s")[0][b"lag"] is None
    client("XREADGROUP", "GROUP", "g", "bob", "STREAMS", "s", ">")
    assert client("XINFO", "GROUPS", "s")[0][b"lag"] == 0


def test_a_group_that_was_trimmed_past_lags_by_the_whole_stream(client: EngineClient) -> None:
    client("XTRIM", "s", "MINID", "9")
    assert client("XINFO", "GROUPS", "s")[0][b"lag"] == 4


def test_groups_are_flat_arrays_in_resp2(client: EngineClient) -> None:
    client("HELLO", "2")
    assert client.raw("XINFO", "GROUPS", "s") == (
        b"*1\r\n*12\r\n$4\r\nname\r\n$1\r\ng\r\n$9\r\nconsumers\r\n:2\r\n$7\r\npending\r\n:4\r\n"
        b"$17\r\nlast-delivered-id\r\n$3\r\n4-0\r\n$12\r\nentries-read\r\n:4\r\n$3\r\nlag\r\n:8\r\n"
    )


def test_a_stream_without_groups_answers_an_empty_array(client: EngineClient) -> None:
    client("XADD", "t", "1-0", "f", "v")
    assert client.raw("XINFO", "GROUPS", "t") == b"*0\r\n"


# CONSUMERS


def test_consumers_have_four_fields(client: EngineClient) -> None:
    client.now_ms += 11
    client("XGROUP", "CREATECONSUMER", "s", "g", "Carol")
    client.now_ms += 5
    assert [list(row.items()) for row in client("XINFO", "CONSUMERS", "s", "g")] == [
        [(b"name", b"Carol"), (b"pending", 0), (b"idle", 5), (b"inactive", -1)],
        [(b"name", b"alice"), (b"pending", 2), (b"idle", 116), (b"inactive", 116)],
        [(b"name", b"bob"), (b"pending", 1), (b"idle", 16), (b"inactive", 16)],
    ]


def test_an_attempt_makes_a_consumer_seen_but_not_active(client: EngineClient) -> None:
    client("XREADGROUP", "GROUP", "g", "bob", "STREAMS", "s", ">")
    client.now_ms += 30
    client("XREADGROUP", "GROUP", "g", "bob", "STREAMS", "s", ">")
    client.now_ms += 4
    bob = client("XINFO", "CONSUMERS", "s", "g")[1]
    assert (bob[b"idle"], bob[b"inactive"]) == (4, 34)


def test_a_clock_that_went_back_shows_no_negative_time(client: EngineClient) -> None:
    client.now_ms -= 50
    bob = client("XINFO", "CONSUMERS", "s", "g")[1]
    assert (bob[b"idle"], bob[b"inactive"]) == (0, 0)


def test_consumers_of_a_missing_group_is_nogroup(client: EngineClient) -> None:
    assert client("XINFO", "CONSUMERS", "s", "none") == ReplyError(
        "NOGROUP No such consumer group 'none' for key name 's'"
    )


def test_consumers_of_an_empty_group_is_an_empty_array(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "h", "$")
    assert client.raw("XINFO", "CONSUMERS", "s", "h") == b"*0\r\n"


# Common rules


@pytest.mark.parametrize("call", [["STREAM"], ["GROUPS"], ["CONSUMERS", "g"]])
def test_a_missing_key_and_another_type_are_errors(client: EngineClient, call: list[str]) -> None:
    client("SET", "str", "v")
    assert client("XINFO", call[0], "none", *call[1:]) == NO_SUCH_KEY
    assert client("XINFO", call[0], "str", *call[1:]) == WRONGTYPE


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (["STREAM"], "xinfo|stream"),
        (["GROUPS"], "xinfo|groups"),
        (["GROUPS", "s", "x"], "xinfo|groups"),
        (["CONSUMERS", "s"], "xinfo|consumers"),
        (["HELP", "x"], "xinfo|help"),
    ],
)
def test_the_arity_error_names_the_subcommand(
    client: EngineClient, call: list[str], name: str
) -> None:
    assert client("XINFO", *call) == ReplyError(
        f"ERR wrong number of arguments for '{name}' command"
    )


def test_an_unknown_subcommand_points_to_help(client: EngineClient) -> None:
    assert client("XINFO", "FOO", "s") == ReplyError(
        "ERR unknown subcommand 'FOO'. Try XINFO HELP."
    )


def test_help_is_an_array_of_simple_strings(client: EngineClient) -> None:
    assert client.raw("XINFO", "HELP") == (
        b"*9\r\n+XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
        b"+CONSUMERS <key> <groupname>\r\n+    Show consumers of <groupname>.\r\n"
        b"+GROUPS <key>\r\n+    Show the stream consumer groups.\r\n"
        b"+STREAM <key> [FULL [COUNT <count>]\r\n+    Show information about the stream.\r\n"
        b"+HELP\r\n+    Print this help.\r\n"
    )


def test_nothing_is_recorded(client: EngineClient) -> None:
    client("XINFO", "STREAM", "s", "FULL")
    client("XINFO", "GROUPS", "s")
    client("XINFO", "CONSUMERS", "s", "g")
    assert client.effects() == []
