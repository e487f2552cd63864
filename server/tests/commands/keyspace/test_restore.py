"""RESTORE: a key from bytes, with Redis's errors in Redis's order."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from testkit.engine_client import BLOCKED, EngineClient, ReplyError
from testkit.rdb_files import sealed

BAD_FOOTER = ReplyError("ERR DUMP payload version or checksum are wrong")
BAD_FORMAT = ReplyError("ERR Bad data format")
BUSY = ReplyError("BUSYKEY Target key name already exists.")
SYNTAX = ReplyError("ERR syntax error")
HELLO = bytes.fromhex("000568656c6c6f0a006372df766534200a")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_a_checksum_of_zero_stands_for_none_as_in_redis_8(client: EngineClient) -> None:
    assert client("RESTORE", "a", 0, HELLO[:-8] + bytes(8)) == "OK"
    assert client("GET", "a") == b"hello"
    assert client("RESTORE", "b", 0, HELLO[:-8] + bytes(7) + b"\1") == BAD_FOOTER
    damaged = b"\0\x09" + HELLO[2:-8] + bytes(8)
    assert client("RESTORE", "b", 0, damaged) == BAD_FORMAT


def test_a_stream_comes_back_with_its_groups(client: EngineClient) -> None:
    for command in (
        "XADD s 1-1 f v",
        "XADD s 2-2 f w",
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g alice COUNT 1 STREAMS s >",
    ):
        client(command)
    full = client("XINFO STREAM s FULL")
    payload = client("DUMP s")
    client("DEL s")
    assert client("RESTORE", "s", "0", payload) == "OK"
    again = client("XINFO STREAM s FULL")
    assert again[:4] == full[:4]
    assert client("XPENDING s g") == [1, b"1-1", b"1-1", [[b"alice", b"1"]]]
    assert client("XREADGROUP GROUP g bob STREAMS s >") == [[b"s", [[b"2-2", [b"f", b"w"]]]]]


def test_lists_sets_and_strings_come_back(client: EngineClient) -> None:
    client("RPUSH l a b 3")
    client("SADD t x")
    client("SET n 12")
    for key in "ltn":
        assert client("RESTORE", "new " + key, 0, client("DUMP", key)) == "OK"
    assert client("LRANGE", "new l", 0, -1) == [b"a", b"b", b"3"]
    assert client("SMEMBERS", "new t") == [b"x"]
    assert client("GET", "new n") == b"12"


def test_a_key_that_is_there_is_kept_unless_replaced(client: EngineClient) -> None:
    client("SET k old PX 5000")
    assert client("RESTORE", "k", 0, HELLO) == BUSY
    assert client("RESTORE", "k", 0, HELLO, "replace") == "OK"
    assert client("GET k") == b"hello"
    assert client("PTTL k") == -1, "the time of the old value goes with it"


def test_a_payload_that_is_refused_leaves_the_old_value(client: EngineClient) -> None:
    client("SET k old")
    assert client("RESTORE", "k", 0, HELLO[:-1], "REPLACE") == BAD_FOOTER
    assert client("GET k") == b"old"


def test_an_expired_key_is_not_in_the_way(client: EngineClient) -> None:
    client("SET k old PX 10")
    client.now_ms += 11
    assert client("RESTORE", "k", 0, HELLO) == "OK"


def test_the_time_counts_from_now_or_is_absolute(client: EngineClient) -> None:
    client("RESTORE", "a", 500, HELLO)
    client("RESTORE", "b", client.now_ms + 700, HELLO, "ABSTTL")
    assert client("PTTL a") == 500
    assert client("PTTL b") == 700
    assert client("RESTORE", "c", (1 << 63) - 1, HELLO) == "OK"
    assert client("PEXPIRETIME c") == (1 << 63) - 1


def test_a_time_in_the_past_makes_no_key(client: EngineClient) -> None:
    client("SET k old")
    client.effects()
    assert client("RESTORE", "new", 5, HELLO, "ABSTTL") == "OK"
    assert client.engine.stats.expired_keys == 1
    assert client.effects() == []
    assert client("RESTORE", "k", 5, HELLO, "ABSTTL", "REPLACE") == "OK"
    assert client("EXISTS new k") == 0
    assert client.effects() == [[b"DEL", b"k"]]


def test_idle_time_and_frequency_are_taken_and_the_rest_is_read(client: EngineClient) -> None:
    assert client("RESTORE", "k", 0, HELLO, "IDLETIME", 0, "REPLACE") == "OK"
    assert client("RESTORE", "k", 0, HELLO, "FREQ", 255) == ReplyError(
        "BUSYKEY Target key name already exists."
    )
    assert client("RESTORE", "k", 0, HELLO, "FREQ", 255, "REPLACE") == "OK"


def test_the_aof_gets_an_absolute_time(client: EngineClient) -> None:
    client("RESTORE", "a", 0, HELLO)
    client("RESTORE", "b", 500, HELLO, "FREQ", 5)
    client("RESTORE", "c", 9_000_000, HELLO, "ABSTTL")
    when = b"%d" % (client.now_ms + 500)
    assert client.effects() == [
        [b"RESTORE", b"a", b"0", HELLO],
        [b"RESTORE", b"b", when, HELLO, b"FREQ", b"5", b"ABSTTL"],
        [b"RESTORE", b"c", b"9000000", HELLO, b"ABSTTL"],
    ]


def test_subscribers_hear_of_it(client: EngineClient) -> None:
    client("SET k old")
    events = listen(client)
    client("RESTORE", "k", 0, HELLO, "REPLACE")
    client("RESTORE", "k", 5, HELLO, "REPLACE", "ABSTTL")
    assert events() == [(0, "restore", "k"), (0, "del", "k")]


def test_whoever_waits_for_the_stream_is_served(client: EngineClient) -> None:
    client("XADD s 1-1 f v")
    payload = client("DUMP s")
    client("DEL s")
    reader = client.new()
    assert reader("XREAD BLOCK 0 STREAMS s 0") is BLOCKED
    client("RESTORE", "s", 0, payload)
    assert reader.read() == [[b"s", [[b"1-1", [b"f", b"v"]]]]]


def test_a_transaction_that_watched_the_key_fails(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH k")
    client("RESTORE", "k", 0, HELLO)
    watcher("MULTI")
    watcher("PING")
    assert watcher("EXEC") is None


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["k"], "ERR wrong number of arguments for 'restore' command"),
        (["k", "0"], "ERR wrong number of arguments for 'restore' command"),
        (["k", "-1", HELLO], "ERR Invalid TTL value, must be >= 0"),
        (["k", "x", HELLO], "ERR value is not an integer or out of range"),
        (["k", "0", HELLO, "NOW"], "ERR syntax error"),
        (["k", "0", HELLO, "IDLETIME"], "ERR syntax error"),
        (["k", "0", HELLO, "IDLETIME", "x"], "ERR value is not an integer or out of range"),
        (["k", "0", HELLO, "IDLETIME", "-1"], "ERR Invalid IDLETIME value, must be >= 0"),
        (["k", "0", HELLO, "FREQ", "256"], "ERR Invalid FREQ value, must be >= 0 and <= 255"),
        (["k", "0", HELLO, "FREQ", "1", "IDLETIME", "1"], "ERR syntax error"),
        (["k", "0", b"garbage"], "ERR DUMP payload version or checksum are wrong"),
        (["k", "0", b""], "ERR DUMP payload version or checksum are wrong"),
        (["k", "0", sealed(b"\0\x05abc")], "ERR Bad data format"),
        (["k", "0", sealed(b"\x04\x01\x01f\x01v")], "ERR Bad data format"),
        (["there", "x", b"garbage"], "BUSYKEY Target key name already exists."),
        (["k", "-1", b"garbage"], "ERR Invalid TTL value, must be >= 0"),
    ],
)
def test_errors_are_those_of_redis(client: EngineClient, words: list[bytes], error: str) -> None:
    client("SET there v")
    client.effects()
    assert client("RESTORE", *words) == ReplyError(error)
    assert client("EXISTS k") == 0
    assert client.effects() == []


def test_new_streams_have_the_idempotency_settings_of_the_server() -> None:
    source = EngineClient()
    source("XADD s 1-1 f v")
    client = EngineClient(stream_idmp_duration_s=7)
    client("RESTORE", "s", 0, source("DUMP s"))
    facts = client("XINFO STREAM s")
    assert facts[facts.index(b"idmp-duration") + 1] == 7
