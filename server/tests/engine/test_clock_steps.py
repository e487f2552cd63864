"""The wall clock is changed while clients wait: no wait becomes longer or shorter."""

from __future__ import annotations

import re

import pytest

from testkit.engine_client import BLOCKED, START_MS, EngineClient

HOUR_MS = 3_600_000


@pytest.fixture(params=[HOUR_MS, -HOUR_MS], ids=["ahead", "back"])
def step_ms(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def client() -> EngineClient:
    return EngineClient(now_ms=START_MS + HOUR_MS)


def set_clock(client: EngineClient, step_ms: int) -> None:
    """Change the clock as the server does: tell the engine; the next turn has the new time."""
    client.now_ms += step_ms
    client.engine.shift_times(step_ms)


def test_a_wait_lasts_as_long_as_it_said(client: EngineClient, step_ms: int) -> None:
    assert client("BLPOP l 1") is BLOCKED
    client.sleep(400)
    set_clock(client, step_ms)
    client.sleep(599)
    assert client.read() is BLOCKED
    client.sleep(1)
    assert client.read() is None
    assert client.session.blocked is None


def test_a_pause_lasts_as_long_as_it_said(client: EngineClient, step_ms: int) -> None:
    other = client.new()
    client("CLIENT PAUSE 1000 WRITE")
    assert other("SET k v") is BLOCKED
    client.sleep(400)
    set_clock(client, step_ms)
    client.sleep(599)
    assert other.read() is BLOCKED
    client.sleep(1)
    assert other.read() == "OK"


def test_a_pause_that_is_over_does_not_come_back(client: EngineClient, step_ms: int) -> None:
    client("CLIENT PAUSE 1000 ALL")
    client.sleep(1000)
    set_clock(client, step_ms)
    assert client("SET k v") == "OK"
    client("CLIENT PAUSE 1000 WRITE")
    assert client("GET k") == b"v"
    assert client("SET k w") is BLOCKED


def test_nobody_is_older_or_idle_for_longer(client: EngineClient, step_ms: int) -> None:
    idle = client.new()
    client.sleep(7000)
    idle("PING")
    client.sleep(5000)
    set_clock(client, step_ms)
    (line,) = re.findall(rb"id=%d .*" % idle.session.id, client("CLIENT LIST"))
    assert b" age=12 idle=5 " in line
