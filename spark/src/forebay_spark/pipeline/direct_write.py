"""The tasks that read entries write them into files of a lake; none passes through the JVM.

    Spark's way      server --> worker --> JVM --> rows --> Parquet
    directly         server --> worker --> Parquet          the JVM only starts the tasks

A task has its entries as Arrow columns, and Arrow writes Parquet (lake/parquet.py).  Passing
them to Spark would cost more than fetching and writing them together.  A task returns the names of
its files when they are safe on disk; the driver commits them.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from forebay_spark.lake import stores
from forebay_spark.lake.changes import NewFile
from forebay_spark.lake.parquet import LAST_DAY, PartitionedFiles, differences, value_texts
from forebay_spark.lake.stores import Place
from forebay_spark.options import Options
from forebay_spark.pipeline.evolution import Samples, joined, sample
from forebay_spark.read.reading import Task, read_parts
from forebay_spark.values.entry_columns import MS_PER_DAY, EntryColumns
from forebay_spark.values.exact import leftovers, told_whole
from forebay_spark.values.schema import RAW, SPECIAL

US_PER_DAY = MS_PER_DAY * 1000


class Landing(NamedTuple):
    """The settings for every task of a batch."""

    schema: StructType
    options: Options
    place: Place
    partitions: tuple[str, ...]
    samples: bool = False


class Landed(NamedTuple):
    """The files of tasks, and how many values of each name no column could take.

    ``samples`` has some of these values, if the caller wants them.
    """

    files: list[NewFile]
    left: Counter[str]
    samples: Samples

    @property
    def rows(self) -> int:
        """The number of entries."""
        return sum(file.rows for file in self.files)


def land(spark: SparkSession, tasks: list[Task], landing: Landing) -> Landed:
    """Run the tasks of a batch; return the files that they have written."""
    # Not mapInArrow, which needs pandas installed without using it.
    pieces = spark.sparkContext.parallelize(tasks, max(len(tasks), 1))
    parts = pieces.map(partial(land_task, landing)).collect()
    return Landed(
        [file for part in parts for file in part.files],
        sum((part.left for part in parts), Counter()),
        joined(part.samples for part in parts),
    )


def land_task(landing: Landing, task: Task) -> Landed:
    """In a worker: write the entries of one task, one file for each folder."""
    names = EntryColumns(landing.schema)
    files = PartitionedFiles(landing.place, landing.partitions, differences(landing.schema))
    left: Counter[str] = Counter()
    samples: Samples = {}
    try:
        for _, batch in read_parts(landing.schema, landing.options, task):
            unsaid = unsaid_by_folders(batch, landing.partitions)
            whole = told_whole(batch, unsaid, landing.options.timestampFormat)
            files.add(dated(whole, names))
            left += leftovers(batch)
            if landing.samples:
                sample(samples, batch)
        return Landed(files.finish(), left, samples)
    except OSError as error:
        raise stores.said(landing.place, error) from None
    finally:
        files.close()


def unsaid_by_folders(batch: pa.RecordBatch, partitions: tuple[str, ...]) -> pa.Array:
    """Rows with a partition field whose value a folder name cannot express exactly.

    In a folder name, null and an empty text are the same, and some days have no text.  Text is
    safe for whole numbers and the like; for other types we do not rely on readers' conversions.
    """
    unsaid = pa.repeat(pa.scalar(False), batch.num_rows)
    fields = set(partitions) - set(SPECIAL) if RAW in batch.schema.names else set()
    for name in fields & set(batch.schema.names):
        column = batch.column(name)
        lost = column.is_valid()
        if _is_sure(column.type):
            said = pc.not_equal(value_texts(column), "").fill_null(False)
            lost = pc.and_(lost, pc.invert(said))
        unsaid = pc.or_(unsaid, lost)
    return unsaid


def _is_sure(kind: pa.DataType) -> bool:
    sure = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
    return any(is_one(kind) for is_one in sure)


def dated(batch: pa.RecordBatch, names: EntryColumns) -> pa.RecordBatch:
    """Add the day of each entry in UTC; an entry after the year 9999 has none."""
    days = pc.divide(batch.column(names.timestamp).view(pa.int64()), US_PER_DAY)
    known = pc.less_equal(days, LAST_DAY)
    dates = pc.if_else(known, days, pa.scalar(None, pa.int64())).cast(pa.int32()).cast(pa.date32())
    return batch.append_column(names.date, dates)
