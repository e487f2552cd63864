"""The changes of a commit, and the two ways to write them to the table.

    commit_file(change, ...)     the file of the commit, as the library would write it
    library_actions(change, ...) the arguments for the library, which then writes it

For each commit the library goes through all files of a table twice: 50 ms with 10,000 files, and
adding a file needs hardly anything of it.  So a commit that only adds files is written here, if
the lake is a folder (``Lake.commit``).  The format is open; a test compares the file with the
library's, for any path, value and name.

Rules
  1. A path is written with the same characters encoded as by the library: it removes a file by
     its path in the log.
  2. Only a table that ``is_plain`` may be written here.  If a table demands more of its writers,
     the library writes it.
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

#: Characters of a path that stay as they are, besides letters and digits.
PLAIN_SIGNS = "!$&'()+,-./:;=@_~"
#: Tables up to this writer version demand only correct rows of a program that adds files.
PLAIN_WRITER = 2
ENGINE = "forebay-spark"


class DataFile(NamedTuple):
    """A file of the table: path, size, the values that all its rows share, its times."""

    path: str
    size_bytes: int
    rows: int | None
    values: Mapping[str, Any]
    low: Mapping[str, Any]
    high: Mapping[str, Any]


class NewFile(NamedTuple):
    """A file that is safe on disk, but in no commit yet."""

    path: str
    size_bytes: int
    rows: int
    values: Mapping[str, str | None]
    stats: str


@dataclass(frozen=True)
class Change:
    """The additions of a commit; the files that they replace have the same rows."""

    files: Sequence[NewFile] = ()
    said: Sequence[Transaction] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    instead_of: Sequence[DataFile] = ()


def is_plain(protocol: ProtocolVersions) -> bool:
    """Whether files may be added to a table with only the basic rules of the format."""
    return protocol.min_writer_version <= PLAIN_WRITER


def commit_file(change: Change, partitions: Sequence[str], now_ms: int) -> bytes:
    """A commit that adds files, one line for each action."""
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
    """The files that a commit adds and removes; replacing files is not a change of data."""
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
    """The values of a partition, in the form of the log."""
    return {name: value_text(value) for name, value in values.items()}


def value_text(value: Any) -> str | None:
    """A partition value, in the form of the log."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
