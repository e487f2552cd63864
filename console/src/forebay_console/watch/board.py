"""What is known of the server and its streams now; written by the poller, read by everybody.

    Board
      server    INFO, curves of commands, memory, clients, and when it was last heard
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
    #: What was read at ``at_s``, when the rate was taken last.
    read: int | None = None
    out_rate: float | None = None
    #: How old the next entry is that the group will be given; 0 if it has all.
    behind_ms: int | None = None
    lag_curve: Curve = field(default_factory=lambda: Curve(*LARGE))
    behind_curve: Curve = field(default_factory=lambda: Curve(*LARGE))


@dataclass(slots=True)
class Watched:
    """One stream."""

    facts: StreamFacts
    at_s: float
    #: What was added by ``at_s``, when the rate was taken last.
    added: int | None = None
    #: The server's time when something of it was last seen to have changed.
    now_ms: int = 0
    #: The number of the last change, over all streams: a row is made once for each.
    version: int = 0
    #: Its line in a table, and the version of which that was made.
    line: tuple[int, dict[str, Any]] = (-1, {})
    in_rate: float | None = None
    memory_bytes: int | None = None
    memory_at_s: float = float("-inf")
    #: Not to be asked about before: the reply of XINFO holds two entries, which may be large.
    rest_until_s: float = 0.0
    curve: Curve = field(default_factory=lambda: Curve(*SMALL))
    groups: dict[bytes, WatchedGroup] = field(default_factory=dict)

    @property
    def worst(self) -> WatchedGroup | None:
        """The group with the most to come."""
        return max(self.groups.values(), key=lambda group: group.facts.lag or 0, default=None)

    @property
    def pending(self) -> int:
        """Entries that were given and not acknowledged, in all groups."""
        return sum(group.facts.pending for group in self.groups.values())


@dataclass(slots=True)
class ServerBoard:
    """The server itself."""

    info: dict[str, str] = field(default_factory=dict)
    #: Its time at the last INFO, and what stops us from asking, if something does.
    now_ms: int = 0
    #: Our time at that moment.
    at_s: float = 0.0
    trouble: str | None = None
    curves: dict[str, Curve] = field(default_factory=dict)

    def time_ms(self) -> int:
        """What its clock shows now, by ours."""
        return self.now_ms + int((time.monotonic() - self.at_s) * 1000) if self.now_ms else 0


class Board:
    """All of it, with numbers that go up whenever something changed."""

    def __init__(self) -> None:
        self.server = ServerBoard()
        self.streams: dict[bytes, Watched] = {}
        #: Whether all names were seen once.
        self.is_whole = False
        #: Goes up with each change of a stream, and with each round.
        self.version = 0
        #: How often everything was looked at; lists are sorted anew once a round.
        self.rounds = 0
        self._news = threading.Condition()

    def tell(self) -> None:
        """The poller has asked once more."""
        with self._news:
            self._news.notify_all()

    def wait_for(self, name: bytes, patience_s: float) -> Watched | None:
        """A stream that is new here; it is asked about at the next glance."""
        with self._news:
            self._news.wait_for(lambda: name in self.streams, patience_s)
        return self.streams.get(name)

    def touch(self, watched: Watched) -> None:
        """Something of a stream has changed."""
        self.version += 1
        watched.version = self.version
        watched.now_ms = self.server.time_ms()
