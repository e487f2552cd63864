"""Spikes of latency by event, as LATENCY shows them: the last 160 of each kind."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

KEPT_SAMPLES = 160


class Series:
    """The spikes of one event: (second, milliseconds), oldest first, one per second."""

    def __init__(self) -> None:
        self.samples: deque[tuple[int, int]] = deque(maxlen=KEPT_SAMPLES)
        self.maximum_ms = 0


class Latency:
    """All events that had a spike."""

    def __init__(self) -> None:
        self.series: dict[bytes, Series] = {}

    def record(self, event: bytes, at_s: int, took_ms: int) -> None:
        """Add a spike; within one second only the worst is kept."""
        series = self.series.setdefault(event, Series())
        series.maximum_ms = max(series.maximum_ms, took_ms)
        if series.samples and series.samples[-1][0] == at_s:
            took_ms = max(took_ms, series.samples.pop()[1])
        series.samples.append((at_s, took_ms))

    def events(self) -> Collection[bytes]:
        """The names of the events that had a spike."""
        return self.series.keys()

    def samples(self, event: bytes) -> list[tuple[int, int]]:
        """The spikes of one event, oldest first; none if it is unknown."""
        series = self.series.get(event)
        return [] if series is None else list(series.samples)

    def maximum(self, event: bytes) -> int:
        """The worst spike of an event so far, in milliseconds."""
        series = self.series.get(event)
        return 0 if series is None else series.maximum_ms

    def reset(self, events: Collection[bytes]) -> int:
        """Forget these events, all if none is named; how many existed."""
        names = list(events) or list(self.series)
        return sum(self.series.pop(name, None) is not None for name in names)
