"""A walk over all names, a piece at a time: SCAN, which never stops the server.

A whole walk finds deleted names: they were known before it began, and it did not meet them.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay.cli.remote.server import Server

#: How many keys a piece looks at, and how many pieces one round does.
COUNT = 1_000
PIECES = 3


class Walk:
    """Walks over all names again and again."""

    def __init__(self) -> None:
        self._cursor = b"0"
        self._met: set[bytes] = set()
        self._last: set[bytes] | None = None
        self._is_new_round = False
        #: Whether it has finished a whole walk.
        self.is_whole = False

    def step(self, server: Server) -> list[bytes]:
        """Walk a few pieces; return the names in them."""
        found: list[bytes] = []
        for _ in range(PIECES):
            options = ("COUNT", COUNT, "TYPE", "stream")
            self._cursor, names = server.ask("SCAN", self._cursor, *options)
            found += names
            self._met.update(names)
            if self._cursor == b"0":
                self._last, self._met = self._met, set()
                self._is_new_round = self.is_whole = True
                break
        return found

    def gone(self, known: Iterable[bytes]) -> list[bytes]:
        """After a whole walk, names that were known and not met."""
        if not self._is_new_round or self._last is None:
            return []
        self._is_new_round = False
        return [name for name in list(known) if name not in self._last]
