"""Messages are handled, results are published with the acknowledgement, nothing is left over."""

from __future__ import annotations

from typing import Any

from forebay_workers import App


def build(app: App) -> None:
    @app.on("orders", to="receipts")
    async def bill(order: dict[str, str]) -> dict[str, str]:
        return {"paid": order["n"]}

    @app.on("plain", to="receipts")
    def plain(order: dict[str, str]) -> list[dict[str, str]]:
        return [{"thread": order["n"]}, {"thread": order["n"]}]


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("orders", *({"n": str(n)} for n in range(5)))
    stage.publish("plain", {"n": "7"})
    stage.until("all receipts are there", lambda: len(stage.entries("receipts")) == 7)
    stage.until("nothing is pending", lambda: not stage.pending("orders") + stage.pending("plain"))
    return sorted(str(entry) for entry in stage.entries("receipts"))


SEEN = [*(f"{{'paid': '{n}'}}" for n in range(5)), *["{'thread': '7'}"] * 2]
