"""The current knowledge of the server and its streams; the poller writes it, all others read it.

    Board
      server    INFO, curves of commands, memory, clients, and when it last answered
      streams   name -> Watched: facts, in rate, bytes, a curve;  groups -> WatchedGroup: lag, age

One thread writes, others read: a record is replaced as a whole, so a reader sees one moment of it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from forebay.cli.remote.facts import GroupFacts, StreamFacts
from forebay_console.watch.curves import Curve

#: A small curve in a list: a point for each five seconds, five minutes.
SMALL = (5.0, 60)
#: A large one: an hour.
LARGE = (15.0, 240)


@dataclass(slots=True)
class WatchedGroup:
    """One group: the facts, and how they change."""

    facts: GroupFacts
    at_s: float
    #: The entries read until ``at_s``, the time of the last rate.
    read: int | None = None
    out_rate: float | None = None
    #: The age of the next entry for the group; 0 if it has all.
    behind_ms: int | None = None
    lag_curve: Curve = field(default_factory=lambda: Curve(*LARGE))
    behind_curve: Curve = field(default_factory=lambda: Curve(*LARGE))


@dataclass(slots=True)
class Watched:
    """One stream."""

    facts: StreamFacts
    at_s: float
    #: The entries added until ``at_s``, the time of the last rate.
    added: int | None = None
    #: The server's time when a change was last seen.
    now_ms: int = 0
    #: The number of the last change, over all streams: a row is made once for each.
    version: int = 0
    #: The version from which its row was made, and the row.
    line: tuple[int, dict[str, Any]] = (-1, {})
    in_rate: float | None = None
    memory_bytes: int | None = None
    memory_at_s: float = float("-inf")
    #: Do not ask before this: the reply of XINFO holds two entries, which may be large.
    rest_until_s: float = 0.0
    curve: Curve = field(default_factory=lambda: Curve(*SMALL))
    groups: dict[bytes, WatchedGroup] = field(default_factory=dict)

    @property
    def worst(self) -> WatchedGroup | None:
        """The group with the largest lag."""
        return max(self.groups.values(), key=lambda group: group.facts.lag or 0, default=None)

    @property
    def pending(self) -> int:
        """Entries delivered and not acknowledged, in all groups."""
        return sum(group.facts.pending for group in self.groups.values())


@dataclass(slots=True)
class ServerBoard:
    """The server itself."""

    info: dict[str, str] = field(default_factory=dict)
    #: Its time at the last INFO, and the trouble that stops us from asking, if any.
    now_ms: int = 0
    #: Our time at that moment.
    at_s: float = 0.0
    trouble: str | None = None
    curves: dict[str, Curve] = field(default_factory=dict)

    def time_ms(self) -> int:
        """The server's time now, derived from our clock."""
        return self.now_ms + int((time.monotonic() - self.at_s) * 1000) if self.now_ms else 0


class Board:
    """The whole board, with numbers that rise with each change."""

    def __init__(self) -> None:
        self.server = ServerBoard()
        self.streams: dict[bytes, Watched] = {}
        #: Whether all names have been seen once.
        self.is_whole = False
        #: Goes up with each change of a stream, and with each round.
        self.version = 0
        #: The number of rounds; lists are sorted again once a round.
        self.rounds = 0
        self._news = threading.Condition()

    def tell(self) -> None:
        """The poller has asked once more."""
        with self._news:
            self._news.notify_all()

    def wait_for(self, name: bytes, patience_s: float) -> Watched | None:
        """Wait for a stream that is not known yet; the next glance asks about it."""
        with self._news:
            self._news.wait_for(lambda: name in self.streams, patience_s)
        return self.streams.get(name)

    def touch(self, watched: Watched) -> None:
        """Note that a stream has changed."""
        self.version += 1
        watched.version = self.version
        watched.now_ms = self.server.time_ms()
