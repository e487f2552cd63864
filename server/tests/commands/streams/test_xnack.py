"""XNACK: a consumer gives entries back."""

from __future__ import annotations

from typing import Any

import pytest

from server.tests.support.many import COUNTS
from server.tests.support.replies import BAD_ID
from server.tests.support.stream_client import deliver, stream_client
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

MOST = 9223372036854775807


@pytest.fixture
def client() -> EngineClient:
    """Five entries, all delivered to alice once."""
    client = stream_client()
    deliver(client, "g", "alice")
    return client


def row(client: EngineClient, entry_id: str) -> Any:
    return client("XPENDING", "s", "g", entry_id, entry_id, "1")[0]


def zone(client: EngineClient) -> list[bytes]:
    """The IDs that are delivered before all others, in that order."""
    reply = client("XREADGROUP", "GROUP", "g", "probe", "CLAIM", "900000", "STREAMS", "s", ">")
    return [] if reply is None else [entry[0] for entry in reply[0][1]]


def test_it_answers_how_many_were_released(client: EngineClient) -> None:
    assert client.raw("XNACK", "s", "g", "FAIL", "IDS", "3", "1-0", "9-0", "2-0") == b":2\r\n"


def test_a_released_entry_belongs_to_nobody(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "2-0")
    assert row(client, "2-0") == [b"2-0", b"", -1, 1]
    assert client("XPENDING", "s", "g") == [5, b"1-0", b"5-0", [[b"alice", b"4"]]]
    assert client("XINFO", "CONSUMERS", "s", "g")[0][:4] == [b"name", b"alice", b"pending", 4]


def test_the_mode_says_what_becomes_of_the_counter(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "alice", "0", "1", "2", "3", "4", "RETRYCOUNT", "7")
    client("XNACK", "s", "g", "SILENT", "IDS", "1", "1-0")
    client("XNACK", "s", "g", "fail", "IDS", "1", "2-0")
    client("XNACK", "s", "g", "Fatal", "IDS", "1", "3-0")
    client("XNACK", "s", "g", "FATAL", "IDS", "1", "4-0", "RETRYCOUNT", "2")
    assert [row(client, f"{n}-0")[3] for n in (1, 2, 3, 4)] == [6, 7, MOST, 2]


def test_silent_does_not_go_below_zero(client: EngineClient) -> None:
    client("XNACK", "s", "g", "SILENT", "IDS", "3", "1-0", "1-0", "1-0")
    assert row(client, "1-0")[3] == 0


def test_an_id_that_comes_twice_counts_twice(client: EngineClient) -> None:
    assert client("XNACK", "s", "g", "FAIL", "IDS", "2", "1-0", "1-0") == 2


def test_released_entries_are_given_out_first_come_first_served(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "3", "4-0", "2-0", "3-0")
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "4-0")
    assert zone(client) == [b"2-0", b"3-0", b"4-0"]


def test_force_makes_an_entry_pending_that_was_not(client: EngineClient) -> None:
    client("XADD", "s", "6-0", "f", "v")
    assert client("XNACK", "s", "g", "FAIL", "IDS", "2", "6-0", "7-0") == 0
    assert client("XNACK", "s", "g", "FAIL", "IDS", "2", "6-0", "7-0", "FORCE") == 1
    assert row(client, "6-0") == [b"6-0", b"", -1, 0]


@pytest.mark.parametrize(
    ("mode", "tail", "deliveries"),
    [("SILENT", [], 0), ("FATAL", [], MOST), ("FAIL", ["RETRYCOUNT", "3"], 3)],
)
def test_the_counter_of_a_forced_entry(
    client: EngineClient, mode: str, tail: list[str], deliveries: int
) -> None:
    client("XACK", "s", "g", "1-0")
    client("XNACK", "s", "g", mode, "IDS", "1", "1-0", "FORCE", *tail)
    assert row(client, "1-0")[3] == deliveries


def test_a_pending_record_of_a_deleted_entry_can_be_released(client: EngineClient) -> None:
    client("XDEL", "s", "1-0")
    assert client("XNACK", "s", "g", "FAIL", "IDS", "1", "1-0") == 1


def test_it_counts_in_xinfo(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "2", "1-0", "2-0")
    client("HELLO", "3")
    group = client("XINFO", "STREAM", "s", "FULL")[b"groups"][0]
    assert (group[b"pel-count"], group[b"nacked-count"]) == (5, 2)
    assert group[b"pending"][0] == [b"1-0", b"", 0, 1]


def test_it_is_recorded_as_it_came_if_anything_was_released(client: EngineClient) -> None:
    words = ["XNACK", "s", "g", "FAIL", "IDS", "1", "1-0", "RETRYCOUNT", "3"]
    client(*words)
    assert client.effects() == [[word.encode() for word in words]]
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "9-0")
    assert client.effects() == []


def test_a_release_wakes_a_reader_that_may_claim(client: EngineClient) -> None:
    reader = client.new()
    read = ["XREADGROUP", "GROUP", "g", "bob", "BLOCK", "0", "CLAIM", "500000", "STREAMS", "s", ">"]
    assert reader(*read) is BLOCKED
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "9-0")
    assert reader.read() is BLOCKED
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "3-0")
    assert reader.read()[0][1][0][0] == b"3-0"


def test_it_does_not_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "1-0")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [5]


def test_key_and_group_are_checked_first(client: EngineClient) -> None:
    client("SET", "str", "v")
    no_group = ReplyError("NOGROUP No such key 'none' or consumer group 'g'")
    assert client("XNACK", "none", "g", "FOO", "IDS", "0", "x") == no_group
    no_group = ReplyError("NOGROUP No such key 's' or consumer group 'none'")
    assert client("XNACK", "s", "none", "FOO", "IDS", "0", "x") == no_group
    assert client("XNACK", "str", "g", "FOO", "IDS", "0", "x") == ReplyError(
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    )


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (["FOO", "IDS", "0", "x"], "ERR ERR mode must be SILENT, FAIL, or FATAL"),
        (["IDS", "1", "1-0", "FAIL"], "ERR ERR mode must be SILENT, FAIL, or FATAL"),
        (["FAIL", "IDS", "0", "1-0"], "ERR numids must be a positive integer"),
        (["FAIL", "IDS", "-1", "1-0"], "ERR numids must be a positive integer"),
        (["FAIL", "IDS", "x", "1-0"], "ERR numids must be a positive integer"),
        (["FAIL", "IDS", "2", "1-0"], "ERR ERR number of IDs doesn't match numids"),
        (["FAIL", "IDS", "1", "1-0", "2-0"], "ERR ERR Unrecognized XNACK option '2-0'"),
        (["FAIL", "IDS", "1", "1-0", "FAIL"], "ERR ERR Unrecognized XNACK option 'FAIL'"),
        (
            ["FAIL", "IDS", "1", "1-0", "RETRYCOUNT"],
            "ERR ERR Unrecognized XNACK option 'RETRYCOUNT'",
        ),
        (
            ["FAIL", "IDS", "1", "1-0", "RETRYCOUNT", "-1"],
            "ERR ERR Invalid RETRYCOUNT value, must be >= 0",
        ),
        (
            ["FAIL", "IDS", "1", "1-0", "RETRYCOUNT", "x"],
            "ERR value is not an integer or out of range",
        ),
        (
            ["FAIL", "FORCE", "RETRYCOUNT", "1"],
            "ERR ERR syntax error, expected IDS keyword",
        ),
    ],
)
def test_every_other_fault_has_its_text(client: EngineClient, tail: list[str], error: str) -> None:
    assert client("XNACK", "s", "g", *tail) == ReplyError(error)
    assert client.effects() == []


def test_a_bad_id_is_found_after_the_options_and_releases_nothing(client: EngineClient) -> None:
    assert client("XNACK", "s", "g", "FAIL", "IDS", "2", "1-0", "bad") == BAD_ID
    unknown = ReplyError("ERR ERR Unrecognized XNACK option 'x'")
    assert client("XNACK", "s", "g", "FAIL", "IDS", "2", "1-0", "bad", "x") == unknown
    assert row(client, "1-0")[1] == b"alice"


def test_options_may_stand_before_the_ids(client: EngineClient) -> None:
    words = ["FORCE", "RETRYCOUNT", "9", "IDS", "1", "1-0"]
    assert client("XNACK", "s", "g", "FAIL", *words) == 1
    assert row(client, "1-0")[3] == 9


def test_it_needs_at_least_seven_words(client: EngineClient) -> None:
    assert client("XNACK", "s", "g", "FAIL", "IDS", "1") == ReplyError(
        "ERR wrong number of arguments for 'xnack' command"
    )


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_ids_is_taken(client: EngineClient, count: int) -> None:
    ids = [f"{n}-0" for n in range(1, count + 1)]
    assert client("XNACK", "s", "g", "FAIL", "IDS", str(count), *ids) == min(count, 5)
