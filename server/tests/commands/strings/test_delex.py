"""Compare and write in one step: DIGEST, DELEX, and SET with IFEQ, IFNE, IFDEQ, IFDNE."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import START_MS, EngineClient, ReplyError

BAD_DIGEST = ReplyError("ERR must be exactly 16 hexadecimal characters")


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET k abc EX 100")
    client("RPUSH list x")
    client.effects()
    return client


# The answers of redis-server 8.6.3.
@pytest.mark.parametrize(
    ("text", "digest"),
    [("abc", b"78af5f94892f3950"), ("", b"2d06800538d394c2"), ("x" * 300, b"a5d1b4607dc83554")],
)
def test_a_digest_is_the_xxh3_of_a_string(client: EngineClient, text: str, digest: bytes) -> None:
    client("SET", "k", text)
    assert client("DIGEST k") == digest
    client("SET", "k", text[:1])
    client("APPEND", "k", text[1:])
    assert client("DIGEST k") == digest


def test_a_digest_of_nothing_is_null_and_of_a_list_an_error(client: EngineClient) -> None:
    assert client("DIGEST missing") is None
    assert client("DIGEST list") == WRONGTYPE


CONDITIONS = [
    ("IFEQ abc", True),
    ("IFEQ xyz", False),
    ("ifne abc", False),
    ("IFNE xyz", True),
    ("IFDEQ 78af5f94892f3950", True),
    ("IFDEQ 78AF5F94892F3950", True),
    ("IFDEQ 0000000000000000", False),
    ("IFDNE 78AF5F94892F3950", False),
    ("IFDNE gggggggggggggggg", True),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_delex_deletes_what_is_as_expected(
    client: EngineClient, condition: str, holds: bool
) -> None:
    events = listen(client)
    assert client("DELEX k " + condition) == holds
    assert client("EXISTS k") == (not holds)
    assert client.effects() == [[b"DEL", b"k"]] * holds
    assert events() == [(0, "del", "k")] * holds


def test_delex_without_a_condition_deletes_any_key(client: EngineClient) -> None:
    assert client("DELEX list") == 1
    assert client("DELEX list") == 0
    assert client.effects() == [[b"DEL", b"list"]]


def test_errors_of_delex_come_in_their_order(client: EngineClient) -> None:
    arity = ReplyError("ERR wrong number of arguments for 'delex' command")
    assert client("DELEX k IFEQ") == arity
    assert client("DELEX k IFEQ a b") == arity
    assert client("DELEX missing FOO a") == 0
    assert client("DELEX list FOO a") == ReplyError(
        "ERR Key should be of string type if conditions are specified"
    )
    assert client("DELEX k FOO a") == ReplyError(
        "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"
    )
    assert client("DELEX k IFDEQ 78af") == BAD_DIGEST
    assert client("DELEX k IFDNE 78af") == BAD_DIGEST


# SET


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_set_replaces_what_is_as_expected(
    client: EngineClient, condition: str, holds: bool
) -> None:
    assert client("SET k new " + condition) == ("OK" if holds else None)
    assert client("GET k") == (b"new" if holds else b"abc")
    assert client.effects() == [b"SET k new".split()] * holds


@pytest.mark.parametrize(
    ("condition", "is_set"),
    [("IFEQ a", False), ("IFDEQ x", False), ("IFNE a", True), ("IFDNE x", True)],
)
def test_a_missing_key_is_not_equal_to_anything(
    client: EngineClient, condition: str, is_set: bool
) -> None:
    assert client("SET missing new " + condition) == ("OK" if is_set else None)
    assert client("EXISTS missing") == is_set


def test_times_are_propagated_without_the_question(client: EngineClient) -> None:
    client("SET k 1 IFEQ abc KEEPTTL")
    assert client("TTL k") == 100
    client("SET k 2 EX 10 IFEQ 1")
    assert client.effects() == [
        b"SET k 1 KEEPTTL".split(),
        [b"SET", b"k", b"2", b"PXAT", b"%d" % (START_MS + 10_000)],
    ]


def test_get_answers_what_was_there_in_either_case(client: EngineClient) -> None:
    assert client("SET k new IFEQ xyz GET") == b"abc"
    assert client("SET k new GET IFEQ abc") == b"abc"
    assert client("SET missing new IFEQ a GET") is None
    assert client("GET k") == b"new"
    assert client.effects() == [b"SET k new".split()]


def test_only_strings_are_compared(client: EngineClient) -> None:
    for condition in ("IFEQ a", "IFNE a", "IFDEQ 78af", "IFDNE 78af"):
        assert client("SET list new " + condition) == WRONGTYPE
    assert client("SET k new IFDEQ 78af") == BAD_DIGEST
    assert client("SET k new IFDNE 78af GET") == BAD_DIGEST
    assert client.effects() == []


@pytest.mark.parametrize(
    "words", ["IFEQ", "IFEQ a IFNE b", "NX IFEQ a", "XX IFDNE a", "IFEQ a IFDEQ b"]
)
def test_two_questions_are_a_syntax_error(client: EngineClient, words: str) -> None:
    assert client("SET k new " + words) == SYNTAX


def test_the_last_of_equal_questions_counts_and_xx_may_follow(client: EngineClient) -> None:
    assert client("SET k new IFEQ xyz IFEQ abc XX") == "OK"
    assert client("SET missing new IFNE abc XX") is None
    assert client("SET k other IFEQ new NX") is None
    assert client("GET k") == b"new"
