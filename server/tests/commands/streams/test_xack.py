"""XACK: acknowledge entries of a group."""

from __future__ import annotations

import pytest

from server.tests.support.many import COUNTS
from server.tests.support.replies import BAD_ID, WRONGTYPE
from server.tests.support.stream_client import deliver, pending_ids, stream_client
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    """Five entries, all delivered to alice."""
    client = stream_client()
    deliver(client, "g", "alice")
    return client


def test_it_answers_how_many_were_pending(client: EngineClient) -> None:
    assert client.raw("XACK", "s", "g", "1-0", "3-0", "9-9") == b":2\r\n"
    assert pending_ids(client) == [b"2-0", b"4-0", b"5-0"]


def test_it_is_recorded_as_it_came_if_anything_was_pending(client: EngineClient) -> None:
    client("XACK", "s", "g", "1", "9-9")
    assert client.effects() == [[b"XACK", b"s", b"g", b"1", b"9-9"]]
    assert client("XACK", "s", "g", "1-0") == 0
    assert client.effects() == []


def test_the_same_id_twice_counts_once(client: EngineClient) -> None:
    assert client("XACK", "s", "g", "2-0", "2-0") == 1


def test_an_id_without_sequence_means_sequence_zero(client: EngineClient) -> None:
    assert client("XACK", "s", "g", "2") == 1


@pytest.mark.parametrize("bad", ["-", "+", "$", "*", ">", "(1-0", "1-", "x", ""])
def test_one_bad_id_leaves_everything_pending(client: EngineClient, bad: str) -> None:
    assert client("XACK", "s", "g", "1-0", bad, "2-0") == BAD_ID
    assert len(pending_ids(client)) == 5
    assert client.effects() == []


def test_without_key_or_group_it_answers_zero_before_reading_the_ids(
    client: EngineClient,
) -> None:
    assert client("XACK", "none", "g", "bad") == 0
    assert client("XACK", "s", "none", "bad") == 0


def test_another_type_is_wrongtype(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XACK", "str", "g", "1-0") == WRONGTYPE


def test_it_needs_at_least_one_id(client: EngineClient) -> None:
    assert client("XACK", "s", "g") == ReplyError(
        "ERR wrong number of arguments for 'xack' command"
    )


def test_an_entry_that_was_deleted_can_be_acknowledged(client: EngineClient) -> None:
    client("XDEL", "s", "2-0")
    assert client("XACK", "s", "g", "2-0") == 1


def test_an_entry_that_was_given_back_can_be_acknowledged(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "2-0")
    assert client("XACK", "s", "g", "2-0") == 1
    assert client("XPENDING", "s", "g") == [4, b"1-0", b"5-0", [[b"alice", b"4"]]]


def test_it_works_for_an_entry_of_any_consumer(client: EngineClient) -> None:
    client("XCLAIM", "s", "g", "bob", "0", "4-0")
    assert client("XACK", "s", "g", "4-0", "5-0") == 2
    assert client("XPENDING", "s", "g") == [3, b"1-0", b"3-0", [[b"alice", b"3"]]]


def test_it_does_not_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XACK", "s", "g", "1-0")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [5]


def test_it_does_not_move_the_group(client: EngineClient) -> None:
    before = client("XINFO", "GROUPS", "s")[0][6:]
    client("XACK", "s", "g", "5-0")
    assert client("XINFO", "GROUPS", "s")[0][6:] == before


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_ids_is_acknowledged(count: int) -> None:
    client = EngineClient()
    client("XADD", "s", "1-0", "f", "v")
    client("XGROUP", "CREATE", "s", "g", "$")
    ids = [f"1-{n}" for n in range(count)]
    assert client("XACK", "s", "g", *ids) == 0
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "1-0", "FORCE")
    assert client("XACK", "s", "g", *ids) == 1
