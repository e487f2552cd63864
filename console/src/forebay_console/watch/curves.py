"""Curves over time: a ring of points, two numbers each, in little memory.

    every sample --> a point for each STEP_S, the mean of its samples --> the last LENGTH points

Ten thousand streams have ten thousand curves, so a curve is one array and grows only as it fills.
"""

from __future__ import annotations

from array import array


class Curve:
    """Points of (time, value); an unknown value leaves a gap."""

    __slots__ = ("_count", "_length", "_points", "_start_s", "_step_s", "_sum")

    def __init__(self, step_s: float, length: int) -> None:
        self._step_s = step_s
        self._length = length
        self._points = array("d")
        self._start_s = 0.0
        self._sum = 0.0
        self._count = 0

    def push(self, at_s: float, value: float | None) -> None:
        """Add a sample."""
        if value is None:
            return
        if self._count and at_s - self._start_s >= self._step_s:
            self._close()
        if not self._count:
            self._start_s = at_s
        self._sum += value
        self._count += 1

    def points(self) -> list[tuple[float, float]]:
        """All points, oldest first, with the unfinished one."""
        flat = self._points.tolist()
        found = list(zip(flat[::2], flat[1::2], strict=True))
        if self._count:
            found.append((self._start_s, self._sum / self._count))
        return found

    def values(self) -> list[float]:
        """The values, without times."""
        return [round(value, 3) for _, value in self.points()]

    def _close(self) -> None:
        self._points.append(self._start_s)
        self._points.append(self._sum / self._count)
        if len(self._points) > 2 * self._length:
            del self._points[:2]
        self._sum, self._count = 0.0, 0
