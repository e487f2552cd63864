"""What a lake is, asked of its Delta table alone: no Spark and no server.

    info      rows, files, bytes, and how much of each stream
    files     the files that count now, with their rows and partitions
    history   what was committed, newest first
    vacuum    files that no version of the last days needs any more; shown, or deleted

Everything here is what ``deltalake`` knows about any Delta table, whoever wrote it.  Object
stores are reached by the environment variables of their own tools (AWS_ACCESS_KEY_ID and so on).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from forebay_spark.errors import OptionError

HOUR_MS = 3_600_000
#: Delta's own default: nobody reads a version that long, and no writer is that slow.
SAFE_HOURS = 7 * 24
_COLOUR = re.compile(r"\x1b\[\d*m")
MOST_TOLD = 300

Record = dict[str, Any]


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Errors of the library become one sentence."""
    try:
        yield
    except TableNotFoundError:
        raise OptionError(_not_found(path)) from None
    except (DeltaError, OSError, ValueError) as error:
        words = " ".join(_COLOUR.sub("", str(error)).split())[:MOST_TOLD].rstrip(".")
        raise OptionError(f"The lake {path} cannot be used: {words}.") from None


def _not_found(path: str) -> str:
    if "://" not in path and (Path(path) / "_log").is_dir():
        return (
            f"The lake {path} has the format of earlier versions. "
            f"Take it over with: forebay lake upgrade {path}"
        )
    return f"There is no lake at {path}, which would be a Delta table. Correct the path."


def opened(path: str) -> DeltaTable:
    """The table as it is now; OptionError if there is none, or it cannot be read."""
    with _told(path):
        return DeltaTable(path)


def files(path: str) -> list[Record]:
    """The files that count now."""
    table = opened(path)
    with _told(path):
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return [
        {
            "path": action["path"],
            "rows": action.get("num_records"),
            "bytes": action["size_bytes"],
            "modified": _when(action["modification_time"]),
            "partition": _under(action, "partition."),
            "first": _time_of(_under(action, "min.")),
            "last": _time_of(_under(action, "max.")),
        }
        for action in sorted(actions, key=lambda action: str(action["path"]))
    ]


def _under(action: Record, prefix: str) -> Record:
    return {
        name.removeprefix(prefix): value
        for name, value in action.items()
        if name.startswith(prefix) and value is not None
    }


def _time_of(values: Record) -> str | None:
    """When the entries of a file are from, as its statistics say."""
    moment = values.get("timestamp", values.get("_timestamp"))
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else None


def info(path: str) -> Record:
    """A lake in numbers."""
    table, live = opened(path), files(path)
    metadata, protocol = table.metadata(), table.protocol()
    return {
        "lake": path,
        "version": table.version(),
        "rows": _sum(live, "rows"),
        "files": len(live),
        "bytes": _sum(live, "bytes"),
        "partitions": list(metadata.partition_columns),
        "columns": {field.name: _kind(field) for field in table.schema().fields},
        "reader": protocol.min_reader_version,
        "writer": protocol.min_writer_version,
        "streams": _streams(live),
    }


def _sum(live: list[Record], name: str) -> int | None:
    """The sum over files; None if one of them does not say."""
    values = [file[name] for file in live]
    return None if None in values else sum(values)


def _kind(field: Any) -> str:
    return str(getattr(field.type, "type", field.type)).removeprefix("PrimitiveType").strip('()"')


def _streams(live: list[Record]) -> list[Record]:
    """How much of each stream; empty for a lake of results."""
    by_stream: dict[str, list[Record]] = {}
    for file in live:
        stream = file["partition"].get("stream", file["partition"].get("_stream"))
        if stream is not None:
            by_stream.setdefault(stream, []).append(file)
    return [
        {
            "stream": stream,
            "rows": _sum(part, "rows"),
            "files": len(part),
            "bytes": _sum(part, "bytes"),
            "first": min((file["first"] for file in part if file["first"]), default=None),
            "last": max((file["last"] for file in part if file["last"]), default=None),
        }
        for stream, part in sorted(by_stream.items())
    ]


def history(path: str, limit: int | None = None) -> list[Record]:
    """What was committed, newest first."""
    table = opened(path)
    with _told(path):
        commits = table.history(limit)
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
    """Files that no version needs which is younger than ``keep_ms``; deleted if asked for."""
    hours = -(-keep_ms // HOUR_MS)
    if hours < SAFE_HOURS and not force:
        raise OptionError(
            "A vacuum that keeps less than 7 days may delete files under a query or a job that "
            "still needs them. Keep 7 days, or add --force if nobody reads or writes the lake."
        )
    table = opened(path)
    clean: Callable[..., list[str]] = table.vacuum
    with _told(path):
        return sorted(clean(hours, dry_run=not delete, enforce_retention_duration=not force))


def _when(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
