"""A taskiq application whose workers are real processes; see server/tests/clients/test_taskiq.py.

TASKIQ_PORT is the port of the server, TASKIQ_WORKER the name of the worker.  A worker named
``stuck`` never reaches the end of ``mark``, so that a test may kill it at that point.
"""

from __future__ import annotations

import asyncio
import os

import redis.asyncio
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

URL = f"redis://127.0.0.1:{os.environ['TASKIQ_PORT']}"
WORKER = os.environ.get("TASKIQ_WORKER", "")
#: An entry that is not acknowledged for this long may be taken over.
IDLE_MS = 300

broker = RedisStreamBroker(
    URL,
    queue_name="taskiq:tasks",
    consumer_group_name="workers",
    consumer_id="0",
    consumer_name=WORKER or None,
    xread_block=100,
    idle_timeout=IDLE_MS,
    unacknowledged_lock_timeout=5,
).with_result_backend(RedisAsyncResultBackend(URL, result_ex_time=60))


@broker.task(task_name="double")
async def double(number: int) -> int:
    """Something to do."""
    return 2 * number


@broker.task(task_name="mark")
async def mark(key: str) -> str:
    """Note which worker began; the stuck one never returns."""
    async with redis.asyncio.Redis.from_url(URL) as client:
        await client.set(key, WORKER)
    if WORKER == "stuck":
        await asyncio.Event().wait()
    return WORKER
