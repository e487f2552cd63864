"""SSCAN: small sets in one reply, large ones in a walk that misses no member that stays."""

from __future__ import annotations

from random import Random

import pytest

from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

LARGE = 700


def filled(size: int) -> EngineClient:
    client = EngineClient()
    client("SADD", "s", *(f"m{i}" for i in range(size)))
    return client


def test_a_small_set_comes_at_once_whatever_the_count() -> None:
    cursor, found = filled(100)("SSCAN s 7 COUNT 1")
    assert cursor == b"0"
    assert len(found) == 100


def test_a_walk_over_a_large_set_answers_each_member_once() -> None:
    client = filled(LARGE)
    cursor, seen, calls = b"0", list[bytes](), 0
    while calls == 0 or cursor != b"0":
        cursor, found = client("SSCAN", "s", cursor, "COUNT", "50")
        seen += found
        calls += 1
    assert len(seen) == len(set(seen)) == LARGE
    assert calls == LARGE // 50


@pytest.mark.parametrize("seed", range(10))
def test_who_is_there_all_the_time_is_answered_whatever_else_changes(seed: int) -> None:
    dice = Random(seed)
    client = filled(LARGE)
    staying = {f"m{i}".encode() for i in range(0, LARGE, 2)}
    cursor, seen = b"0", set[bytes]()
    while True:
        cursor, found = client("SSCAN", "s", cursor, "COUNT", dice.randint(1, 40))
        seen.update(found)
        if cursor == b"0":
            break
        for _ in range(dice.randint(0, 20)):
            client("SREM", "s", f"m{2 * dice.randrange(LARGE // 2) + 1}")
        client("SADD", "s", *(f"new{dice.randrange(1000)}" for _ in range(dice.randint(1, 5))))
    assert staying <= seen


def test_a_pattern_leaves_out_what_does_not_fit() -> None:
    client = filled(20)
    assert sorted(client("SSCAN s 0 MATCH m1?")[1]) == [f"m1{i}".encode() for i in range(10)]


def test_nothing_is_scanned_where_nothing_is() -> None:
    client = filled(1)
    assert client("SSCAN missing 5") == [b"0", []]
    # As in Redis, options are not checked.
    assert client("SSCAN missing 0 COUNT x") == [b"0", []]


def test_what_is_refused() -> None:
    client = filled(1)
    client("SET text 1")
    assert client("SSCAN text 0") == WRONGTYPE
    assert client("SSCAN text x") == ReplyError("ERR invalid cursor")
    assert client("SSCAN s -1") == ReplyError("ERR invalid cursor")
    assert client("SSCAN s 0 COUNT 0") == SYNTAX
    assert client("SSCAN s 0 TYPE set") == SYNTAX
    only_hscan = ReplyError("ERR NOVALUES option can only be used in HSCAN")
    assert client("SSCAN s 0 NOVALUES") == only_hscan
