"""MSETNX and MSETEX: several strings at once, if the keys allow it."""

from __future__ import annotations

import pytest

from server.tests.support.admin_client import AdminClient
from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NOT_AN_INTEGER, SYNTAX
from testkit.engine_client import START_MS, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_msetnx_sets_all_or_none(client: EngineClient) -> None:
    events = listen(client)
    assert client("MSETNX a 1 b 2 a 3") == 1
    assert client("MSETNX c 1 b 2") == 0
    assert client("MGET a b c") == [b"3", b"2", None]
    assert client.effects() == [b"MSETNX a 1 b 2 a 3".split()]
    assert events() == [(0, "set", "a"), (0, "set", "b"), (0, "set", "a")]
    expected = ReplyError("ERR wrong number of arguments for 'msetnx' command")
    assert client("MSETNX a 1 b") == expected


@pytest.mark.parametrize(
    ("option", "when_ms"),
    [
        ("EX 10", START_MS + 10_000),
        ("NX px 10", START_MS + 10),
        ("EXAT 2000", 2_000_000),
        ("PXAT 2000123 NX", 2_000_123),
        ("EX 5 EX 10", START_MS + 10_000),
    ],
)
def test_one_time_for_all_is_propagated_as_pxat(
    client: EngineClient, option: str, when_ms: int
) -> None:
    events = listen(client)
    assert client("MSETEX 2 a 1 b 2 " + option) == 1
    assert [client("PEXPIRETIME", key) for key in "ab"] == [when_ms] * 2
    assert client.effects() == [[*b"MSETEX 2 a 1 b 2 PXAT".split(), b"%d" % when_ms]]
    assert events() == [(0, event, key) for key in "ab" for event in ("expire", "set")]


def test_without_a_time_the_old_one_goes_unless_it_is_kept(client: EngineClient) -> None:
    client("SET a 1 PX 5000")
    client("MSETEX 1 a 2 KEEPTTL")
    assert client("PTTL a") == 5000
    client("MSETEX 1 a 3")
    assert client("PTTL a") == -1


def test_nx_and_xx_ask_for_all_keys(client: EngineClient) -> None:
    client("SET a 1")
    client.effects()
    assert client("MSETEX 2 a 2 b 2 NX") == 0
    assert client("MSETEX 2 a 2 b 2 XX") == 0
    assert client("MGET a b") == [b"1", None]
    assert client.effects() == []
    assert client("MSETEX 2 b 2 c 2 NX") == 1
    assert client("MSETEX 2 a 3 b 3 XX") == 1
    assert client("MGET a b c") == [b"3", b"3", b"2"]


@pytest.mark.parametrize("count", ["0", "-1", "x", "2147483648"])
def test_the_number_of_keys_is_positive(client: EngineClient, count: str) -> None:
    assert client("MSETEX", count, "a", "1") == ReplyError("ERR invalid numkeys value")


def test_errors(client: EngineClient) -> None:
    assert client("MSETEX 2 a 1 b") == ReplyError("ERR wrong number of key-value pairs")
    for words in ("FOO", "GET", "IFEQ x", "PERSIST", "NX XX", "EX 1 KEEPTTL", "EX"):
        assert client("MSETEX 1 a 1 " + words) == SYNTAX
    assert client("MSETEX 1 a 1 EX x") == NOT_AN_INTEGER
    invalid = ReplyError("ERR invalid expire time in 'msetex' command")
    assert client("MSETEX 1 a 1 EX 0") == invalid
    assert client("EXISTS a") == 0


def test_its_keys_are_found() -> None:
    client = AdminClient()
    assert client("COMMAND", "GETKEYS", *b"MSETEX 2 a 1 b 2 EX 10".split()) == [b"a", b"b"]
