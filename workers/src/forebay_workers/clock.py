"""Time, as everything above sees it.

Nobody else in this package asks for the time or waits for it.  So a test puts a clock of its own
here, which stands still until it is told how much time has passed.

    now_ms()       wall time, as in the IDs of entries
    monotonic_s()  for durations: never goes back
    call_later()   a callback after a while, or never, if it is cancelled first
    sleep()        the same for a coroutine
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A callback that waits for its time."""

    def cancel(self) -> None:
        """Forget it."""


class Clock(Protocol):
    """What the package needs of time, and of chance."""

    def now_ms(self) -> int: ...
    def monotonic_s(self) -> float: ...
    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer: ...
    async def sleep(self, delay_s: float) -> None: ...
    def jitter(self) -> float: ...


async def give_way() -> None:
    """Let other tasks of the event loop run."""
    await asyncio.sleep(0)


class RealClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call it in the event loop after a while."""
        return asyncio.get_running_loop().call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        """Wait."""
        await asyncio.sleep(delay_s)

    def jitter(self) -> float:
        """From 0 to 1, at random: workers that failed together do not come back together."""
        return random.random()
