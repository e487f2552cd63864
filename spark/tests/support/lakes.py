"""Helpers for tests of pipelines: archive jobs, and rows as plain values to compare."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql.types import LongType, StringType, StructField, StructType

from forebay_spark.lake.changes import Change
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import About, Lake, Snapshot
from forebay_spark.lake.transactions import of_batch
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.spec import Source
from spark.tests.support.spark_streams import Target

#: A small table that is split by a column, for tests without entries.
NUMBERS = About(
    StructType([StructField("stream", StringType()), StructField("n", LongType())]), ("stream",)
)


def make_lake(folder: Path) -> Lake:
    """A lake of numbers, empty if it is new."""
    lake = Lake(str(folder))
    lake.create(NUMBERS)
    return lake


def contested(lake: Lake, other: Lake) -> list[int]:
    """Two writers commit the same batch at once; returns what the slower one saw each time."""
    seen: list[int] = []

    def decide(snapshot: Snapshot) -> Change | None:
        seen.append(snapshot.batch_of("q"))
        if len(seen) == 1:
            other.commit(lambda _: Change((), of_batch("q", 7)))
        return Change((), of_batch("q", 8)) if snapshot.batch_of("q") < 0 else None

    lake.commit(decide)
    return seen


def archive(target: Target, lake: Path, *streams: str, **more: Any) -> Archive:
    """An archive job of some streams; ``most`` limits the entries of a batch."""
    most = more.pop("most", None)
    options = {"maxEntriesPerTrigger": str(most)} if most else {}
    names = ("schema", "group", "pattern", "fail_on_data_loss")
    about_source = {name: more.pop(name) for name in names if name in more}
    options |= more.pop("options", {})
    source = Source(url=target.url, streams=streams, options=options, **about_source)
    return Archive(source=source, lake=str(lake), **more)


def run(spark: Any, job: Any) -> None:
    """Start a job and wait until it is done."""
    job.start(spark).wait()


def lake_ids(spark: Any, lake: Path, column: str = "id") -> list[str]:
    """The IDs of all rows of a lake, sorted as text; repeated ones stay repeated."""
    return ids_of(lake_frame(spark, lake), column)


def lake_frame(spark: Any, lake: Path) -> Any:
    """All rows of a lake."""
    return frame_of(spark, Lake(str(lake)).snapshot())


def newest(lake: Path) -> Snapshot | None:
    """The newest version of a lake, if there is one."""
    try:
        return Lake(str(lake)).snapshot()
    except LakeError:
        return None


def rows_in(lake: Path) -> int:
    """How many rows the log of a lake counts."""
    snapshot = newest(lake)
    return sum(file.rows or 0 for file in snapshot.files) if snapshot else 0


def ids_of(frame: Any, column: str = "id") -> list[str]:
    """The IDs of all rows, sorted as text; repeated ones stay repeated."""
    return sorted(row[0] for row in frame.select(column).collect())


def same(found: list[str], wanted: list[str]) -> None:
    """Two lists of IDs are the same as multisets; a failure shows a short difference."""
    there, asked = Counter(found), Counter(wanted)
    missing, extra = asked - there, there - asked
    assert not missing and not extra, (
        f"{sum(missing.values())} missing (first {min(missing, default=None)}), "
        f"{sum(extra.values())} too many (first {min(extra, default=None)})"
    )
