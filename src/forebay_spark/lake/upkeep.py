"""Upkeep: many small files become few large ones, and what nobody needs goes away.

Both are the library's: compaction is a commit that replaces files by others with the same rows,
made while jobs go on; vacuum removes files that no version of the last week names, those of
writers that were killed too.  Readers of an older version keep their files until then.

Files are merged within a partition.  Where partitions are tiny (thousands of streams with a few
entries a day), let the lake be split by fewer columns when it is made: ``partitions = ["date"]``,
or none; then files hold many streams and days, and compaction goes across them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from deltalake.exceptions import CommitFailedError

from forebay_spark.lake.lake import CHECKPOINTS, Lake, in_words, tidy_log
from forebay_spark.lake.stores import LOG, Place

MEBIBYTE = 1 << 20
HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
TRIES = 3


class Compaction(NamedTuple):
    """What a compaction did."""

    files_before: int
    files_after: int
    deleted_files: int


def compact(lake: Lake, target_mb: int = 128, keep_ms: int = WEEK_MS) -> Compaction:
    """Compact a lake and remove what is older than ``keep_ms`` and in no version."""
    before = len(lake.snapshot().files)
    _merge(lake, target_mb * MEBIBYTE)
    after = len(lake.snapshot().files)
    return Compaction(before, after, len(vacuum(lake, keep_ms)))


def _merge(lake: Lake, target_bytes: int) -> None:
    """One compaction; another one at the same time may take its files away."""
    for _ in range(TRIES):
        table = lake.snapshot().table
        with in_words(lake.place):
            try:
                table.optimize.compact(target_size=target_bytes)
                tidy_log(table)
                return
            except CommitFailedError:
                continue


def vacuum(lake: Lake, keep_ms: int = WEEK_MS, *, dry_run: bool = False) -> list[str]:
    """Remove files that no version of the last while names; their names."""
    table = lake.snapshot().table
    with in_words(lake.place):
        gone = table.vacuum(
            retention_hours=keep_ms // HOUR_MS,
            dry_run=dry_run,
            enforce_retention_duration=False,
            full=True,
        )
    if not dry_run and lake.place.is_local:
        _remove_empty_folders(lake.place)
    return gone


def _remove_empty_folders(place: Place) -> None:
    """Folders from which the last file went; one that fills meanwhile stays."""
    kept = (CHECKPOINTS, LOG)
    folders = [path for path in place.folder.rglob("*") if path.is_dir()]
    for folder in sorted(folders, key=_depth, reverse=True):
        if folder.relative_to(place.folder).parts[0] not in kept:
            with suppress(OSError):
                folder.rmdir()


def _depth(path: Path) -> int:
    return len(path.parts)
