"""FastStream: its usual programs on streams, on Forebay and on redis-server.

    orders --> subscriber in a group --> receipts --> subscriber without a group

A subscriber takes over entries that a consumer left pending: by XAUTOCLAIM, or with the read
itself where the server can do that (Forebay, Redis from 8.4 on).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from faststream.redis import RedisBroker, StreamSub
from pydantic import BaseModel
from redis import asyncio as redis_asyncio

from testkit.servers import ServerProcess
from testkit.waiting import PATIENCE_S

ORDERS, GROUP = "orders", "billing"


class Order(BaseModel):
    """A message with types, as in its guide."""

    item: str
    cents: int


@pytest.fixture(params=["forebay", "redis"])
def server(request: pytest.FixtureRequest) -> ServerProcess:
    """A Forebay, then a real redis-server; empty."""
    found: ServerProcess = request.getfixturevalue(f"{request.param}_server")
    return found


def broker_on(server: ServerProcess) -> RedisBroker:
    return RedisBroker(f"redis://127.0.0.1:{server.port}", log_level=logging.DEBUG)


async def take(queue: asyncio.Queue[Any], count: int) -> list[Any]:
    """The next messages that handlers got."""
    async with asyncio.timeout(PATIENCE_S):
        return [await queue.get() for _ in range(count)]


async def pending(server: ServerProcess) -> int:
    async with redis_asyncio.Redis(port=server.port) as client:
        return int((await client.xpending(ORDERS, GROUP))["pending"])  # type: ignore[index]


async def until_nothing_is_pending(server: ServerProcess) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await pending(server):
            await asyncio.sleep(0.01)


def test_a_group_handles_messages_with_types_and_publishes_what_it_returns(
    server: ServerProcess,
) -> None:
    async def run() -> None:
        broker, receipts = broker_on(server), asyncio.Queue[Any]()

        @broker.subscriber(stream=StreamSub(ORDERS, group=GROUP, consumer="c1"))
        @broker.publisher(stream="receipts")
        async def bill(order: Order) -> str:
            return f"{order.item} {order.cents}"

        @broker.subscriber(stream=StreamSub("receipts", last_id="0"))
        async def note(receipt: str) -> None:
            receipts.put_nowait(receipt)

        async with broker:
            await broker.start()
            for cents in range(5):
                await broker.publish(Order(item="tea", cents=cents), stream=ORDERS)
            assert await take(receipts, 5) == [f"tea {cents}" for cents in range(5)]
            await until_nothing_is_pending(server)

    asyncio.run(run())


def test_a_batch_is_handled_as_one_list(server: ServerProcess) -> None:
    async def run() -> None:
        broker, batches = broker_on(server), asyncio.Queue[Any]()
        sub = StreamSub(ORDERS, group=GROUP, consumer="c1", batch=True, max_records=10)

        @broker.subscriber(stream=sub)
        async def bill(orders: list[Order]) -> None:
            batches.put_nowait([order.cents for order in orders])

        async with broker:
            for cents in range(15):
                await broker.publish(Order(item="tea", cents=cents), stream=ORDERS)
            async with redis_asyncio.Redis(port=server.port) as client:
                await client.xgroup_create(ORDERS, GROUP, "0")
            await broker.start()
            assert await take(batches, 2) == [[*range(10)], [*range(10, 15)]]
            await until_nothing_is_pending(server)

    asyncio.run(run())


async def leave_behind(broker: RedisBroker, server: ServerProcess, *cents: int) -> None:
    """Orders that a consumer has read before it disappeared."""
    for one in cents:
        await broker.publish(Order(item="tea", cents=one), stream=ORDERS)
    async with redis_asyncio.Redis(port=server.port) as client:
        await client.xgroup_create(ORDERS, GROUP, "0")
        await client.xreadgroup(GROUP, "gone", {ORDERS: ">"})
    assert await pending(server) == len(cents)


async def recover(server: ServerProcess, sub: StreamSub[Any]) -> None:
    broker, seen = broker_on(server), asyncio.Queue[Any]()

    @broker.subscriber(stream=sub)
    async def bill(order: Order) -> None:
        seen.put_nowait(order.cents)

    async with broker:
        await leave_behind(broker, server, 1, 2, 3)
        await broker.start()
        assert sorted(await take(seen, 3)) == [1, 2, 3]
        await until_nothing_is_pending(server)


def test_what_a_consumer_left_behind_is_claimed_by_a_recovering_subscriber(
    server: ServerProcess,
) -> None:
    sub = StreamSub(ORDERS, group=GROUP, consumer="heir", min_idle_time=1, polling_interval=10)
    asyncio.run(recover(server, sub))


def test_what_a_consumer_left_behind_comes_with_a_read_that_claims(
    forebay_server: ServerProcess,
) -> None:
    sub = StreamSub(ORDERS, group=GROUP, consumer="heir", claim_min_idle_time=1)
    asyncio.run(recover(forebay_server, sub))


def test_a_capped_stream_stays_short(server: ServerProcess) -> None:
    async def run() -> int:
        async with (
            broker_on(server) as broker,
            redis_asyncio.Redis(port=server.port) as client,
        ):
            for cents in range(500):
                await broker.publish(Order(item="tea", cents=cents), stream=ORDERS, maxlen=10)
            return int(await client.xlen(ORDERS))

    assert 10 <= asyncio.run(run()) < 300
