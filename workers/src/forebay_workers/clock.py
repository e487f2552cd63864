"""The clock of the package.

Nothing else in this package asks for the time or waits for it.  So a test can use its own clock,
which stands still until the test lets time pass.

    now_ms()       wall time, as in the IDs of entries
    monotonic_s()  for durations: never goes back
    call_later()   a callback after a while, unless it is cancelled first
    sleep()        the same for a coroutine
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancel it."""


class Clock(Protocol):
    """Time and randomness, as the package uses them."""

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
        """Seconds since an arbitrary moment."""
        return time.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call it in the event loop after a while."""
        return asyncio.get_running_loop().call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        """Wait."""
        await asyncio.sleep(delay_s)

    def jitter(self) -> float:
        """From 0 to 1, at random: workers that failed together must not retry together."""
        return random.random()
