"""SINTER, SUNION, SDIFF, their STORE forms, SINTERCARD, SMOVE and SMISMEMBER."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SADD a 1 2 3 4")
    client("SADD b 3 4 5")
    client("SADD c 4 6")
    client.effects()
    return client


def letters(reply: list[bytes]) -> str:
    return b"".join(sorted(reply)).decode()


def test_sets_are_cut_joined_and_subtracted(client: EngineClient) -> None:
    assert letters(client("SINTER a b c")) == "4"
    assert letters(client("SUNION a b c")) == "123456"
    assert letters(client("SDIFF a b c")) == "12"
    assert letters(client("SDIFF b")) == "345"


def test_a_missing_key_is_an_empty_set(client: EngineClient) -> None:
    assert client("SINTER a missing") == []
    assert letters(client("SUNION missing c")) == "46"
    assert client("SDIFF missing a") == []
    assert client("SDIFF a a") == []


def test_in_resp3_they_answer_sets(client: EngineClient) -> None:
    client("HELLO 3")
    assert client.raw("SINTER a b c") == b"~1\r\n$1\r\n4\r\n"
    assert client.raw("SINTER missing") == b"~0\r\n"


def test_another_type_is_refused_wherever_it_stands(client: EngineClient) -> None:
    client("SET text 1")
    for name in ("SINTER", "SUNION", "SDIFF", "SINTERSTORE x", "SINTERCARD 3"):
        assert client(f"{name} missing a text") == WRONGTYPE


def test_a_result_takes_the_place_of_anything(client: EngineClient) -> None:
    client("SET text 1 EX 100")
    events = listen(client)
    assert client("SINTERSTORE text a b") == 2
    assert letters(client("SMEMBERS text")) == "34"
    assert client("TTL text") == -1
    assert client("SUNIONSTORE a a b") == 5
    assert client("SDIFFSTORE new a b") == 2
    assert events() == [
        (0, "sinterstore", "text"),
        (0, "sunionstore", "a"),
        (0, "sdiffstore", "new"),
    ]


def test_an_empty_result_removes_the_key(client: EngineClient) -> None:
    events = listen(client)
    assert client("SINTERSTORE b missing") == 0
    assert client("SINTERSTORE b missing") == 0
    assert client("EXISTS b") == 0
    assert events() == [(0, "del", "b")]
    assert client.effects() == [[b"SINTERSTORE", b"b", b"missing"]]


def test_a_stored_result_is_no_part_of_its_sources(client: EngineClient) -> None:
    client("SUNIONSTORE copy a")
    client("SADD copy x")
    assert client("SCARD a") == 4


def test_common_members_are_counted_up_to_a_limit(client: EngineClient) -> None:
    assert client("SINTERCARD 2 a b") == 2
    assert client("SINTERCARD 2 a b LIMIT 1") == 1
    assert client("SINTERCARD 2 a b LIMIT 0") == 2
    assert client("SINTERCARD 2 a missing") == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("0 a", "numkeys should be greater than 0"),
        ("x a", "numkeys should be greater than 0"),
        ("3 a b", "Number of keys can't be greater than number of args"),
        ("1 a LIMIT -1", "LIMIT can't be negative"),
        ("1 a LIMIT", "syntax error"),
        ("1 a b", "syntax error"),
    ],
)
def test_what_sintercard_refuses(client: EngineClient, words: str, error: str) -> None:
    assert client("SINTERCARD " + words) == ReplyError("ERR " + error)


def test_a_member_moves(client: EngineClient) -> None:
    events = listen(client)
    client("SADD one x")
    assert client("SMOVE one two x") == 1
    assert client("SMOVE one two x") == 0
    assert client("SMOVE a b 3") == 1
    assert client("SMOVE a a 1") == 1
    assert client("SMOVE a b nosuch") == 0
    assert events() == [
        (0, "sadd", "one"), (0, "srem", "one"), (0, "del", "one"), (0, "sadd", "two"),
        (0, "srem", "a"),
    ]  # fmt: skip
    assert len(client.effects()) == 3


def test_smove_asks_the_type_of_both(client: EngineClient) -> None:
    client("SET text 1")
    assert client("SMOVE a text nosuch") == WRONGTYPE
    assert client("SMOVE text a 1") == WRONGTYPE
    assert client("SMOVE missing text 1") == 0


def test_several_members_are_asked_for_at_once(client: EngineClient) -> None:
    assert client("SMISMEMBER a 1 x 2") == [1, 0, 1]
    assert client("SMISMEMBER missing 1 2") == [0, 0]
    assert client("SINTERCARD 1 a FOO") == SYNTAX
