"""How long a commit and a plan take: on a lake with a long history, and on one with many files.

    commit    Lake.commit with one small file: at version 10, after thousands of commits that
              left a file each, and after these are merged
    plan      table(...), and Spark's tasks for it, over thousands of files
    an hour   the same for one hour of them, counted

This module writes the history directly in the open format, from a real commit, as quickly as the
disk can.  Each ``STRIDE`` of it ends with a real commit, which makes a checkpoint and tidies the
log.  So the log is as long as commits alone would have left it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bench.spark.lines import Line, warm_in_turns
from bench.spark.stage import Stage
from forebay_spark.ids import EntryId
from forebay_spark.lake.changes import Change, NewFile
from forebay_spark.lake.lake import About, Lake
from forebay_spark.lake.log import commit_path
from forebay_spark.lake.parquet import Statistics, folder_of
from forebay_spark.lake.transactions import Cut, of_cuts
from forebay_spark.pipeline.archive import about_archive
from forebay_spark.pipeline.spec import Source
from forebay_spark.query.table import table
from forebay_spark.values.entry_columns import EntryColumns

STREAM = "orders"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
FEW, COMMITS, STRIDE = 10, 60, 500
COMMIT_GOAL_MS = 50.0
#: Milliseconds to plan this many files.
PLAN_GOAL_MS = {2_000: 1_000.0, 10_000: 3_000.0}


def lake(stage: Stage) -> list[Line]:
    """Milliseconds, each against its goal."""
    return [*commits(stage), *plans(stage)]


# Commits.


def commits(stage: Stage) -> list[Line]:
    """A commit early and late in the life of a lake, and after a compaction."""
    lines = []
    for version in (FEW, stage.plan.lake_version):
        grown = grow(Lake(f"{stage.folder}/version-{version}"), version)
        lines += measured(stage, f"commit, version {version:,}, as many files", grown)
    merge(grown)
    return lines + measured(stage, f"commit, version {version:,}, files merged", grown)


def measured(stage: Stage, title: str, lake: Lake) -> list[Line]:
    """The median of some commits, and the slowest: each fiftieth makes a checkpoint too."""
    samples = [commit_ms(lake) for _ in range(COMMITS)]
    stage.samples[title] = {"ms": samples}
    return [
        against_goal(title, median(samples), COMMIT_GOAL_MS),
        Line(f"{title}, checkpoint", "the median", "ms", max(samples), median(samples)),
    ]


def merge(lake: Lake) -> None:
    """One file instead of all."""
    one = NewFile("part-merged.parquet", 100, 1, VALUES, '{"numRecords": 1}')
    lake.commit(lambda now: Change([one], instead_of=now.files))


def grow(lake: Lake, version: int) -> Lake:
    """Bring the lake to a version, with as many files."""
    lake.create(about_archive(Source(streams=(STREAM,)), None))
    commit_ms(lake)
    first = Path(lake.root, commit_path(1)).read_text()
    for at in range(2, version + 1):
        if at % STRIDE == 0 or at == version:
            commit_ms(lake)
        else:
            Path(lake.root, commit_path(at)).write_text(first.replace("part-1.", f"part-{at}."))
    found = lake.snapshot()
    assert (found.version, len(found.files)) == (version, version)
    return lake


def commit_ms(lake: Lake) -> float:
    """Milliseconds of one commit, until it is safe on disk."""
    version = lake.snapshot().version + 1
    file = NewFile(f"part-{version}.parquet", 100, 1, VALUES, '{"numRecords": 1}')
    start = time.perf_counter()
    lake.commit(lambda _: Change([file], of_cuts({STREAM: Cut(EntryId(version, 0), version)})))
    return (time.perf_counter() - start) * 1000


VALUES = {"stream": STREAM, "date": "2026-01-01"}


# Plans.


def plans(stage: Stage) -> list[Line]:
    """A table of all files and one of an hour, as a user of a notebook waits for them."""
    lines = []
    for count in stage.plan.lake_files:
        path = f"{stage.folder}/files-{count}"
        fill(Lake(path), count)
        hour = {"since": FIRST + timedelta(hours=5), "until": FIRST + timedelta(hours=6)}
        cases: dict[str, Callable[[], float]] = {
            f"plan {count:,} files": partial(plan_ms, stage, path, count),
            f"count an hour of {count:,} files": partial(hour_ms, stage, path, hour),
        }
        for title, samples in warm_in_turns(stage.plan.rounds, cases).items():
            stage.samples[title] = {"ms": samples}
            lines.append(against_goal(title, median(samples), PLAN_GOAL_MS[count]))
    return lines


def fill(lake: Lake, count: int) -> None:
    """A lake with a file for each hour, in one commit."""
    about = about_archive(Source(streams=(STREAM,)), None)
    lake.create(about)
    files = [hour_file(Path(lake.root), about, hour) for hour in range(count)]
    lake.commit(lambda _: Change(files, of_cuts({STREAM: Cut(EntryId(1 << 62, 0), count)})))


def hour_file(root: Path, about: About, hour: int) -> NewFile:
    """A file with one entry; it need not survive a loss of power."""
    at = FIRST + timedelta(hours=hour)
    inside = StructType([field for field in about.columns if field.name not in about.partitions])
    schema = to_arrow_schema(inside, timezone="UTC")
    names = EntryColumns(about.entry or inside)
    told = {names.id: f"{int(at.timestamp() * 1000)}-0", names.timestamp: at}
    rows = pa.Table.from_pylist([told], schema=schema)
    values = {"stream": STREAM, "date": f"{at:%Y-%m-%d}"}
    path = root / f"{folder_of(values)}part-{hour}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    stats = Statistics(schema)
    stats.see(rows)
    return NewFile(str(path.relative_to(root)), path.stat().st_size, 1, values, stats.text())


def plan_ms(stage: Stage, path: str, count: int) -> float:
    """Milliseconds until Spark knows its tasks."""
    start = time.perf_counter()
    frame: DataFrame = table(stage.spark, lake=path, url=None)
    tasks = frame.rdd.getNumPartitions()
    assert 0 < tasks <= count
    return (time.perf_counter() - start) * 1000


def hour_ms(stage: Stage, path: str, hour: dict[str, datetime]) -> float:
    """Milliseconds until the entries of an hour are counted."""
    start = time.perf_counter()
    found = table(stage.spark, lake=path, url=None, since=hour["since"], until=hour["until"])
    assert found.count() == 1
    return (time.perf_counter() - start) * 1000


def against_goal(name: str, ms: float, goal_ms: float) -> Line:
    """A figure that should not be above its goal."""
    return Line(name, "the goal", "ms", ms, goal_ms, 1.0, smaller_is_better=True)
