"""The record of a link: up and down times, total time without a link, number of attempts.

    follow    a new primary: the count of attempts starts again
    tried     an attempt begins
    up, down  the stream is followed; it is no longer followed
    stopped   no primary any more: the next link counts as never up

``away`` also counts while there is no primary: it is the total time without a link to a primary,
since this server first tried to follow one.
"""

from __future__ import annotations

NEVER = -1
#: A link that was up for a shorter time counts as short-lived.
SHORT_MS = 1000


class LinkRecord:
    """The record of one server's link to its primaries; times are monotonic milliseconds."""

    def __init__(self) -> None:
        #: Attempts since the link was last up, and since the server follows this primary.
        self.attempts = 0
        self.all_attempts = 0
        self.up_since_ms = NEVER
        self.down_since_ms = NEVER
        self.away_since_ms = NEVER
        self.away_before_ms = 0
        #: How often in a row the link was lost soon after it was up.
        self.short_lives = 0

    def follow(self, now_ms: int) -> None:
        """The server follows another primary from now on."""
        self.down(now_ms)
        self.attempts = self.all_attempts = self.short_lives = 0

    def tried(self, now_ms: int) -> None:
        """An attempt begins."""
        self.attempts += 1
        self.all_attempts += 1
        if self.away_since_ms == NEVER:
            self.away_since_ms = now_ms

    def up(self, now_ms: int) -> None:
        """The link is up."""
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
        """The server follows no primary any more."""
        self.follow(now_ms)
        self.down_since_ms = NEVER

    def pause_ms(self, first_ms: int, most_ms: int) -> int:
        """How long to wait before the next attempt after a link was lost: not at all, unless it was
        short-lived several times in a row.
        """
        if self.short_lives < 2:
            return 0
        return min(most_ms, first_ms << min(self.short_lives - 2, 16))

    def away_ms(self, now_ms: int) -> int:
        """The total time without a link."""
        if self.away_since_ms == NEVER:
            return self.away_before_ms
        return self.away_before_ms + now_ms - self.away_since_ms


def seconds_since(when_ms: int, now_ms: int) -> int:
    """As INFO prints it: -1 for never."""
    return (now_ms - when_ms) // 1000 if when_ms != NEVER else NEVER
