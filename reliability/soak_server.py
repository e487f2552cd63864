"""``python -m reliability.soak_server FACTOR [directives]``: a server whose time runs faster.

Everything else is real: sockets, files, children.  Wall time and monotonic time both run FACTOR
times as fast from the start; the loop still sleeps in real time, so beats are rarer.
"""

from __future__ import annotations

import sys

from forebay.server.net.timers import Clock
from forebay.server.startup import serve


class FastClock(Clock):
    """Times that move FACTOR times as fast."""

    def __init__(self, factor: int) -> None:
        self.real = Clock()
        self.factor = factor
        self.start_us = self.real.us()
        self.start_wall_us = self.real.wall_us(0)

    def us(self) -> int:
        return self.start_us + self.factor * (self.real.us() - self.start_us)

    def wall_us(self, now_ms: int) -> int:
        return self.start_wall_us + self.us() - self.start_us

    def now_ms(self) -> int:
        return self.wall_us(0) // 1000

    def monotonic_ms(self) -> int:
        return self.us() // 1000


if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[2:], FastClock(int(sys.argv[1]))))
