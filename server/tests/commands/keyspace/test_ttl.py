"""TTL, PTTL, EXPIRETIME, PEXPIRETIME."""

from __future__ import annotations

import pytest

from testkit.engine_client import START_MS, EngineClient

ALL = ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"]


@pytest.mark.parametrize("name", ALL)
def test_no_key_is_minus_two_and_no_time_is_minus_one(name: str) -> None:
    client = EngineClient()
    client("SET a 1")
    assert client(name, "missing") == -2
    assert client(name, "a") == -1


def test_what_is_left_and_when_it_ends() -> None:
    client = EngineClient()
    client("SET a 1 PX 1600")
    assert client("PTTL a") == 1600
    assert client("PEXPIRETIME a") == START_MS + 1600
    client.now_ms += 100
    assert client("PTTL a") == 1500


@pytest.mark.parametrize(("left_ms", "seconds"), [(1499, 1), (1500, 2), (499, 0), (500, 1)])
def test_seconds_are_rounded_to_the_nearest(left_ms: int, seconds: int) -> None:
    client = EngineClient()
    client("SET", "a", "1", "PX", left_ms)
    assert client("TTL a") == seconds
    assert client("EXPIRETIME a") == START_MS // 1000 + seconds


def test_in_the_last_millisecond_nothing_is_left_but_the_key_is_there() -> None:
    client = EngineClient()
    client("SET a 1 PX 10")
    client.now_ms += 10
    assert client("PTTL a") == 0
    client.now_ms += 1
    assert client("PTTL a") == -2
