"""Partitions and their owners, step by step: what a rebalance waits for, and what is late."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from forebay_workers import App, ConfigError, Message, Partitioned, Retry
from forebay_workers.shares.members import count_key
from forebay_workers.worker.owned import OwnedFlow
from forebay_workers.worker.worker import Worker
from workers.tests.support.target import Target, until, working

ORDERS = Partitioned("orders", 4, by="customer")
#: One key of each partition.
ANN = next(
    name for name in ("ann", "bob", "eve", "joe", "zoe") if ORDERS.number(name.encode()) == 2
)
PLACE = ORDERS.stream(2)
LONG_LEASE_S = 60.0


@dataclass
class Order:
    customer: str
    n: int


def owners(target: Target, count: int = 4) -> list[str | None]:
    """The owner of each partition."""
    return [target.client.get(f"orders:{{{n}}}:owner:g") for n in range(count)]


def pending(target: Target, count: int = 4) -> int:
    return sum(len(target.pending(ORDERS.stream(n))) for n in range(count))


def closing(worker: Worker) -> int:
    """How many partitions are closing: their handlers may still end."""
    flows = worker.flows.values()
    return sum(isinstance(flow, OwnedFlow) and flow.is_closed for flow in flows)


async def test_a_rebalance_lets_handlers_end_before_the_next_owner_starts(target: Target) -> None:
    old, new = target.app(lease=LONG_LEASE_S), target.app(lease=LONG_LEASE_S)
    begun: list[tuple[str, int]] = []
    end = asyncio.Event()

    def handler(app: App, name: str) -> None:
        @app.on(ORDERS)
        async def handle(order: Order) -> None:
            begun.append((name, order.n))
            await end.wait()

    handler(old, "old")
    handler(new, "new")
    keys = {ORDERS.number(key.encode()): key for key in (f"key-{n}" for n in range(50))}
    async with working(old, name="old") as worker:
        await until("it has all", lambda: owners(target) == ["old"] * 4)
        for n in (1, 2):
            await old.publish_many(ORDERS, [Order(key, n) for key in keys.values()])
        await until("each partition has begun", lambda: len(begun) == 4)
        async with working(new, name="new"):
            plan_key = "{orders}:plan:g"
            await until("the plan", lambda: b"new" in target.client.get(plan_key).encode())
            # It is in the plan, and gets nothing until the handlers have ended.
            await until("two are drained", lambda: closing(worker) == 2)
            assert owners(target) == ["old"] * 4
            assert {name for name, _ in begun} == {"old"}
            end.set()
            await until("they share", lambda: sorted(map(str, owners(target))) == SHARED)
            await until("all", lambda: len(begun) == 8 and pending(target) == 0)
    assert sorted(n for _, n in begun) == [1] * 4 + [2] * 4
    assert {name for name, n in begun if n == 1} == {"old"}


SHARED = ["new", "new", "old", "old"]


async def test_what_was_read_late_by_an_earlier_owner_runs_in_its_place(target: Target) -> None:
    app, seen = target.app(lease=LONG_LEASE_S), []

    @app.on(ORDERS)
    async def handle(order: Order) -> None:
        seen.append(order.n)

    async with working(app):
        await until("it has all", lambda: None not in owners(target))
        await app.publish(ORDERS, Order(ANN, 1))
        await until("one", lambda: seen == [1])
        # Both in one step: the earlier owner's read is served before the worker's.
        pipe = target.client.pipeline(transaction=True)
        pipe.xadd(PLACE, {"customer": ANN, "n": 2})
        pipe.execute_command("XREADGROUP", "GROUP", "g", "frozen", "STREAMS", PLACE, ">")
        pipe.xadd(PLACE, {"customer": ANN, "n": 3})
        pipe.execute()
        await until("all", lambda: len(seen) == 3 and pending(target) == 0)
    assert seen == [1, 2, 3]


async def test_a_late_claim_of_an_earlier_owner_changes_nothing(target: Target) -> None:
    app, seen, begun = target.app(lease=LONG_LEASE_S), [], asyncio.Event()
    end = asyncio.Event()

    @app.on(ORDERS, retry=Retry(3, backoff=(0.05,)))
    async def handle(order: Order, m: Message) -> None:
        begun.set()
        await end.wait()
        if m.attempt == 1:
            raise ValueError("once more")
        seen.append((order.n, m.attempt))

    async with working(app):
        await app.publish_many(ORDERS, [Order(ANN, 1), Order(ANN, 2)])
        await begun.wait()
        # Long enough ago that our own claim would look for an older delivery.
        await until("it is idle", lambda: target.pending(PLACE)[0]["time_since_delivered"] > 500)
        for row in target.pending(PLACE):
            target.client.xclaim(PLACE, "g", "frozen", 0, [row["message_id"]], justid=True)
        end.set()
        await until("both", lambda: len(seen) == 2 and pending(target) == 0)
    assert seen == [(1, 2), (2, 2)]


async def test_a_worker_that_ends_hands_over_at_once(target: Target) -> None:
    apps = {name: target.app(lease=LONG_LEASE_S) for name in ("one", "two")}
    seen: dict[str, list[int]] = {name: [] for name in apps}
    stuck = asyncio.Event()

    def handler(name: str, app: App) -> None:
        @app.on(ORDERS, concurrency=1)
        async def handle(order: Order) -> None:
            seen[name].append(order.n)
            if name == "one":
                await stuck.wait()

    for name, app in apps.items():
        handler(name, app)
    apps["one"].grace = 0.1
    async with working(apps["one"], name="one"):
        await until("it has all", lambda: owners(target) == ["one"] * 4)
        await apps["one"].publish_many(ORDERS, [Order(ANN, n) for n in range(1, 6)])
        await until("the first is stuck", lambda: seen["one"] == [1])
        two = working(apps["two"], name="two")
        await two.__aenter__()
    # In spite of the lease of a minute; what had not begun was not charged.
    await until("two has all", lambda: owners(target) == ["two"] * 4)
    await until("all", lambda: len(seen["two"]) == 5 and pending(target) == 0)
    assert seen == {"one": [1], "two": [1, 2, 3, 4, 5]}
    await two.__aexit__(None, None, None)
    assert owners(target) == [None] * 4
    assert not target.client.keys("*member*") and not target.client.keys("*plan*")


async def test_more_workers_than_partitions_leave_some_without(anywhere: Target) -> None:
    apps = [anywhere.app(lease=LONG_LEASE_S) for _ in range(6)]
    seen: list[int] = []
    for app in apps:

        @app.on(ORDERS)
        async def handle(order: Order) -> None:
            seen.append(order.n)

    running = [working(app, name=f"w{n}") for n, app in enumerate(apps)]
    await asyncio.gather(*(one.__aenter__() for one in running))
    await until("four have one", lambda: len({*owners(anywhere)} - {None}) == 4)
    await apps[5].publish_many(ORDERS, [Order(f"key-{n}", n) for n in range(40)])
    await until("all", lambda: sorted(seen) == list(range(40)))
    await asyncio.gather(*(one.__aexit__(None, None, None) for one in running))


async def test_partitions_can_be_added_and_old_messages_stay_where_they_are(
    target: Target,
) -> None:
    before, after = target.app(lease=LONG_LEASE_S), target.app(lease=LONG_LEASE_S)
    more = Partitioned("orders", 8, by="customer")
    seen: list[int] = []

    async def handle(order: Order) -> None:
        seen.append(order.n)

    before.on(ORDERS)(handle)
    after.on(more)(handle)
    await before.publish_many(ORDERS, [Order(f"key-{n}", n) for n in range(20)])
    await after.publish_many(more, [Order(f"key-{n}", 20 + n) for n in range(20)])
    lengths = [target.client.xlen(more.stream(n)) for n in range(8)]
    assert sum(lengths) == 40 and all(lengths)
    async with working(before, name="before"), working(after, name="after"):
        # The member that knows four partitions has some of the new ones too.
        await until("eight", lambda: sorted(map(str, owners(target, 8))) == EIGHT)
        await until("all", lambda: sorted(seen) == list(range(40)))
    assert target.client.get(count_key("orders")) == "8"


EIGHT = ["after"] * 4 + ["before"] * 4


async def test_a_flushed_server_is_shared_anew(target: Target) -> None:
    app, seen = target.app(lease=2.0), []

    @app.on(ORDERS)
    async def handle(order: Order) -> None:
        seen.append(order.n)

    async with working(app, name="one"):
        await until("it has all", lambda: owners(target) == ["one"] * 4)
        target.client.flushall()
        await app.publish(ORDERS, Order(ANN, 7))
        await until("it has all again", lambda: owners(target) == ["one"] * 4)
        await until("it goes on", lambda: seen == [7])


def test_an_order_that_the_partitions_do_not_keep_is_refused() -> None:
    app = App()
    with pytest.raises(ConfigError, match="cannot keep the order of 'item'"):
        app.on(ORDERS, order_by="item")


async def test_a_partitioned_stream_is_not_published_to_by_its_name(target: Target) -> None:
    app = target.app()

    @app.on(ORDERS)
    async def handle(order: Order) -> None: ...

    with pytest.raises(ConfigError, match="'orders' is partitioned"):
        await app.publish("orders", Order(ANN, 1))
    with pytest.raises(ConfigError, match="key= chooses a partition"):
        await app.publish("other", Order(ANN, 1), key="ann")
    await app.close()


@pytest.mark.parametrize("layout", ["fields", "json"])
async def test_a_key_may_be_a_field_or_be_said(target: Target, layout: Any) -> None:
    app, seen = target.app(layout=layout), []
    plain = Partitioned("orders", 4)

    @app.on(plain)
    async def handle(order: Order, m: Message) -> None:
        seen.append((m.stream, order.n))

    await app.publish(ORDERS, Order(ANN, 1))
    await app.publish(plain, Order("somebody", 2), key=ANN)
    with pytest.raises(ConfigError, match="Nothing chooses the partition"):
        await app.publish(plain, Order("somebody", 3))
    async with working(app):
        await until("both", lambda: len(seen) == 2)
    assert seen == [(PLACE, 1), (PLACE, 2)]
