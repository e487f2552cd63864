"""The tasks that run messages of one stream: a limited number, which end together.

A task counts until the event loop has called back, a moment after it ended.  Messages that arrive
in that moment find no room, so the owner of the runners is called when there is room again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from forebay_workers.clock import Clock


class Runners:
    """Tasks, up to ``concurrency`` at once; ``on_room`` is called after the end of each."""

    def __init__(self, concurrency: int, clock: Clock, on_room: Callable[[], None]) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._on_room = on_room
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_open = True

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def room(self) -> int:
        """How many more may start; 0 after ``close`` has begun."""
        return self._concurrency - len(self._tasks) if self.is_open else 0

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Start a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_room()

    async def close(self, grace_s: float) -> None:
        """Start nothing more; let running tasks end, and cancel those that do not in time."""
        self.is_open = False
        running = set(self._tasks)
        if not running:
            return
        timer = self._clock.call_later(grace_s, lambda: [task.cancel() for task in running])
        try:
            await asyncio.wait(running)
        finally:
            timer.cancel()
