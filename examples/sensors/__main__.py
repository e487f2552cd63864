"""Sensors: Spark computes the mean of each minute, and a worker raises an alert.

    example:readings     --> Spark: aggregate --> example:minutes    --> worker --> example:alerts
    sensor, celsius, at      mean per minute      one entry a window

A minute is closed when a reading arrives that is more than the watermark past its end.  Later
readings for a closed minute are counted and dropped.  The aggregate writes each window once, even
if it is killed and started again; the worker publishes an alert in one transaction with the
acknowledgement of the window.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from examples.server import connect, url
from examples.with_spark import told_with_spark
from forebay_spark.pipeline.jobs import Aggregate
from forebay_spark.pipeline.spec import Source, StreamSink
from forebay_workers import App, Hooks, Message

READINGS, MINUTES, ALERTS = "example:readings", "example:minutes", "example:alerts"
START = datetime(2026, 7, 4, 10, 0, tzinfo=UTC)
MINUTES_SHOWN, READINGS_A_MINUTE = 4, 6
LIMIT_CELSIUS = 80.0
USUAL = {"boiler": 70.0, "hall": 21.0}


@dataclass
class Minute:
    """A window, as the aggregate writes it."""

    sensor: str
    window_start: str
    mean: float
    readings: int


@dataclass
class Alert:
    """A window that needs attention."""

    sensor: str
    minute: str
    mean: float


class UntilAllHandled(Hooks):
    """Knows when this many windows are handled."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.event = asyncio.Event()

    def handled(self, message: Message, seconds: float) -> None:
        self._left -= 1
        if self._left == 0:
            self.event.set()


def report(client: Any) -> int:
    """Readings of each sensor, every ten seconds; the boiler is too hot in its third minute."""
    step = timedelta(seconds=60 / READINGS_A_MINUTE)
    count = MINUTES_SHOWN * READINGS_A_MINUTE
    with client.pipeline(transaction=False) as pipe:
        for number in range(count):
            for sensor, celsius in USUAL.items():
                is_hot = sensor == "boiler" and number // READINGS_A_MINUTE == 2
                reading = celsius + (20 if is_hot else 0) + number % 3
                at = START + number * step
                pipe.xadd(READINGS, {"sensor": sensor, "celsius": reading, "at": at.isoformat()})
        # One much later reading closes the last minute.
        late = START + timedelta(minutes=MINUTES_SHOWN + 2)
        pipe.xadd(READINGS, {"sensor": "hall", "celsius": 21.0, "at": late.isoformat()})
        return len(pipe.execute())


def aggregate(spark: Any, folder: Path) -> None:
    """The mean of each sensor and minute, to a stream."""
    Aggregate(
        source=Source(
            url=url(), streams=(READINGS,), schema="sensor string, celsius double, at timestamp"
        ),
        time="at",
        window="1 minute",
        watermark="30 seconds",
        keys=("sensor",),
        values={"mean": "round(avg(celsius), 1)", "readings": "count(*)"},
        sink=(StreamSink(MINUTES, url=url()),),
        checkpoint=str(folder / "checkpoint"),
    ).start(spark).wait()


async def watch(count: int) -> None:
    """A worker that raises alerts, until this many windows are handled."""
    done = UntilAllHandled(count)
    app = App(url(), group="alerts", hooks=[done])

    @app.on(MINUTES, to=ALERTS, order_by="sensor", keep=None)
    async def check(minute: Minute) -> Alert | None:
        if minute.mean <= LIMIT_CELSIUS:
            return None
        return Alert(minute.sensor, minute.window_start[:16], minute.mean)

    async with app:
        worker = app.worker()
        running = asyncio.create_task(worker.run())
        handled = asyncio.create_task(done.event.wait())
        await asyncio.wait([running, handled], return_when=asyncio.FIRST_COMPLETED)
        handled.cancel()
        worker.stop()
        await running


def tell(spark: Any, folder: Path) -> None:
    """Run the whole example."""
    with connect(READINGS, MINUTES, ALERTS) as client:
        print(f"{report(client)} readings")
        aggregate(spark, folder)
        windows = client.xrange(MINUTES)
        for _, minute in windows:
            start = minute["window_start"][:16]
            print(f"  {start}  {minute['sensor']:6}  {minute['mean']:>5} over {minute['readings']}")
        asyncio.run(watch(len(windows)))
        for _, alert in client.xrange(ALERTS):
            print(f"alert: {alert['sensor']} had {alert['mean']} degrees at {alert['minute']}")


if __name__ == "__main__":
    told_with_spark(tell, "sensors", READINGS)
