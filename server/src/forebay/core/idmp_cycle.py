"""The periodic job that makes streams forget old messages.

    databases   [ k k S k S ] [ ] [ S k ] ...        S = a stream with messages
                      ^ where the last run ended

Lookups never look at the clock (idmp.py), so this job must.  A run looks at a
bounded number of keys in the dense lists of the databases, and the next run
continues there.  There is no list of streams with messages: it would have to
follow every rename, copy and swap, for a job that may be some seconds late.
"""

from __future__ import annotations

from forebay.core.keyspace import Keyspace
from forebay.core.stream import Stream

# A few tens of microseconds; ten runs a second look at ten thousand keys.
KEYS_PER_RUN = 1000
PERIOD_MS = 100


class IdmpCycle:
    """Walks the keys of all databases again and again."""

    def __init__(self, keyspace: Keyspace) -> None:
        self.databases = keyspace.databases
        self.db_no = 0
        self.at = 0
        self.ran_ms = 0

    def tick(self, now_ms: int) -> None:
        """Run if it is due; the clock may have been set back."""
        if not 0 <= now_ms - self.ran_ms < PERIOD_MS:
            self.ran_ms = now_ms
            self.run(now_ms)

    def run(self, now_ms: int, budget: int = KEYS_PER_RUN) -> int:
        """Look at the next keys, at most once at each; how many messages were forgotten."""
        forgotten = 0
        for _ in range(min(budget, sum(map(len, self.databases)))):
            stream = self._next_value()
            if isinstance(stream, Stream) and stream.idmp is not None:
                forgotten += stream.idmp.expire(now_ms, stream.idmp_duration_s)
                if stream.idmp.pids == 0:
                    stream.idmp = None
        return forgotten

    def _next_value(self) -> object:
        """The value of the next key; there is at least one key."""
        while self.at >= len(self.databases[self.db_no]):
            self.db_no = (self.db_no + 1) % len(self.databases)
            self.at = 0
        database = self.databases[self.db_no]
        self.at += 1
        return database.values[database.order[self.at - 1]]
