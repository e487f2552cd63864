"""Compaction: many small files become few large ones, and what nobody needs goes away.

    before   stream=s/date=d   a.parquet b.parquet c.parquet     (each micro-batch left one)
    commit   remove a b c, add x
    after    stream=s/date=d   x.parquet       a b c stay on disk for the grace time

Each partition is a commit of its own, made while the archive job goes on: whoever loses the
race for a number decides anew, and if one of the small files is gone by then (another
compaction), this one is dropped.  Readers of an older state keep their files until the
grace time is over; so do writes in progress, whose files no commit names yet.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from forebay_spark.lake.commits import Commit, DataFile, State
from forebay_spark.lake.files import FileInfo, now_ms
from forebay_spark.lake.lake import DATA, Lake
from forebay_spark.lake.log import FOLDER, SNAPSHOT

MEBIBYTE = 1 << 20
DAY_MS = 86_400_000


class Compaction(NamedTuple):
    """What a compaction did."""

    files_before: int
    files_after: int
    deleted_files: int


@dataclass(frozen=True)
class Plan:
    """The small files of one partition, to be written as ``count`` files."""

    files: tuple[DataFile, ...]
    count: int


def plans(state: State, target_bytes: int) -> list[Plan]:
    """Partitions that have at least two files of less than half the target."""
    small: dict[str, list[DataFile]] = defaultdict(list)
    for file in state.files.values():
        if file.size_bytes < target_bytes // 2:
            small[file.partition].append(file)
    return [
        Plan(tuple(files), max(1, math.ceil(sum(f.size_bytes for f in files) / target_bytes)))
        for files in small.values()
        if len(files) > 1
    ]


def compact(
    spark: SparkSession, root: str, target_mb: int = 128, grace_ms: int = DAY_MS
) -> Compaction:
    """Compact a lake and clean up after earlier compactions and crashes."""
    lake = Lake(spark, root)
    before = lake.state()
    for plan in plans(before, target_mb * MEBIBYTE):
        merge(lake, before, plan)
    deleted = clean(lake, now_ms() - grace_ms)
    return Compaction(len(before.files), len(lake.state().files), deleted)


def merge(lake: Lake, state: State, plan: Plan) -> None:
    """Write the rows of some files as fewer files, and put those in their place."""
    rows = _ordered(lake.read(state, plan.files).coalesce(plan.count), state)
    written = lake.write(rows, state.about)
    old = tuple(file.path for file in plan.files)
    ranged = tuple(_with_range(file, plan.files) for file in written.files)

    def decide(now: State) -> Commit | None:
        if any(path not in now.files for path in old):
            lake.discard(written)
            return None
        return Commit("compact", now_ms(), ranged, old)

    lake.change(decide)


def _ordered(rows: DataFrame, state: State) -> DataFrame:
    """Entries in the order of their stream, which compresses well and reads well."""
    if not state.about.is_archive:
        return rows
    mark = "_" if "_seq" in rows.columns else ""
    return rows.sortWithinPartitions(f"{mark}timestamp", f"{mark}seq")


def _with_range(file: DataFile, old: tuple[DataFile, ...]) -> DataFile:
    """A new file may have any entry of the old ones."""
    lows = [f.low for f in old if f.low is not None]
    highs = [f.high for f in old if f.high is not None]
    if not lows or not highs:
        return file
    return DataFile(file.path, file.size_bytes, old[0].stream, min(lows), max(highs))


def clean(lake: Lake, before_ms: int) -> int:
    """Delete files that no state after a moment needs, and commits that a snapshot covers."""
    state = lake.state()
    expired = [path for path, ms in state.removed_ms.items() if ms < before_ms]
    for path in expired:
        lake.files.remove(path)
    if expired:
        state = lake.change(lambda _: Commit("clean", now_ms(), forget=tuple(expired)))
    orphans = _orphans(lake, state, before_ms)
    for info in orphans:
        lake.files.remove(info.path)
    covered = [
        int(info.path.rpartition("/")[2].removesuffix(SNAPSHOT))
        for info in lake.files.walk(FOLDER)
        if info.path.endswith(SNAPSHOT) and info.modified_ms < before_ms
    ]
    if covered:
        lake.log.forget(max(covered))
    return len(expired) + len(orphans)


def _orphans(lake: Lake, state: State, before_ms: int) -> list[FileInfo]:
    """Old files that no commit names: a writer was killed before it could."""
    return [
        info
        for info in lake.files.walk(DATA)
        if info.modified_ms < before_ms
        and info.path not in state.files
        and info.path not in state.removed_ms
    ]
