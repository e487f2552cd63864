"""Names to values: sixteen databases, expiry times, and clients to notify of a change.

    Keyspace -- databases[0..15] -- values   key -> Value: a stream, a string, a list, a set
                     |              expires  key -> unix time in ms
                     |              order    every key once, dense; place: key -> index in it
                     |              deadlines heap of (time, key), stale ones included
                     |              waiting  key -> clients blocked on it
                     |              watchers key -> clients that WATCH it
                     |              tracker  is notified of each change if clients cache keys
                     +-- ready      those of ``waiting`` signalled since the last look

Rules
  1. Every change of a key's value goes through put() or remove(); so no client
     that waits on or watches a key can be forgotten.
  2. touch() says "the value changed" (WATCH, caches); signal() says "a waiting
     client may now be served".  A plain append does both.
  3. Expiry is not decided here: the caller knows the time.
  4. Only expire_at() sets an expiry time and only persist() removes it, never
     code that writes to ``expires`` itself: the heap must hold a pair for each
     time that is set.
  5. In ``order`` a key's index only ever goes down while the key exists (the
     last key takes the place of a removed one).  SCAN walks from the top to 0,
     so it cannot miss a key that stays.
"""

from __future__ import annotations

from heapq import heapify, heappush
from typing import Protocol, TypeAlias

from forebay.core.elements import Elements
from forebay.core.members import Members
from forebay.core.stream import Stream

#: Stale pairs that the heap of deadlines may hold, besides one per live pair, before it is rebuilt.
STALE_DEADLINES = 64


#: The possible values of a key.
Value: TypeAlias = Stream | bytes | bytearray | Elements | Members


class Watcher(Protocol):
    """A client that watches a key: notified of a change, and of the value that SWAPDB put there."""

    def invalidate(self) -> None: ...
    def exchange(self, was_there: bool, is_past: bool) -> None: ...


class Tracker(Protocol):
    """Client side caching: notified of every change while a client caches."""

    def changed(self, key: bytes) -> None: ...


class Waiting:
    """The clients that wait for one key; engine/blocking.py knows them."""

    def __init__(self, db: Database, key: bytes) -> None:
        self.db = db
        self.key = key
        #: Whether it is in ``ready``.
        self.is_signalled = False


class Database:
    """One numbered database."""

    def __init__(self, index: int, ready: list[Waiting]) -> None:
        self.index = index
        self.ready = ready
        self.values: dict[bytes, Value] = {}
        self.expires: dict[bytes, int] = {}
        self.order: list[bytes] = []
        self.place: dict[bytes, int] = {}
        self.deadlines: list[tuple[int, bytes]] = []
        self.waiting: dict[bytes, Waiting] = {}
        self.watchers: dict[bytes, dict[Watcher, None]] = {}
        #: None as long as no client caches keys.
        self.tracker: Tracker | None = None
        self.version = 0

    def __len__(self) -> int:
        return len(self.values)

    def get(self, key: bytes) -> Value | None:
        """The value, expired or not; handlers use ctx.lookup() instead."""
        return self.values.get(key)

    def put(self, key: bytes, value: Value) -> None:
        """Create or replace the value; an existing expiry time stays."""
        before = self.values.get(key)
        if before is None:
            self.place[key] = len(self.order)
            self.order.append(key)
        elif type(before) is not bytes:
            self.version += 1
        self.values[key] = value
        self.touch(key)
        self.signal(key)

    def remove(self, key: bytes) -> bool:
        """Delete key and expiry; false if it did not exist."""
        before = self.values.pop(key, None)
        if before is None:
            return False
        if type(before) is not bytes:
            self.version += 1
        self.expires.pop(key, None)
        hole = self.place.pop(key)
        last = self.order.pop()
        if hole < len(self.order):
            self.order[hole] = last
            self.place[last] = hole
        self.touch(key)
        self.signal(key)
        return True

    def expire_at(self, key: bytes, when_ms: int) -> None:
        """Let an existing key expire at this unix time."""
        self.expires[key] = when_ms
        if len(self.deadlines) > 2 * len(self.expires) + STALE_DEADLINES:
            self.deadlines = [(when, name) for name, when in self.expires.items()]
            heapify(self.deadlines)
        else:
            heappush(self.deadlines, (when_ms, key))

    def persist(self, key: bytes) -> bool:
        """Remove the expiry time; false if there was none."""
        return self.expires.pop(key, None) is not None

    def clear(self) -> int:
        """Remove every key and notify clients that watch or wait on one; how many there were."""
        gone = self.values
        self.version += 1
        self.values, self.expires = {}, {}
        self.order, self.place, self.deadlines = [], {}, []
        for key in self.watchers:
            if key in gone:
                self.touch(key)
        self._signal_all(gone, gone)
        return len(gone)

    def exchange(self, other: Database, now_ms: int) -> None:
        """Swap the keys of two databases; watching and waiting clients stay and are notified."""
        self.version += 1
        other.version += 1
        self.values, other.values = other.values, self.values
        self.expires, other.expires = other.expires, self.expires
        self.order, other.order = other.order, self.order
        self.place, other.place = other.place, self.place
        self.deadlines, other.deadlines = other.deadlines, self.deadlines
        self._tell_exchange(other.values, now_ms)
        other._tell_exchange(self.values, now_ms)

    def _tell_exchange(self, before: dict[bytes, Value], now_ms: int) -> None:
        """Notify clients that watch or wait on a key that exists now, or did before."""
        for key, watchers in self.watchers.items():
            if key in before or key in self.values:
                is_past = now_ms > self.expires.get(key, now_ms)
                for watcher in watchers:
                    watcher.exchange(key in before, is_past)
        self._signal_all(before, self.values)

    def _signal_all(self, some: dict[bytes, Value], more: dict[bytes, Value]) -> None:
        """Signal each awaited key that is in one of the two."""
        for key in self.waiting:
            if key in some or key in more:
                self.signal(key)

    def touch(self, key: bytes) -> None:
        """Notify clients that WATCH the key, or have cached it, that its value changed."""
        if self.watchers:
            for watcher in self.watchers.get(key, ()):
                watcher.invalidate()
        if self.tracker is not None:
            self.tracker.changed(key)

    def signal(self, key: bytes) -> None:
        """Note that clients blocked on the key should look again."""
        if self.waiting:
            waiting = self.waiting.get(key)
            if waiting is not None and not waiting.is_signalled:
                waiting.is_signalled = True
                self.ready.append(waiting)


class Keyspace:
    """All databases of one server."""

    def __init__(self, count: int = 16) -> None:
        self.ready: list[Waiting] = []
        self.databases = [Database(i, self.ready) for i in range(count)]
        #: Reads that found their key, and reads that did not.
        self.hits = self.misses = 0
