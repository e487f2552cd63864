"""Upkeep: merge many small files into few large ones, and remove files that no version needs.

    before   stream=s/date=d   a.parquet b.parquet c.parquet     (each micro-batch left one)
    commit   remove a b c, add x; the rows are the same
    after    stream=s/date=d   x.parquet       a b c stay on disk until vacuum

Each partition is its own commit, made while jobs continue.  The library has a compaction too, but
(1.6) if two run at once, it does not notice that both replace the same files, and rows are there
twice.  So files are merged here, and a commit that replaces files is made only directly after the
version in which they were seen (``Lake.commit``).  Vacuum is the library's: it removes files that
no version of the last week names, also those of killed writers.  Readers of an older version keep
their files until then.

Files are merged within a partition.  If partitions are tiny (thousands of streams with a few
entries a day), create the lake with fewer partition columns: ``partitions = ["date"]``, or none.
Then files hold many streams and days, and compaction merges across them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from forebay_spark.lake import log, stores
from forebay_spark.lake.changes import Change, DataFile, NewFile, texts
from forebay_spark.lake.lake import CHECKPOINTS, Lake, Snapshot, in_words
from forebay_spark.lake.parquet import OpenFile, differences
from forebay_spark.lake.source import conformed
from forebay_spark.lake.stores import LOG, Place

MEBIBYTE = 1 << 20
HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS


class Compaction(NamedTuple):
    """The result of a compaction."""

    files_before: int
    files_after: int
    deleted_files: int


def compact(lake: Lake, target_mb: int = 128, keep_ms: int = WEEK_MS) -> Compaction:
    """Compact a lake and remove files that are older than ``keep_ms`` and in no version."""
    before = lake.snapshot()
    for group in plans(before.files, target_mb * MEBIBYTE):
        merge(lake, before, group)
    after = lake.snapshot()
    log.tidy(lake.place, after.table)
    return Compaction(len(before.files), len(after.files), len(vacuum(lake, keep_ms)))


def plans(files: Sequence[DataFile], target_bytes: int) -> list[list[DataFile]]:
    """Small files of one partition each, about as many as one file should hold."""
    small: dict[tuple[str, ...], list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size_bytes < target_bytes // 2:
            small[tuple(map(str, file.values.items()))].append(file)
    chosen = []
    for group in small.values():
        chosen += _bins(sorted(group, key=_age), target_bytes)
    return [group for group in chosen if len(group) > 1]


def _bins(files: Iterable[DataFile], target_bytes: int) -> list[list[DataFile]]:
    bins: list[list[DataFile]] = [[]]
    room = target_bytes
    for file in files:
        if file.size_bytes > room:
            bins.append([])
            room = target_bytes
        bins[-1].append(file)
        room -= file.size_bytes
    return bins


def _age(file: DataFile) -> tuple[str, str]:
    """Older entries first, as far as the log knows; the order only matters for compression."""
    return str(sorted(file.low.items())), file.path


def merge(lake: Lake, snapshot: Snapshot, old: Sequence[DataFile]) -> None:
    """Write the rows of some files into one file, and replace them with it."""
    files = rewritten(snapshot, old)

    def decide(now: Snapshot) -> Change | None:
        if not now.paths.issuperset(file.path for file in old):
            stores.remove(lake.place, [file.path for file in files])
            return None
        return Change(files, instead_of=old)

    lake.commit(decide)


def rewritten(snapshot: Snapshot, old: Sequence[DataFile]) -> list[NewFile]:
    """The rows of some files of one partition in a new file."""
    about, store = snapshot.about, pa_fs.PyFileSystem(snapshot.place.handler())
    inside = [field for field in about.columns if field.name not in about.partitions]
    wanted = to_arrow_schema(StructType(inside), timezone="UTC")
    out = OpenFile(snapshot.place, texts(old[0].values), wanted, differences(about.entry))
    with in_words(snapshot.place):
        for file in old:
            with store.open_input_file(file.path) as content:
                for batch in pq.ParquetFile(content).iter_batches():
                    out.add(conformed(batch, {}, wanted))
        return [out.finish()]


def vacuum(lake: Lake, keep_ms: int = WEEK_MS, *, dry_run: bool = False) -> list[str]:
    """Remove files that no version younger than ``keep_ms`` names; return their names."""
    table = lake.snapshot().table
    with in_words(lake.place):
        gone = table.vacuum(
            retention_hours=-(-keep_ms // HOUR_MS),
            dry_run=dry_run,
            enforce_retention_duration=False,
            full=True,
        )
    if not dry_run and lake.place.is_local:
        _remove_empty_folders(lake.place)
    return gone


def _remove_empty_folders(place: Place) -> None:
    """Remove empty folders; a folder that gets a file meanwhile stays."""
    kept = (CHECKPOINTS, LOG)
    folders = [path for path in place.folder.rglob("*") if path.is_dir()]
    for folder in sorted(folders, key=_depth, reverse=True):
        if folder.relative_to(place.folder).parts[0] not in kept:
            with suppress(OSError):
                folder.rmdir()


def _depth(path: Path) -> int:
    return len(path.parts)
