"""LINDEX, LPOS, LSET, LINSERT, LREM, LTRIM, LPUSHX and RPUSHX."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("RPUSH l a b c a b c")
    client.effects()
    return client


def content(client: EngineClient, key: str = "l") -> str:
    return b" ".join(client("LRANGE", key, "0", "-1")).decode()


def test_an_index_counts_from_either_end(client: EngineClient) -> None:
    assert [client("LINDEX", "l", i) for i in (0, 2, -1, 6, -7)] == [b"a", b"c", b"c", None, None]
    assert client("LINDEX missing x") is None
    assert client("LINDEX l x") == ReplyError("ERR value is not an integer or out of range")


def test_setting_needs_an_element_to_replace(client: EngineClient) -> None:
    assert client("LSET l -1 z") == "OK"
    assert content(client) == "a b c a b z"
    assert client("LSET l 6 z") == ReplyError("ERR index out of range")
    # Redis 8.6 uses only the lower half of such a number.
    assert client("LSET l 4294967296 z") == ReplyError("ERR index out of range")
    assert client("LSET missing 0 z") == ReplyError("ERR no such key")
    assert client.effects() == [[b"LSET", b"l", b"-1", b"z"]]


def test_inserting_asks_for_a_pivot(client: EngineClient) -> None:
    assert client("LINSERT l before b x") == 7
    assert client("LINSERT l AFTER b y") == 8
    assert content(client) == "a x b y c a b c"
    assert client("LINSERT l AFTER nosuch y") == -1
    assert client("LINSERT missing AFTER a y") == 0
    assert client("LINSERT l AROUND a y") == SYNTAX
    assert len(client.effects()) == 2


@pytest.mark.parametrize(
    ("count", "left"), [(0, "b c b c"), (1, "b c a b c"), (-1, "a b c b c"), (-5, "b c b c")]
)
def test_equal_ones_are_removed_from_the_end_that_the_count_says(
    client: EngineClient, count: int, left: str
) -> None:
    client("LREM", "l", count, "a")
    assert content(client) == left


def test_removing_the_last_ones_removes_the_key(client: EngineClient) -> None:
    events = listen(client)
    client("RPUSH one x x")
    assert client("LREM one 0 x") == 2
    assert events() == [(0, "rpush", "one"), (0, "lrem", "one"), (0, "del", "one")]
    assert client("LREM one 0 x") == 0
    assert client.effects()[1:] == [[b"LREM", b"one", b"0", b"x"]]


@pytest.mark.parametrize(
    ("start", "stop", "left"), [(1, 2, "b c"), (-2, -1, "b c"), (0, 99, "a b c a b c"), (4, 3, "")]
)
def test_trimming_keeps_a_range(client: EngineClient, start: int, stop: int, left: str) -> None:
    assert client("LTRIM", "l", start, stop) == "OK"
    assert content(client) == left
    assert client("EXISTS l") == (left != "")
    assert len(client.effects()) == (left != "a b c a b c")


def test_positions_are_found_by_rank_count_and_reach(client: EngineClient) -> None:
    assert client("LPOS l b") == 1
    assert client("LPOS l b RANK 2") == 4
    assert client("LPOS l b RANK -1") == 4
    assert client("LPOS l b COUNT 0") == [1, 4]
    assert client("LPOS l b COUNT 0 RANK -1") == [4, 1]
    assert client("LPOS l b COUNT 0 MAXLEN 4") == [1]
    assert client("LPOS l b RANK 3") is None
    assert client("LPOS l nosuch COUNT 1") == []
    assert client("LPOS missing b COUNT 1") == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("RANK 0", "RANK can't be zero: use 1 to start from the first match, 2 from the second ..."
                   " or use negative to start from the end of the list"),
        ("RANK -9223372036854775808", "value is out of range, value must between"
                                      " -9223372036854775807 and 9223372036854775807"),
        ("COUNT -1", "COUNT can't be negative"),
        ("MAXLEN -1", "MAXLEN can't be negative"),
        ("MAXLEN", "syntax error"),
        ("FOO 1", "syntax error"),
    ],
)  # fmt: skip
def test_what_lpos_refuses(client: EngineClient, options: str, error: str) -> None:
    assert client("LPOS l a " + options) == ReplyError("ERR " + error)


def test_pushx_wants_a_list(client: EngineClient) -> None:
    assert client("LPUSHX l x y") == 8
    assert client("RPUSHX l z") == 9
    assert content(client) == "y x a b c a b c z"
    assert client("LPUSHX missing x") == 0
    assert client("EXISTS missing") == 0
    assert len(client.effects()) == 2


def test_a_key_of_another_type_is_refused(client: EngineClient) -> None:
    client("SET text 1")
    for command in (
        *("LINDEX text 0", "LPOS text a", "LSET text 0 a", "LINSERT text BEFORE a b"),
        *("LREM text 0 a", "LTRIM text 0 1", "LPUSHX text a", "RPUSHX text a"),
    ):
        assert client(command) == WRONGTYPE
