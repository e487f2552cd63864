"""The endless read: from offset to offset.

Spark drives one ``MicroBatchReader`` in a process that lives as long as the query:

    initialOffset            where a new query starts; asked repeatedly until a batch is done
    latestOffset(start)      plan the next batch; the record of its end says how (offsets.py)
    partitions(start, end)   the tasks of a batch, new or replayed, after a check for loss
    read(task)               in a worker: the entries of one task

When Spark asks for what follows ``start``, everything up to ``start`` is committed.  It says so
again with ``commit``, but one batch late and not after the last one; so the group that mirrors
the progress is moved when the next batch is planned.
The group only mirrors: nothing is ever read through it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from forebay_spark.options import Options
from forebay_spark.read import loss, offsets, planning
from forebay_spark.read.group import Mirror
from forebay_spark.read.offsets import Json, Position
from forebay_spark.read.reading import Task, read_task, tasks_of
from forebay_spark.read.splitting import AskingSplitter
from forebay_spark.servers import state
from forebay_spark.servers.capabilities import Helper
from forebay_spark.servers.connect import Server
from forebay_spark.servers.state import StreamState
from forebay_spark.values.schema import columns_of

#: A scan for new streams rests ten times as long as it took, and at least this long.
DISCOVERY_PAUSE_S = 1.0
DISCOVERY_SHARE = 10


class MicroBatchReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads streams batch by batch, each batch as often as Spark asks."""

    def __init__(self, schema: StructType, options: Options) -> None:
        columns_of(schema)  # a schema that cannot be read fails here, on the driver
        self._schema = schema
        self._options = options
        self._wishes = offsets.starts(options)
        self._driver: _Driver | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None}

    @property
    def driver(self) -> _Driver:
        """State of the driver's process only: connections, and the last known streams."""
        if self._driver is None:
            self._driver = _Driver(self._options, self._wishes)
        return self._driver

    def initialOffset(self) -> Json:
        """Where a query without a checkpoint starts."""
        return self.driver.initial()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit as a type of Spark, as far as possible: Spark takes one at a time."""
        if self._options.maxEntriesPerTrigger:
            return ReadMaxRows(self._options.maxEntriesPerTrigger)
        most_bytes = self._options.maxBytesPerTrigger
        return ReadMaxBytes(most_bytes) if most_bytes else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember the current ends of streams; the query ends when they are reached."""
        self.driver.stop_at_present()

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        """Plan the next batch; Spark may ask for everything in spite of the options."""
        return self.driver.plan(start, everything=limit != self.getDefaultReadLimit())

    def reportLatestOffset(self) -> Json | None:
        """The newest entries, for the lag that Spark's progress shows."""
        return self.driver.newest()

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        return self.driver.tasks(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a worker: the entries of one task."""
        return read_task(self._schema, self._options, partition)

    def stop(self) -> None:
        """The query ends."""
        if self._driver is not None:
            self._driver.close()


class _Driver:
    """The planning half, in the long-lived process."""

    def __init__(self, options: Options, wishes: dict[str, str] | str) -> None:
        self._options = options
        self._wishes = wishes
        self._server = Server(options)
        self._helper = Helper(self._server, options)
        self._splitter = AskingSplitter(self._server, self._helper)
        self._names: list[str] = list(options.names)
        self._next_scan_s = 0.0
        self._planned_s = time.monotonic()
        self._states: dict[str, StreamState] = {}
        self._initial: Json | None = None
        self._present: dict[str, Position] | None = None
        self.mirror = Mirror(self._server, options.group)

    def close(self) -> None:
        self._server.close()

    def initial(self) -> Json:
        """A position for every stream that exists.

        Spark asks again at every trigger until there is a first batch; if ``latest`` meant
        something else each time, entries added in between would never be read.
        """
        if self._initial is None:
            self._look({})
            self._initial = {
                stream: offsets.at_rest(
                    offsets.start_of(offsets.wish_for(stream, self._wishes, offsets.EARLIEST), now)
                )
                for stream, now in self._states.items()
            }
        return self._initial

    def stop_at_present(self) -> None:
        self._look({})
        self._present = {stream: offsets.latest(now) for stream, now in self._states.items()}

    def newest(self) -> Json | None:
        """The ends of all streams, as the last plan saw them."""
        return {s: offsets.at_rest(offsets.latest(now)) for s, now in self._states.items()} or None

    def plan(self, start: Json, *, everything: bool) -> Json:
        """The record of the next batch's end; ``start`` itself if there is no batch yet."""
        self.mirror.move(start)
        news = {}
        for stream in self._look(start):
            item = self._news(stream, start.get(stream))
            if item is not None:
                news[stream] = item
        if not news or not (everything or self._is_due(news)):
            return start
        self._planned_s = time.monotonic()
        limit = None if everything else self._most(news)
        spans = planning.plan(news, limit, self._options.minPartitions, self._splitter)
        resting = {s: offsets.at_rest(offsets.position(start[s])) for s in start if s not in spans}
        return {**resting, **{stream: offsets.encode(span) for stream, span in spans.items()}}

    def _is_due(self, news: Mapping[str, planning.Wanted]) -> bool:
        """Whether there are enough entries, or they have waited long enough."""
        fewest: int | None = self._options.minEntriesPerTrigger
        if fewest is None or self._present is not None:
            return True
        if sum(item.backlog for item in news.values()) >= fewest:
            return True
        longest_ms: int = self._options.maxTriggerDelay
        return 1000 * (time.monotonic() - self._planned_s) >= longest_ms

    def _most(self, news: Mapping[str, planning.Wanted]) -> int | None:
        """How many entries a batch may have; bytes are estimated from the size of some entries."""
        entries: int | None = self._options.maxEntriesPerTrigger
        size: int | None = self._options.maxBytesPerTrigger
        if size is None:
            return entries
        total = sum(item.backlog for item in news.values())
        total_bytes = sum(i.backlog * self._states[s].entry_bytes for s, i in news.items())
        by_size = max(1, size * total // max(total_bytes, 1))
        return by_size if entries is None else min(entries, by_size)

    def _news(self, stream: str, record: Json | None) -> planning.Wanted | None:
        """The unread part of one stream after a record."""
        now = self._states.get(stream)
        begin = offsets.position(record) if record else None
        if begin is not None:
            gone = loss.went_back(stream, begin, now)
            if gone:
                loss.report(gone, self._options)
                begin = None
        if now is None:
            return None
        end = self._end(stream, now)
        if end is None:
            return None
        if record is None:
            begin = self._begin_of_new(stream, now)
        return planning.wanted(stream, begin or offsets.earliest(now), end, now)

    def _begin_of_new(self, stream: str, now: StreamState) -> Position:
        """The start of a stream that did not exist at first: all of it is later than latest."""
        wish = offsets.wish_for(stream, self._wishes, offsets.EARLIEST)
        return offsets.start_of(offsets.EARLIEST if wish == offsets.LATEST else wish, now)

    def _end(self, stream: str, now: StreamState) -> Position | None:
        """How far this batch may go: to the newest entry, or to the end at the start."""
        if self._present is None:
            return offsets.latest(now)
        end = self._present.get(stream)
        return None if end is None else min(end, offsets.latest(now), key=lambda p: p.id)

    def tasks(self, start: Json, end: Json) -> list[Task]:
        """The tasks of a batch."""
        spans = {
            stream: planning.recover(record, start.get(stream)) for stream, record in end.items()
        }
        return tasks_of(spans, self._server, self._helper, self._options)

    def _look(self, known: Json) -> list[str]:
        """Fetch the state of every stream to read; return their names.

        With a pattern, streams known from before are included: one that is gone is a loss.  With
        names, a stream that is no longer named keeps its position.
        """
        names = {*self._discovered(), *(known if self._options.streamsPattern else ())}
        self._states = state.fetch_all(self._server, sorted(names))
        return sorted(names)

    def _discovered(self) -> list[str]:
        pattern = self._options.streamsPattern
        if pattern and time.monotonic() >= self._next_scan_s:
            begun_s = time.monotonic()
            self._names = state.discover(self._server, pattern)
            took_s = time.monotonic() - begun_s
            self._next_scan_s = begun_s + took_s + max(DISCOVERY_PAUSE_S, DISCOVERY_SHARE * took_s)
        return self._names
