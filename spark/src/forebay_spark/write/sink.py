"""Writing tables to streams: what Spark calls, and which lane a row takes.

``write`` runs once per task attempt, with an iterator of record batches.  It does not
get the batch or the query, but Spark keeps both in the properties of the task: together
with the number of the partition they identify a task through all its attempts, also over
restarts of the driver.  A batch write has no such names; its writer object is made once
and copied to all attempts, so it makes up a name, and with ``writeId`` a user can give
one that survives the job.

A task of a replayed batch gets the same rows because the source cuts a batch in the same
way again (offsets.py).  If a shuffle changes their order, the lane notices.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from forebay_spark.errors import OptionError, SinkError
from forebay_spark.options import AT_LEAST_ONCE, Options
from forebay_spark.servers.connect import Link, Server
from forebay_spark.write.delivery import FenceLane, IdLane, KeyLane, Lane, PlainLane, Watch
from forebay_spark.write.rows import Layout

BATCH_ID = "streaming.sql.batchId"
QUERY_ID = "sql.streaming.queryId"
MARKER_PREFIX = "forebay:sink"

#: After a batch write its markers stay a while: a copy of a task that Spark has given up may
#: still run, and without them it would write its rows again.
MARKER_GRACE_MS = 3600 * 1000


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The message of a task to the driver."""

    rows: int
    markers: tuple[str, ...]


def hash_tag(stream: str) -> str:
    """The part of a key that decides its slot, as a cluster sees it."""
    start = stream.find("{")
    end = stream.find("}", start + 1)
    tag = stream[start + 1 : end] if start >= 0 and end > start + 1 else stream
    if "}" in tag:
        raise SinkError(
            f"The stream {stream!r} has a brace that no marker key can share a slot with. "
            "Rename it, or set delivery to at-least-once."
        )
    return tag


class TaskWriter:
    """Writes the rows of one task attempt."""

    def __init__(self, layout: Layout, options: Options, name: str, batch: int) -> None:
        self._layout = layout
        self._options = options
        self._name = name
        self._batch = batch
        self._server = Server(options)
        self._lanes: dict[str, Lane] = {}
        self._watches: defaultdict[Link, Watch] = defaultdict(Watch)

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        """All rows, to the end."""
        rows = 0
        try:
            if not self._server.is_cluster:
                # Also without rows: this detects a first attempt that had some.
                self._only_lane()
            for batch in batches:
                self._add(batch)
                rows += batch.num_rows
            for lane in self._lanes.values():
                lane.close()
        finally:
            self._server.close()
        lanes = self._lanes.values()
        return Written(rows, tuple(lane.marker for lane in lanes if isinstance(lane, FenceLane)))

    def _add(self, batch: pa.RecordBatch) -> None:
        """Give rows to the lane of their stream; without a cluster there is only one."""
        if not self._server.is_cluster:
            self._only_lane().add(batch)
            return
        for stream in self._layout.streams(batch):
            rows = self._layout.of_stream(batch, stream)
            self._lane(stream, hash_tag(stream)).add(rows)

    def _only_lane(self) -> Lane:
        return self._lane(self._layout.stream or "", "")

    def _lane(self, stream: str, tag: str) -> Lane:
        if tag not in self._lanes:
            self._lanes[tag] = self._make(stream, tag)
        return self._lanes[tag]

    def _make(self, stream: str, tag: str) -> Lane:
        options = self._options
        common = (
            self._server.link(stream),
            self._server.where,
            self._layout,
            options.maxLen,
            options.rowsPerTransaction,
        )
        if self._layout.id_column:
            return IdLane(*common)
        if self._layout.key_column:
            return KeyLane(*common, producer="forebay-spark")
        if options.delivery == AT_LEAST_ONCE:
            return PlainLane(*common)
        marker = ":".join((MARKER_PREFIX, *([f"{{{tag}}}"] if tag else ()), self._name))
        watch = self._watches[common[0]]
        return FenceLane(*common, marker=marker, batch=self._batch, watch=watch)


def write_name(write_id: str, stream: str | None) -> str:
    """The prefix of a batch write's markers; one ID may be used for writes to two streams."""
    return f"{write_id}:{stream}" if stream else write_id


def _task() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise SinkError("Rows can be written only in a task of Spark.")
    return context


def _refuse_overwrite(overwrite: bool) -> None:
    if overwrite:
        raise OptionError("A stream cannot be overwritten. Use mode append or outputMode append.")


class BatchWriter(DataSourceArrowWriter):
    """Writes one table."""

    def __init__(self, schema: StructType, options: Options, overwrite: bool) -> None:
        _refuse_overwrite(overwrite)
        self._layout = Layout(schema, options)
        self._options = options
        self._name = write_name(options.writeId or uuid.uuid4().hex, options.stream)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """In a worker: one attempt at one partition."""
        name = f"{self._name}:{_task().partitionId()}"
        return TaskWriter(self._layout, self._options, name, 0).write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Everything is written; markers stay long only if the write may be repeated."""
        if self._options.writeId is None:
            self._forget(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """The job failed; written rows stay, because a log cannot undo them."""
        if self._options.writeId is None:
            self._forget(messages)

    def _forget(self, messages: list[WriterCommitMessage | None]) -> None:
        server = Server(self._options)
        try:
            for message in messages:
                for marker in message.markers if isinstance(message, Written) else ():
                    server.link(marker).call("PEXPIRE", marker, MARKER_GRACE_MS)
        finally:
            server.close()


class MicroBatchWriter(DataSourceStreamArrowWriter):
    """Writes every micro-batch of a query."""

    def __init__(self, schema: StructType, options: Options, overwrite: bool) -> None:
        _refuse_overwrite(overwrite)
        self._layout = Layout(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """In a worker: one attempt at one partition of one batch."""
        task = _task()
        query, batch = task.getLocalProperty(QUERY_ID), task.getLocalProperty(BATCH_ID)
        if query is None or batch is None:
            raise SinkError("Spark does not say which batch this is. Use delivery at-least-once.")
        name = f"{query}:{task.partitionId()}"
        return TaskWriter(self._layout, self._options, name, int(batch)).write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing to do: the marker of a partition is overwritten by its next batch."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing to do: a retry continues where the markers say."""
