"""A data source of Spark for files of lakes, where Spark's own cannot be used.

    read     files of a store, or in another tool's layout: Arrow in Python workers
    write    rows from Spark into files, and these into one commit

Jobs use it through frames.py and results.py; it is not for users, who have SQL and
``forebay_spark.table``.  ``commit`` runs in a process that Spark starts for it, so all that it
needs is in the options.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from forebay_spark.lake import stores, transactions
from forebay_spark.lake.changes import Change, DataFile, NewFile, texts
from forebay_spark.lake.lake import Lake, Snapshot
from forebay_spark.lake.parquet import PartitionedFiles
from forebay_spark.lake.stores import Place

FORMAT = "forebay-lake"
FILES, SINK = "files", "sink"
TASK_BYTES = 64 << 20

Json = dict[str, Any]


class LakeSource(DataSource):
    """Files of a lake."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        """Rows of some files."""
        return FilesReader(schema, json.loads(self.options[FILES]))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Rows to files and a commit."""
        return ResultsWriter(json.loads(self.options[SINK]))


def register(spark: SparkSession) -> None:
    """Register the source in a session, once."""
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    if not manager.dataSourceExists(FORMAT):
        spark.dataSource.register(LakeSource)


# Reading.


def encode_files(snapshot: Snapshot, files: Iterable[DataFile]) -> str:
    """The option that says what to read."""
    listed = [[file.path, file.size_bytes, texts(file.values)] for file in files]
    place = snapshot.place
    return json.dumps({"root": place.root, "options": dict(place.options), "files": listed})


class FilesTask(InputPartition):
    """Some files for one task."""

    def __init__(self, files: list[Any]) -> None:
        super().__init__(files)
        self.files = files


class FilesReader(DataSourceReader):
    """Reads files by their names."""

    def __init__(self, schema: StructType, told: Json) -> None:
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        self._place = Place(told["root"], told["options"])
        self._files = told["files"]

    def partitions(self) -> Sequence[InputPartition]:
        """About equal shares."""
        tasks: list[list[Any]] = [[]]
        room = TASK_BYTES
        for file in self._files:
            if tasks[-1] and file[1] > room:
                tasks.append([])
                room = TASK_BYTES
            tasks[-1].append(file)
            room -= file[1]
        return [FilesTask(files) for files in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a worker: the rows of some files."""
        if not isinstance(partition, FilesTask):
            return
        store = pa_fs.PyFileSystem(self._place.handler())
        for path, _, values in partition.files:
            try:
                with store.open_input_file(path) as content:
                    for batch in pq.ParquetFile(content).iter_batches():
                        yield conformed(batch, values, self._arrow)
            except OSError as error:
                raise stores.said(self._place, error) from None


def conformed(batch: pa.RecordBatch, values: Json, wanted: pa.Schema) -> pa.RecordBatch:
    """The columns of a table; a file may lack some, and the folder has others."""
    arrays = []
    for field in wanted:
        if field.name in values:
            text = pa.scalar(values[field.name], pa.string())
            arrays.append(pa.repeat(text, batch.num_rows).cast(field.type))
        elif field.name in batch.schema.names:
            arrays.append(batch.column(field.name).cast(field.type))
        else:
            arrays.append(pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


# Writing.


@dataclass(frozen=True)
class Landed(WriterCommitMessage):
    """The message of a task to the driver."""

    files: tuple[NewFile, ...]


class ResultsWriter(DataSourceArrowWriter):
    """Writes one micro-batch of a query."""

    def __init__(self, told: Json) -> None:
        self._told = told
        self._place = Place(told["root"], told["options"])

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a worker: the rows of one task."""
        files = PartitionedFiles(self._place, tuple(self._told["partitions"]))
        try:
            for batch in iterator:
                if batch.num_rows:
                    files.add(batch)
            return Landed(tuple(files.finish()))
        except OSError as error:
            raise stores.said(self._place, error) from None
        finally:
            files.close()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit all files and the number of the batch, or nothing."""
        files = [
            file for message in messages if isinstance(message, Landed) for file in message.files
        ]
        commit_batch(Lake(*self._place), files, self._told["writer"], self._told["batch"])

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing was committed."""
        for message in messages:
            if isinstance(message, Landed):
                stores.remove(self._place, [file.path for file in message.files])


def commit_batch(lake: Lake, files: Sequence[NewFile], writer: str, batch: int) -> None:
    """Add the files of a batch, unless the lake has that batch already."""

    def decide(snapshot: Snapshot) -> Change | None:
        if not files or snapshot.batch_of(writer) >= batch:
            stores.remove(lake.place, [file.path for file in files])
            return None
        return Change(files, transactions.of_batch(writer, batch))

    lake.commit(decide)
