"""From a published message to a handler and its acknowledgement, on both servers."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from forebay_workers import Message, Retry
from workers.tests.support.target import Target, until, working


@dataclass
class Order:
    n: int
    item: str = "tea"


@dataclass
class Receipt:
    n: int


async def test_a_handler_gets_what_was_published_and_it_is_acknowledged(target: Target) -> None:
    app, seen = target.app(), []

    @app.on("orders")
    async def bill(order: Order, m: Message) -> None:
        seen.append((order, m.id, m.attempt))

    async with working(app):
        entry_id = await app.publish("orders", Order(1, "coffee"))
        await until("handled", lambda: seen)
        await until("acknowledged", lambda: not target.pending("orders"))
    assert seen == [(Order(1, "coffee"), entry_id, 1)]


async def test_many_messages_are_each_handled_once(target: Target) -> None:
    app, seen = target.app(), []
    target.client.xgroup_create("s", "g", "0", mkstream=True)
    await app.publish_many("s", ({"n": n} for n in range(5000)))

    @app.on("s")
    async def count(fields: dict) -> None:
        seen.append(int(fields["n"]))

    async with working(app):
        await until("all", lambda: len(seen) >= 5000)
        await until("acknowledged", lambda: not target.pending("s"))
    assert sorted(seen) == list(range(5000))


async def test_a_plain_function_runs_in_a_thread(target: Target) -> None:
    app, seen = target.app(), []

    @app.on("s")
    def count(fields: dict) -> None:
        seen.append(threading.current_thread() is threading.main_thread())

    async with working(app):
        target.add("s", 1)
        await until("acknowledged", lambda: seen and not target.pending("s"))
    assert seen == [False]


async def test_no_more_handlers_run_at_once_than_allowed(target: Target) -> None:
    app = target.app()
    running, most, done = 0, 0, 0
    gate = asyncio.Event()

    @app.on("s", concurrency=3)
    async def slow(fields: dict) -> None:
        nonlocal running, most, done
        running += 1
        most = max(most, running)
        await gate.wait()
        running, done = running - 1, done + 1

    target.add("s", *range(20))
    async with working(app):
        await until("three run", lambda: running == 3)
        gate.set()
        await until("all", lambda: done == 20)
    assert most == 3


async def test_messages_of_one_key_run_in_order_and_one_at_a_time(target: Target) -> None:
    app = target.app()
    seen: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    busy: set[str] = set()
    overlaps = []

    @app.on("s", order_by="key", concurrency=8)
    async def ordered(fields: dict) -> None:
        key = fields["key"]
        if key in busy:
            overlaps.append(key)
        busy.add(key)
        await asyncio.sleep(0)
        seen[key].append(int(fields["n"]))
        busy.discard(key)

    for n in range(60):
        target.add("s", n, key="abc"[n % 3])
    async with working(app):
        await until("all", lambda: sum(map(len, seen.values())) == 60)
    assert overlaps == []
    assert seen == {key: list(range(at, 60, 3)) for at, key in enumerate("abc")}


@pytest.mark.parametrize("layout", ["fields", "json"])
async def test_a_key_waits_for_the_retry_of_its_head_and_others_do_not(
    target: Target, layout: Any
) -> None:
    app, seen = target.app(layout=layout), []

    @app.on("s", order_by="key", retry=Retry(3, backoff=(0.05,)))
    async def ordered(fields: dict, m: Message) -> None:
        if fields["n"] == "0" and m.attempt < 3:
            raise ValueError("not yet")
        seen.append((fields["key"], int(fields["n"]), m.attempt))

    target.client.xadd("s", {"data": "no JSON"}) if layout == "json" else None
    await app.publish_many(
        "s", [{"n": str(n), "key": key} for n, key in [(0, "a"), (1, "a"), (2, "b")]]
    )
    async with working(app):
        await until("all", lambda: len(seen) == 3)
    assert seen == [("b", 2, 1), ("a", 0, 3), ("a", 1, 1)]


async def test_what_a_handler_returns_is_published_with_the_acknowledgement(target: Target) -> None:
    app = target.app()

    @app.on("orders", to="receipts")
    async def bill(order: Order) -> Receipt | list[Receipt] | None:
        if order.n == 0:
            return None
        return Receipt(order.n) if order.n < 3 else [Receipt(3), Receipt(33)]

    await app.publish_many("orders", [Order(n) for n in range(4)])
    async with working(app):
        await until("all", lambda: target.client.xlen("receipts") == 4)
        await until("acknowledged", lambda: not target.pending("orders"))
    assert {(e["@type"], e["n"]) for e in target.entries("receipts")} == {
        ("Receipt", n) for n in ("1", "2", "3", "33")
    }


async def test_types_on_one_stream_go_to_their_handlers(target: Target) -> None:
    app, seen = target.app(), []

    @app.on("events")
    async def ordered(order: Order) -> None:
        seen.append(order)

    @app.on("events")
    async def paid(receipt: Receipt) -> None:
        seen.append(receipt)

    async with working(app):
        await app.publish("events", Order(1))
        await app.publish("events", Receipt(2))
        target.add("events", 3)
        await until("all", lambda: len(seen) == 2 and target.client.xlen("events:dead") == 1)
    assert sorted(map(repr, seen)) == ["Order(n=1, item='tea')", "Receipt(n=2)"]
    (letter,) = target.entries("events:dead")
    assert letter["@error"] == (
        "MisfitError: The message has no @type; handlers know Order, Receipt"
    )


async def test_a_stranger_may_be_passed_over(target: Target) -> None:
    app, seen = target.app(), []

    @app.on("events", unknown="skip")
    async def either(event: Order | Receipt) -> None:
        seen.append(event)

    @app.on("events", unknown="skip")
    async def third(event: Other) -> None:
        seen.append(event)

    target.add("events", 1)
    async with working(app):
        await app.publish("events", Receipt(2))
        await until("all", lambda: seen == [Receipt(2)] and not target.pending("events"))
    assert target.client.xlen("events:dead") == 0


@dataclass
class Other:
    pass
