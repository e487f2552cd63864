"""Since when a link is up or down, how long it was away in all, and how often it was tried.

    follow    a new primary: attempts are counted anew
    tried     an attempt begins
    up, down  the stream follows; it does not any more
    stopped   nobody is followed: whatever is asked next was never up

``away`` goes on while nobody is followed: it is the time in which this server was no replica that
has a primary, since it first tried to be one.
"""

from __future__ import annotations

NEVER = -1
#: A link that was up for less than this did not live long.
SHORT_MS = 1000


class LinkRecord:
    """The record of one server's link to its primaries; times are monotonic milliseconds."""

    def __init__(self) -> None:
        #: Attempts since the link was last up, and since this primary is followed.
        self.attempts = 0
        self.all_attempts = 0
        self.up_since_ms = NEVER
        self.down_since_ms = NEVER
        self.away_since_ms = NEVER
        self.away_before_ms = 0
        #: How often in a row the link was lost soon after it was up.
        self.short_lives = 0

    def follow(self, now_ms: int) -> None:
        """Another primary is followed from now on."""
        self.down(now_ms)
        self.attempts = self.all_attempts = self.short_lives = 0

    def tried(self, now_ms: int) -> None:
        """An attempt begins."""
        self.attempts += 1
        self.all_attempts += 1
        if self.away_since_ms == NEVER:
            self.away_since_ms = now_ms

    def up(self, now_ms: int) -> None:
        """The stream follows."""
        self.away_before_ms = self.away_ms(now_ms)
        self.away_since_ms = self.down_since_ms = NEVER
        self.up_since_ms = now_ms

    def down(self, now_ms: int) -> None:
        """The link is lost, if there was one."""
        if self.up_since_ms != NEVER:
            is_short = now_ms - self.up_since_ms < SHORT_MS
            self.short_lives = self.short_lives + 1 if is_short else 0
            self.up_since_ms = NEVER
            self.down_since_ms = self.away_since_ms = now_ms
            self.attempts = 0

    def stopped(self, now_ms: int) -> None:
        """Nobody is followed any more."""
        self.follow(now_ms)
        self.down_since_ms = NEVER

    def pause_ms(self, first_ms: int, most_ms: int) -> int:
        """How long to wait before a link that was up is tried again: not at all, unless it was
        lost soon again and again.
        """
        if self.short_lives < 2:
            return 0
        return min(most_ms, first_ms << min(self.short_lives - 2, 16))

    def away_ms(self, now_ms: int) -> int:
        """How long there was no link, in all."""
        if self.away_since_ms == NEVER:
            return self.away_before_ms
        return self.away_before_ms + now_ms - self.away_since_ms


def seconds_since(when_ms: int, now_ms: int) -> int:
    """As INFO prints it: -1 if it never was."""
    return (now_ms - when_ms) // 1000 if when_ms != NEVER else NEVER
