"""Counters of the whole server: INFO shows them, CONFIG RESETSTAT clears them."""

from __future__ import annotations

from forebay.core.keyspace import Keyspace


class Stats:
    """Plain numbers; the code that sees an event adds to them."""

    def __init__(self, keyspace: Keyspace) -> None:
        #: The keyspace counts hits and misses itself, because every read does that.
        self.keyspace = keyspace
        #: Refusals by reason (auth, command, key, channel); CONFIG RESETSTAT keeps them, as in
        #: Redis.
        self.denied: dict[bytes, int] = {}
        self.reset()

    def reset(self) -> None:
        """Reset all counters, but not values that describe a state."""
        self.commands = 0
        self.connections = 0
        self.rejected_connections = 0
        #: Clients closed because of their unprocessed input, or their unread output.
        self.query_limit_disconnections = 0
        self.output_limit_disconnections = 0
        self.expired_keys = 0
        #: Of the expired keys those that the server searched for itself, and the time of the
        #: search.
        self.expired_unasked = 0
        self.expire_us = 0
        self.evicted_keys = 0
        #: Clients closed because all clients together used too much memory.
        self.evicted_clients = 0
        #: Large values and flushed keys, which Redis frees in a thread.
        self.lazyfreed_objects = 0
        self.keyspace.hits = self.keyspace.misses = 0
        self.error_replies = 0
        #: By code, the first word of the error: ERR, WRONGTYPE, NOGROUP, ...
        self.errors: dict[bytes, int] = {}
        #: Replicas served with all data, from their offset, or refused at their offset.
        self.full_syncs = 0
        self.partial_syncs = 0
        self.refused_partial_syncs = 0
        self.unblocked = 0
        self.faults = 0
        #: Turns of the loop, and their total time without the waiting.
        self.turns = 0
        self.turns_us = 0
        #: How many times bytes were received from clients, and sent to them.
        self.reads = 0
        self.writes = 0

    @property
    def keyspace_hits(self) -> int:
        """Reads that found their key."""
        return self.keyspace.hits

    @property
    def keyspace_misses(self) -> int:
        """Reads that did not."""
        return self.keyspace.misses

    def count_error(self, code: bytes) -> None:
        """Count an error reply."""
        self.error_replies += 1
        self.errors[code] = self.errors.get(code, 0) + 1
