"""A lake: tables in, tables out.  Files and log are put together here.

    lake = Lake(spark, "/data/lake")
    lake.create(about)                     commit 0, unless the same lake is there already
    files = lake.write(frame)              files on disk that nobody sees yet
    files = lake.adopt(folder, sizes)      the same, of files that others wrote to a new_folder()
    lake.change(lambda state: Commit(...)) and now everybody does, or nobody
    lake.read(state)                       the rows of some state, as a DataFrame

Every write goes to a folder of its own, ``data/commit=<random>/``, so that writers cannot
disturb each other's scratch files.  Below it the folders are named ``column=value`` as Hive
does it, so that any tool can read the files too; which of them count only the log knows.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from forebay_spark.ids import EntryId
from forebay_spark.lake.commits import About, Commit, DataFile, State
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.files import now_ms, open_files
from forebay_spark.lake.log import CommitLog

DATA = "data"
COMMIT_FOLDER = "commit"
OPEN_FILES = "spark.sql.maxConcurrentOutputFileWriters"
MOST_OPEN_FILES = "16"

Range = tuple[EntryId, EntryId]


class Written(NamedTuple):
    """Files that are on disk and in no commit yet."""

    folder: str
    files: tuple[DataFile, ...]
    rows: int


class Lake:
    """One lake, as this Spark session sees it."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.files = open_files(spark, root)
        self.log = CommitLog(self.files)

    @property
    def root(self) -> str:
        """Where it is."""
        return self.files.root

    def create(self, about: About) -> State:
        """Make the lake, or check that the one which is there is the same."""

        def first(state: State | None) -> Commit | None:
            return Commit("create", now_ms(), about=about) if state is None else None

        state = self.log.change(first)
        if state is None:
            raise AssertionError("a lake that was created is there")
        if state.about != about:
            raise LakeError(
                f"The lake {self.root} was made with {_difference(state.about, about)}. "
                "Give this job a lake of its own, or the settings of the lake."
            )
        return state

    def state(self) -> State:
        """The newest state; LakeError if there is no lake."""
        state = self.log.load()
        if state is None:
            raise LakeError(
                f"There is no lake at {self.root}. Correct the path, or run an archive job first."
            )
        return state

    def write(self, frame: DataFrame, about: About, ranges: Mapping[str, Range] = {}) -> Written:
        """Write rows to files of a new folder; ``ranges`` says what they are of each stream."""
        folder = self.new_folder()
        seen = Observation()
        writer = frame.observe(seen, F.count(F.lit(1)).alias("rows")).write
        with _without_sort(frame.sparkSession):
            writer.format(about.format).partitionBy(*about.partitions).save(f"{self.root}/{folder}")
        sizes = {info.path: info.size_bytes for info in self.files.walk(folder)}
        return self.adopt(folder, sizes, ranges, seen.get["rows"])

    def new_folder(self) -> str:
        """Where the files of one more commit go."""
        return f"{DATA}/{COMMIT_FOLDER}={uuid.uuid4().hex[:12]}"

    def adopt(
        self, folder: str, sizes: Mapping[str, int], ranges: Mapping[str, Range], rows: int
    ) -> Written:
        """Files that somebody has written to a new folder, safe on disk and ready for a commit."""
        self.files.sync(list(sizes))
        files = tuple(_data_file(path, size, ranges) for path, size in sizes.items())
        return Written(folder, files, rows)

    def change(self, decide: Callable[[State], Commit | None]) -> State:
        """Add a commit made of the newest state; see CommitLog.change."""

        def known(state: State | None) -> Commit | None:
            if state is None:
                raise LakeError(f"The lake {self.root} is gone. Start the job again.")
            return decide(state)

        state = self.log.change(known)
        if state is None:
            raise AssertionError("decide has seen a state")
        return state

    def read(self, state: State, files: Iterable[DataFile] | None = None) -> DataFrame:
        """The rows of all live files, or of some, with the columns of the lake."""
        columns = StructType.fromJson(json.loads(state.about.columns))
        chosen = list(state.files.values() if files is None else files)
        if not chosen:
            return self.spark.createDataFrame([], columns)
        with_folder = StructType([*columns, StructField(COMMIT_FOLDER, StringType())])
        reader = self.spark.read.format(state.about.format).schema(with_folder)
        paths = [f"{self.root}/{file.path}" for file in chosen]
        frame = reader.option("basePath", f"{self.root}/{DATA}").load(paths)
        return frame.select(*(F.col(f"`{name}`") for name in columns.fieldNames()))

    def discard(self, written: Written) -> None:
        """Remove files that will not be committed."""
        self.files.remove(written.folder)


@contextmanager
def _without_sort(spark: SparkSession) -> Iterator[None]:
    """Let a task keep a file open for each folder, instead of sorting all rows by folder first.

    A task has the entries of one stream, mostly of one day.  One with more folders than
    this goes on as Spark does by itself.
    """
    before = spark.conf.get(OPEN_FILES, None)
    spark.conf.set(OPEN_FILES, MOST_OPEN_FILES)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(OPEN_FILES)
        else:
            spark.conf.set(OPEN_FILES, before)


def partition_values(path: str) -> dict[str, str]:
    """Column and value of each folder of a data file's path."""
    folders = [part.partition("=") for part in path.split("/")[:-1]]
    return {name: unquote(value) for name, equals, value in folders if equals}


def _data_file(path: str, size_bytes: int, ranges: Mapping[str, Range]) -> DataFile:
    """A file with the range of its stream, which its folder names."""
    values = partition_values(path)
    for column in ("stream", "_stream"):
        if values.get(column) in ranges:
            low, high = ranges[values[column]]
            return DataFile(path, size_bytes, values[column], low, high)
    return DataFile(path, size_bytes)


def _difference(there: About, wanted: About) -> str:
    """The first thing in which two lakes differ, for a person."""
    for name, is_there, is_wanted in zip(About._fields, there, wanted, strict=True):
        if is_there != is_wanted:
            return f"other settings: {name}: {_brief(is_there)}, not {_brief(is_wanted)}"
    return "the same settings"


def _brief(value: Any) -> str:
    """A setting as a person writes it; a schema as DDL."""
    if isinstance(value, str) and value.startswith("{"):
        fields = StructType.fromJson(json.loads(value))
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
    return repr(value)
