"""Entries into the files of a lake by the tasks that read them; none passes through the JVM.

    Spark's way      server --> worker --> JVM --> rows --> Parquet
    landing          server --> worker --> Parquet          the JVM only says which task runs

A task has its entries as Arrow columns, and Arrow writes Parquet.  To hand them to Spark costs
more than to fetch and write them together, so an archive lands by itself where the result is
the same (``lands``): Parquet files on a disk that the tasks can reach, and no settings that only
Spark's writer understands.  Everything else goes Spark's way.

A task writes files with names of its own below the folder of the commit and answers with them
when they are safe on disk.  What an attempt wrote that failed is in no commit; compact removes
it.  Entries come in the order of their IDs, so their days do too: one file is open at a time.

IDs and times are written as differences, which makes files smaller; times have minima and
maxima, so that a query for a day passes over the rest.
"""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from forebay_spark.entries import MS_PER_DAY, EntryColumns
from forebay_spark.lake.commits import About
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake, Range, Written
from forebay_spark.options import Options
from forebay_spark.reading import Task, read_parts

CODEC = "spark.sql.parquet.compression.codec"
#: What Spark calls a compression, and Arrow.
CODECS = {
    "snappy": "snappy",
    "zstd": "zstd",
    "gzip": "gzip",
    "lz4_raw": "lz4",
    "none": "none",
    "uncompressed": "none",
}
#: Columns that wait for more of the same row group: a bound for the memory of a task.
GROUP_BYTES = 32 << 20
US_PER_DAY = MS_PER_DAY * 1000
DAYS_PER_400_YEARS = 146_097
EPOCH = date(1970, 1, 1)
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
#: Besides control characters, what Spark does not leave in the name of a folder.
ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f")


class Landed(NamedTuple):
    """A file that a task has written: its path below the folder, and what is in it."""

    path: str
    size_bytes: int
    rows: int


class Landing(NamedTuple):
    """What every task of a batch has to know."""

    schema: StructType
    options: Options
    codec: str


def lands(spark: SparkSession, about: About, root: str) -> bool:
    """Whether landing gives what Spark's own writer would give."""
    java: Any = getattr(spark, "_jsparkSession", None)
    return (
        about.format.lower() == "parquet"
        and root.startswith("/")
        and spark.conf.get(CODEC) in CODECS
        and java is not None
        # Encryption, sizes, bloom filters: whoever set one of these wants it obeyed.
        and not java.sessionState().newHadoopConf().getPropsWithPrefix("parquet.")
    )


def codec_of(spark: SparkSession) -> str:
    """The compression that Spark's writer would use, as Arrow calls it."""
    return CODECS[str(spark.conf.get(CODEC))]


def land(
    spark: SparkSession,
    lake: Lake,
    tasks: list[Task],
    landing: Landing,
    ranges: Mapping[str, Range],
) -> Written:
    """Run the tasks of a batch; the files that they have written."""
    folder = lake.new_folder()
    # Not mapInArrow, which wants pandas to be there without using it.
    pieces = spark.sparkContext.parallelize(tasks, max(len(tasks), 1))
    landed = pieces.flatMap(partial(land_task, landing, f"{lake.root}/{folder}")).collect()
    sizes = {f"{folder}/{file.path}": file.size_bytes for file in landed}
    return lake.adopt(folder, sizes, ranges, sum(file.rows for file in landed))


def land_task(landing: Landing, base: str, task: Task) -> list[Landed]:
    """In a worker: the entries of one task, in a file for each of their days."""
    landed: list[Landed] = []
    batches = read_parts(landing.schema, landing.options, task)
    try:
        for stream, group in groupby(batches, key=itemgetter(0)):
            landed += _land_stream(DayFiles(landing, base, stream), group)
    except OSError as error:
        raise LakeError(
            f"The folder {base} cannot be written by a task ({error.strerror or error}). Make room "
            "and see that every machine of Spark has the disk and may write to it."
        ) from None
    return landed


def _land_stream(files: DayFiles, batches: Iterable[tuple[str, pa.RecordBatch]]) -> list[Landed]:
    try:
        for _, batch in batches:
            files.add(batch)
        return files.finish()
    finally:
        files.close()


class DayFiles:
    """The files of one task, one after the other."""

    def __init__(self, landing: Landing, base: str, stream: str) -> None:
        self._base = base
        self._codec = landing.codec
        self._names = EntryColumns(landing.schema)
        self._stream = f"{self._names.stream}={escaped(stream)}"
        self._day: int | None = None
        self._file: OpenFile | None = None
        self._landed: list[Landed] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Entries that come after all others."""
        times = batch.column(self._names.timestamp)
        days = pc.run_end_encode(pc.divide(times.view(pa.int64()), US_PER_DAY))
        rows, start = batch.drop_columns([self._names.stream]), 0
        for day, end in zip(days.values.to_pylist(), days.run_ends.to_pylist(), strict=True):
            self._file_of(day, rows.schema).add(rows.slice(start, end - start))
            start = end

    def _file_of(self, day: int | None, schema: pa.Schema) -> OpenFile:
        if self._file is None or day != self._day:
            self._finish_file()
            folder = f"{self._stream}/{self._names.date}={day_text(day)}"
            path = f"{folder}/part-{uuid.uuid4().hex}.{self._codec}.parquet"
            out = create(Path(self._base, path))
            writer = parquet_writer(out, schema, self._names, self._codec)
            self._file = OpenFile(path, out, writer)
            self._day = day
        return self._file

    def _finish_file(self) -> None:
        if self._file is not None:
            self._landed.append(self._file.finish())
            self._file = None

    def finish(self) -> list[Landed]:
        """All files, which are now safe on disk."""
        self._finish_file()
        return self._landed

    def close(self) -> None:
        """Let go of a file that will not be finished."""
        if self._file is not None:
            self._file.give_up()


def create(path: Path) -> BinaryIO:
    """A new file, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("xb")


class OpenFile:
    """A Parquet file that grows by row groups."""

    def __init__(self, path: str, out: BinaryIO, writer: pq.ParquetWriter) -> None:
        self._out = out
        self._path = path
        self._writer = writer
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        self._waiting.append(batch)
        self._waiting_bytes += batch.nbytes
        self._rows += batch.num_rows
        if self._waiting_bytes >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if self._waiting:
            rows = pa.Table.from_batches(self._waiting)
            self._writer.write_table(rows, row_group_size=rows.num_rows)
            self._waiting, self._waiting_bytes = [], 0

    def finish(self) -> Landed:
        """Write what waits, and return when it would survive a loss of power."""
        with self._out:
            self._write_group()
            self._writer.close()
            self._out.flush()
            os.fsync(self._out.fileno())
            return Landed(self._path, self._out.tell(), self._rows)

    def give_up(self) -> None:
        """Leave the file as it is; Arrow wants to end it in any case, if there is room."""
        with suppress(OSError), self._out:
            self._writer.close()


def parquet_writer(
    out: BinaryIO, schema: pa.Schema, names: EntryColumns, codec: str
) -> pq.ParquetWriter:
    """IDs and times are written as differences, all other columns by dictionary."""
    differences = {names.id: "DELTA_BYTE_ARRAY", names.timestamp: "DELTA_BINARY_PACKED"}
    return pq.ParquetWriter(
        out,
        schema,
        compression=codec,
        use_dictionary=[path for path in leaves(schema) if path not in differences],
        column_encoding=differences,
    )


def leaves(schema: pa.Schema) -> list[str]:
    """The paths of all columns as Parquet sees them, those inside of others too."""
    empty = io.BytesIO()
    pq.write_table(schema.empty_table(), empty)
    parquet = pq.ParquetFile(empty).schema
    return [parquet.column(at).path for at in range(len(parquet))]


def day_text(day: int | None) -> str:
    """A day since 1970 as Spark names its folder; Python's own dates end with the year 9999."""
    if day is None:
        return NO_VALUE
    cycles, rest = divmod(day, DAYS_PER_400_YEARS)
    near = EPOCH + timedelta(days=rest)
    year = near.year + 400 * cycles
    return f"{'+' if year > 9999 else ''}{year:04}-{near:%m-%d}"


def escaped(text: str) -> str:
    """A value as Spark spells it in the name of a folder."""
    return "".join(f"%{ord(char):02X}" if char in ESCAPED or char < " " else char for char in text)
