"""A worker of a scenario as its own process.

python -m workers.tests.support.player SCENARIO URL NAME
"""

from __future__ import annotations

import asyncio
import signal
import sys
from importlib import import_module

from forebay_workers import App
from forebay_workers.worker.worker import Worker
from workers.tests.support.stage import made, ready_key


async def work(scenario: str, url: str, name: str) -> None:
    """Work until SIGTERM."""
    app = made(import_module(f"workers.tests.scenarios.{scenario}"), url)
    worker = app.worker(name=name)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    telling = asyncio.create_task(tell(app, worker, name))
    await worker.run()
    await telling
    await app.close()


async def tell(app: App, worker: Worker, name: str) -> None:
    """Note that it reads."""
    await worker.is_ready.wait()
    await app.server.shared.ask("SET", ready_key(name), 1)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
