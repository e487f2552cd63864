"""Times that the engine needs besides ``now_ms``: durations, and the exact microsecond.

The server replaces it by a real clock; tests set ``now_us`` themselves.
"""

from __future__ import annotations


class Ticker:
    """A clock that changes only when it is set; never at 0, which means "not asked yet"."""

    def __init__(self) -> None:
        self.now_us = 1

    def us(self) -> int:
        """Microseconds since some moment."""
        return self.now_us

    def wall_us(self, now_ms: int) -> int:
        """Microseconds since 1970; this clock knows only those of the current turn."""
        return now_ms * 1000
