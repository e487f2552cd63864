"""Counters of the whole server: INFO shows them, CONFIG RESETSTAT clears them."""

from __future__ import annotations

from forebay.core.keyspace import Keyspace


class Stats:
    """Plain numbers; the code that sees an event adds to them."""

    def __init__(self, keyspace: Keyspace) -> None:
        #: It counts hits and misses itself, since that is in the way of every read.
        self.keyspace = keyspace
        #: What users were refused, by reason (auth, command, key, channel); CONFIG RESETSTAT
        #: leaves it, as in Redis.
        self.denied: dict[bytes, int] = {}
        self.reset()

    def reset(self) -> None:
        """Start all over, but for what is a state rather than a count."""
        self.commands = 0
        self.connections = 0
        self.rejected_connections = 0
        #: Clients closed because they sent too far ahead, or did not read.
        self.query_limit_disconnections = 0
        self.output_limit_disconnections = 0
        self.expired_keys = 0
        #: Of these, the ones that nobody had asked for, and how long the server looked for them.
        self.expired_unasked = 0
        self.expire_us = 0
        self.evicted_keys = 0
        #: Clients closed because all of them used too much memory.
        self.evicted_clients = 0
        #: Large values and flushed keys, which Redis leaves to a thread.
        self.lazyfreed_objects = 0
        self.keyspace.hits = self.keyspace.misses = 0
        self.error_replies = 0
        #: By code, the first word of the error: ERR, WRONGTYPE, NOGROUP, ...
        self.errors: dict[bytes, int] = {}
        #: How replicas were served: with all data, where they were, or not where they were.
        self.full_syncs = 0
        self.partial_syncs = 0
        self.refused_partial_syncs = 0
        self.unblocked = 0
        self.faults = 0
        #: Turns of the loop, and how long they took without the waiting.
        self.turns = 0
        self.turns_us = 0
        #: How often bytes were received from clients, and sent to them.
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
        """An error reply was sent."""
        self.error_replies += 1
        self.errors[code] = self.errors.get(code, 0) + 1
