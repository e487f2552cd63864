"""What a killed worker had is done by another one after a lease, as its second attempt."""

from __future__ import annotations

import asyncio
from typing import Any

from forebay_workers import App, Message
from workers.tests.support.stage import note

LEASE_S = 2.0
OPTIONS = {"lease": LEASE_S}


def build(app: App) -> None:
    @app.on("s", concurrency=1)
    async def handler(fields: dict[str, str], m: Message) -> None:
        await note(app, f"{fields['n']}/{m.attempt}")
        if m.attempt == 1 and fields["n"] == "1":
            await asyncio.Event().wait()


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"}, {"n": "2"})
    stage.until("it hangs, and has the next one too", lambda: len(stage.pending("s")) == 2)
    stage.until("it has begun", stage.noted)
    stage.kill("worker-1")
    stage.start("worker-2")
    left = stage.pending("s")
    stage.until("all is done", lambda: not stage.pending("s"))
    first, *others = stage.noted()
    return left, first, sorted(others), stage.is_gone("worker-1")


# A message that was prefetched is charged for it: nobody knows that it was not begun.
SEEN = ([("worker-1", 1), ("worker-1", 1)], "1/1", ["1/2", "2/2"], True)
