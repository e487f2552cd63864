"""SET with all its options, SETNX, SETEX, PSETEX."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from testkit.engine_client import BLOCKED, START_MS, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_it_overwrites_whatever_was_there_and_its_expiry_time(client: EngineClient) -> None:
    client("RPUSH a x")
    client("EXPIRE a 100")
    assert client("SET a 1") == "OK"
    assert client("GET a") == b"1"
    assert client("TTL a") == -1


def test_a_value_is_any_bytes(client: EngineClient) -> None:
    value = bytes(range(256))
    client("SET", b"\x00\xff", value)
    assert client("GET", b"\x00\xff") == value


def test_keepttl_keeps_the_expiry_time(client: EngineClient) -> None:
    client("SET a 1 PX 5000")
    client("SET a 2 KEEPTTL")
    assert client("PTTL a") == 5000


def test_nx_and_xx_ask_whether_the_key_is_there(client: EngineClient) -> None:
    assert client.raw("SET a 1 XX") == b"$-1\r\n"
    assert client("SET a 1 NX") == "OK"
    assert client("SET a 2 NX") is None
    assert client("SET a 3 XX") == "OK"
    assert client("GET a") == b"3"


def test_get_answers_what_was_there(client: EngineClient) -> None:
    assert client("SET a 1 GET") is None
    assert client("SET a 2 GET") == b"1"
    assert client("SET a 3 NX GET") == b"2"
    assert client("GET a") == b"2"
    assert client("SET b 1 XX GET") is None
    assert client("EXISTS b") == 0


def test_get_wants_a_string(client: EngineClient) -> None:
    client("RPUSH list x")
    assert client("SET list 1 GET") == WRONGTYPE
    assert client("TYPE list") == "list"


@pytest.mark.parametrize(
    ("option", "when_ms"),
    [
        ("EX 10", START_MS + 10_000),
        ("px 10", START_MS + 10),
        ("EXAT 2000", 2_000_000),
        ("PXAT 2000123", 2_000_123),
        ("EX 10 EX 20", START_MS + 20_000),
    ],
)
def test_all_times_are_propagated_as_pxat(client: EngineClient, option: str, when_ms: int) -> None:
    assert client("SET a 1 NX " + option) == "OK"
    assert client("PEXPIRETIME a") == when_ms
    assert client.effects() == [[b"SET", b"a", b"1", b"PXAT", b"%d" % when_ms]]


def test_a_time_that_is_past_leaves_a_key_that_the_next_look_removes(client: EngineClient) -> None:
    assert client("SET a 1 PXAT 5") == "OK"
    assert client("DBSIZE") == 1
    assert client("GET a") is None
    assert client("DBSIZE") == 0


def test_get_is_not_propagated(client: EngineClient) -> None:
    client("SET a 1 get NX")
    client("SET a 2 KEEPTTL GET")
    assert client.effects() == [[b"SET", b"a", b"1", b"NX"], [b"SET", b"a", b"2", b"KEEPTTL"]]


def test_what_was_not_set_is_not_propagated(client: EngineClient) -> None:
    client("SET a 1 XX")
    client("SET a 1 XX EX 10")
    assert client.effects() == []


@pytest.mark.parametrize(
    "options",
    [
        "FOO",
        "EX",
        "NX XX",
        "EX 10 PX 10",
        "KEEPTTL EX 10",
        "EX 10 KEEPTTL",
        "PERSIST",
        "PX 1 PXAT 5",
    ],
)
def test_options_that_do_not_fit_are_a_syntax_error(client: EngineClient, options: str) -> None:
    assert client("SET a 1 " + options) == SYNTAX
    assert client("EXISTS a") == 0


@pytest.mark.parametrize("time", ["EX 0", "PX -1", "EXAT 0", "EX 9223372036854775807"])
def test_a_time_must_be_positive_and_fit(client: EngineClient, time: str) -> None:
    assert client("SET a 1 " + time) == ReplyError("ERR invalid expire time in 'set' command")


def test_a_time_is_an_integer_but_the_words_come_first(client: EngineClient) -> None:
    assert client("SET a 1 EX x") == NOT_AN_INTEGER
    assert client("SET a 1 EX x FOO") == SYNTAX


def test_events(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("SET a 1")
    assert events() == [(0, "new", "a"), (0, "set", "a")]
    client("SET a 1 EX 10")
    assert events() == [(0, "set", "a"), (0, "expire", "a")]


def test_a_group_reader_is_told_that_its_stream_was_overwritten(client: EngineClient) -> None:
    client("XGROUP CREATE s g 0 MKSTREAM")
    reader = client.new()
    assert reader("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") is BLOCKED
    client("SET s 1")
    assert reader.read() == WRONGTYPE


# SETNX, SETEX, PSETEX


def test_setnx_sets_only_a_free_key(client: EngineClient) -> None:
    assert client("SETNX a 1") == 1
    assert client("SETNX a 2") == 0
    assert client("GET a") == b"1"
    assert client.effects() == [[b"SETNX", b"a", b"1"]]


@pytest.mark.parametrize(("name", "amount"), [("SETEX", "10"), ("PSETEX", "10000")])
def test_setex_sets_value_and_time(client: EngineClient, name: str, amount: str) -> None:
    assert client(name, "a", amount, "v") == "OK"
    assert client("PTTL a") == 10_000
    assert client.effects() == [[b"SET", b"a", b"v", b"PXAT", b"%d" % (START_MS + 10_000)]]


@pytest.mark.parametrize("name", ["SETEX", "PSETEX"])
def test_setex_wants_a_positive_integer(client: EngineClient, name: str) -> None:
    invalid = ReplyError(f"ERR invalid expire time in '{name.lower()}' command")
    assert client(name, "a", "0", "v") == invalid
    assert client(name, "a", "9223372036854775807", "v") == invalid
    assert client(name, "a", "x", "v") == NOT_AN_INTEGER
