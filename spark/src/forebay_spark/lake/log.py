"""The log of a table: a folder with a file for each commit, and checkpoints between them.

    _delta_log/00000000000000000042.json                  the changes of commit 42
               00000000000000000100.checkpoint.parquet    the sum of commits 0 to 100

A version is the newest checkpoint up to it and the commits after that.  Opening a table or making
a commit lists the whole folder, in the library three times, so a long log makes everything slow:
80 ms with 10,000 commits, 20 ms with a thousand.  ``tidy`` makes a checkpoint and shortens the log.

Invariants
  1. A commit is removed only if a later checkpoint stays, complete and safe on disk: every version
     from that checkpoint on can be opened.
  2. The last ``MOST_COMMITS`` commits stay, unless they are older than the table keeps them.
  3. If the user has set how long a table keeps its log, only that counts.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow.fs as pa_fs
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from forebay_spark.lake import stores
from forebay_spark.lake.stores import LOG, Place

RETENTION = "delta.logRetentionDuration"
#: The default of a new table.  Entries have their own times, so old versions matter little.
A_DAY = "interval 1 days"
MOST_COMMITS = 1000
#: Up to this many commits are read one by one, instead of the whole log.
FEW = 20

_NUMBERED = re.compile(r"/(\d{20})\.[^/]+$")
_COMMIT = re.compile(r"/(\d{20})\.json$")
#: In one file, in parts (number, total), or with a unique name.
_CHECKPOINT = re.compile(
    r"/(\d{20})\.checkpoint\.(?:\d{10}\.(?P<parts>\d{10})\.|[\da-f-]{36}\.)?parquet$"
)
_VERSION = re.compile(r"(\d{20})\.(?:json|checkpoint\..*)$")
#: Marks of a commit that changes columns, properties, or the protocol.
_HEAD = (b'"metaData"', b'"protocol"')


class LogFiles(NamedTuple):
    """The files of a log: all with their version, commits, files of complete checkpoints."""

    numbered: list[tuple[int, str]]
    commits: dict[int, str]
    checkpoints: dict[int, list[str]]

    def checkpoint_for(self, version: int) -> int:
        """The newest checkpoint up to a version; -1 if there is none."""
        return max((at for at in self.checkpoints if at <= version), default=-1)


def commit_path(version: int) -> str:
    """The path of a commit."""
    return f"{LOG}/{version:020}.json"


def files_of(files: pa_fs.FileSystem) -> LogFiles:
    """All files of a log."""
    return sorted_out(info.path for info in files.get_file_info(pa_fs.FileSelector(LOG)))


def sorted_out(paths: Iterable[str]) -> LogFiles:
    """The files of a log by type; a checkpoint of another tool may lack a part."""
    numbered, commits = [], {}
    parts: dict[tuple[int, int], list[str]] = defaultdict(list)
    for path in sorted(paths):
        if match := _NUMBERED.search(path):
            numbered.append((int(match[1]), path))
        if match := _COMMIT.search(path):
            commits[int(match[1])] = path
        elif match := _CHECKPOINT.search(path):
            parts[int(match[1]), int(match["parts"] or 1)].append(path)
    whole = {at: found for (at, wanted), found in parts.items() if len(found) >= wanted}
    return LogFiles(numbered, commits, whole)


def newest_version(place: Place) -> int:
    """The newest version of a table in a folder, by the file names; -1 if there is none."""
    with os.scandir(place.folder / LOG) as files:
        names = sorted((file.name for file in files), reverse=True)
    newest = next(filter(None, map(_VERSION.match, names)), None)
    return int(newest[1]) if newest else -1


def leaves_head(place: Place, after: int, until: int) -> bool:
    """Whether commits of a folder surely change only files and transactions."""
    if not 0 <= until - after <= FEW:
        return False
    try:
        paths = (place.folder / commit_path(at) for at in range(after + 1, until + 1))
        commits = [path.read_bytes() for path in paths]
    except FileNotFoundError:
        return False  # removed because of its age
    return not any(word in commit for commit in commits for word in _HEAD)


def actions(files: pa_fs.FileSystem, path: str, kind: str) -> list[dict[str, Any]]:
    """The actions of one kind in a commit."""
    with files.open_input_file(path) as commit:
        lines = commit.read().splitlines()
    told = (json.loads(line) for line in lines if f'"{kind}"'.encode() in line)
    return [action[kind] for action in told if kind in action]


def moment_of(place: Place, version: int) -> datetime:
    """When a commit was made."""
    files = pa_fs.PyFileSystem(place.handler())
    infos = actions(files, commit_path(version), "commitInfo")
    ms = max((info.get("timestamp", 0) for info in infos), default=0)
    return datetime.fromtimestamp(ms / 1000, UTC)


def tidy(place: Place, table: DeltaTable) -> None:
    """Make a checkpoint and shorten the log; failures can wait for the next time."""
    try:
        table.create_checkpoint()
        stores.sync_checkpoint(place, table.version())
        table.cleanup_metadata()
        if table.metadata().configuration.get(RETENTION) == A_DAY:
            log = files_of(pa_fs.PyFileSystem(place.handler()))
            stores.remove(place, surplus(log, table.version()))
    except (DeltaError, OSError):
        return


def surplus(log: LogFiles, version: int) -> list[str]:
    """The files that none of the last versions needs; the oldest first."""
    oldest = log.checkpoint_for(version - MOST_COMMITS)
    return [path for at, path in log.numbered if at < oldest]
