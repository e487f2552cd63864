"""A deleted group is made again where the worker was; a new stream is read from its start."""

from __future__ import annotations

from typing import Any

from forebay_workers import App
from workers.tests.support.stage import NOTED, note


def build(app: App) -> None:
    @app.on("s", keep=None)
    async def handler(fields: dict[str, str]) -> None:
        await note(app, fields["n"])


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"})
    stage.until("it is handled", lambda: stage.noted() == ["1"])
    stage.command("XGROUP", "DESTROY", "s", "g")
    stage.publish("s", {"n": "2"})
    stage.until("it is handled", lambda: "2" in stage.noted())
    first = stage.noted()
    stage.command("DEL", "s", NOTED)
    stage.publish("s", {"n": "3"}, {"n": "4"})
    stage.until("they are handled", lambda: len(stage.noted()) == 2)
    return first, sorted(stage.noted())


SEEN = (["1", "2"], ["3", "4"])
