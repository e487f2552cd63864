"""A message for later is delivered when its time has come, and not before."""

from __future__ import annotations

from typing import Any

from forebay_workers import App
from workers.tests.support.stage import note


def build(app: App) -> None:
    @app.on("s")
    async def handler(fields: dict[str, str]) -> None:
        await note(app, fields["n"])


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "later"}, delay=5)
    stage.publish("s", {"n": "now"})
    stage.until("the other one came", stage.noted)
    stage.wait(1)
    early = stage.noted()
    stage.until("it came", lambda: len(stage.noted()) == 2)
    return early, stage.noted()


SEEN = (["now"], ["now", "later"])
