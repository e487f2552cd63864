"""Partitions: order per key holds over two processes, even if one of them is killed."""

from __future__ import annotations

import asyncio
from typing import Any

from forebay_workers import App, Message, Partitioned
from workers.tests.support.stage import note

OPTIONS = {"lease": 2.0}
ORDERS = Partitioned("orders", 4, by="customer")
CUSTOMERS = ["ann", "bob", "eve", "kim", "zoe"]


def build(app: App) -> None:
    @app.on(ORDERS)
    async def handler(order: dict[str, str], m: Message) -> None:
        await note(app, f"{order['customer']} {order['n']}")
        while not await app.server.shared.ask("EXISTS", "go-on"):
            await asyncio.sleep(0.2)


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.start("worker-2")
    stage.publish(ORDERS, *({"customer": who, "n": str(n)} for n in range(3) for who in CUSTOMERS))
    stage.until("the first of each key has begun", lambda: len(set(stage.noted())) == 5)
    stage.kill("worker-1")
    stage.command("SET", "go-on", "1")
    stage.until("all is done", lambda: len(set(stage.noted())) == 15 and is_done(stage))
    return [in_order(stage.noted(), who) for who in CUSTOMERS]


def is_done(stage: Any) -> bool:
    """Whether nothing is pending in any partition."""
    return not any(stage.pending(ORDERS.stream(number)) for number in range(ORDERS.count))


def in_order(noted: list[str], who: str) -> list[str]:
    """The orders of a customer as they were begun; a repetition after a kill counts once."""
    mine = [text.split()[1] for text in noted if text.startswith(who)]
    return [n for at, n in enumerate(mine) if at == 0 or mine[at - 1] != n]


SEEN = [["0", "1", "2"]] * 5
