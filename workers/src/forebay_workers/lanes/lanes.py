"""Which message runs next, and how many at once.

    ready:  m4  [lane "alice": m1 m3]  m5      runners, at most ``concurrency``, take from the left
                [lane "bob": m2 parked]        a lane whose head is parked is not ready

Without ``order_by`` every message is on its own.  With it, messages of one key share a lane: only
the head of a lane runs, and the next one waits until the head is settled, also while the head waits
for its next attempt.  Other keys continue.

A runner is a task that loops.  A task for each message would cost more than a short handler.  A
runner continues while it finds work, and lets other tasks run now and then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator

from forebay_workers.clock import Clock, give_way
from forebay_workers.lanes.runners import Runners
from forebay_workers.message import Message

#: A runner whose handlers never wait lets other tasks run after this time.
TURN_S = 0.005

Run = Callable[[Message], Awaitable[float | None]]
KeyOf = Callable[[Message], bytes | None]


class Lane:
    """The messages of one key, in their order."""

    __slots__ = ("key", "queue")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.queue: deque[Message] = deque()


class Lanes:
    """Runs the messages of one stream."""

    def __init__(self, run: Run, key_of: KeyOf | None, concurrency: int, clock: Clock) -> None:
        """``run`` settles a message and returns None, or the pause before the next attempt."""
        self._run = run
        self._key_of = key_of
        self._clock = clock
        self._ready: deque[Message | Lane] = deque()
        self._lanes: dict[bytes, Lane] = {}
        self._runners = Runners(concurrency, clock, self._wake)
        #: Called when a message is parked (1) and when it is ready again (-1).
        self.on_park: Callable[[int], None] = lambda _: None

    @property
    def running(self) -> int:
        """How many runners there are now."""
        return len(self._runners)

    def put(self, messages: list[Message]) -> None:
        """Take messages that just arrived, in their order."""
        if self._key_of is None:
            self._ready.extend(messages)
        else:
            for message in messages:
                self._line_up(message, self._key_of(message))
        self._wake()

    def _line_up(self, message: Message, key: bytes | None) -> None:
        if key is None:  # it has no such field: it needs no order
            self._ready.append(message)
            return
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key)
            self._ready.append(lane)
        message.lane = lane
        lane.queue.append(message)

    def _wake(self) -> None:
        """Start as many runners as there is work for."""
        for _ in range(min(len(self._ready), self._runners.room)):
            self._runners.start(self._loop())

    async def _loop(self) -> None:
        turn_ends_s = self._clock.monotonic_s() + TURN_S
        while self._ready and self._runners.is_open:
            item = self._ready.popleft()
            message = item.queue[0] if isinstance(item, Lane) else item
            if not message.is_lost:
                pause_s = await self._run(message)
                if pause_s is not None:
                    self._park(message, pause_s)
                    continue
            self._next_of(message)
            if self._clock.monotonic_s() >= turn_ends_s:
                await give_way()
                turn_ends_s = self._clock.monotonic_s() + TURN_S

    def _next_of(self, message: Message) -> None:
        """Make the next message of the lane ready, after this one has ended."""
        lane: Lane | None = message.lane
        if lane is None:
            return
        lane.queue.popleft()
        if lane.queue:
            self._ready.append(lane)
        else:
            del self._lanes[lane.key]

    def _park(self, message: Message, pause_s: float) -> None:
        self.on_park(1)
        self._clock.call_later(pause_s, lambda: self._unpark(message))

    def _unpark(self, message: Message) -> None:
        self.on_park(-1)
        if self._runners.is_open:
            self._ready.append(message.lane or message)
            self._wake()

    def waiting(self) -> Iterator[Message]:
        """Messages that are ready or queued."""
        for item in self._ready:
            if isinstance(item, Message):
                yield item
        for lane in self._lanes.values():
            yield from lane.queue

    async def close(self, grace_s: float) -> None:
        """Start nothing more; let running messages end, and cancel those that do not in time."""
        await self._runners.close(grace_s)
