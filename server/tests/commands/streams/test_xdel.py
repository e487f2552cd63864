"""XDEL: entries deleted by ID."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.many import COUNTS
from server.tests.support.replies import BAD_ID, WRONGTYPE
from server.tests.support.stream_client import stream_info
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    """Entries 1-0 to 6-0, two to a node."""
    client = EngineClient(stream_node_max_entries=2)
    for n in range(1, 7):
        client("XADD", "s", f"{n}-0", "f", "v")
    client.effects()
    return client


def live(client: EngineClient) -> list[str]:
    return [entry[0].decode() for entry in client("XRANGE", "s", "-", "+")]


def test_it_answers_how_many_were_deleted(client: EngineClient) -> None:
    assert client.raw("XDEL", "s", "2-0", "9-0", "4-0", "2-0") == b":2\r\n"
    assert live(client) == ["1-0", "3-0", "5-0", "6-0"]
    assert client("XDEL", "s", "2-0") == 0
    assert client("XDEL", "s", "3") == 1


def test_a_missing_key_answers_before_ids_are_read(client: EngineClient) -> None:
    assert client("XDEL", "none", "bad") == 0


def test_one_bad_id_and_nothing_is_deleted(client: EngineClient) -> None:
    for bad in ("bad", "-", "+", "$", "(1", "1-", ""):
        assert client("XDEL", "s", "1-0", "2-0", bad) == BAD_ID
    assert len(live(client)) == 6
    assert client.effects() == []


def test_another_type_and_too_few_words_are_errors(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XDEL", "str", "bad") == WRONGTYPE
    assert client("XDEL", "s") == ReplyError("ERR wrong number of arguments for 'xdel' command")


def test_an_emptied_stream_stays_and_remembers_its_last_id(client: EngineClient) -> None:
    assert client("XDEL", "s", *[f"{n}-0" for n in range(1, 7)]) == 6
    assert (client("EXISTS", "s"), client("XLEN", "s")) == (1, 0)
    state = stream_info(client)
    assert state[b"last-generated-id"] == state[b"max-deleted-entry-id"] == b"6-0"
    assert (state[b"recorded-first-entry-id"], state[b"radix-tree-keys"]) == (b"0-0", 0)
    assert state[b"first-entry"] is state[b"last-entry"] is None
    assert client("XADD", "s", "7-0", "f", "v") == b"7-0"


def test_the_greatest_deleted_id_only_rises(client: EngineClient) -> None:
    client("XDEL", "s", "4-0")
    client("XDEL", "s", "1-0")
    state = stream_info(client)
    assert (state[b"max-deleted-entry-id"], state[b"recorded-first-entry-id"]) == (b"4-0", b"2-0")
    client("XDEL", "s", "99-0")
    assert stream_info(client)[b"max-deleted-entry-id"] == b"4-0"


def test_pending_records_stay(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    client("XDEL", "s", "1-0", "2-0")
    assert client("XPENDING", "s", "g")[0] == 6
    history = client("XREADGROUP", "GROUP", "g", "c", "COUNT", "3", "STREAMS", "s", "0")
    assert history == [[b"s", [[b"1-0", None], [b"2-0", None], [b"3-0", [b"f", b"v"]]]]]


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_ids_is_read(client: EngineClient, count: int) -> None:
    ids = [f"{n}-0" for n in range(1, count + 1)]
    assert client("XDEL", "s", *ids) == min(count, 6)
    assert client("XDEL", "s", *ids, "bad") == BAD_ID
    assert client("XLEN", "s") == max(0, 6 - count)


def test_thousands_of_entries_go_in_any_order() -> None:
    client = EngineClient()
    for n in range(1, 2001):
        client("XADD", "s", f"{n}-0", "f", "v")
    odd = [f"{n}-0" for n in range(1999, 0, -2)]
    assert client("XDEL", "s", *odd) == 1000
    assert live(client) == [f"{n}-0" for n in range(2, 2001, 2)]


def test_it_is_recorded_as_it_came_if_anything_went(client: EngineClient) -> None:
    client("XDEL", "s", "9-0")
    assert client.effects() == []
    client("XDEL", "s", "9-0", "1-0")
    assert client.effects() == [[b"XDEL", b"s", b"9-0", b"1-0"]]


def test_one_event_is_raised_for_all_deletions(client: EngineClient) -> None:
    events = listen(client)
    client("XDEL", "s", "9-0")
    client("XDEL", "none", "1-0")
    assert events() == []
    client("XDEL", "s", "1-0", "2-0", "3-0")
    assert events() == [(0, "xdel", "s")]


def test_only_a_deletion_disturbs_who_watches(client: EngineClient) -> None:
    watcher = client.new()
    for entry_id, outcome in (("9-0", ["PONG"]), ("1-0", None)):
        watcher("WATCH", "s")
        client("XDEL", "s", entry_id)
        watcher("MULTI")
        watcher("PING")
        assert watcher("EXEC") == outcome


def test_it_wakes_nobody(client: EngineClient) -> None:
    reader = client.new()
    reader("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    client("XDEL", "s", "6-0")
    assert reader.session.blocked is not None
