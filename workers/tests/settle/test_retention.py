"""Entries that all groups have acknowledged are removed, and no others."""

from __future__ import annotations

from datetime import timedelta

from forebay_workers.clock import RealClock
from forebay_workers.servers.connect import Server
from forebay_workers.settle.retention import first_needed, trim
from workers.tests.support.target import Target, until, working

CLOCK = RealClock()


def fill(target: Target, count: int = 1000) -> list[str]:
    for n in range(1, count + 1):
        target.client.xadd("s", {"n": n}, id=f"{n}-0")
    return [f"{n}-0" for n in range(1, count + 1)]


async def test_a_group_needs_what_is_pending_and_what_it_has_not_read(target: Target) -> None:
    fill(target, 10)
    server = Server(target.url)
    assert await first_needed(server.shared, "s") is None
    target.client.xgroup_create("s", "a", "0")
    assert await first_needed(server.shared, "s") == (0, 0)
    target.client.xreadgroup("a", "c", {"s": ">"}, count=8)
    target.client.xack("s", "a", *(f"{n}-0" for n in (1, 2, 3, 4, 6)))
    assert await first_needed(server.shared, "s") == (5, 0)
    target.client.xgroup_create("s", "b", "3-0")
    assert await first_needed(server.shared, "s") == (3, 1)
    await server.close()


async def test_trimming_leaves_what_is_needed_and_what_is_to_be_kept(target: Target) -> None:
    ids = fill(target)
    server = Server(target.url)
    assert await trim(server.shared, "s", 0, CLOCK) == 0
    target.client.xgroup_create("s", "a", "0")
    target.client.xreadgroup("a", "c", {"s": ">"}, count=900)
    target.client.xack("s", "a", *ids[:700])
    assert await trim(server.shared, "s", 500, CLOCK) > 0
    assert 500 <= target.client.xlen("s") <= 600
    assert await trim(server.shared, "s", timedelta(days=365 * 40), CLOCK) > 0
    assert 300 <= target.client.xlen("s") <= 400
    (first,) = target.client.xrange("s", count=1)
    assert int(first[0].split("-")[0]) <= 701
    await server.close()


async def test_a_worker_keeps_its_stream_short(target: Target, monkeypatch) -> None:
    monkeypatch.setattr("forebay_workers.worker.worker.TRIM_S", 0.1)
    app, seen = target.app(), []
    target.client.xgroup_create("s", "g", "0", mkstream=True)
    await app.publish_many("s", ({"n": n} for n in range(3000)))

    @app.on("s")
    async def handler(fields: dict) -> None:
        seen.append(fields["n"])

    async with working(app):
        await until("handled", lambda: len(seen) == 3000)
        await until("trimmed", lambda: target.client.xlen("s") <= 100)
    assert len(set(seen)) == 3000


async def test_all_may_be_kept(target: Target, monkeypatch) -> None:
    monkeypatch.setattr("forebay_workers.worker.worker.TRIM_S", 0.0)
    app, seen = target.app(), []
    await app.publish_many("s", ({"n": n} for n in range(500)))

    @app.on("s", keep=None)
    async def handler(fields: dict) -> None:
        seen.append(fields["n"])

    async with working(app):
        await until("handled", lambda: len(seen) == 500)
        target.client.delete("{s}:later")
        await app.publish("s", {"n": 0}, delay=0)
        await until("upkeep has run", lambda: len(seen) == 501)
    assert target.client.xlen("s") == 501
