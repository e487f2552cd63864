"""Messages in batches: ``size`` messages, or those that arrived within a time.

    put  m1 m2 m3 ...   -->   size reached, or ``within`` passed since the oldest one    -->   run

At most ``concurrency`` batches run at once; meanwhile the next one gathers.  A message for another
attempt returns to the queue after its pause.  The interface is that of ``Lanes``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from forebay_workers.clock import Clock, Timer
from forebay_workers.lanes.runners import Runners
from forebay_workers.message import Message

#: Runs a batch; returns the messages to try again, each with its pause.
RunBatch = Callable[[list[Message]], Awaitable[list[tuple[Message, float]]]]


class Gatherer:
    """Runs the messages of one stream in batches."""

    def __init__(
        self, run: RunBatch, size: int, within_s: float, concurrency: int, clock: Clock
    ) -> None:
        self._run = run
        self._size = size
        self._within_s = within_s
        self._clock = clock
        self._line: list[Message] = []
        self._timer: Timer | None = None
        self._is_due = False
        self._runners = Runners(concurrency, clock, self._wake)
        self.on_park: Callable[[int], None] = lambda _: None

    @property
    def running(self) -> int:
        """How many batches run now."""
        return len(self._runners)

    def put(self, messages: list[Message]) -> None:
        """Take messages that just arrived, in their order."""
        self._line.extend(messages)
        self._wake()

    def _wake(self) -> None:
        """Start batches that are full or due, and a timer for the rest."""
        while self._runners.room > 0:
            if len(self._line) < self._size and not (self._is_due and self._line):
                break
            self._start()
        if self._line and self._timer is None and not self._is_due:
            self._timer = self._clock.call_later(self._within_s, self._due)

    def _due(self) -> None:
        self._timer = None
        self._is_due = True
        self._wake()

    def _start(self) -> None:
        batch, self._line = self._line[: self._size], self._line[self._size :]
        # The remaining messages arrived later, or are a full batch anyway.
        self._is_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._runners.start(self._batch(batch))

    async def _batch(self, batch: list[Message]) -> None:
        for message, pause_s in await self._run([one for one in batch if not one.is_lost]):
            self.on_park(1)
            self._clock.call_later(pause_s, partial(self._unpark, message))

    def _unpark(self, message: Message) -> None:
        self.on_park(-1)
        if self._runners.is_open:
            self.put([message])

    def waiting(self) -> Iterator[Message]:
        """Messages in the queue."""
        yield from self._line

    async def close(self, grace_s: float) -> None:
        """Start nothing more; let running batches end, and cancel those that do not in time."""
        if self._timer is not None:
            self._timer.cancel()
        await self._runners.close(grace_s)
