"""XADD with IDMP and IDMPAUTO: one message sent twice becomes one entry."""

from __future__ import annotations

from array import array

import pytest

from forebay.wire.argv import argv_of
from server.tests.support.keyspace_events import listen
from server.tests.support.replies import BAD_ID
from server.tests.support.stream_client import stream_info
from testkit.engine_client import START_MS, EngineClient, ReplyError

TWICE = ReplyError("ERR syntax error, IDMP/IDMPAUTO specified multiple times")
EXPLICIT = ReplyError("ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")
MIB = 1 << 20


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_a_repeated_message_is_answered_with_its_first_entry(client: EngineClient) -> None:
    first = client("XADD", "s", "IDMP", "p", "m1", "*", "f", "v")
    client.now_ms += 10
    assert client("XADD", "s", "IDMP", "p", "m1", "*", "other", "content") == first
    assert client("XADD", "s", "IDMP", "p", "m2", "*", "f", "v") != first
    assert client("XADD", "s", "IDMP", "q", "m1", "*", "f", "v") != first
    assert client("XLEN", "s") == 3
    assert (stream_info(client)[b"iids-added"], stream_info(client)[b"iids-duplicates"]) == (3, 1)


def test_with_idmpauto_the_content_is_the_message(client: EngineClient) -> None:
    first = client("XADD", "s", "IDMPAUTO", "p", "*", "a", "1", "b", "2")
    client.now_ms += 10
    assert client("XADD", "s", "idmpauto", "p", "*", "b", "2", "a", "1") == first
    assert client("XADD", "s", "IDMPAUTO", "p", "*", "a", "2", "b", "1") != first
    assert client("XADD", "s", "IDMPAUTO", "q", "*", "a", "1", "b", "2") != first
    assert client("XLEN", "s") == 3


def test_an_entry_that_is_gone_still_answers_for_its_message(client: EngineClient) -> None:
    first = client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    client("XDEL", "s", first)
    assert client("XADD", "s", "IDMP", "p", "m", "*", "f", "v") == first
    assert client("XLEN", "s") == 0


def test_the_oldest_message_of_a_producer_makes_room(client: EngineClient) -> None:
    client("XADD", "s", "*", "f", "v")
    client("XCFGSET", "s", "IDMP-MAXSIZE", "2")
    kept = [client("XADD", "s", "IDMP", "p", f"m{n}", "*", "f", "v") for n in range(3)]
    other = client("XADD", "s", "IDMP", "q", "m0", "*", "f", "v")
    assert client("XADD", "s", "IDMP", "p", "m2", "*", "f", "v") == kept[2]
    assert client("XADD", "s", "IDMP", "p", "m1", "*", "f", "v") == kept[1]
    assert client("XADD", "s", "IDMP", "p", "m0", "*", "f", "v") != kept[0]
    assert client("XADD", "s", "IDMP", "q", "m0", "*", "f", "v") == other


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["IDMP", "p", "m", "IDMP", "p", "m", "*"], TWICE),
        (["IDMP", "p", "m", "IDMPAUTO", "p", "*"], TWICE),
        (["IDMPAUTO", "p", "IDMPAUTO", "", "*"], TWICE),
        (
            ["IDMPAUTO", "", "*"],
            ReplyError("ERR syntax error, IDMPAUTO requires a non-empty producer ID"),
        ),
        (
            ["IDMP", "", "m", "*"],
            ReplyError("ERR syntax error, IDMP requires a non-empty producer ID"),
        ),
        (
            ["IDMP", "p", "", "*"],
            ReplyError("ERR syntax error, IDMP requires a non-empty idempotent ID"),
        ),
        (["IDMP", "p", "m", "1-1"], EXPLICIT),
        (["IDMP", "p", "m", "5-*"], EXPLICIT),
        (["IDMPAUTO", "p", "0-0"], EXPLICIT),
        (["LIMIT", "5", "IDMP", "p", "m", "1-1"], EXPLICIT),
        (["MAXLEN", "5", "LIMIT", "5", "IDMP", "p", "m", "1-1"], EXPLICIT),
        (["IDMP", "p", "m", "bad"], BAD_ID),
    ],
)
def test_each_mistake_has_its_error(
    client: EngineClient, words: list[str], error: ReplyError
) -> None:
    assert client("XADD", "s", *words, "f", "v") == error
    assert client("EXISTS", "s") == 0


def test_options_may_stand_around_it(client: EngineClient) -> None:
    words = ["NOMKSTREAM", "IDMP", "p", "m", "MAXLEN", "~", "5", "KEEPREF", "*", "f", "v"]
    assert client("XADD", "s", *words) is None
    client("XADD", "s", "*", "f", "v")
    assert client("XADD", "s", *words) == client("XADD", "s", *words)
    assert client("XLEN", "s") == 2


def test_a_duplicate_is_only_counted(client: EngineClient) -> None:
    client("XADD", "s", "*", "f", "v")
    first = client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    client.effects()
    events = listen(client)
    watcher = client.new()
    watcher("WATCH", "s")
    again = ["XADD", "s", "IDMP", "p", "m", "MAXLEN", "0", "*", "f", "v"]
    assert client(*again) == first
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [2]
    assert events() == []
    assert client.effects() == [[word.encode() for word in again]]


def test_the_record_keeps_the_message_and_names_the_entry(client: EngineClient) -> None:
    client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    entry_id = b"%d-0" % START_MS
    assert client.effects() == [[b"XADD", b"s", b"IDMP", b"p", b"m", entry_id, b"f", b"v"]]


def test_who_replays_the_aof_may_give_the_id_too(client: EngineClient) -> None:
    replica = EngineClient()
    replica.session.is_replaying = True
    client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    for record in client.effects():
        replica(*record)
    assert replica("XRANGE", "s", "-", "+") == client("XRANGE", "s", "-", "+")
    assert stream_info(replica) == stream_info(client)


def test_an_entry_of_more_than_a_gibibyte_is_refused(client: EngineClient) -> None:
    argv = argv_of([b"XADD", b"s", b"1-0", b"f", bytes(MIB), *[b""] * 2048])
    spans: array[int] = argv.spans
    # The same mebibyte many times: refusing a gibibyte does not need a gibibyte of memory.
    for i in range(5, len(argv)):
        spans[2 * i], spans[2 * i + 1] = spans[8], MIB
    client.engine.call(client.session, argv, client.now_ms)
    assert client.read() == ReplyError("ERR Elements are too large to be stored")
    assert client("EXISTS", "s") == 0
