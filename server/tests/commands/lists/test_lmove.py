"""LMOVE, RPOPLPUSH, BLMOVE, BRPOPLPUSH, LMPOP and BLMPOP."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("RPUSH one 1 2 3")
    client.effects()
    return client


@pytest.mark.parametrize(
    ("ends", "element", "left", "made"),
    [("LEFT LEFT", b"1", b"23", b"1x"), ("LEFT RIGHT", b"1", b"23", b"x1"),
     ("RIGHT LEFT", b"3", b"12", b"3x"), ("right right", b"3", b"12", b"x3")],
)  # fmt: skip
def test_an_element_goes_from_end_to_end(
    client: EngineClient, ends: str, element: bytes, left: bytes, made: bytes
) -> None:
    client("RPUSH two x")
    assert client(f"LMOVE one two {ends}") == element
    assert b"".join(client("LRANGE one 0 -1")) == left
    assert b"".join(client("LRANGE two 0 -1")) == made


def test_one_list_is_rotated(client: EngineClient) -> None:
    assert client("RPOPLPUSH one one") == b"3"
    assert client("LRANGE one 0 -1") == [b"3", b"1", b"2"]
    client("RPUSH single x")
    assert client("LMOVE single single LEFT RIGHT") == b"x"
    assert client("LLEN single") == 1


def test_the_push_is_told_before_the_pop(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("RPUSH src x")
    client("RPOPLPUSH src dst")
    assert events()[2:] == [
        (0, "new", "dst"), (0, "lpush", "dst"), (0, "rpop", "src"), (0, "del", "src"),
    ]  # fmt: skip


def test_nothing_is_taken_if_it_cannot_be_put(client: EngineClient) -> None:
    client("SET text 1")
    assert client("LMOVE one text LEFT LEFT") == WRONGTYPE
    assert client("LLEN one") == 3
    assert client("LMOVE missing text LEFT LEFT") is None
    assert client("LMOVE one two LEFT UP") == SYNTAX


def test_who_is_served_leaves_the_plain_command(client: EngineClient) -> None:
    a, b = client.new(), client.new()
    assert a("BLMOVE src two left right 0") is BLOCKED
    assert b("BRPOPLPUSH two three 0") is BLOCKED
    client("RPUSH src x")
    assert (a.read(), b.read()) == (b"x", b"x")
    assert client.effects() == [
        [b"RPUSH", b"src", b"x"],
        [b"LMOVE", b"src", b"two", b"left", b"right"],
        [b"RPOPLPUSH", b"two", b"three"],
    ]


def test_a_destination_of_another_type_is_noticed_when_it_matters(client: EngineClient) -> None:
    waiting = client.new()
    client("SET text 1")
    assert waiting("BLMOVE src text LEFT LEFT 0") is BLOCKED
    client("RPUSH src x")
    assert waiting.read() == WRONGTYPE
    assert client("LLEN src") == 1


def test_a_wait_that_is_over_answers_a_null_array(client: EngineClient) -> None:
    assert client("BLMOVE missing two LEFT LEFT 0.5") is BLOCKED
    client.sleep(500)
    assert client.session.out.take() == b"*-1\r\n"
    assert client("BRPOPLPUSH missing two 0.5") is BLOCKED
    client.sleep(500)
    assert client.session.out.take() == b"*-1\r\n"


def test_lmpop_takes_from_the_first_list_that_is_there(client: EngineClient) -> None:
    assert client("LMPOP 2 missing one LEFT") == [b"one", [b"1"]]
    assert client("LMPOP 1 one RIGHT COUNT 9") == [b"one", [b"3", b"2"]]
    assert client.raw("LMPOP 1 one RIGHT") == b"*-1\r\n"
    assert client.effects() == [[b"LPOP", b"one", b"1"], [b"RPOP", b"one", b"2"]]


def test_blmpop_waits_for_all_its_lists(client: EngineClient) -> None:
    waiting = client.new()
    assert waiting("BLMPOP 0 2 a b RIGHT COUNT 2") is BLOCKED
    client("RPUSH b 1 2 3")
    assert waiting.read() == [b"b", [b"3", b"2"]]
    assert client.effects()[1:] == [[b"RPOP", b"b", b"2"]]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("LMPOP 0 one LEFT", "numkeys should be greater than 0"),
        ("LMPOP x one LEFT", "numkeys should be greater than 0"),
        ("LMPOP 2 one LEFT", "syntax error"),
        ("LMPOP 1 one UP", "syntax error"),
        ("LMPOP 1 one LEFT COUNT 0", "count should be greater than 0"),
        ("LMPOP 1 one LEFT COUNT", "syntax error"),
        ("LMPOP 1 one LEFT COUNT 1 COUNT 1", "syntax error"),
        ("BLMPOP x 0 one LEFT", "numkeys should be greater than 0"),
        ("BLMPOP x 1 one LEFT", "timeout is not a float or out of range"),
    ],
)
def test_what_lmpop_refuses(client: EngineClient, words: str, error: str) -> None:
    assert client(words) == ReplyError("ERR " + error)


def test_changes_are_counted_by_element(client: EngineClient) -> None:
    before = client.engine.effects.changes
    client("LMPOP 1 one LEFT COUNT 2")
    client("RPOPLPUSH one two")
    assert client.engine.effects.changes - before == 3
