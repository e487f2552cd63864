"""XDELEX: entries deleted by ID, with a policy for consumer groups."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.many import COUNTS
from server.tests.support.replies import BAD_ID, BAD_NUMIDS, MISMATCH, SYNTAX, WRONGTYPE
from server.tests.support.stream_client import deliver, stream_client, stream_info
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    """Five entries; group g has all pending, group h the first two."""
    client = stream_client()
    deliver(client, "g", "c")
    deliver(client, "h", "c", 2)
    return client


def live(client: EngineClient) -> list[str]:
    return [entry[0].decode() for entry in client("XRANGE", "s", "-", "+")]


def pending(client: EngineClient, group: str) -> list[str]:
    return [row[0].decode() for row in client("XPENDING", "s", group, "-", "+", "100")]


@pytest.mark.parametrize("protocol", ["2", "3"])
def test_it_answers_one_number_per_id_in_their_order(client: EngineClient, protocol: str) -> None:
    client("HELLO", protocol)
    reply = client.raw("XDELEX", "s", "IDS", "4", "2-0", "9-0", "1-0", "2-0")
    assert reply == b"*4\r\n:1\r\n:-1\r\n:1\r\n:-1\r\n"
    assert live(client) == ["3-0", "4-0", "5-0"]


@pytest.mark.parametrize("policy", [[], ["KEEPREF"]])
def test_by_default_pending_records_stay(client: EngineClient, policy: list[str]) -> None:
    assert client("XDELEX", "s", *policy, "IDS", "2", "1-0", "4-0") == [1, 1]
    assert (len(pending(client, "g")), len(pending(client, "h"))) == (5, 2)


def test_delref_removes_the_records_of_all_groups(client: EngineClient) -> None:
    assert client("XDELEX", "s", "DELREF", "IDS", "2", "1-0", "4-0") == [1, 1]
    assert pending(client, "g") == ["2-0", "3-0", "5-0"]
    assert pending(client, "h") == ["2-0"]


def test_delref_removes_records_of_entries_that_are_gone(client: EngineClient) -> None:
    client("XDEL", "s", "1-0")
    client.effects()
    assert client("XDELEX", "s", "DELREF", "IDS", "1", "1-0") == [-1]
    assert pending(client, "h") == ["2-0"]
    # AOF and replicas must forget them, too.
    assert len(client.effects()) == 1
    assert client("XDELEX", "s", "DELREF", "IDS", "1", "1-0") == [-1]
    assert client.effects() == []


def test_acked_keeps_what_is_pending_or_unread_anywhere(client: EngineClient) -> None:
    client("XACK", "s", "g", "1-0", "2-0", "3-0")
    client("XACK", "s", "h", "1-0")
    ids = ["1-0", "2-0", "3-0", "5-0"]
    assert client("XDELEX", "s", "ACKED", "IDS", "4", *ids) == [1, 2, 2, 2]
    assert live(client) == ["2-0", "3-0", "4-0", "5-0"]


def test_acked_asks_for_references_before_existence(client: EngineClient) -> None:
    # Above what group h has read, an ID counts as unread even if there is no such entry.
    assert client("XDELEX", "s", "ACKED", "IDS", "2", "99-0", "0-5") == [2, -1]


def test_without_groups_nothing_is_referenced(client: EngineClient) -> None:
    client("XGROUP", "DESTROY", "s", "g")
    client("XGROUP", "DESTROY", "s", "h")
    assert client("XDELEX", "s", "ACKED", "IDS", "2", "1-0", "9-0") == [1, -1]


def test_a_missing_key_has_no_entries_and_no_bad_ids(client: EngineClient) -> None:
    assert client.raw("XDELEX", "none", "IDS", "2", "bad", "1-0") == b"*2\r\n:-1\r\n:-1\r\n"


def test_options_and_ids_come_in_any_order_and_case(client: EngineClient) -> None:
    assert client("XDELEX", "s", "ids", "1", "1-0", "delref") == [1]
    assert client("XDELEX", "s", "Acked", "Ids", "1", "2-0") == [2]


@pytest.mark.parametrize("numids", ["0", "-1", "x", "1.0", "", "9223372036854775808"])
def test_numids_must_be_a_positive_number(client: EngineClient, numids: str) -> None:
    assert client("XDELEX", "s", "IDS", numids, "1-0") == BAD_NUMIDS


@pytest.mark.parametrize("numids", ["2", "4294967297", "9223372036854775807"])
def test_numids_must_not_exceed_the_ids_given(client: EngineClient, numids: str) -> None:
    assert client("XDELEX", "s", "IDS", numids, "1-0") == MISMATCH


@pytest.mark.parametrize(
    "tail",
    [
        ["IDS", "1", "1-0", "2-0"],
        ["KEEPREF", "DELREF", "IDS", "1", "1-0"],
        ["ACKED", "IDS", "1", "1-0", "ACKED"],
        ["FOO", "IDS", "1", "1-0"],
        ["DELREF", "1-0", "2-0"],
    ],
)
def test_surplus_or_unknown_words_are_a_syntax_error(client: EngineClient, tail: list[str]) -> None:
    assert client("XDELEX", "s", *tail) == SYNTAX
    assert len(live(client)) == 5


def test_the_last_list_of_ids_counts(client: EngineClient) -> None:
    assert client("XDELEX", "s", "IDS", "2", "1-0", "x", "DELREF", "IDS", "1", "2-0") == [1]
    assert [entry[0] for entry in client("XRANGE", "s", "-", "2")] == [b"1-0"]


def test_the_ids_must_be_there(client: EngineClient) -> None:
    arity = ReplyError("ERR wrong number of arguments for 'xdelex' command")
    assert client("XDELEX", "s", "IDS", "1") == arity
    assert client("XDELEX", "s", "KEEPREF", "IDS", "1") == MISMATCH
    assert client("XDELEX", "s", "KEEPREF", "ids", "1", "1-0") == [1]


def test_a_policy_alone_lacks_its_ids(client: EngineClient) -> None:
    arity = ReplyError("ERR wrong number of arguments for 'xdelex' command")
    assert client("XDELEX", "s", "KEEPREF") == arity
    # With enough words for the table, only repeated policies can be there without IDS.
    assert client("XDELEX", "s", "KEEPREF", "KEEPREF", "KEEPREF") == SYNTAX


def test_a_bad_id_leaves_everything_as_it_was(client: EngineClient) -> None:
    assert client("XDELEX", "s", "DELREF", "IDS", "2", "1-0", "bad") == BAD_ID
    assert (len(live(client)), len(pending(client, "g"))) == (5, 5)
    assert client.effects() == []


def test_the_type_is_checked_before_the_options_and_they_before_a_missing_key(
    client: EngineClient,
) -> None:
    client("SET", "str", "v")
    assert client("XDELEX", "str", "FOO", "IDS", "x") == WRONGTYPE
    assert client("XDELEX", "none", "FOO", "IDS", "1", "x") == SYNTAX


def test_it_is_recorded_as_it_came_if_anything_was_deleted(client: EngineClient) -> None:
    client("XDELEX", "s", "ACKED", "IDS", "1", "1-0")
    assert client.effects() == []
    client("XDELEX", "s", "DELREF", "IDS", "2", "9-0", "1-0")
    assert client.effects() == [[b"XDELEX", b"s", b"DELREF", b"IDS", b"2", b"9-0", b"1-0"]]


def test_it_moves_the_greatest_deleted_id_and_the_first(client: EngineClient) -> None:
    client("XDELEX", "s", "IDS", "3", "3-0", "1-0", "9-0")
    info = stream_info(client)
    assert info[b"max-deleted-entry-id"] == b"3-0"
    assert info[b"recorded-first-entry-id"] == b"2-0"


def test_one_event_is_raised_for_all_deletions(client: EngineClient) -> None:
    events = listen(client)
    client("XDELEX", "s", "ACKED", "IDS", "1", "1-0")
    assert events() == []
    client("XDELEX", "s", "IDS", "2", "1-0", "2-0")
    assert events() == [(0, "xdel", "s")]


def test_only_a_deletion_disturbs_who_watches(client: EngineClient) -> None:
    watcher = client.new()
    for policy, outcome in (("ACKED", ["PONG"]), ("DELREF", None)):
        watcher("WATCH", "s")
        client("XDELEX", "s", policy, "IDS", "1", "1-0")
        watcher("MULTI")
        watcher("PING")
        assert watcher("EXEC") == outcome


@pytest.mark.parametrize("policy", ["KEEPREF", "DELREF", "ACKED"])
@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_ids_is_answered(client: EngineClient, count: int, policy: str) -> None:
    client("XGROUP", "DESTROY", "s", "g")
    client("XGROUP", "DESTROY", "s", "h")
    ids = [f"{n}-0" for n in range(1, count + 1)]
    reply = client("XDELEX", "s", policy, "IDS", str(count), *ids)
    assert reply == [1] * min(count, 5) + [-1] * (count - 5)
