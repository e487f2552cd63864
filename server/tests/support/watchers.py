"""A stand-in for the loop, enough for background work, without turns."""

from __future__ import annotations

from collections.abc import Callable


class Watchers:
    """A loop that watches nothing by itself: the test calls its watchers."""

    def __init__(self) -> None:
        self.watchers: dict[int, Callable[[], None]] = {}

    def watch(self, fd: int, watcher: Callable[[], None]) -> None:
        self.watchers[fd] = watcher

    def unwatch(self, fd: int) -> None:
        del self.watchers[fd]
