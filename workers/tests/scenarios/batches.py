"""One batch by size and one by time; its failed messages are tried again, the others are done."""

from __future__ import annotations

from typing import Any

from forebay_workers import App, Failed, Retry
from workers.tests.support.stage import note


def build(app: App) -> None:
    @app.on_batch("clicks", size=3, within=1.0, retry=Retry(2, backoff=(0.1,)))
    async def load(rows: list[dict[str, str]]) -> Failed | None:
        await note(app, ",".join(sorted(row["n"] for row in rows)))
        bad = [place for place, row in enumerate(rows) if row["n"] == "bad"]
        return Failed(bad, "no page") if bad else None


def play(stage: Any) -> Any:
    stage.publish("clicks", {"n": "1"}, {"n": "bad"}, {"n": "2"})
    stage.start("worker-1")
    stage.until("the bad one is buried", lambda: stage.letters("clicks"))
    stage.until("nothing is pending", lambda: not stage.pending("clicks"))
    (letter,) = stage.letters("clicks")
    return stage.noted(), letter.error, letter.deliveries


SEEN = (["1,2,bad", "bad"], "PartError: no page", 2)
