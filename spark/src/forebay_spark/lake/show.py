"""Facts about a lake, from its table alone: no Spark and no server.

    info      rows, files, bytes, and how much of each stream
    files     the current files, with their rows and partitions
    history   the commits, newest first
    vacuum    files that no version of the last days needs any more; shows or deletes them

Any Delta table has all of this except the cuts.  For object stores, set the environment variables
of their own tools (AWS_ACCESS_KEY_ID and so on).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from forebay_spark.errors import OptionError
from forebay_spark.lake import upkeep
from forebay_spark.lake.changes import DataFile, texts
from forebay_spark.lake.lake import Lake, in_words

Record = dict[str, Any]


def files(path: str) -> list[Record]:
    """The current files."""
    found = Lake(path).snapshot().files
    return [
        {
            "path": file.path,
            "rows": file.rows,
            "bytes": file.size_bytes,
            "partition": texts(file.values),
            "first": _moment(file.low),
            "last": _moment(file.high),
        }
        for file in sorted(found, key=lambda file: file.path)
    ]


def _moment(values: Any) -> str | None:
    """The time of the entries of a file, by its statistics."""
    moment = values.get("timestamp", values.get("_timestamp"))
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else None


def info(path: str) -> Record:
    """A lake in numbers."""
    snapshot = Lake(path).snapshot()
    about, protocol = snapshot.about, snapshot.table.protocol()
    return {
        "lake": path,
        "version": snapshot.version,
        **_sums(snapshot.files),
        "partitions": list(about.partitions),
        "columns": {field.name: field.dataType.simpleString() for field in about.columns},
        "reader": protocol.min_reader_version,
        "writer": protocol.min_writer_version,
        "streams": _streams(snapshot.files),
        "cuts": {stream: str(cut.id) for stream, cut in sorted(snapshot.cuts.items())},
    }


def _sums(live: Sequence[DataFile]) -> Record:
    """How much some files hold; without the rows if one file lacks the number."""
    rows = [file.rows for file in live]
    known = sum(count for count in rows if count is not None)
    return {
        "rows": None if None in rows else known,
        "files": len(live),
        "bytes": sum(file.size_bytes for file in live),
    }


def _streams(live: Sequence[DataFile]) -> list[Record]:
    """How much of each stream, if the table is split by stream."""
    by_stream: dict[str, list[DataFile]] = defaultdict(list)
    for file in live:
        stream = file.values.get("stream", file.values.get("_stream"))
        if stream is not None:
            by_stream[str(stream)].append(file)
    return [
        {
            "stream": stream,
            **_sums(part),
            "first": min(filter(None, (_moment(file.low) for file in part)), default=None),
            "last": max(filter(None, (_moment(file.high) for file in part)), default=None),
        }
        for stream, part in sorted(by_stream.items())
    ]


def history(path: str, limit: int | None = None) -> list[Record]:
    """The commits, newest first."""
    lake = Lake(path)
    with in_words(lake.place):
        commits = lake.snapshot().table.history(limit)
    return [
        {
            "version": commit.get("version"),
            "at": _when(commit["timestamp"]) if "timestamp" in commit else None,
            "operation": commit.get("operation"),
            "parameters": commit.get("operationParameters", {}),
            "metrics": commit.get("operationMetrics", {}),
        }
        for commit in commits
    ]


def vacuum(path: str, keep_ms: int, *, delete: bool = False, force: bool = False) -> list[str]:
    """Files that no version younger than ``keep_ms`` needs; with ``delete``, delete them."""
    if keep_ms < upkeep.WEEK_MS and not force:
        raise OptionError(
            "A vacuum that keeps less than 7 days may delete files under a query or a job that "
            "still needs them. Keep 7 days, or add --force if no program reads or writes the lake."
        )
    return sorted(upkeep.vacuum(Lake(path), keep_ms, dry_run=not delete))


def _when(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
