"""The connector with faults built in: tasks that fail, drivers that die.

``format("faulty")`` is ``format("forebay")`` with three more options:

    fault      where: plan, partitions, read, write, written, commit
    faultAt    the batch in which it happens (the first if not given)
    victims    process IDs to kill -9, separated by commas; without it the first
               attempt of a task fails with an exception instead

Batches are recognised by position: tests read the same number of entries in each.
``land_and_die`` is the same for the tasks that write the files of an archive.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from forebay_spark.lake.parquet import PartitionedFiles
from forebay_spark.options import BATCH, STREAM, WRITE, Options, read_options
from forebay_spark.pipeline import direct_write
from forebay_spark.pipeline.direct_write import Landed, Landing, land_task
from forebay_spark.read.batch import BatchReader
from forebay_spark.read.micro_batch import MicroBatchReader
from forebay_spark.read.reading import Task, read_task
from forebay_spark.source import ForebaySource
from forebay_spark.values.entry_columns import EntryColumns
from forebay_spark.write.sink import BATCH_ID, BatchWriter, MicroBatchWriter, Written

Json = dict[str, Any]
OURS = ("fault", "faultAt", "victims")


def land_and_die(plan: Landing, task: Task) -> Landed:
    """A task of an archive whose worker dies in its first attempt, with a file half written."""
    context = TaskContext.get()
    if context is not None and context.attemptNumber() == 0:
        files = PartitionedFiles(plan.place, plan.partitions)
        for batch in read_task(plan.schema, plan.options, task):
            files.add(direct_write.dated(batch, EntryColumns(plan.schema)))
        os.kill(os.getpid(), signal.SIGKILL)
    return land_task(plan, task)


class Fault:
    """The fault, and its place."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.phase = options.pop("fault", "")
        self.batch = int(options.pop("faultAt", "0"))
        self.victims = [int(pid) for pid in options.pop("victims", "").split(",") if pid]

    def strike(self, phase: str, batch: int) -> None:
        """Kill the driver, or fail a task that has not failed before."""
        if phase != self.phase or batch < self.batch:
            return
        for pid in self.victims:
            os.kill(pid, signal.SIGKILL)
        task = TaskContext.get()
        if self.victims or task is None or task.attemptNumber() == 0:
            raise RuntimeError(f"a fault in phase {phase}, as the test wants it")


def task_batch() -> int:
    """The batch that this task belongs to."""
    task = TaskContext.get()
    return int((task and task.getLocalProperty(BATCH_ID)) or 0)


def striking(fault: Fault, phase: str, batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
    """Pass on half of the rows of the first record batch, then strike."""
    for batch in batches:
        yield batch[: batch.num_rows // 2]
        fault.strike(phase, task_batch())
        yield batch[batch.num_rows // 2 :]


class FaultyStreamReader(MicroBatchReader):
    """Reads until the fault."""

    def __init__(self, schema: StructType, options: Options, fault: Fault) -> None:
        super().__init__(schema, options)
        self._fault = fault
        self._per_batch = options.maxEntriesPerTrigger or 1

    def _batch(self, offset: Json) -> int:
        positions = [int(record.get("n", 0)) for record in offset.values()]
        return sum(positions) // self._per_batch

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        end = super().latestOffset(start, limit)
        self._fault.strike("plan", self._batch(start))
        return end

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        self._fault.strike("partitions", self._batch(end) - 1)
        return super().partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return striking(self._fault, "read", super().read(partition))

    def commit(self, end: Json) -> None:
        self._fault.strike("commit", self._batch(end) - 1)
        super().commit(end)


class FaultyBatchReader(BatchReader):
    """Reads until the fault."""

    def __init__(self, schema: StructType, options: Options, fault: Fault) -> None:
        super().__init__(schema, options)
        self._fault = fault

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return striking(self._fault, "read", super().read(partition))


class FaultyStreamWriter(MicroBatchWriter):
    """Writes until the fault."""

    def __init__(self, schema: StructType, options: Options, fault: Fault) -> None:
        super().__init__(schema, options, False)
        self._fault = fault

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return super().write(striking(self._fault, "write", iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._fault.strike("written", batchId)


class FaultyBatchWriter(BatchWriter):
    """Writes until the fault."""

    def __init__(self, schema: StructType, options: Options, fault: Fault) -> None:
        super().__init__(schema, options, False)
        self._fault = fault

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return super().write(striking(self._fault, "write", iterator))


class FaultySource(ForebaySource):
    """The connector, unreliable on request."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._fault = Fault(self.options)

    @classmethod
    def name(cls) -> str:
        return "faulty"

    def reader(self, schema: StructType) -> DataSourceReader:
        return FaultyBatchReader(schema, read_options(self.options, BATCH), self._fault)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return FaultyStreamReader(schema, read_options(self.options, STREAM), self._fault)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return FaultyBatchWriter(schema, read_options(self.options, WRITE), self._fault)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return FaultyStreamWriter(schema, read_options(self.options, WRITE), self._fault)
