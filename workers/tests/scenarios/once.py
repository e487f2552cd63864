"""A key publishes once, and an effect happens once even if its handler fails after it."""

from __future__ import annotations

from typing import Any

from forebay_workers import App, Message, Retry
from workers.tests.support.stage import note


def build(app: App) -> None:
    @app.on("s", retry=Retry(3, backoff=(0.1,)))
    async def handler(fields: dict[str, str], m: Message) -> None:
        async with app.once(f"bill:{fields['n']}") as once:
            if once.first:
                once.also("INCRBY", "turnover", 5)
        await note(app, f"{fields['n']}/{m.attempt}/{once.first}")
        if m.attempt == 1:
            raise ValueError("after the effect")


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"}, {"n": "1"}, {"n": "1"}, once="same")
    stage.until("it is done", lambda: len(stage.noted()) == 2 and not stage.pending("s"))
    return stage.noted(), stage.command("GET", "turnover"), stage.letters("s")


SEEN = (["1/1/True", "1/2/False"], b"5", [])
