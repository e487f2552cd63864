"""Replay: a period of the lake back into a stream, at its original speed, or another.

    lake, in order --> chunks --> MULTI  XADD ... XADD  SET position  EXEC --> stream

The position of the replay is a key next to the stream that changes in the same transaction
as the entries.  So a killed replay continues where it stopped, with nothing lost or doubled, on
any server of the family.  When it is done, the key is removed: the next run replays everything
again.  The key is watched: of two runs at once, one stops.  The key also says whether a
transaction with a lost reply took place, so a replay can wait for a server that is away.

A transaction of Redis is not undone if one of its commands fails: the position would move
although entries are missing.  So everything that can fail is checked before, under WATCH if the
answer could change: whether the key is a stream, and whether kept IDs still fit.

Entries are the original ones, byte for byte (exact.py); rows of older lakes, without that
information, give what their columns have.  Spark's tasks rebuild them, and they arrive here one by
one.

One writer, in order: a stream is a log, and its order is replayed.  Entries get new IDs (the old
ones lie in the past of the stream); with ``ids = "keep"`` they keep theirs, which needs a stream
that ends before them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import redis
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, BinaryType, StructType

from forebay_spark import ids
from forebay_spark.errors import OptionError
from forebay_spark.lake.lake import Lake
from forebay_spark.options import DEFAULT_URL, ISO, WRITE, Options, read_options
from forebay_spark.pipeline import settings
from forebay_spark.pipeline.settings import setting
from forebay_spark.pipeline.spec import WAIT
from forebay_spark.query.table import cold_table, entry_of
from forebay_spark.servers import state
from forebay_spark.servers.connect import Link, Server
from forebay_spark.servers.patience import translate
from forebay_spark.values import exact
from forebay_spark.values.entry_columns import EntryColumns
from forebay_spark.write.sink import hash_tag

CHUNK_ENTRIES = 500
KEY_PREFIX = "forebay:replay"
NEW, KEEP = "new", "keep"
INFO = ("XINFO", "STREAM")


class Entry(NamedTuple):
    """An entry of the lake: its ID, its time, names and values, alternating."""

    id: str
    ms: int
    fields: Sequence[Any]


def _speed(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise settings.wrong(where, value, "a number above 0: 1 is original speed, 10 ten times")
    return float(value)


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Writes a period of an archive into a stream."""

    lake: str = setting(settings.text, "the folder of the lake")
    stream: str = setting(settings.text, "the name of the stream in the lake")
    to: str = setting(settings.text, "the stream to write to")
    url: str = setting(settings.text, "the server to write to", default=DEFAULT_URL)
    since: str | None = setting(settings.text, "first moment", default=None)
    until: str | None = setting(settings.text, "first moment not to replay", default=None)
    speed: float | None = setting(_speed, "1 is the original speed; none: no pauses", default=None)
    ids: str = setting(settings.one_of(NEW, KEEP), "new or keep", default=NEW)
    lake_options: Mapping[str, str] = setting(
        settings.mapping, "keys and endpoints of an object store", default_factory=dict
    )
    retry_for: str | None = setting(settings.text, WAIT, default=None)
    name: str = setting(settings.text, "name of the job", default="replay")

    def __post_init__(self) -> None:
        target(self.url, self.to, self.retry_for)

    def run(self, spark: SparkSession, told: Callable[[int], None] = lambda _: None) -> int:
        """Replay to the end; return how many entries this run wrote."""
        server = Server(target(self.url, self.to, self.retry_for), patient=True)
        writer = Writer(server, self)
        try:
            lake = Lake(self.lake, self.lake_options)
            frame = cold_table(spark, self.stream, lake, self.since, self.until)
            known = lake.snapshot()
            times = known.about.reading.get("timestampFormat", ISO)
            entries = entries_of(frame, entry_of(known), times)
            rows = read_after(entries, writer.position())
            total = 0
            for chunk in chunks(rows, Pace(self.speed)):
                writer.write(chunk)
                total += len(chunk)
                told(total)
            writer.finish()
            return total
        finally:
            server.close()

    def told(self, total: int) -> str:
        """The result of a run, for a person."""
        return f"replayed {total} entries of {self.stream} to {self.to}"


def target(url: str, stream: str, retry_for: str | None) -> Options:
    """The options of a job that writes to one server; OptionError says what is wrong."""
    waits = {} if retry_for is None else {"retryFor": retry_for}
    return read_options({"url": url, "stream": stream, **waits}, WRITE)


def entries_of(frame: DataFrame, entry: StructType, timestamp_format: str = ISO) -> DataFrame:
    """Columns ``id, ms, seq`` and ``fields``: names and values of each entry, as bytes."""

    def rebuild(rows: pa.Array) -> pa.Array:
        entries = exact.rebuilt(pa.RecordBatch.from_struct_array(rows), timestamp_format)
        flat = [[part for field in fields for part in field] for fields in entries]
        return pa.array(flat, pa.list_(pa.binary()))

    # In the order of reading: Spark moves partition columns to the end.
    names = [name for name in entry.fieldNames() if name in frame.columns]
    entry_id = F.col(EntryColumns(entry).id)
    ms, seq = (F.split(entry_id, "-")[at].cast("decimal(20,0)") for at in (0, 1))
    whole = F.struct(*(F.col(f"`{name}`") for name in names))
    rebuilt = arrow_udf(rebuild, ArrayType(BinaryType()))  # type: ignore[call-overload]
    return frame.select(
        entry_id.alias("id"), ms.alias("ms"), seq.alias("seq"), rebuilt(whole).alias("fields")
    )


def read_after(frame: DataFrame, position: str | None) -> Iterator[Entry]:
    """The entries after a position, in the order of their IDs."""
    if position is not None:
        ms, seq = (F.lit(half).cast("decimal(20,0)") for half in position.split("-"))
        later = (F.col("ms") > ms) | ((F.col("ms") == ms) & (F.col("seq") > seq))
        frame = frame.where(later)
    for row in frame.orderBy("ms", "seq").toLocalIterator(prefetchPartitions=True):
        yield Entry(row["id"], int(row["ms"]), [bytes(part) for part in row["fields"]])


class Pace:
    """When an entry is due: its original distance from the first one, divided by the speed."""

    def __init__(
        self,
        speed: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._speed = speed
        self._clock = clock
        self._sleep = sleep
        self._began: tuple[float, int] | None = None

    def due_in_s(self, ms: int) -> float:
        """Seconds until an entry of this time is due; 0 if it is due now."""
        if self._speed is None:
            return 0.0
        if self._began is None:
            self._began = (self._clock(), ms)
        began_s, began_ms = self._began
        return max(0.0, began_s + (ms - began_ms) / 1000 / self._speed - self._clock())

    def wait(self, seconds: float) -> None:
        """Wait until an entry is due."""
        self._sleep(seconds)


def chunks(entries: Iterable[Entry], pace: Pace) -> Iterator[list[Entry]]:
    """Entries that are due together; a chunk is sent before a wait."""
    chunk: list[Entry] = []
    for entry in entries:
        wait_s = pace.due_in_s(entry.ms)
        if chunk and (wait_s > 0 or len(chunk) == CHUNK_ENTRIES):
            yield chunk
            chunk = []
            wait_s = pace.due_in_s(entry.ms)
        if wait_s > 0:
            pace.wait(wait_s)
        chunk.append(entry)
    if chunk:
        yield chunk


class Destination(Protocol):
    """The facts that a writer needs of a job that puts entries into a stream."""

    @property
    def to(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def ids(self) -> str: ...


class Writer:
    """Writes chunks and the position in one transaction each."""

    def __init__(self, server: Server, job: Destination) -> None:
        self._where = server.where
        self._job = job
        self._known: bytes | None = None
        tag = [f"{{{hash_tag(job.to)}}}"] if server.is_cluster else []
        self.key = ":".join((KEY_PREFIX, *tag, job.to, job.name))
        self._link: Link = server.link(job.to)

    def position(self) -> str | None:
        """The last entry that an unfinished replay has written."""
        self._known = self._link.call("GET", self.key)
        return self._known.decode() if self._known else None

    def write(self, chunk: list[Entry]) -> None:
        """All of a chunk or nothing, and once even if the connection breaks."""
        last = chunk[-1].id.encode()
        was_sent = False

        def attempt() -> None:
            nonlocal was_sent
            # The reply to an earlier attempt may have been lost.
            if was_sent and self._link.ask("GET", self.key) == last:
                return
            self._check(chunk[0])
            was_sent = True
            self._transaction(chunk, last)

        try:
            self._link.retry(attempt)
        except redis.exceptions.RedisError as error:
            raise translate(error, self._where, ("XADD", self._job.to)) from None
        self._known = last

    def _check(self, first: Entry) -> None:
        """Check that no command of the transaction can fail."""
        to = self._job.to
        watched = (self.key, to) if self._job.ids == KEEP else (self.key,)
        # Not ``call``: a new connection would watch nothing.
        self._link.send(("WATCH", *watched), ("GET", self.key), (*INFO, to))
        self._link.receive()
        known, reply = self._link.receive(), self._link.reply()
        if known != self._known:
            raise OptionError(
                f"The position of {self._job.name} in {to!r} is not where this run left it: "
                "another run writes at the same time, or a failover has lost the last entries. "
                "Let the other one end; if entries are missing then, start this one again."
            )
        if isinstance(reply, Exception):
            if "no such key" not in str(reply):
                raise translate(reply, self._where, (*INFO, to))
        elif self._job.ids == KEEP and state.parse_reply(reply).last_id >= ids.parse(first.id):
            raise OptionError(
                f"The stream {to!r} has entries newer than those of the lake, so they cannot "
                "keep their IDs. Replay to an empty stream, or with new IDs."
            )

    def _transaction(self, chunk: list[Entry], last: bytes) -> None:
        adds = [
            ("XADD", self._job.to, entry.id if self._job.ids == KEEP else "*", *entry.fields)
            for entry in chunk
        ]
        self._link.send(("MULTI",), *adds, ("SET", self.key, last), ("EXEC",))
        *queued, results = [self._link.reply() for _ in range(len(adds) + 3)]
        if results is None:
            raise redis.exceptions.TryAgainError(f"another program writes to {self._job.to}")
        done = [] if isinstance(results, Exception) else results
        for reply in (*queued, results, *done):
            if isinstance(reply, Exception):
                raise reply

    def finish(self) -> None:
        """Mark the replay as complete; the next one starts at the beginning."""
        self._link.call("DEL", self.key)
