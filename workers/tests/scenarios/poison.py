"""A message that kills its workers is buried after its attempts; those fetched with it are not."""

from __future__ import annotations

import asyncio
from typing import Any

from forebay_workers import App, Message, Retry
from workers.tests.support.stage import note

OPTIONS = {"lease": 2.0}


def build(app: App) -> None:
    @app.on("s", concurrency=1, retry=Retry(3))
    async def handler(fields: dict[str, str], m: Message) -> None:
        await note(app, fields["n"])
        if fields["n"] == "poison":
            await asyncio.Event().wait()


def play(stage: Any) -> Any:
    stage.publish("s", {"n": "poison"}, {"n": "good"})
    for life in range(1, 4):
        stage.start(f"worker-{life}")
        stage.until(f"it began {life} times", lambda life=life: poisoned(stage) == life)
        stage.kill(f"worker-{life}")
    stage.start("worker-4")
    stage.until("it is buried", lambda: stage.letters("s"))
    stage.until("the other one is done", lambda: not stage.pending("s"))
    (letter,) = stage.letters("s")
    return letter.error, letter.deliveries, set(stage.noted())


def poisoned(stage: Any) -> int:
    """How often it was begun."""
    return sum(text == "poison" for text in stage.noted())


GAVE_UP = "WorkerError: the worker died, or lost its lease, in each of 3 attempts"
SEEN = (GAVE_UP, 3, {"poison", "good"})
