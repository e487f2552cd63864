"""XACKDEL: acknowledge and delete in one step."""

from __future__ import annotations

import pytest

from forebay.commands.api.notify_flags import KEYEVENT, NOTIFY_STREAM
from server.tests.support.many import COUNTS
from server.tests.support.replies import BAD_ID, BAD_NUMIDS, MISMATCH, SYNTAX, WRONGTYPE
from server.tests.support.stream_client import deliver, pending_ids, stream_client, stream_info
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    """Five entries; group g has delivered all, group h the first two."""
    client = stream_client()
    deliver(client, "g", "alice")
    deliver(client, "h", "bob", 2)
    return client


def live_ids(client: EngineClient) -> list[bytes]:
    return [entry[0] for entry in client("XRANGE", "s", "-", "+")]


def test_it_answers_one_number_per_id_in_their_order(client: EngineClient) -> None:
    reply = client.raw("XACKDEL", "s", "g", "IDS", "3", "2-0", "9-0", "1-0")
    assert reply == b"*3\r\n:1\r\n:-1\r\n:1\r\n"
    assert live_ids(client) == [b"3-0", b"4-0", b"5-0"]
    assert pending_ids(client, "g") == [b"3-0", b"4-0", b"5-0"]


def test_by_default_other_groups_keep_their_pending_records(client: EngineClient) -> None:
    for policy in ([], ["KEEPREF"]):
        client("XACKDEL", "s", "g", *policy, "IDS", "1", "1-0")
    assert pending_ids(client, "h") == [b"1-0", b"2-0"]


def test_delref_removes_the_records_of_other_groups(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "g", "DELREF", "IDS", "1", "1-0") == [1]
    assert pending_ids(client, "h") == [b"2-0"]
    assert b"1-0" not in live_ids(client)


def test_acked_keeps_an_entry_that_another_group_has_pending(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "g", "ACKED", "IDS", "1", "1-0") == [2]
    assert b"1-0" in live_ids(client)
    assert b"1-0" not in pending_ids(client, "g")


def test_acked_keeps_an_entry_that_another_group_has_not_read(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "g", "ACKED", "IDS", "1", "4-0") == [2]
    assert b"4-0" in live_ids(client)


def test_acked_deletes_what_all_groups_are_done_with(client: EngineClient) -> None:
    client("XACK", "s", "h", "1-0")
    assert client("XACKDEL", "s", "g", "ACKED", "IDS", "2", "1-0", "2-0") == [1, 2]
    assert client("XACKDEL", "s", "h", "ACKED", "IDS", "1", "2-0") == [1]
    assert live_ids(client) == [b"3-0", b"4-0", b"5-0"]


def test_an_entry_that_is_not_pending_here_is_not_deleted(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "h", "IDS", "1", "5-0") == [-1]
    assert b"5-0" in live_ids(client)
    assert client.effects() == []


def test_a_pending_record_whose_entry_is_gone_counts_as_done(client: EngineClient) -> None:
    client("XDEL", "s", "2-0")
    client.effects()
    assert client("XACKDEL", "s", "g", "IDS", "1", "2-0") == [1]
    assert len(client.effects()) == 1


def test_without_key_or_group_all_answers_are_minus_one(client: EngineClient) -> None:
    assert client("XACKDEL", "none", "g", "IDS", "2", "bad", "1-0") == [-1, -1]
    assert client("XACKDEL", "s", "none", "IDS", "1", "bad") == [-1]


def test_options_and_ids_come_in_any_order_and_case(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "g", "ids", "1", "1-0", "delref") == [1]
    assert client("XACKDEL", "s", "g", "Acked", "Ids", "1", "2-0") == [2]


@pytest.mark.parametrize("numids", ["0", "-1", "x", "1.0", "9223372036854775808"])
def test_numids_must_be_a_positive_number(client: EngineClient, numids: str) -> None:
    assert client("XACKDEL", "s", "g", "IDS", numids, "1-0") == BAD_NUMIDS


@pytest.mark.parametrize("numids", ["2", "9223372036854775807"])
def test_numids_must_not_exceed_the_ids_given(client: EngineClient, numids: str) -> None:
    assert client("XACKDEL", "s", "g", "IDS", numids, "1-0") == MISMATCH


@pytest.mark.parametrize(
    "tail",
    [
        ["IDS", "1", "1-0", "2-0"],
        ["KEEPREF", "DELREF", "IDS", "1", "1-0"],
        ["KEEPREF", "KEEPREF", "IDS", "1", "1-0"],
        ["FOO", "IDS", "1", "1-0"],
        ["IDS", "1", "1-0", "IDS"],
    ],
)
def test_surplus_or_unknown_words_are_a_syntax_error(client: EngineClient, tail: list[str]) -> None:
    assert client("XACKDEL", "s", "g", *tail) == SYNTAX
    assert len(live_ids(client)) == 5


def test_the_ids_must_be_there(client: EngineClient) -> None:
    short = client("XACKDEL", "s", "g", "KEEPREF", "1")
    assert short == ReplyError("ERR wrong number of arguments for 'xackdel' command")
    assert client("XACKDEL", "s", "g", "IDS", "1", "1-0", "x") == SYNTAX


def test_a_bad_id_leaves_everything_as_it_was(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "g", "IDS", "2", "1-0", "bad") == BAD_ID
    assert (len(live_ids(client)), len(pending_ids(client, "g"))) == (5, 5)
    assert client.effects() == []


def test_the_type_is_checked_before_the_options(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XACKDEL", "str", "g", "FOO", "IDS", "0", "x") == WRONGTYPE


def test_options_are_checked_before_a_missing_key(client: EngineClient) -> None:
    assert client("XACKDEL", "none", "g", "FOO", "IDS", "1", "x") == SYNTAX


def test_it_is_recorded_as_it_came_if_anything_was_acknowledged(client: EngineClient) -> None:
    client("XACKDEL", "s", "g", "ACKED", "IDS", "1", "1-0")
    assert client.effects() == [[b"XACKDEL", b"s", b"g", b"ACKED", b"IDS", b"1", b"1-0"]]


def test_it_moves_the_greatest_deleted_id_and_the_first(client: EngineClient) -> None:
    client("XACKDEL", "s", "g", "IDS", "2", "3-0", "1-0")
    info = stream_info(client)
    assert info[b"max-deleted-entry-id"] == b"3-0"
    assert info[b"recorded-first-entry-id"] == b"2-0"


def test_one_event_is_raised_for_all_deletions(client: EngineClient) -> None:
    client.configure(notify_flags=KEYEVENT | NOTIFY_STREAM)
    listener = client.new()
    listener("PSUBSCRIBE", "*")
    client("XACKDEL", "s", "g", "IDS", "2", "1-0", "2-0")
    client("XACKDEL", "s", "g", "ACKED", "IDS", "1", "3-0")
    assert [message[2] for message in listener.messages()] == [b"__keyevent@0__:xdel"]


def test_a_deletion_disturbs_who_watches_and_an_acknowledgement_does_not(
    client: EngineClient,
) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XACKDEL", "s", "g", "ACKED", "IDS", "1", "3-0")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [5]
    watcher("WATCH", "s")
    client("XACKDEL", "s", "g", "IDS", "1", "4-0")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") is None


def test_one_id_twice_is_done_once(client: EngineClient) -> None:
    assert client("XACKDEL", "s", "g", "IDS", "2", "1-0", "1-0") == [1, -1]


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_ids_is_answered(client: EngineClient, count: int) -> None:
    ids = [f"{n}-0" for n in range(1, count + 1)]
    reply = client("XACKDEL", "s", "g", "IDS", str(count), *ids)
    assert reply == [1] * min(count, 5) + [-1] * (count - 5)
