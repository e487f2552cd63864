"""A worker that is frozen for longer than a lease gives way to the worker that has claimed."""

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
        # A server that claims for waiting readers may give it to the frozen worker first.
        await note(app, fields["n"] if m.attempt == 1 else f"{fields['n']} again")
        if not await app.server.shared.ask("EXISTS", "go-on"):
            await asyncio.Event().wait()


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"})
    stage.until("it has begun", stage.noted)
    stage.freeze("worker-1")
    stage.command("SET", "go-on", "1")
    stage.start("worker-2")
    stage.until("the other one has done it", lambda: not stage.pending("s"))
    done = stage.noted()
    stage.thaw("worker-1")
    stage.publish("s", {"n": "2"})
    stage.until("both go on", lambda: not stage.pending("s") and len(stage.noted()) == 3)
    return done, stage.noted(), stage.letters("s")


SEEN = (["1", "1 again"], ["1", "1 again", "2"], [])
