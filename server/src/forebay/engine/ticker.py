"""How time is told to the engine beside ``now_ms``: how long it took, and the exact microsecond.

The server puts a real clock in its place; tests set ``now_us`` themselves.
"""

from __future__ import annotations


class Ticker:
    """A clock that stands still until it is set; never at 0, which means "not asked yet"."""

    def __init__(self) -> None:
        self.now_us = 1

    def us(self) -> int:
        """Microseconds since some moment."""
        return self.now_us

    def wall_us(self, now_ms: int) -> int:
        """Microseconds since 1970; a clock that stands still knows those of this turn only."""
        return now_ms * 1000
