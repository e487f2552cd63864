"""A failed handler is called again after pauses, with the number of the attempt."""

from __future__ import annotations

from typing import Any

from forebay_workers import App, Message, Retry
from workers.tests.support.stage import note


def build(app: App) -> None:
    @app.on("s", retry=Retry(4, backoff=(0.1, 1.5)))
    async def handler(fields: dict[str, str], m: Message) -> None:
        await note(app, f"{fields['n']}/{m.attempt}")
        if m.attempt < int(fields["good"]):
            raise ValueError("not yet")


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1", "good": "3"}, {"n": "2", "good": "1"})
    stage.until("it failed twice", lambda: "1/2" in stage.noted())
    early = [text for text in stage.noted() if text == "1/3"]
    stage.until("all is acknowledged", lambda: not stage.pending("s"))
    return early, sorted(stage.noted()), stage.letters("s")


SEEN = ([], ["1/1", "1/2", "1/3", "2/1"], [])
