"""A worker of a test, like a process: it can be killed, frozen, stopped.

    running --stop--> stopping --> ended         SIGTERM: a clean end
       |  '--freeze--> frozen --thaw--> running  SIGSTOP and SIGCONT: it does not notice
       '--kill--> killed                         SIGKILL: not one more line of it runs
       '--> failed                               it ended by itself, with an error

A thread cannot be stopped from outside, here as elsewhere: a plain function continues, but its
result is dropped.
"""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from typing import Any, Literal

from forebay_workers.app import App
from forebay_workers.testing.loop import PROCESS, Step, VirtualLoop
from forebay_workers.testing.server import Double
from forebay_workers.worker.worker import Worker

State = Literal["running", "frozen", "stopping", "ended", "killed", "failed"]
#: A cancelled task may wait again in its ``finally``, but not this often.
MOST_CANCELS = 100


class Process:
    """One worker, with its tasks and connections."""

    def __init__(self, name: str, app: App, loop: VirtualLoop, double: Double) -> None:
        self.name = name
        self.is_stopped = False
        self._loop = loop
        self._double = double
        self._kept: list[Step] = []
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._is_killed = False
        self._is_stopping = False
        #: The test has read the error.
        self.was_seen = False
        context = contextvars.copy_context()
        context.run(PROCESS.set, self)
        self.worker: Worker = context.run(app.worker, name=name)
        self._run = context.run(loop.create_task, self.worker.run())

    # For the loop

    def keep(self, step: Step) -> None:
        """Keep a callback that may not run now."""
        self._kept.append(step)

    def owns(self, task: asyncio.Task[Any]) -> None:
        """Note a task that this process created."""
        self._tasks.add(task)

    # Actions on it

    def freeze(self) -> None:
        """Like SIGSTOP."""
        self.is_stopped = True

    def thaw(self) -> None:
        """Like SIGCONT."""
        self.is_stopped = False
        kept, self._kept = self._kept, []
        for step in kept:
            self._loop.again(step)

    def stop(self) -> None:
        """Like SIGTERM."""
        self._is_stopping = True
        self.worker.stop()

    def kill(self) -> None:
        """Like SIGKILL: the system closes its connections, nothing else happens."""
        self._is_killed = self.is_stopped = True
        for pipe in [pipe for pipe in self._double.pipes if pipe.process is self]:
            pipe.drop()

    def clear_away(self) -> None:
        """After the test: end the tasks that are still in the middle of something."""
        for _ in range(MOST_CANCELS):
            left = [task for task in self._tasks if not task.done()]
            if not left:
                break
            for task in left:
                task.cancel()
            self.thaw()
            self._loop.run_to(self._loop.time())
        self.worker.drop_threads()

    # Its state

    @property
    def state(self) -> State:
        """Its current state."""
        if self._is_killed:
            return "killed"
        if self._run.done():
            return "ended" if self._failure() is None else "failed"
        if self.is_stopped:
            return "frozen"
        return "stopping" if self._is_stopping else "running"

    @property
    def error(self) -> BaseException | None:
        """Why it ended by itself, or None; an error that was read is not raised at the end."""
        self.was_seen = True
        return self._failure()

    def _failure(self) -> BaseException | None:
        if not self._run.done() or self._run.cancelled():
            return None
        return self._run.exception()

    @property
    def held(self) -> list[str]:
        """The IDs of all messages that it holds."""
        return [
            one.id for flow in self.worker.flows.values() for one in flow.held.messages.values()
        ]

    @property
    def running(self) -> list[str]:
        """The IDs of messages in running handlers."""
        flows = self.worker.flows.values()
        return [one.id for flow in flows for one in flow.held.messages.values() if one.is_running]

    def __repr__(self) -> str:
        text = f"{self.name}: {self.state}"
        if self.state in ("ended", "killed"):
            return f"<{text}>"
        if self.state == "failed":
            return f"<{text}, {self._failure()}>"
        return f"<{text}, holds {len(self.held)}, {len(self.running)} in handlers>"
