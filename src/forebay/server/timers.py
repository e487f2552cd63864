"""The only clock, and the beat of the periodic work.

Two times, never mixed up:
     wall        milliseconds since 1970, for stream IDs, expiry and log lines;
                 it may be set back or forward under us
     monotonic   milliseconds since some start, for all that is measured as a
                 distance: idle clients, the periodic beat, time-outs of links

The engine gets the wall time as a plain argument once per turn of the loop, so
a test can put any clock in the place of this one.
"""

from __future__ import annotations

import time

BEATS_PER_SECOND = 10


class Clock:
    """The real time; tests give another object with the same methods."""

    def now_ms(self) -> int:
        """Wall time in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def now_us(self) -> int:
        """Wall time in microseconds since 1970."""
        return time.time_ns() // 1_000

    def monotonic_ms(self) -> int:
        """A time that only ever goes forward."""
        return time.monotonic_ns() // 1_000_000

    def monotonic_us(self) -> int:
        """The same in microseconds, for durations of commands."""
        return time.monotonic_ns() // 1_000

    def stamp(self, now_ms: int) -> str:
        """The time as log lines show it: ``15 Nov 2026 21:20:31.123``."""
        moment = time.localtime(now_ms // 1000)
        return f"{time.strftime('%d %b %Y %H:%M:%S', moment)}.{now_ms % 1000:03}"


class Beat:
    """Says when the next round of periodic work is due; a late round is not made up for."""

    def __init__(self, interval_ms: int, now_ms: int) -> None:
        self.interval_ms = interval_ms
        self.next_ms = now_ms + interval_ms

    def due(self, now_ms: int) -> bool:
        """True once per interval; moves the next beat ahead."""
        if now_ms < self.next_ms:
            return False
        self.next_ms = now_ms + self.interval_ms
        return True
