"""A worker of a test, in the place of a process: it can be killed, frozen, stopped.

    running --stop--> stopping --> ended         SIGTERM: in good order
       |  '--freeze--> frozen --thaw--> running  SIGSTOP and SIGCONT: it knows nothing of it
       '--kill--> killed                         SIGKILL: not one more line of it runs
       '--> failed                               it ended by itself, with an error

What runs in threads cannot be stopped from outside, here as little as elsewhere: a plain function
goes on, but what it returns comes to nobody.
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
#: A task that is cancelled may wait again in its ``finally``; nobody does so for ever.
MOST_CANCELS = 100


class Process:
    """One worker, and all that belongs to it."""

    def __init__(self, name: str, app: App, loop: VirtualLoop, double: Double) -> None:
        self.name = name
        self.is_stopped = False
        self._loop = loop
        self._double = double
        self._kept: list[Step] = []
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._is_killed = False
        self._is_stopping = False
        #: Somebody has asked for the error.
        self.was_seen = False
        context = contextvars.copy_context()
        context.run(PROCESS.set, self)
        self.worker: Worker = context.run(app.worker, name=name)
        self._run = context.run(loop.create_task, self.worker.run())

    # What the loop asks

    def keep(self, step: Step) -> None:
        """A callback that may not run now."""
        self._kept.append(step)

    def owns(self, task: asyncio.Task[Any]) -> None:
        """A task that this process made."""
        self._tasks.add(task)

    # What happens to it

    def freeze(self) -> None:
        """As SIGSTOP."""
        self.is_stopped = True

    def thaw(self) -> None:
        """As SIGCONT."""
        self.is_stopped = False
        kept, self._kept = self._kept, []
        for step in kept:
            self._loop.again(step)

    def stop(self) -> None:
        """As SIGTERM."""
        self._is_stopping = True
        self.worker.stop()

    def kill(self) -> None:
        """As SIGKILL: the system closes its connections, and that is all."""
        self._is_killed = self.is_stopped = True
        for pipe in [pipe for pipe in self._double.pipes if pipe.process is self]:
            pipe.drop()

    def clear_away(self) -> None:
        """After the test: end the tasks that were left in the middle of something."""
        for _ in range(MOST_CANCELS):
            left = [task for task in self._tasks if not task.done()]
            if not left:
                break
            for task in left:
                task.cancel()
            self.thaw()
            self._loop.run_to(self._loop.time())
        self.worker.drop_threads()

    # What it looks like

    @property
    def state(self) -> State:
        """What became of it."""
        if self._is_killed:
            return "killed"
        if self._run.done():
            return "ended" if self._failure() is None else "failed"
        if self.is_stopped:
            return "frozen"
        return "stopping" if self._is_stopping else "running"

    @property
    def error(self) -> BaseException | None:
        """Why it ended by itself, None if it did not; who asks gets no error at the end."""
        self.was_seen = True
        return self._failure()

    def _failure(self) -> BaseException | None:
        if not self._run.done() or self._run.cancelled():
            return None
        return self._run.exception()

    @property
    def held(self) -> list[str]:
        """The IDs of all messages that it has."""
        return [
            one.id for flow in self.worker.flows.values() for one in flow.held.messages.values()
        ]

    @property
    def running(self) -> list[str]:
        """The IDs of those that a handler is busy with."""
        flows = self.worker.flows.values()
        return [one.id for flow in flows for one in flow.held.messages.values() if one.is_running]

    def __repr__(self) -> str:
        text = f"{self.name}: {self.state}"
        if self.state in ("ended", "killed"):
            return f"<{text}>"
        if self.state == "failed":
            return f"<{text}, {self._failure()}>"
        return f"<{text}, holds {len(self.held)}, {len(self.running)} in handlers>"
