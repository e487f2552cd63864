"""A server goes away in the middle of a handler: nothing is lost, no result is published twice."""

from __future__ import annotations

import asyncio
from typing import Any

from forebay_workers import App


def build(app: App) -> None:
    @app.on("s", to="out")
    async def handler(fields: dict[str, str]) -> dict[str, str]:
        await asyncio.sleep(2)
        return fields


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"})
    stage.until("it has begun", lambda: stage.pending("s"))
    stage.take_server_away()
    stage.command("XADD", "s", "*", "n", "2")
    stage.wait(3)
    meanwhile = len(stage.entries("out"))
    stage.bring_server_back()
    stage.until("both results are there", lambda: len(stage.entries("out")) == 2)
    stage.until("nothing is pending", lambda: not stage.pending("s"))
    return meanwhile, sorted(entry["n"] for entry in stage.entries("out"))


SEEN = (0, ["1", "2"])
