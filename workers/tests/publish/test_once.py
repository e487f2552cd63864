"""A key publishes one entry: by the stream's own memory, or by a key that expires."""

from __future__ import annotations

import asyncio

import pytest

from forebay_workers.publish.publisher import beside
from forebay_workers.servers.abilities import Abilities
from workers.tests.support.target import Target


async def test_the_same_key_publishes_one_entry(target: Target) -> None:
    async with target.app() as app, target.app() as other:
        first = await app.publish("s", {"n": 1}, once="order-1")
        assert await app.publish("s", {"n": 1}, once="order-1") == first
        assert await other.publish("s", {"n": 2}, once="order-1") == first
        second = await other.publish("s", {"n": 3}, once="order-2")
    assert second != first
    assert [fields["n"] for fields in target.entries("s")] == ["1", "3"]


@pytest.mark.parametrize("abilities", [None, Abilities()], ids=["its own way", "by a key"])
async def test_many_who_publish_one_key_at_once_make_one_entry(
    target: Target, abilities: Abilities | None
) -> None:
    apps = [target.app() for _ in range(8)]
    for app in apps:
        app._abilities = abilities
    try:
        found = await asyncio.gather(*(app.publish("s", {"n": 1}, once="k") for app in apps))
    finally:
        for app in apps:
            await app.close()
    assert target.client.xlen("s") == 1
    assert len(set(found) - {None}) == 1


async def test_a_key_that_expires_is_beside_its_stream(target: Target) -> None:
    async with target.app() as app:
        app._abilities = Abilities()
        await app.publish("s", {"n": 1}, once="k")
    assert 0 < int(str(target.client.ttl("{s}:once:k"))) <= 86_400
    assert beside("orders:{3}", "once:k") == "orders:{3}:once:k"


async def test_the_stream_remembers_for_a_day_where_it_can(forebay_server: object) -> None:
    target = Target(forebay_server)  # type: ignore[arg-type]
    async with target.app() as app:
        await app.publish("s", {"n": 1}, once="k")
    facts: list = target.client.execute_command("XINFO", "STREAM", "s")  # type: ignore[assignment]
    about = dict(zip(facts[::2], facts[1::2], strict=True)) if isinstance(facts, list) else facts
    assert (about["idmp-duration"], about["idmp-maxsize"]) == (86_400, 10_000)
    assert about["groups"] == 0
    target.client.close()
