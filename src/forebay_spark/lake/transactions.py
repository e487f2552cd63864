"""How far each stream and each query is in a lake: Delta's application transactions.

    forebay:cut:ms:<stream>     milliseconds of the last ID that is in the table
    forebay:cut:seq:<stream>    its sequence number
    forebay:cut:n:<stream>      entries ever added up to there; -1 if the server does not count
    forebay:batch:<query>       number of the last micro-batch
    forebay:compaction          number of the last compaction

A transaction is a name and a signed number of 64 bits, changed in the same commit as the files,
so that both are there or neither.  Halves of an ID are unsigned; they go in as the signed number
of the same bits.  Two writers that change the same name at once: the library refuses the second.

The library answers for one name at a time, some milliseconds each.  ``read_all`` takes all of
a version from the log itself, whose format is open: a checkpoint, and the commits after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import Transaction

from forebay_spark.ids import EntryId
from forebay_spark.lake.log import commit_path, files_of
from forebay_spark.lake.stores import Place

CUT, BATCH, COMPACTION = "forebay:cut", "forebay:batch", "forebay:compaction"
HALVES = ("ms", "seq", "n")
UNKNOWN = -1
FEW = 20


class Cut(NamedTuple):
    """Every entry of a stream up to ``id`` is in the lake, and none after it.

    ``n`` is the number of entries ever added to the stream up to there, if the server
    counts them.
    """

    id: EntryId
    n: int | None


class Known(NamedTuple):
    """All transactions of a version."""

    version: int
    transactions: Mapping[str, int]

    def is_shortly_before(self, version: int) -> bool:
        """Whether the commits since then are few, and so are still in the log."""
        return version - self.version <= FEW


def signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return number - (1 << 64) if number >= 1 << 63 else number


def unsigned(number: int) -> int:
    """The unsigned number with the same 64 bits."""
    return number % (1 << 64)


def of_cuts(cuts: Mapping[str, Cut]) -> list[Transaction]:
    """What a commit says that moves cuts."""
    said = []
    for stream, cut in cuts.items():
        n = UNKNOWN if cut.n is None else cut.n
        numbers = (signed(cut.id.ms), signed(cut.id.seq), n)
        said += [
            Transaction(f"{CUT}:{half}:{stream}", number)
            for half, number in zip(HALVES, numbers, strict=True)
        ]
    return said


def of_batch(writer: str, batch: int) -> list[Transaction]:
    """What a commit says that adds a micro-batch."""
    return [Transaction(f"{BATCH}:{writer}", batch)]


def of_compaction(versions: Mapping[str, int]) -> list[Transaction]:
    """What a commit says that compacts, after all others that did."""
    return [Transaction(COMPACTION, versions.get(COMPACTION, 0) + 1)]


def cuts_in(versions: Mapping[str, int]) -> dict[str, Cut]:
    """The cuts among all transactions of a table."""
    head = f"{CUT}:ms:"
    cuts = {}
    for name, ms in versions.items():
        if name.startswith(head):
            stream = name.removeprefix(head)
            seq, n = versions[f"{CUT}:seq:{stream}"], versions[f"{CUT}:n:{stream}"]
            entry_id = EntryId(unsigned(ms), unsigned(seq))
            cuts[stream] = Cut(entry_id, None if n == UNKNOWN else n)
    return cuts


def read_all(place: Place, version: int) -> dict[str, int]:
    """Every transaction of a table as it was at a version."""
    files = pa_fs.PyFileSystem(place.handler())
    log = files_of(files)
    checkpoint = max((at for at, _ in log.checkpoints if at <= version), default=-1)
    found: dict[str, int] = {}
    for at, path in log.checkpoints:
        if at == checkpoint:
            found |= _in_checkpoint(files, path)
    for at, path in log.commits:
        if checkpoint < at <= version:
            found |= _in_commit(files, path)
    return found


def read_on(place: Place, known: Known, version: int) -> dict[str, int]:
    """The same, from what is known of a version shortly before, without a look at all the log."""
    files = pa_fs.PyFileSystem(place.handler())
    found = dict(known.transactions)
    for at in range(known.version + 1, version + 1):
        found |= _in_commit(files, commit_path(at))
    return found


def _in_checkpoint(files: pa_fs.FileSystem, name: str) -> dict[str, int]:
    with files.open_input_file(name) as content:
        parquet = pq.ParquetFile(content)
        if "txn" not in parquet.schema_arrow.names:
            return {}
        told = parquet.read(columns=["txn"]).column("txn").drop_null().to_pylist()
    return {action["appId"]: action["version"] for action in told}


def _in_commit(files: pa_fs.FileSystem, path: str) -> dict[str, int]:
    with files.open_input_file(path) as commit:
        lines = commit.read().splitlines()
    told = (json.loads(line) for line in lines if b'"txn"' in line)
    return {action["txn"]["appId"]: action["txn"]["version"] for action in told if "txn" in action}
