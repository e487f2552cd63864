"""The log of a table: a folder with a file for each commit, and checkpoints between them.

    _delta_log/00000000000000000042.json                  what commit 42 changed
               00000000000000000100.checkpoint.parquet    all that commits 0 to 100 say together

A version is the newest checkpoint up to it and the commits after that.  The library lists the
whole folder several times for a commit, so a long log makes every commit slow.  ``tidy`` makes
a checkpoint and shortens the log.

Invariants
  1. A commit goes only if a checkpoint after it stays: every version from that checkpoint on can
     be opened.
  2. The last ``MOST_COMMITS`` commits stay, unless they are older than the table keeps them.
  3. If somebody has set how long a table keeps its log, that alone counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow.fs as pa_fs
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from forebay_spark.lake.stores import LOG, Place, remove

RETENTION = "delta.logRetentionDuration"
#: Entries have times of their own, so little is asked of old versions.
A_DAY = "interval 1 days"
MOST_COMMITS = 1000

_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet$")
_COMMIT = re.compile(r"(\d{20})\.json$")


class LogFiles(NamedTuple):
    """Versions and paths of the files of a log, older ones first."""

    commits: list[tuple[int, str]]
    checkpoints: list[tuple[int, str]]


def commit_path(version: int) -> str:
    """Where a commit is."""
    return f"{LOG}/{version:020}.json"


def files_of(files: pa_fs.FileSystem) -> LogFiles:
    """All files of a log."""
    names = [info.path for info in files.get_file_info(pa_fs.FileSelector(LOG))]
    return LogFiles(sorted(_matching(names, _COMMIT)), sorted(_matching(names, _CHECKPOINT)))


def _matching(names: list[str], pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for name in names:
        match = pattern.search(name)
        if match:
            yield int(match[1]), name


def tidy(place: Place, table: DeltaTable) -> None:
    """Make a checkpoint and shorten the log; what does not succeed now can wait."""
    try:
        table.create_checkpoint()
        table.cleanup_metadata()
        if table.metadata().configuration.get(RETENTION) == A_DAY:
            remove(place, surplus(files_of(pa_fs.PyFileSystem(place.handler())), table.version()))
    except (DeltaError, OSError):
        return


def surplus(log: LogFiles, version: int) -> list[str]:
    """The files that nobody needs who opens one of the last versions; the oldest first."""
    wanted = version - MOST_COMMITS
    oldest = max((at for at, _ in log.checkpoints if at <= wanted), default=0)
    return [path for at, path in sorted(log.commits + log.checkpoints) if at < oldest]
