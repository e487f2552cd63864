"""Four ways to write rows: three retry-safe modes, and one that writes at least once.

Spark runs a task that failed again, possibly while the old attempt still runs, and a
driver that dies replays its last batch.  A lane takes the rows of one task in chunks:

    FenceLane     exactly once, on every server.  A chunk and a marker key that says
                  "batch b of this partition: k chunks written" change in one MULTI.
                  A retry reads the marker and skips these chunks.  WATCH keeps two
                  attempts apart; after a lost reply, the marker has the answer.
                  The marker holds a digest of the skipped rows: if a retry brings
                  other rows, or the same in another order, the task fails instead of
                  writing them wrongly.  It also fails if the marker is older than the
                  acknowledged rows (the server lost them; a retry writes them again) or ahead
                  of this batch (the checkpoint is an old copy with different batches).
    IdLane        exactly once, on every server, if rows carry their own IDs in rising
                  order: an ID that is already there is not added again.
    KeyLane       once per key within a window, on Redis 8.6 or Forebay (IDMP), however
                  rows are ordered, repartitioned or run again.
    PlainLane     at least once.

In a cluster a transaction stays within one slot, so there is a lane for each hash tag.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from forebay_spark import ids
from forebay_spark.errors import ServerError, SinkError
from forebay_spark.servers.connect import Command, Link, pack
from forebay_spark.servers.patience import translate
from forebay_spark.write.rows import Layout, Row

#: A marker lives longer than any pause of a query that is worth resuming.
MARKER_TTL_MS = 30 * 24 * 3600 * 1000

#: The most keys of a producer that IDMP remembers, and the longest time; these are the
#: server's own limits, and keys are spread over producers to remember more of them.
IDMP_MAXSIZE = 10_000
IDMP_DURATION_S = 86_400
IDMP_PRODUCERS = 64

Chunk = list[pa.RecordBatch]


class Lane:
    """Rows of one task on their way to one node, chunk by chunk."""

    def __init__(
        self, link: Link, where: str, layout: Layout, max_len: int | None, chunk_rows: int
    ) -> None:
        self.link = link
        self.chunk_rows = chunk_rows
        self._where = where
        self._layout = layout
        self._trim: Command = ("MAXLEN", "~", max_len) if max_len else ()
        self._chunk: list[pa.RecordBatch] = []
        self._rows = 0
        self._checked: set[str] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; every full chunk is written."""
        while batch.num_rows:
            part = batch[: self.chunk_rows - self._rows]
            self._chunk.append(part)
            self._rows += part.num_rows
            batch = batch[part.num_rows :]
            if self._rows >= self.chunk_rows:
                self._flush()

    def close(self) -> None:
        """Write the remaining rows."""
        if self._rows:
            self._flush()

    def _flush(self) -> None:
        chunk, self._chunk = self._chunk, []
        count, self._rows = self._rows, 0
        for batch in chunk:
            for stream in self._layout.streams(batch):
                if stream not in self._checked:
                    self.check_stream(stream)
                    self._checked.add(stream)
        self.write(chunk, count)

    def check_stream(self, stream: str) -> None:
        """Refuse a key of another type before anything is written."""
        kind = self.link.call("TYPE", stream)
        if kind not in (b"none", b"stream"):
            raise ServerError(
                f"The key {stream!r} at {self._where} is a {kind.decode()}, not a stream. "
                "Write to another name."
            )

    def write(self, chunk: Chunk, count: int) -> None:
        """Write the rows of a chunk, as often as needed to be sure."""
        raise NotImplementedError

    def packed(self, chunk: Chunk) -> bytes:
        """XADD commands; the server makes the IDs."""
        return b"".join(self._layout.packed(batch, (*self._trim, "*")) for batch in chunk)

    def rows(self, chunk: Chunk) -> list[Row]:
        """The rows one by one, for lanes that check each."""
        return [row for batch in chunk for row in self._layout.rows(batch)]

    def refuse(self, replies: Iterable[Any]) -> None:
        """Raise the first error among replies."""
        for reply in replies:
            if isinstance(reply, Exception):
                raise translate(reply, self._where)


class PlainLane(Lane):
    """At least once: all is sent again if the connection breaks."""

    def write(self, chunk: Chunk, count: int) -> None:
        """Send, and read the replies."""
        self.refuse(self.link.call_packed(self.packed(chunk), count))


class IdLane(Lane):
    """Rows with their own IDs."""

    def write(self, chunk: Chunk, count: int) -> None:
        """Send all; an ID that is refused as too small must already exist."""
        rows = self.rows(chunk)
        replies = self.link.call_all([self._command(row) for row in rows])
        for row, reply in zip(rows, replies, strict=True):
            if "equal or smaller" not in str(reply):
                self.refuse([reply])
            elif not self._is_there(row):
                raise SinkError(
                    f"Row {row.id} is below the newest ID of stream {row.stream!r} and not in it. "
                    "Rows with IDs must come in rising order: write each stream from one "
                    "partition, sorted by the ID."
                )

    def _command(self, row: Row) -> Command:
        if row.id is None:
            raise SinkError("A row has no ID in the column of idColumn. Filter such rows.")
        try:
            ids.parse(row.id)
        except ValueError:
            raise SinkError(
                f"A row has {row.id!r} in the column of idColumn, which is not an ID. Write ms-seq "
                "in full, as in 1700000000000-0: an ID that the server makes differs in a retry."
            ) from None
        return ("XADD", row.stream, *self._trim, row.id, *row.fields)

    def _is_there(self, row: Row) -> bool:
        stream, entry_id = str(row.stream), str(row.id)
        found = self.link.call("XRANGE", stream, entry_id, entry_id)
        wanted = [part.encode() if isinstance(part, str) else part for part in row.fields]
        if found:
            return bool(found[0][1] == wanted)
        # With MAXLEN the entry may already be trimmed; then all that is left is newer.
        oldest = self.link.call("XRANGE", stream, "-", "+", "COUNT", 1)
        gone = not oldest or ids.parse(oldest[0][0]) > ids.parse(entry_id)
        return bool(self._trim) and gone


class KeyLane(Lane):
    """Rows with a key that the server remembers."""

    def __init__(self, *args: Any, producer: str) -> None:
        super().__init__(*args)
        self._producer = producer

    def write(self, chunk: Chunk, count: int) -> None:
        """Send, and read the replies; the server skips keys that it knows."""
        self.refuse(self.link.call_all([self._command(row) for row in self.rows(chunk)]))

    def _command(self, row: Row) -> Command:
        if not row.key:
            raise SinkError("A row has no key in the column of keyColumn. Filter such rows.")
        share = zlib.crc32(row.key.encode()) % IDMP_PRODUCERS
        names = ("IDMP", f"{self._producer}:{share}", row.key)
        return ("XADD", row.stream, *names, *self._trim, "*", *row.fields)

    def check_stream(self, stream: str) -> None:
        """Let the stream remember as many keys as it can; repeating the setting changes nothing."""
        super().check_stream(stream)
        settings = ("IDMP-DURATION", IDMP_DURATION_S, "IDMP-MAXSIZE", IDMP_MAXSIZE)
        configure = ("XCFGSET", stream, *settings)
        outcome = self.link.call_all([configure])[0]
        if "no such key" in str(outcome):
            # Only a group can make an empty stream; settings must precede the first entry.
            group = (stream, self._producer)
            create = ("XGROUP", "CREATE", *group, "$", "MKSTREAM")
            outcome = self.link.call_all([create, ("XGROUP", "DESTROY", *group), configure])[-1]
        if "unknown command" in str(outcome):
            raise SinkError(
                f"The server at {self._where} does not remember keys (XADD IDMP). Use Forebay "
                "or Redis 8.6, or leave out keyColumn: rows are then fenced by transactions."
            )
        self.refuse([outcome])


class Mark(NamedTuple):
    """The content of a marker key: the written chunks of a batch, and their digest."""

    batch: int
    chunks: int
    digest: str
    chunk_rows: int

    def __str__(self) -> str:
        return f"{self.batch}:{self.chunks}:{self.digest}:{self.chunk_rows}"


#: The server refused a part of a chunk: it is wrong both to skip and to repeat it.
BROKEN = "broken"


class Watch:
    """Which marker a connection watches: an EXEC, or a new connection, ends every WATCH on it."""

    lane: FenceLane | None = None


def parse_mark(value: bytes | None) -> Mark:
    """Read a marker; a missing one counts as before the first batch."""
    if value is None:
        return Mark(-1, 0, "", 0)
    batch, chunks, digest, chunk_rows = value.decode().split(":")
    return Mark(int(batch), int(chunks), digest, int(chunk_rows))


class FenceLane(Lane):
    """Chunks and a marker, in one transaction each."""

    def __init__(self, *args: Any, marker: str, batch: int, watch: Watch) -> None:
        super().__init__(*args)
        self.marker = marker
        self._batch = batch
        self._watch = watch
        self._chunks = 0
        self._digest = ""
        self._done = self._look()
        if self._done.batch == batch:
            # Chunks can be skipped only if they are cut in the same way as the first time.
            self.chunk_rows = self._done.chunk_rows

    def close(self) -> None:
        """Write the remaining rows; a retry must not bring fewer rows than were written."""
        super().close()
        done = self._known()
        if done.batch == self._batch and done.chunks > self._chunks:
            raise self._changed()

    def write(self, chunk: Chunk, count: int) -> None:
        """Write the next chunk unless the marker says that it is written."""
        commands = self.packed(chunk)
        self._chunks += 1
        self._digest = _chain(self._digest, commands)

        def attempt() -> None:
            while not self._is_written():
                self._done = self._transaction(commands, count)

        self.link.retry(attempt, self._unwatched)

    def _unwatched(self) -> None:
        """A new connection watches nothing."""
        self._watch.lane = None

    def check_stream(self, stream: str) -> None:
        """As every lane; the call may have opened a new connection."""
        self._unwatched()
        super().check_stream(stream)

    def _is_written(self) -> bool:
        done = self._known()
        if done.digest == BROKEN:
            raise SinkError(
                f"The server refused a part of an earlier attempt at batch {done.batch}, so it is "
                f"unknown what is written. Look at the streams, then delete {self.marker!r}."
            )
        if done.batch > self._batch:
            raise SinkError(
                f"Batch {self._batch} of this query was followed by others, up to {done.batch}, so "
                "its checkpoint is an old copy and rows could be lost or doubled. Restore the "
                f"newest, or delete {self.marker!r} and its like to write these batches again."
            )
        written = done.chunks if done.batch == self._batch else 0
        if written < self._chunks - 1:
            raise ServerError(
                f"The server at {self._where} has lost rows that it had acknowledged: a failover, "
                "or it was flushed. A retry of the task writes them again; if Spark does not "
                "retry, restart the query."
            )
        if written == self._chunks and done.digest != self._digest:
            raise self._changed()
        return written >= self._chunks

    def _changed(self) -> SinkError:
        return SinkError(
            "A repeated task brought other rows than before, or in another order, so they cannot "
            "be written exactly once. Sort within partitions or give a keyColumn, so that it does "
            f"not happen again; to write this batch, some rows twice, delete {self.marker!r} and "
            "its like, or set delivery to at-least-once."
        )

    def _known(self) -> Mark:
        """The content of the marker, valid until we write or WATCH reports a change."""
        if self._watch.lane is not self:
            self._done = self._look()
        return self._done

    def _look(self) -> Mark:
        """Watch the marker and read it, both on the same connection."""
        replies = self.link.call_all([("WATCH", self.marker), ("GET", self.marker)])
        self.refuse(replies)
        self._watch.lane = self
        return parse_mark(replies[1])

    def _transaction(self, commands: bytes, count: int) -> Mark:
        """Write a chunk if the marker is as we know it; return the new marker."""
        mark = Mark(self._batch, self._chunks, self._digest, self.chunk_rows)
        self.link.send_packed(
            pack("MULTI")
            + commands
            + pack("SET", self.marker, str(mark), "PX", MARKER_TTL_MS)
            + pack("EXEC")
            + pack("WATCH", self.marker)
            + pack("GET", self.marker)
        )
        queued = [self.link.reply() for _ in range(count + 2)]
        results = self.link.reply()
        self.link.reply()
        now = self.link.reply()
        if isinstance(results, Exception):
            self.refuse([*queued, results])
        if any(isinstance(reply, Exception) for reply in results or ()):
            self.link.call("SET", self.marker, str(mark._replace(digest=BROKEN)))
            self.refuse(results)
        return parse_mark(now)


def _chain(digest: str, commands: bytes) -> str:
    """The digest of all chunks so far and this one."""
    return hashlib.blake2b(digest.encode() + commands, digest_size=12).hexdigest()
