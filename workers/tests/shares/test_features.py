"""All features of plain streams work on partitions too: on each server, and on a cluster."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

from forebay_workers import App, Failed, Message, Partitioned, Retry, TestApp
from testkit.servers import environment
from workers.tests.support.target import Target, until, working

ORDERS = Partitioned("orders", 4, by="customer")
RECEIPTS = Partitioned("receipts", 4, by="customer")
KEYS = [f"key-{n}" for n in range(12)]


@dataclass
class Order:
    customer: str
    n: int


@dataclass
class Receipt:
    customer: str
    total: int


def dead(target: Target, *words: str) -> str:
    """The output of ``forebay dead``."""
    command = [sys.executable, "-m", "forebay", "dead", *words, "--url", target.url]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def lengths(target: Target, partitioned: Partitioned, end: str = "") -> dict[int, int]:
    """How many entries each partition has."""
    found = {n: target.client.xlen(partitioned.stream(n) + end) for n in range(partitioned.count)}
    return {n: length for n, length in found.items() if length}


async def test_dead_letters_are_beside_their_partition_and_go_back_to_it(anywhere: Target) -> None:
    app, seen = anywhere.app(), []
    is_mended = False

    @app.on(ORDERS, retry=Retry(1))
    async def handle(order: Order, m: Message) -> None:
        if not is_mended:
            raise ValueError("not yet")
        seen.append((m.stream, order.customer))

    wanted = Counter(ORDERS.number(key.encode()) for key in KEYS)
    async with working(app):
        await app.publish_many(ORDERS, [Order(key, 1) for key in KEYS])
        await until("all are dead", lambda: lengths(anywhere, ORDERS, ":dead") == wanted)
        letters = [letter async for letter in app.dead_letters(ORDERS).letters()]
        assert sorted(letter.fields[3].decode() for letter in letters) == sorted(KEYS)
        assert [letter.id for letter in letters] == sorted(letter.id for letter in letters)
        is_mended = True
        listed = dead(anywhere, "list", "orders", "--json")
        assert listed.count('"error": "ValueError: not yet"') == 12
        assert "12" in dead(anywhere, "redrive", "orders", "--all")
        await until("all came back", lambda: len(seen) == 12)
    assert sorted(seen) == sorted((ORDERS.stream_of([b"customer", k.encode()]), k) for k in KEYS)
    assert lengths(anywhere, ORDERS, ":dead") == {}


async def test_results_go_to_the_partition_of_their_key(anywhere: Target) -> None:
    app = anywhere.app()

    @app.on(ORDERS, to=RECEIPTS)
    async def handle(order: Order) -> Receipt:
        return Receipt(order.customer, 2 * order.n)

    async with working(app):
        await app.publish_many(ORDERS, [Order(key, n) for n, key in enumerate(KEYS)])
        wanted = Counter(RECEIPTS.number(key.encode()) for key in KEYS)
        await until("all", lambda: lengths(anywhere, RECEIPTS) == wanted)
    place = RECEIPTS.number(b"key-5")
    totals = {e["customer"]: e["total"] for e in anywhere.entries(RECEIPTS.stream(place))}
    assert totals["key-5"] == "10"


async def test_messages_for_later_and_once_come_to_their_partition(anywhere: Target) -> None:
    app, seen = anywhere.app(), []

    @app.on(ORDERS)
    async def handle(order: Order, m: Message) -> None:
        seen.append((m.stream, order.n))

    async with working(app):
        for _ in range(2):
            await app.publish(ORDERS, Order("key-1", 1), once="one")
            await app.publish(ORDERS, Order("key-2", 2), once="two", delay=0.2)
        await app.publish(ORDERS, Order("key-3", 3), delay=0.1)
        await until("three", lambda: len(seen) == 3)
    places = [ORDERS.stream(ORDERS.number(b"key-%d" % n)) for n in (1, 2, 3)]
    assert sorted(seen, key=lambda one: one[1]) == list(zip(places, (1, 2, 3), strict=True))


async def test_batches_are_of_one_partition_and_in_order(anywhere: Target) -> None:
    app, batches = anywhere.app(), []

    @app.on_batch(ORDERS, size=10, within=0.05, concurrency=4, retry=Retry(2, backoff=(0.01,)))
    async def handle(orders: list[Order], messages: list[Message]) -> Failed | None:
        assert len({message.stream for message in messages}) == 1
        batches.append([(order.customer, order.n) for order in orders])
        await asyncio.sleep(0.01)
        return None

    async with working(app):
        await app.publish_many(ORDERS, [Order(key, n) for n in range(20) for key in KEYS])
        await until("all", lambda: sum(map(len, batches)) == 240)
    handled = [one for batch in batches for one in batch]
    for key in KEYS:
        assert [n for name, n in handled if name == key] == list(range(20))


def test_partitions_work_without_a_server_too() -> None:
    app = App(lease=10)

    @app.on(ORDERS, retry=Retry(1))
    async def handle(order: Order) -> None:
        if order.n < 0:
            raise ValueError("below zero")

    with TestApp(app, workers=2) as t:
        t.advance(30)
        t.publish_many(ORDERS, [Order(key, n) for n in range(5) for key in KEYS])
        t.kill("worker-1")
        t.publish_many(ORDERS, [Order(key, n) for n in range(5, 10) for key in KEYS])
        t.drain()
        t.assert_done("orders")
        handled = t.handled("orders")
        for key in KEYS:
            assert [order.n for order in handled if order.customer == key] == list(range(10))
        assert {call.worker for call in t.calls("orders")} == {"worker-1", "worker-2"}
        t.publish(ORDERS, Order("key-1", -1))
        t.assert_dead("orders", "below zero")
