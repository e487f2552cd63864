"""One worker process of ``forebay work``.

    python -m forebay_workers.cli.child module:app GRACE FD

It writes a report a second to the descriptor, one JSON object a line, and ends cleanly at SIGTERM.
Exit codes: 0 after a stop, 2 for an error that the user must fix (a restart does not help),
anything else for a crash.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from itertools import count
from typing import Any

from forebay_workers.app import App
from forebay_workers.cli.loading import load
from forebay_workers.errors import WorkerError
from forebay_workers.observe.metrics import Metrics, Report
from forebay_workers.servers.trouble import FAULTS
from forebay_workers.settle.retention import pairs
from forebay_workers.worker.owned import OwnedFlow
from forebay_workers.worker.worker import Worker

REPORT_S = 1.0
#: Partitions are many: only every fifth report asks the server about them.
PARTITION_TURNS = 5
USER_ERROR = 2
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


async def state(
    app: App, worker: Worker, metrics: Metrics, known: dict[str, dict[str, float]]
) -> dict[str, Any]:
    """The report; ``known`` has the server's earlier answers about partitions."""
    # Our counts stay, also for partitions that other processes own now.
    report: Report = {stream: dict(counts) for stream, counts in metrics.counts.items()}
    for stream, flow in list(worker.flows.items()):
        if not isinstance(flow, OwnedFlow) or stream not in known:
            known[stream] = await server_facts(app, stream, flow.subscription.dead)
        report[stream] = {
            **metrics.counts.get(stream, {}),
            "held": len(flow.held.messages),
            "running": flow.lanes.running,
            **known[stream],
        }
    about = f"group {app.group} on {', '.join(app.subscriptions)}, at {app.server.where}"
    ready = worker.is_ready.is_set()
    return {"pid": os.getpid(), "ready": ready, "about": about, "streams": report}


async def server_facts(app: App, stream: str, dead: str) -> dict[str, float]:
    """Lag, pending and dead letters, if the server answers; lag only if the server knows it."""
    try:
        groups = await app.server.shared.ask("XINFO", "GROUPS", stream)
        length = await app.server.shared.ask("XLEN", dead)
    except FAULTS:
        return {}
    facts: dict[str, float] = {"dead": length}
    for row in map(pairs, groups):
        if row[b"name"] == app.group.encode():
            facts["pending"] = row[b"pending"]
            if row.get(b"lag") is not None:
                facts["lag"] = row[b"lag"]
    return facts


async def report_on(app: App, worker: Worker, metrics: Metrics, descriptor: int) -> None:
    """Write a line a second; a parent that is gone ends this process."""
    known: dict[str, dict[str, float]] = {}
    for turn in count():
        if turn % PARTITION_TURNS == 0:
            known.clear()
        line = json.dumps(await state(app, worker, metrics, known)) + "\n"
        try:
            os.write(descriptor, line.encode())
        except BrokenPipeError:
            worker.stop()
            return
        except BlockingIOError:
            pass  # the parent is slow; the next report replaces this one
        await asyncio.sleep(REPORT_S)


async def run(place: str, grace_s: float | None, descriptor: int) -> int:
    """Work until SIGTERM."""
    app = load(place)
    if not logging.getLogger().handlers:  # the app has not set up logging
        logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    if grace_s is not None:
        app.grace = grace_s
    metrics = Metrics()
    app.hooks.append(metrics)
    worker = app.worker()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    os.set_blocking(descriptor, False)
    reports = asyncio.create_task(report_on(app, worker, metrics, descriptor))
    try:
        await worker.run()
    finally:
        reports.cancel()
        await app.close()
    return 0


def main(words: list[str]) -> int:
    """Run one process; return its exit code."""
    place, grace, descriptor = words
    try:
        return asyncio.run(run(place, float(grace) if grace else None, int(descriptor)))
    except WorkerError as error:
        sys.stderr.write(f"forebay: {error}\n")
        return USER_ERROR


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread whose handler did not end in time must not keep the process alive.
    os._exit(code)
