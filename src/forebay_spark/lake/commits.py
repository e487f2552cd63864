"""What a commit says, and what all commits of a lake add up to.

    commit 0       about: the format, the columns, how they are partitioned
    commit n       add: new files     remove: files that others replace
                   forget: removed files that are no longer on disk either
                   cuts: how far each stream is in the lake now
                   batches: the last micro-batch of each writer that is in the lake now

    State          the sum: live files, cuts, batches, and since when removed files are gone

Everything here is a value: nothing knows a file system or Spark, so that whole histories
are tested in microseconds.  A commit and a state are JSON on disk; names are short and
never change their meaning, unknown ones are passed over.

Invariants of a state, checked by ``apply``:

1. A cut never goes back, and neither does the batch of a writer.
2. A file is added once; what is removed was live.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from forebay_spark import ids
from forebay_spark.ids import EntryId
from forebay_spark.lake.errors import LakeError

Json = dict[str, Any]


class Cut(NamedTuple):
    """Every entry of a stream up to ``id`` is in the lake, and none after it.

    ``n`` is the number of entries ever added to the stream up to there, if the server
    counts them.
    """

    id: EntryId
    n: int | None


class DataFile(NamedTuple):
    """A file of the lake.  In an archive its entries lie in ``(low, high]`` of its stream."""

    path: str
    size_bytes: int
    stream: str | None = None
    low: EntryId | None = None
    high: EntryId | None = None

    @property
    def folder(self) -> str:
        """``data/commit=...``: what was written at once, and is cleaned up at once."""
        return "/".join(self.path.split("/")[:2])

    @property
    def partition(self) -> str:
        """The values that all rows have in common, as the path spells them."""
        return "/".join(self.path.split("/")[2:-1])


class About(NamedTuple):
    """What a lake is; said once, in commit 0.

    ``columns`` and ``entry`` are schemas in Spark's JSON.  ``entry`` is how an entry of a
    stream is read to get a row of an archive; a lake of results has none.
    """

    format: str
    columns: str
    partitions: tuple[str, ...]
    entry: str | None = None
    reading: Mapping[str, str] = {}

    @property
    def is_archive(self) -> bool:
        """Whether rows are entries of streams, with cuts."""
        return self.entry is not None


@dataclass(frozen=True)
class Commit:
    """One step of a lake."""

    kind: str
    at_ms: int
    add: tuple[DataFile, ...] = ()
    remove: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    rows: int | None = None
    about: About | None = None


@dataclass(frozen=True)
class State:
    """All commits up to ``version`` added up."""

    version: int
    about: About
    files: Mapping[str, DataFile] = field(default_factory=dict)
    removed_ms: Mapping[str, int] = field(default_factory=dict)
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0


def apply(state: State | None, version: int, commit: Commit) -> State:
    """The state after one more commit."""
    if state is None:
        if commit.about is None:
            raise LakeError("The log of the lake does not begin with commit 0. Restore its _log.")
        return State(version, commit.about)
    for stream, cut in commit.cuts.items():
        if stream in state.cuts and cut.id < state.cuts[stream].id:
            raise LakeError(
                f"Commit {version} takes the cut of stream {stream!r} back to {cut.id}."
            )
    gone = [path for path in commit.remove if path not in state.files]
    twice = [file.path for file in commit.add if file.path in state.files]
    if gone or twice:
        raise LakeError(
            f"Commit {version} does not fit: {(gone or twice)[0]} is not as it expects."
        )
    removed, forgotten = set(commit.remove), set(commit.forget)
    files = {path: file for path, file in state.files.items() if path not in removed}
    removed_ms = {**state.removed_ms, **dict.fromkeys(commit.remove, commit.at_ms)}
    return replace(
        state,
        version=version,
        files={**files, **{file.path: file for file in commit.add}},
        removed_ms={path: ms for path, ms in removed_ms.items() if path not in forgotten},
        cuts={**state.cuts, **commit.cuts},
        batches={**state.batches, **commit.batches},
        rows=state.rows + (commit.rows or 0),
    )


# To JSON and back.


def encode_commit(commit: Commit) -> bytes:
    """A commit as it stands on disk; what is empty is left out."""
    record: Json = {
        "kind": commit.kind,
        "at_ms": commit.at_ms,
        "add": [_file(file) for file in commit.add],
        "remove": list(commit.remove),
        "forget": list(commit.forget),
        "cuts": _cuts(commit.cuts),
        "batches": dict(commit.batches),
        "rows": commit.rows,
        "about": commit.about and _about(commit.about),
    }
    return _dump({name: value for name, value in record.items() if value not in (None, [], {})})


def decode_commit(content: bytes) -> Commit:
    """Read what ``encode_commit`` wrote."""
    record = json.loads(content)
    return Commit(
        record["kind"],
        record["at_ms"],
        tuple(map(_read_file, record.get("add", ()))),
        tuple(record.get("remove", ())),
        tuple(record.get("forget", ())),
        _read_cuts(record.get("cuts", {})),
        record.get("batches", {}),
        record.get("rows"),
        _read_about(record["about"]) if "about" in record else None,
    )


def encode_state(state: State) -> bytes:
    """A snapshot as it stands on disk."""
    return _dump(
        {
            "version": state.version,
            "about": _about(state.about),
            "files": [_file(file) for file in state.files.values()],
            "removed_ms": dict(state.removed_ms),
            "cuts": _cuts(state.cuts),
            "batches": dict(state.batches),
            "rows": state.rows,
        }
    )


def decode_state(content: bytes) -> State:
    """Read what ``encode_state`` wrote."""
    record = json.loads(content)
    files = map(_read_file, record["files"])
    return State(
        record["version"],
        _read_about(record["about"]),
        {file.path: file for file in files},
        record["removed_ms"],
        _read_cuts(record["cuts"]),
        record["batches"],
        record["rows"],
    )


def _dump(record: Json) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def _file(file: DataFile) -> Json:
    record: Json = {"path": file.path, "bytes": file.size_bytes}
    if file.stream is not None:
        record |= {"stream": file.stream, "low": str(file.low), "high": str(file.high)}
    return record


def _read_file(record: Json) -> DataFile:
    if "stream" not in record:
        return DataFile(record["path"], record["bytes"])
    low, high = ids.parse(record["low"]), ids.parse(record["high"])
    return DataFile(record["path"], record["bytes"], record["stream"], low, high)


def _cuts(cuts: Mapping[str, Cut]) -> Json:
    return {stream: [str(cut.id), cut.n] for stream, cut in cuts.items()}


def _read_cuts(record: Json) -> dict[str, Cut]:
    return {stream: Cut(ids.parse(text), n) for stream, (text, n) in record.items()}


def _about(about: About) -> Json:
    return {**about._asdict(), "reading": dict(about.reading)}


def _read_about(record: Json) -> About:
    return About(
        record["format"],
        record["columns"],
        tuple(record["partitions"]),
        record.get("entry"),
        record.get("reading", {}),
    )
