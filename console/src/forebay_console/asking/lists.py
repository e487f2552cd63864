"""Long lists, made once for all viewers that ask the same in the same round.

    lists.of(round, question, function that makes it)

A hundred pages of one user that show the same table sort ten thousand streams once a second, not a
hundred times.  A few lists are kept; those of earlier rounds are thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

MOST = 32
Made = TypeVar("Made")


class Lists:
    """The lists of one user in one round."""

    def __init__(self) -> None:
        self._round = -1
        self._made: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def of(self, number: int, asked: Hashable, make: Callable[[], Made]) -> Made:
        """A list of this round; other callers wait while it is made."""
        with self._lock:
            if number != self._round or len(self._made) >= MOST:
                self._round, self._made = number, {}
            if asked not in self._made:
                self._made[asked] = make()
            found: Made = self._made[asked]
            return found
