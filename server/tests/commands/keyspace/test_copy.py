"""COPY: an equal value at another key, independent of the first."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

SAME = ReplyError("ERR source and destination objects are the same")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_the_copy_has_the_value_and_the_expiry_time(client: EngineClient) -> None:
    client("SET a 1 PXAT 5000000")
    assert client("COPY a b") == 1
    assert client("GET b") == b"1"
    assert client("PEXPIRETIME b") == 5000000


def test_a_changed_copy_leaves_the_original_alone(client: EngineClient) -> None:
    client("RPUSH list x")
    client("SADD set x")
    client("XADD", "stream", "1-1", "f", "v")
    for key in ("list", "set", "stream"):
        assert client("COPY", key, key + "2") == 1
    client("RPUSH list2 y")
    client("SADD set2 y")
    client("XADD", "stream2", "2-2", "f", "v")
    assert client("LRANGE list 0 -1") == [b"x"]
    assert client("SMEMBERS set") == [b"x"]
    assert client("XLEN stream") == 1
    assert client("XLEN stream2") == 2


def test_a_copied_stream_has_groups_and_pending_entries_of_its_own(client: EngineClient) -> None:
    for i in range(1, 4):
        client("XADD", "s", f"{i}-0", "f", "v")
    client("XGROUP CREATE s g 0")
    client("XREADGROUP GROUP g alice COUNT 2 STREAMS s >")
    client("XADD", "s", "IDMP", "producer", "one", "*", "f", "v")
    assert client("COPY s t") == 1
    for question in ("XINFO STREAM {} FULL", "XPENDING {} g - + 10", "XINFO GROUPS {}"):
        assert client(question.format("s")) == client(question.format("t"))
    client("XACK t g 1-0")
    client("XGROUP DESTROY t g")
    assert client("XPENDING s g")[0] == 2


def test_a_copied_stream_knows_its_idempotent_entries(client: EngineClient) -> None:
    first = client("XADD", "s", "IDMP", "producer", "one", "*", "f", "v")
    client("COPY s t")
    client.now_ms += 1
    assert client("XADD", "t", "IDMP", "producer", "one", "*", "f", "v") == first
    assert client("XLEN t") == 1


def test_what_stands_at_the_destination_stays_unless_replace_is_said(client: EngineClient) -> None:
    client("MSET a 1 b 2")
    client("EXPIRE b 100")
    assert client("COPY a b") == 0
    assert client("GET b") == b"2"
    assert client("COPY a b REPLACE") == 1
    assert client("GET b") == b"1"
    assert client("TTL b") == -1


def test_a_missing_source_is_not_copied(client: EngineClient) -> None:
    client("SET b 2")
    client.effects()
    assert client("COPY missing b REPLACE") == 0
    assert client("GET b") == b"2"
    assert client.effects() == []


def test_the_destination_may_be_in_another_database(client: EngineClient) -> None:
    client("SET a 1")
    assert client("COPY a a DB 3") == 1
    client("SELECT 3")
    assert client("GET a") == b"1"


def test_a_key_cannot_be_copied_onto_itself(client: EngineClient) -> None:
    assert client("COPY a a") == SAME
    assert client("COPY a a DB 0") == SAME


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("DB 16", "ERR DB index is out of range"),
        ("DB -1", "ERR DB index is out of range"),
        ("DB x", "ERR value is not an integer or out of range"),
        (
            "DB 99999999999",
            "ERR value is out of range, value must between -2147483648 and 2147483647",
        ),
        ("DB", "ERR syntax error"),
        ("FOO", "ERR syntax error"),
    ],
)
def test_bad_options_are_refused(client: EngineClient, options: str, text: str) -> None:
    assert client("COPY a b " + options) == ReplyError(text)


def test_it_is_propagated_as_it_came_and_announced_in_its_database(client: EngineClient) -> None:
    client("SET a 1")
    client.effects()
    events = listen(client, "EAn")
    client("COPY a b DB 2 REPLACE")
    assert client.effects() == [[b"COPY", b"a", b"b", b"DB", b"2", b"REPLACE"]]
    assert events() == [(2, "new", "b"), (2, "copy_to", "b")]


def test_a_copied_stream_wakes_who_waits_for_it(client: EngineClient) -> None:
    client("XADD", "s", "1-1", "f", "v")
    reader = client.new()
    reader("SELECT 1")
    assert reader("XREAD BLOCK 0 STREAMS s 0") is BLOCKED
    client("COPY s s DB 1")
    assert reader.read() == [[b"s", [[b"1-1", [b"f", b"v"]]]]]
