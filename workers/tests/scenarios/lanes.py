"""Messages of one key keep their order through a retry; other keys do not wait for them."""

from __future__ import annotations

from typing import Any

from forebay_workers import App, Message, Retry
from workers.tests.support.stage import note


def build(app: App) -> None:
    @app.on("s", order_by="key", retry=Retry(3, backoff=(1.0,)))
    async def handler(fields: dict[str, str], m: Message) -> None:
        await note(app, f"{fields['key']}{fields['n']}/{m.attempt}")
        if fields["key"] == "a" and fields["n"] == "1" and m.attempt == 1:
            raise ValueError("once")


def play(stage: Any) -> Any:
    stage.publish("s", *({"key": key, "n": n} for n in "123" for key in "ab"))
    stage.start("worker-1")
    stage.until("all is done", lambda: len(stage.noted()) == 7 and not stage.pending("s"))
    noted = stage.noted()
    lanes = [[text for text in noted if text.startswith(key)] for key in "ab"]
    return lanes, noted.index("b3/1") < noted.index("a1/2")


SEEN = ([["a1/1", "a1/2", "a2/1", "a3/1"], ["b1/1", "b2/1", "b3/1"]], True)
