"""CLIENT PAUSE: until when commands are held back, and which ones."""

from __future__ import annotations

from forebay.commands.api.spec import MAY_REPLICATE, WRITE


class Pause:
    """The current pause, if ``until_ms`` is in the future."""

    def __init__(self) -> None:
        self.until_ms = 0
        self.writes_only = False

    def extend(self, until_ms: int, writes_only: bool) -> None:
        """Begin a pause: it never ends before a current one, nor holds back less."""
        if self.until_ms == 0:
            self.writes_only = True
        self.writes_only = self.writes_only and writes_only
        self.until_ms = max(self.until_ms, until_ms)

    def holds(self, flags: int, now_ms: int) -> bool:
        """Whether a command with these flags must wait."""
        if now_ms >= self.until_ms:
            return False
        return not self.writes_only or bool(flags & (WRITE | MAY_REPLICATE))

    def is_over(self, now_ms: int) -> bool:
        """Whether the pause is over; then it is forgotten."""
        if now_ms < self.until_ms:
            return False
        self.until_ms = 0
        return True

    def shift(self, by_ms: int) -> None:
        """The clock was set: keep the rest of a current pause."""
        if self.until_ms:
            self.until_ms += by_ms
