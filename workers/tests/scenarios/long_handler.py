"""A handler that takes several leases keeps its message while its worker lives."""

from __future__ import annotations

import asyncio
from typing import Any

from forebay_workers import App, Message
from workers.tests.support.stage import note

LEASE_S = 2.0
OPTIONS = {"lease": LEASE_S}


def build(app: App) -> None:
    @app.on("s")
    async def handler(fields: dict[str, str], m: Message) -> None:
        await note(app, f"{fields['n']}/{m.attempt}")
        while not await app.server.shared.ask("EXISTS", "go-on"):
            await asyncio.sleep(0.2)
        await note(app, "end")


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"})
    stage.until("it has begun", stage.noted)
    stage.start("worker-2")
    stage.wait(2 * LEASE_S)
    meanwhile = stage.pending("s")
    stage.command("SET", "go-on", "1")
    stage.until("it is done", lambda: not stage.pending("s"))
    return meanwhile, stage.noted()


SEEN = ([("worker-1", 1)], ["1/1", "end"])
