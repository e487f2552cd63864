"""What a commit changes, and the two ways in which it is told to the table.

    commit_file(change, ...)     the file of the commit, as the library would write it
    library_actions(change, ...) what the library is handed, to write it itself

The library goes through all files of a table twice for each commit: 50 ms with 10,000 files, and
hardly anything of it is needed to add one.  So a commit that only adds files is written here, if
the lake is a folder (``Lake.commit``).  The format is open; a test holds the file against the
library's, for any path, value and name.

Rules
  1. A path is written with the same signs encoded as the library has them: it removes a file by
     the path as it stands in the log.
  2. Only what ``is_plain`` may be written here.  A table that asks more of its writers is the
     library's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from deltalake import Transaction
from deltalake.table import ProtocolVersions
from deltalake.transaction import AddAction, RemoveAction

#: Signs of a path that stay as they are, beside letters and digits.
PLAIN_SIGNS = "!$&'()+,-./:;=@_~"
#: Tables up to it ask nothing of somebody who adds files but that their rows are right.
PLAIN_WRITER = 2
ENGINE = "forebay-spark"


class DataFile(NamedTuple):
    """A file of the table: where, how large, the values that all its rows share, its times."""

    path: str
    size_bytes: int
    rows: int | None
    values: Mapping[str, Any]
    low: Mapping[str, Any]
    high: Mapping[str, Any]


class NewFile(NamedTuple):
    """A file that is safe on disk and in no commit yet."""

    path: str
    size_bytes: int
    rows: int
    values: Mapping[str, str | None]
    stats: str


@dataclass(frozen=True)
class Change:
    """What a commit adds; files that it takes away in return have the same rows."""

    files: Sequence[NewFile] = ()
    said: Sequence[Transaction] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    instead_of: Sequence[DataFile] = ()


def is_plain(protocol: ProtocolVersions) -> bool:
    """Whether files may be added to a table without knowing more than the first of its rules."""
    return protocol.min_writer_version <= PLAIN_WRITER


def commit_file(change: Change, partitions: Sequence[str], now_ms: int) -> bytes:
    """A commit that adds files, a line for each thing that it says."""
    assert not change.instead_of, "files are replaced by the library alone"
    parameters = {"mode": "Append", "partitionBy": _line(list(partitions))}
    about = {"timestamp": now_ms, "operation": "WRITE", "operationParameters": parameters}
    lines: Iterable[Mapping[str, object]] = (
        {"commitInfo": {**about, "engineInfo": ENGINE, **change.told}},
        *({"add": _added(file, now_ms)} for file in change.files),
        *({"txn": {"appId": told.app_id, "version": told.version}} for told in change.said),
    )
    return "\n".join(map(_line, lines)).encode()


def _added(file: NewFile, now_ms: int) -> dict[str, object]:
    return {
        "path": quote(file.path, safe=PLAIN_SIGNS),
        "partitionValues": dict(file.values),
        "size": file.size_bytes,
        "modificationTime": now_ms,
        "dataChange": True,
        "stats": file.stats,
    }


def _line(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def library_actions(change: Change, now_ms: int) -> list[AddAction | RemoveAction]:
    """The files that a commit adds and takes away; what replaces others is no news."""
    is_news = not change.instead_of
    return [
        *(
            AddAction(file.path, file.size_bytes, file.values, now_ms, is_news, file.stats)
            for file in change.files
        ),
        *(
            RemoveAction(file.path, is_news, now_ms, file.size_bytes, texts(file.values))
            for file in change.instead_of
        ),
    ]


def texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    """The values of a partition, as the log writes them."""
    return {name: value_text(value) for name, value in values.items()}


def value_text(value: Any) -> str | None:
    """A value by which a table is partitioned, as the log writes it."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
