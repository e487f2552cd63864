"""taskiq-redis: real workers on its stream broker; one is killed in the middle of a task.

Between two reads a worker claims entries that others left pending, inside a MULTI that a
redis-py Lock begins and ends: SCRIPT LOAD and EVALSHA must work there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from taskiq import AsyncTaskiqTask

from testkit.places import ROOT
from testkit.servers import ServerProcess, environment
from testkit.waiting import wait_until

STREAM, GROUP = "taskiq:tasks", "workers"
DEADLINE_S = 60.0

Worker = subprocess.Popen[bytes]


@pytest.fixture
def start_worker(forebay_server: ServerProcess, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Starts worker processes by name; each is its own process group and ends with the test."""
    running: list[Worker] = []

    def start(name: str) -> Worker:
        command = [
            sys.executable,
            "-m",
            "taskiq",
            "worker",
            "server.tests.support.taskiq_app:broker",
        ]
        variables = {"TASKIQ_PORT": str(forebay_server.port), "TASKIQ_WORKER": name}
        with (tmp_path / f"{name}.log").open("wb") as log:
            worker = subprocess.Popen(
                [*command, "--workers", "1"],
                cwd=ROOT,
                env={**environment(), **variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        running.append(worker)
        return worker

    yield start
    for worker in running:
        kill(worker)


def kill(worker: Worker) -> None:
    """Kill the worker and its child at once."""
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait(DEADLINE_S)


@pytest.fixture
def app(forebay_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The application, as seen by the process that sends tasks."""
    monkeypatch.setenv("TASKIQ_PORT", str(forebay_server.port))
    monkeypatch.delitem(sys.modules, "server.tests.support.taskiq_app", raising=False)
    from server.tests.support import taskiq_app

    return taskiq_app


def send(app: Any, task: str, *arguments: Any) -> list[Any]:
    """Send a task for each argument; returns the task IDs."""

    async def run() -> list[Any]:
        await app.broker.startup()
        sent = [await getattr(app, task).kiq(argument) for argument in arguments]
        await app.broker.shutdown()
        return [one.task_id for one in sent]

    return asyncio.run(run())


def results(app: Any, tasks: list[str]) -> list[Any]:
    """The results of the workers."""

    async def run() -> list[Any]:
        await app.broker.startup()
        waiting = [AsyncTaskiqTask(task, app.broker.result_backend) for task in tasks]
        done = [await one.wait_result(0.02, timeout=DEADLINE_S) for one in waiting]
        await app.broker.shutdown()
        return [one.return_value for one in done]

    return asyncio.run(run())


def pending(client: redis.Redis) -> int:
    return int(client.xpending(STREAM, GROUP)["pending"])  # type: ignore[index]


def test_a_worker_does_six_of_six_tasks_and_leaves_nothing_pending(
    app: Any, start_worker: Callable[..., Worker], forebay_server: ServerProcess
) -> None:
    start_worker("diligent")
    assert results(app, send(app, "double", *range(6))) == [0, 2, 4, 6, 8, 10]
    with redis.Redis(port=forebay_server.port) as client:
        wait_until("nothing is pending", lambda: pending(client) == 0)
        assert client.xlen(STREAM) == 6
        assert client.keys("autoclaim:*") == []


def test_the_entries_of_a_killed_worker_are_taken_over_by_the_next_one(
    app: Any, start_worker: Callable[..., Worker], forebay_server: ServerProcess
) -> None:
    with redis.Redis(port=forebay_server.port, decode_responses=True) as client:
        stuck = start_worker("stuck")
        (task,) = send(app, "mark", "marked-by")
        wait_until("the first worker begins", lambda: client.get("marked-by") == "stuck")
        kill(stuck)
        assert pending(client) == 1
        start_worker("heir")
        # A worker looks for abandoned entries only after it has read something.
        wait_until(
            "the next worker takes it over",
            lambda: (
                results(app, send(app, "double", 1)) == [2] and client.get("marked-by") == "heir"
            ),
        )
        assert results(app, [task]) == ["heir"]
        wait_until("nothing is pending", lambda: pending(client) == 0)
