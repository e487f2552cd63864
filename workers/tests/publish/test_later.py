"""Messages for later: never early, once, and nothing is left over."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from forebay_workers import ConfigError
from forebay_workers.clock import RealClock
from forebay_workers.publish.later import Mover, add_later, hours_key
from forebay_workers.servers.connect import Server
from workers.tests.support.target import Target, until, working


class StandingClock(RealClock):
    """A clock that shows a fixed time."""

    def __init__(self, now_ms: int) -> None:
        self.at_ms = now_ms

    def now_ms(self) -> int:
        return self.at_ms


NOW_MS = 1_794_947_608_250


async def test_a_message_comes_in_its_second_and_not_before(target: Target) -> None:
    server, clock = Server(target.url), StandingClock(NOW_MS)
    mover = Mover(server, clock)
    for n, due_ms in enumerate((NOW_MS + 1, NOW_MS + 5000, NOW_MS + 4_000_000, NOW_MS - 10)):
        await server.shared.transaction(add_later("s", [b"n", b"%d" % n], due_ms))
    assert await mover.move("s") == 0
    clock.at_ms = NOW_MS + 750
    assert await mover.move("s") == 2
    assert sorted(e["n"] for e in target.entries("s")) == ["0", "3"]
    clock.at_ms = NOW_MS + 5750
    assert await mover.move("s") == 1
    clock.at_ms = NOW_MS + 8_000_000
    assert await mover.move("s") == 1
    assert [e["n"] for e in target.entries("s")][2:] == ["1", "2"]
    assert target.client.keys("*") == ["s"]
    await server.close()


async def test_several_movers_move_each_message_once(target: Target) -> None:
    servers = [Server(target.url) for _ in range(4)]
    clock = StandingClock(NOW_MS)
    for n in range(1000):
        await servers[0].shared.transaction(
            add_later("s", [b"n", b"%d" % n], NOW_MS + n % 3 * 1000)
        )
    clock.at_ms = NOW_MS + 10_000
    while target.client.exists(hours_key("s")) and target.client.xlen("s") < 1000:
        await asyncio.gather(*(Mover(server, clock).move("s") for server in servers))
    assert sorted(int(e["n"]) for e in target.entries("s")) == list(range(1000))
    for server in servers:
        await server.close()


async def test_a_worker_moves_what_is_due_on_its_streams(target: Target) -> None:
    app, seen = target.app(), []

    @app.on("s")
    async def handler(fields: dict) -> None:
        seen.append(fields["n"])

    async with working(app):
        await app.publish("s", {"n": 1}, delay=0.2)
        await app.publish("s", {"n": 2}, delay=timedelta(hours=1))
        await app.publish("s", {"n": 3}, at=datetime.now(UTC) + timedelta(milliseconds=100))
        await app.publish("s", {"n": 4}, at=datetime.now(UTC) + timedelta(days=3))
        for _ in range(3):
            await app.publish("s", {"n": 5}, delay=0.1, once="five")
        await until("handled", lambda: len(seen) == 3)
    assert sorted(seen) == ["1", "3", "5"]


async def test_a_time_without_a_zone_is_refused(redis_server: object) -> None:
    async with Target(redis_server).app() as app:  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="at needs a time zone"):
            await app.publish("s", {"n": 1}, at=datetime(2026, 1, 1))
        with pytest.raises(ConfigError, match="Give delay or at"):
            await app.publish("s", {"n": 1}, at=datetime.now(UTC), delay=1)
