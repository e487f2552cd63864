"""A real server for the tests of the workers, and a worker that runs during a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis

from forebay_workers import App
from forebay_workers.worker.worker import Worker
from testkit.clusters import cluster_url
from testkit.servers import ServerProcess
from testkit.waiting import PATIENCE_S, next_pause_s

GROUP = "g"


class Target:
    """One server."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.url = f"redis://127.0.0.1:{server.port}"
        self.client: Any = redis.Redis(port=server.port, decode_responses=True)

    def app(self, **options: Any) -> App:
        """An app on it."""
        return App(self.url, **{"group": GROUP, **options})

    def add(self, stream: str, *numbers: int, **fields: str) -> list[str]:
        """Add entries with a number each."""
        return [str(self._add(stream, {"n": str(n), **fields})) for n in numbers]

    def _add(self, stream: str, fields: Any) -> Any:
        return self.client.xadd(stream, fields)

    def pending(self, stream: str, group: str = GROUP) -> list[dict[str, Any]]:
        """The pending records, entry by entry."""
        rows: Any = self.client.xpending_range(stream, group, "-", "+", 10_000)
        return list(rows)

    def entries(self, stream: str) -> list[dict[str, str]]:
        """The fields of all entries."""
        found: Any = self.client.xrange(stream)
        return [fields for _, fields in found]


class ClusterTarget(Target):
    """A cluster of three nodes, emptied."""

    def __init__(self, nodes: list[ServerProcess]) -> None:
        self.nodes = nodes
        self.url = cluster_url(nodes)
        self.client: Any = redis.RedisCluster(
            host="127.0.0.1", port=nodes[0].port, decode_responses=True
        )
        self.client.flushall(target_nodes="primaries")


async def until(
    what: str, true: Callable[[], Any], seen: Callable[[], object] = lambda: ""
) -> None:
    """Let the loop run until it is true; ``what`` and ``seen`` are for the reader of a failure."""
    begun_s = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                await asyncio.sleep(next_pause_s(time.monotonic() - begun_s))
    except TimeoutError:
        pytest.fail(f"not in {PATIENCE_S:g} s: {what} {seen()}")


@asynccontextmanager
async def working(app: App, *, name: str | None = None) -> AsyncIterator[Worker]:
    """A worker of the app that reads while the test runs, and ends in good order."""
    worker = app.worker(name=name)
    task = asyncio.create_task(worker.run())
    ready = asyncio.create_task(worker.is_ready.wait())
    await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield worker
    finally:
        ready.cancel()
        worker.stop()
        await task
        await app.close()
