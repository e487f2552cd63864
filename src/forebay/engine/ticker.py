"""How time is told to the engine for measuring: it only ever asks how long something took.

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
