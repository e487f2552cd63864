"""Everything that a handler may use while it runs.

    handler(ctx, argv) --+-- ctx.db, ctx.find_stream()   the data
                         +-- ctx.reply                   the one answer to the client
                         +-- ctx.effects                 the record for AOF and replicas
                         +-- ctx.notify()                keyspace events
                         +-- ctx.block()                 wait instead of answering
                         +-- ctx.services                the layers above: config, info, clients

There is one Context for the whole engine; the engine sets its fields before a call.  A
handler must not keep any part of it after the call.

``find_stream`` is the hot path to a stream.  It returns the stream, and the key as an
object for touch, signal and notify.  A handler takes both before it looks up anything
else.  A small direct-mapped cache answers without making an object:

    slot = hash of the key's bytes  ->  Found: key, stream, database, its version

A cached answer is valid until a key of the database drops a stream, list or set
(``Database.version``); expiry times are looked up each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from forebay import mem
from forebay.commands.api.effects import Effects
from forebay.commands.api.notify_flags import NOTIFY_EXPIRED, NOTIFY_KEY_MISS
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.commands.api.spec import WRITE, Command
from forebay.commands.api.waits import (
    BLOCK_LIST as BLOCK_LIST,
)
from forebay.commands.api.waits import (
    BLOCK_STREAM as BLOCK_STREAM,
)
from forebay.commands.api.waits import (
    BLOCK_TIME as BLOCK_TIME,
)
from forebay.commands.api.waits import Waits
from forebay.core.keyspace import Database, Keyspace, Value
from forebay.core.stream import Stream
from forebay.errors import WRONGTYPE, CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter, WriterPool

if TYPE_CHECKING:
    from forebay.commands.api.services import Services

# Few streams are in use at a time; a power of two, because the hash is masked.
CACHE_SLOTS = 256
# Longer keys are rare and are looked up in the dictionary.
CACHED_KEY_BYTES = 64


class Found:
    """The result of a look-up: the stream under a key, or None.  The next look-up may reuse it."""

    def __init__(self) -> None:
        self.key = b""
        self.stream: Stream | None = None
        #: The database for which this is valid, and its version then; None if it is not cached.
        self.db: Database | None = None
        self.version = 0


class Context:
    """The fields of one call."""

    def __init__(self, keyspace: Keyspace, settings: Settings, services: Services) -> None:
        self.keyspace = keyspace
        self.settings = settings
        self.services = services
        #: The register of waiting clients; the engine sets it.
        self.waits = Waits()
        #: Buffers that all writers of the engine share.
        self.writer_pool = WriterPool()
        self.effects = Effects(self.writer_pool)
        self.db: Database = keyspace.databases[0]
        self.session: Session = None  # type: ignore[assignment]
        self.reply: RespWriter = None  # type: ignore[assignment]
        self.now_ms = 0
        self.may_block = True
        #: CLIENT PAUSE: expired keys are hidden from readers, but nothing removes them.
        self.keeps_expired = False
        #: The command of a transaction that EXEC is running.
        self.queued: Command | None = None
        #: A copy of settings.notify_flags; engine.refresh_settings() renews it.
        self.notify_flags = 0
        #: Copies of settings.stream_node_max_bytes and _entries, renewed likewise.
        self.node_bytes = settings.stream_node_max_bytes
        self.node_entries = settings.stream_node_max_entries
        self.cache = [Found() for _ in range(CACHE_SLOTS)]
        #: The sum of all databases' versions when the cache held nothing stale.
        self.fresh_versions = 0
        #: The last result that has no place in the cache.
        self.uncached = Found()
        #: The options object of the last XADD, for reuse: making one costs as much as a short XADD.
        self.xadd_options: Any = None
        #: The same for the last XREAD and the last XREADGROUP.
        self.spare_read: Any = None
        self.spare_group_read: Any = None
        #: Columns of earlier FB.COLUMNS, with their buffers.
        self.spare_columns: list[Any] = []

    def use(self, session: Session) -> None:
        """Work for this session, in its database."""
        self.session = session
        self.reply = session.out
        self.db = session.db
        self.effects.db_index = session.db.index

    # Values

    def lookup(self, key: bytes) -> Value | None:
        """The value of a key; an expired key is removed first."""
        value = self.db.values.get(key)
        if value is not None and self.db.expires and self.expired(key):
            self.expire(self.db, key)
            return None
        return value

    def lookup_stream(self, key: bytes) -> Stream | None:
        """The stream at a key, None if there is nothing; WRONGTYPE for anything else."""
        value = self.lookup(key)
        if value is not None and not isinstance(value, Stream):
            raise CommandError(WRONGTYPE)
        return value

    def find_stream(self, argv: Argv, i: int) -> Found:
        """The stream under argument i, and the key itself; WRONGTYPE for anything else."""
        argv.check(i)
        p = argv.p
        at = argv.w[2 * i]
        n = argv.w[2 * i + 1]
        db = self.db
        slot = self.slot(p, at, n)
        found = self.cache[slot]
        if (
            found.db is db
            and found.version == db.version
            and len(found.key) == n
            and mem.equal(p, at, found.key, 0, n)
            and (len(db.expires) == 0 or not self.expired(found.key))
        ):
            return found
        return self.look_up(slot, mem.to_bytes(p, at, n))

    def read_stream(self, argv: Argv, i: int) -> Found:
        """Like find_stream(), for a command that only reads: counts a hit or a miss."""
        found = self.find_stream(argv, i)
        if found.stream is None:
            self.keyspace.misses += 1
            self.notify(NOTIFY_KEY_MISS, b"keymiss", found.key)
        else:
            self.keyspace.hits += 1
        return found

    def slot(self, p: mem.Source, at: int, n: int) -> int:
        """The slot of the cache for a key."""
        h = n
        if n <= CACHED_KEY_BYTES:
            for i in range(n):
                h = (h * 31 + p[at + i]) & 0xFFFFFF
        return (h ^ (h >> 8)) & (CACHE_SLOTS - 1)

    def look_up(self, slot: int, key: bytes) -> Found:
        """Look the key up, and cache the result if it is a stream."""
        stream = self.lookup_stream(key)
        found = self.uncached
        if stream is not None and len(key) <= CACHED_KEY_BYTES:
            found = self.cache[slot]
            found.db = self.db
            found.version = self.db.version
        found.key = key
        found.stream = stream
        return found

    def forget_stale(self) -> None:
        """Drop cached streams that may be deleted by now, so that their memory is freed."""
        self.uncached.stream = None
        versions = 0
        for db in self.keyspace.databases:
            versions += db.version
        if versions == self.fresh_versions:
            return
        self.fresh_versions = versions
        for found in self.cache:
            if found.db is not None and found.version != found.db.version:
                found.db = None
                found.stream = None

    def expired(self, key: bytes) -> bool:
        """Whether the key of this database has expired.

        During a replay the AOF itself has a DEL for each expired key: nothing else removes
        it.
        """
        at_ms = self.db.expires.get(key)
        return at_ms is not None and self.now_ms > at_ms and not self.session.is_replaying

    def expire(self, db: Database, key: bytes) -> None:
        """Remove an expired key; during a pause a reader leaves it in place."""
        if self.keeps_expired:
            row = self.session.last if self.queued is None else self.queued
            if row is not None and not row.flags & WRITE:
                return
        effects = self.effects
        here = effects.db_index
        effects.db_index = db.index
        db.remove(key)
        effects.record_command((b"DEL", key), 0)
        effects.db_index = here
        self.services.stats.expired_keys += 1
        self.notify_in(db, NOTIFY_EXPIRED, b"expired", key)

    def delete(self, key: bytes) -> bool:
        """Remove a key; false if it did not exist."""
        return self.db.remove(key)

    # Consequences of the call

    def notify(self, kind: int, event: bytes, key: bytes) -> None:
        """Publish an event of a key in this database, to clients that subscribed to its class."""
        if self.notify_flags & kind:
            self.services.pubsub.publish_event(self.notify_flags, event, key, self.db.index)

    def notify_in(self, db: Database, kind: int, event: bytes, key: bytes) -> None:
        """The same for a key of another database."""
        if self.notify_flags & kind:
            self.services.pubsub.publish_event(self.notify_flags, event, key, db.index)

    def block(
        self,
        kind: int,
        keys: list[bytes],
        timeout_ms: int,
        argv: Argv,
        on_missing_key: bool = False,
        wake_at_ms: Mapping[bytes, int] | None = None,
        on_timeout: Callable[[RespWriter], object] | None = None,
    ) -> None:
        """Answer later: when a key is ready, a copy of ``argv`` runs again from the start.

        timeout_ms 0 waits for ever.  ``wake_at_ms`` gives times at which a key is checked again
        although it has not changed.  ``on_timeout`` writes the answer when the time is up; the
        default is a null array.
        """
        self.waits.block(
            self.session, kind, keys, timeout_ms, argv, on_missing_key, wake_at_ms, on_timeout
        )

    def block_as_before(self, kind: int, timeout_ms: int, argv: Argv) -> bool:
        """The same, if the client's last wait was with this same command; else false."""
        return self.waits.block_as_before(self.session, kind, timeout_ms, argv)
