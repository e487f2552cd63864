"""A message becomes a dead letter after its attempts; fixed and sent back, it is handled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay_workers import App, Message, Retry
from workers.tests.support.stage import note


@dataclass
class Order:
    n: int


def build(app: App) -> None:
    @app.on("s", retry=Retry(2, backoff=(0.1,)))
    async def handler(order: Order, m: Message) -> None:
        await note(app, f"{order.n}/{m.attempt}")
        if not await app.server.shared.ask("EXISTS", "mended"):
            raise ValueError(f"no {order.n}")


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", Order(1), {"n": "one"})
    stage.until("two letters", lambda: len(stage.letters("s")) == 2)
    stage.until("nothing is pending", lambda: not stage.pending("s"))
    letters = sorted((one.deliveries, one.error, one.consumer) for one in stage.letters("s"))
    stage.command("SET", "mended", "1")
    sent = stage.redrive("s")
    stage.until("it is handled", lambda: len(stage.noted()) == 3)
    stage.until("the other one is back", lambda: len(stage.letters("s")) == 1)
    stage.until("nothing is pending", lambda: not stage.pending("s"))
    return letters, sent, stage.noted()


SEEN = (
    [
        (0, "MisfitError: Order: Expected `int`, got `str` - at `$.n`", "worker-1"),
        (2, "ValueError: no 1", "worker-1"),
    ],
    2,
    ["1/1", "1/2", "1/1"],
)
