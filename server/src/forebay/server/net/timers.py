"""The only clock.

Two times, never mixed up:
     wall        milliseconds since 1970, for stream IDs, expiry and log lines;
                 it may be set back or forward under us
     monotonic   since some start, for all durations: how long a command took,
                 when the periodic work is due again

The engine gets the wall time as a plain argument once per turn of the loop, and
durations through its Ticker, which this class implements; a test can put any
clock in its place.
"""

from __future__ import annotations

import time

from forebay.engine.ticker import Ticker
from forebay.server.net import sysio


class Clock(Ticker):
    """The real time; tests pass another object with the same methods."""

    def us(self) -> int:
        """Microseconds of monotonic time: the engine's Ticker."""
        return sysio.monotonic_us()

    def wall_us(self, now_ms: int) -> int:
        """Wall time in microseconds, not the time when the turn began."""
        return sysio.wall_us()

    def now_ms(self) -> int:
        """Wall time in milliseconds since 1970."""
        return sysio.wall_us() // 1000

    def monotonic_ms(self) -> int:
        """A time that never goes back."""
        return sysio.monotonic_us() // 1000

    def stamp(self, now_ms: int) -> str:
        """The time as log lines show it: ``15 Nov 2026 21:20:31.123``."""
        moment = time.localtime(now_ms // 1000)
        return f"{time.strftime('%d %b %Y %H:%M:%S', moment)}.{now_ms % 1000:03}"
