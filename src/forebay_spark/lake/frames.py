"""The rows of a lake's version, in Spark.

Spark's own Parquet reader gets the list of the files that count, so that neither what was
replaced nor what was never committed is seen.  The values by which a table is partitioned stand
in the names of folders, as all writers of Delta spell them.

    local     root/stream=a/date=d/part-1.parquet             Spark's reader
    upgraded  root/data/commit=x/stream=a/date=d/part-1...    the same, one folder deeper
    else      another tool's layout, or a store that this     Arrow in Python workers
              Spark has no jar for                            (lake/source.py)

With Delta's jar in the session, ``spark.read.format("delta").load(path)`` gives the same rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from forebay_spark.lake.lake import DataFile, Snapshot
from forebay_spark.lake.parquet import folder_of, value_text
from forebay_spark.lake.results import register
from forebay_spark.lake.source import FILES, FORMAT, encode_files

OLD_DATA, OLD_FOLDER = "data", "commit"
#: From so many paths on, Spark lists them by a job of its own, which takes seconds.
DISCOVERY = "spark.sql.sources.parallelPartitionDiscovery.threshold"
NEVER = str(1 << 30)
PLAIN, OLD, FOREIGN = "plain", "old", "foreign"


def frame_of(
    spark: SparkSession, snapshot: Snapshot, files: Iterable[DataFile] | None = None
) -> DataFrame:
    """The rows of all files of a version, or of some of them."""
    columns = snapshot.about.columns
    chosen = snapshot.files if files is None else list(files)
    groups: dict[str, list[DataFile]] = defaultdict(list)
    for file in chosen:
        groups[_layout(snapshot, file)].append(file)
    if not groups:
        return spark.createDataFrame([], columns)
    parts = [_read(spark, snapshot, layout, group) for layout, group in sorted(groups.items())]
    return reduce(DataFrame.unionByName, parts)


def _layout(snapshot: Snapshot, file: DataFile) -> str:
    """How Spark can get at a file."""
    if not snapshot.place.is_local or "://" in file.path:
        return FOREIGN
    parts = [(name, value_text(file.values.get(name))) for name in snapshot.about.partitions]
    folder = file.path.rpartition("/")[0]
    if folder == folder_of(dict(parts)).rstrip("/"):
        return PLAIN
    return OLD if file.path.startswith(f"{OLD_DATA}/{OLD_FOLDER}=") else FOREIGN


def _read(spark: SparkSession, snapshot: Snapshot, layout: str, files: list[DataFile]) -> DataFrame:
    columns, root = snapshot.about.columns, snapshot.place.root
    if layout == FOREIGN:
        return _read_in_python(spark, snapshot, files)
    deeper = [StructField(OLD_FOLDER, StringType())] if layout == OLD else []
    base = f"{root}/{OLD_DATA}" if layout == OLD else root
    reader = spark.read.schema(StructType([*columns, *deeper])).option("basePath", base)
    with _listed_here(spark):
        frame = reader.parquet(*(f"{root}/{file.path}" for file in files))
    return frame.select(*(F.col(f"`{name}`") for name in columns.fieldNames()))


def _read_in_python(spark: SparkSession, snapshot: Snapshot, files: list[DataFile]) -> DataFrame:
    register(spark)
    reader = spark.read.format(FORMAT).schema(snapshot.about.columns)
    return reader.option(FILES, encode_files(snapshot, files)).load()


@contextmanager
def _listed_here(spark: SparkSession) -> Iterator[None]:
    """Let the driver look at the files; they are known, so there is nothing to search."""
    before = str(spark.conf.get(DISCOVERY))
    spark.conf.set(DISCOVERY, NEVER)
    try:
        yield
    finally:
        spark.conf.set(DISCOVERY, before)
