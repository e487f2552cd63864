"""The rows of a lake's version, in Spark.

Spark's own Parquet reader gets the list of the current files, so that it sees neither replaced nor
uncommitted files.  The partition values are in the names of folders, as all writers of Delta spell
them.

    plain     root/stream=a/date=d/part-1.parquet             Spark's reader finds the values
    old       root/data/commit=x/stream=a/date=d/part-1...    the same, one folder deeper
    spelled   root/stream=%C3%A9/..., or another tool's way   Spark's reader, values from the log,
                                                              a part for each folder
    store     s3://...: this Spark has no jar for it          Arrow in Python workers
                                                              (lake/source.py)

With the name of a time column, each scan of Spark's reader opens only files that may match the
times of its WHERE (scan_files.py).

With Delta's jar in the session, ``spark.read.format("delta").load(path)`` gives the same rows.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from forebay_spark.lake.changes import DataFile, value_text
from forebay_spark.lake.lake import Snapshot
from forebay_spark.lake.parquet import NO_VALUE
from forebay_spark.lake.scan_files import pruned
from forebay_spark.lake.source import FILES, FORMAT, encode_files, register

OLD_DATA, OLD_FOLDER = "data", "commit"
#: From this many paths on, Spark lists them with a job, which takes seconds.
DISCOVERY = "spark.sql.sources.parallelPartitionDiscovery.threshold"
NEVER = str(1 << 30)
NO_PATH_HAS = "\0"
PLAIN, OLD, SPELLED, STORE = "plain", "old", "spelled", "store"
#: The most parts of a query that Spark can plan; with more folders, workers read the files.
MOST_PARTS = 100
#: One thread at a time changes Spark's setting and restores it.
_listing = threading.RLock()


def frame_of(
    spark: SparkSession,
    snapshot: Snapshot,
    files: Iterable[DataFile] | None = None,
    time: str | None = None,
) -> DataFrame:
    """The rows of all files of a version, or of some; a scan may skip files by time."""
    columns = snapshot.about.columns
    chosen = snapshot.files if files is None else list(files)
    groups: dict[str, list[DataFile]] = defaultdict(list)
    for file in chosen:
        groups[_layout(snapshot, file)].append(file)
    if not groups:
        return spark.createDataFrame([], columns)
    parts = []
    for layout, group in sorted(groups.items()):
        parts += _parts(_Part(spark, snapshot, group, time), layout)
    return reduce(DataFrame.unionByName, parts)


def _layout(snapshot: Snapshot, file: DataFile) -> str:
    """How Spark can read a file."""
    if not snapshot.place.is_local or "://" in file.path:
        return STORE
    wanted = [(name, value_text(file.values.get(name))) for name in snapshot.about.partitions]
    folders = file.path.split("/")[:-1]
    is_old = file.path.startswith(f"{OLD_DATA}/{OLD_FOLDER}=")
    found = [_as_spark_reads(folder) for folder in (folders[2:] if is_old else folders)]
    if found != wanted:
        return SPELLED
    return OLD if is_old else PLAIN


@lru_cache(maxsize=10_000)
def _as_spark_reads(folder: str) -> tuple[str, str | None]:
    """Column and value of a folder; Spark takes each %xx for one character."""
    name, _, value = folder.partition("=")
    text = re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), value)
    return name, None if value == NO_VALUE else text


class _Part(NamedTuple):
    """Files of one layout."""

    spark: SparkSession
    snapshot: Snapshot
    files: list[DataFile]
    time: str | None

    def load(self, reader: DataFrameReader) -> DataFrame:
        """The rows of the files."""
        frame = self._load(reader, self.files)
        if self.time is None:
            return frame
        return pruned(frame, self.files, self.time, partial(self._load, reader))

    def _load(self, reader: DataFrameReader, files: list[DataFile]) -> DataFrame:
        with _listed_here(self.spark):
            return _load(reader, [f"{self.snapshot.place.root}/{file.path}" for file in files])


def _parts(part: _Part, layout: str) -> list[DataFrame]:
    if layout in (PLAIN, OLD):
        return [_read(part, layout)]
    folders: dict[tuple[object, ...], list[DataFile]] = defaultdict(list)
    for file in part.files:
        folders[tuple(map(file.values.get, part.snapshot.about.partitions))].append(file)
    if layout == STORE or len(folders) > MOST_PARTS:
        return [_read_in_python(part.spark, part.snapshot, part.files)]
    return [_read_spelled(part._replace(files=group)) for group in folders.values()]


def _read_spelled(part: _Part) -> DataFrame:
    """Files of one folder, with values from the log."""
    columns, values = part.snapshot.about.columns, part.files[0].values
    inside = StructType([field for field in columns if field.name not in values])
    frame = part.load(part.spark.read.schema(inside))
    chosen = [
        F.lit(values[field.name]).cast(field.dataType).alias(field.name)
        if field.name in values
        else F.col(f"`{field.name}`")
        for field in columns
    ]
    return frame.select(*chosen)


def _read(part: _Part, layout: str) -> DataFrame:
    columns, root = part.snapshot.about.columns, part.snapshot.place.root
    deeper = [StructField(OLD_FOLDER, StringType())] if layout == OLD else []
    base = f"{root}/{OLD_DATA}" if layout == OLD else root
    reader = part.spark.read.schema(StructType([*columns, *deeper])).option("basePath", base)
    return part.load(reader).select(*(F.col(f"`{name}`") for name in columns.fieldNames()))


def _load(reader: DataFrameReader, paths: list[str]) -> DataFrame:
    """Files by their paths.  PySpark passes them to Java one by one; here all go at once."""
    java: Any = getattr(reader, "_jreader", None)
    if java is None:  # Spark Connect, which sends them together
        return reader.parquet(*paths)
    told: Any = reader
    jvm = told._spark._jvm
    listed = jvm.java.util.regex.Pattern.compile(NO_PATH_HAS).split(NO_PATH_HAS.join(paths))
    return DataFrame(java.parquet(listed), told._spark)


def _read_in_python(spark: SparkSession, snapshot: Snapshot, files: list[DataFile]) -> DataFrame:
    register(spark)
    reader = spark.read.format(FORMAT).schema(snapshot.about.columns)
    return reader.option(FILES, encode_files(snapshot, files)).load()


@contextmanager
def _listed_here(spark: SparkSession) -> Iterator[None]:
    """Let the driver list the files; they are known, so there is nothing to search."""
    with _listing:
        before = str(spark.conf.get(DISCOVERY))
        spark.conf.set(DISCOVERY, NEVER)
        try:
            yield
        finally:
            spark.conf.set(DISCOVERY, before)
