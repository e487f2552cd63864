"""The virtual clock, as the package sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from forebay_workers.clock import Timer
from forebay_workers.testing.loop import VirtualLoop
from forebay_workers.testing.server import Double


class VirtualClock:
    """The test sets the time, and the random values too."""

    def __init__(self, loop: VirtualLoop, double: Double, jitter: float) -> None:
        self._loop = loop
        self._double = double
        self._jitter = jitter

    def now_ms(self) -> int:
        """Wall time, the same as the server's."""
        return self._double.ms_at(self._loop.time())

    def monotonic_s(self) -> float:
        """Seconds since the test began."""
        return self._loop.time()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call it after this much virtual time."""
        return self._loop.call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        """Wait for virtual time, in the test's own loop too."""
        is_over = asyncio.Event()
        timer = self.call_later(delay_s, is_over.set)
        try:
            await is_over.wait()
        finally:
            timer.cancel()

    def jitter(self) -> float:
        """Always the same, so that a test knows when the next attempt comes."""
        return self._jitter
