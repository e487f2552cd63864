"""How far each stream and each query is in a lake: Delta's application transactions.

    forebay:cut:ms:<stream>     milliseconds of the last ID that is in the table
    forebay:cut:seq:<stream>    its sequence number
    forebay:cut:n:<stream>      entries ever added up to there; -1 if the server does not count
    forebay:batch:<query>       number of the last micro-batch

A transaction is a name and a signed 64-bit number, changed in the same commit as the files, so both
are there or neither.  Halves of an ID are unsigned; they are stored as the signed number of the
same bits.  If two writers change the same name at once, the library refuses the second.

The library reads one name at a time, some milliseconds each.  ``read_all`` reads all of a version
from the log itself, whose format is open: a checkpoint, and the commits after it.  A writer that
knows those of a slightly earlier version continues from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import Transaction

from forebay_spark.ids import EntryId
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.log import FEW, actions, commit_path, files_of
from forebay_spark.lake.stores import Place

CUT, BATCH = "forebay:cut", "forebay:batch"
HALVES = ("ms", "seq", "n")
UNKNOWN = -1


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


def signed(number: int) -> int:
    """The signed number with the same 64 bits."""
    return number - (1 << 64) if number >= 1 << 63 else number


def unsigned(number: int) -> int:
    """The unsigned number with the same 64 bits."""
    return number % (1 << 64)


def of_cuts(cuts: Mapping[str, Cut]) -> list[Transaction]:
    """The transactions of a commit that moves cuts."""
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
    """The transactions of a commit that adds a micro-batch."""
    return [Transaction(f"{BATCH}:{writer}", batch)]


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


def read(place: Place, version: int, known: Known | None) -> dict[str, int]:
    """Every transaction of a table at a version, from those known of an earlier one."""
    if known is not None and version - known.version <= FEW:
        with suppress(FileNotFoundError):
            return read_on(place, known, version)
    return read_all(place, version)


def read_on(place: Place, known: Known, version: int) -> dict[str, int]:
    """The same from the commits in between; FileNotFoundError if one was removed by its age."""
    files = pa_fs.PyFileSystem(place.handler())
    found = dict(known.transactions)
    for at in range(known.version + 1, version + 1):
        found |= _in_commit(files, commit_path(at))
    return found


def read_all(place: Place, version: int) -> dict[str, int]:
    """The same from the whole log; LakeError if a part of it is missing."""
    files = pa_fs.PyFileSystem(place.handler())
    log = files_of(files)
    checkpoint = log.checkpoint_for(version)
    since = range(checkpoint + 1, version + 1)
    if not log.commits.keys() >= set(since):
        raise LakeError(
            f"The log of {place.root} lacks commits between version {checkpoint} and {version}, "
            "so the state of the lake is unknown. Restore them, or ask for a later version."
        )
    found: dict[str, int] = {}
    for path in log.checkpoints.get(checkpoint, ()):
        found |= _in_checkpoint(files, path)
    for at in since:
        found |= _in_commit(files, log.commits[at])
    return found


def _in_checkpoint(files: pa_fs.FileSystem, name: str) -> dict[str, int]:
    with files.open_input_file(name) as content:
        parquet = pq.ParquetFile(content)
        if "txn" not in parquet.schema_arrow.names:
            return {}
        told = parquet.read(columns=["txn"]).column("txn").drop_null().to_pylist()
    return {action["appId"]: action["version"] for action in told}


def _in_commit(files: pa_fs.FileSystem, path: str) -> dict[str, int]:
    return {str(told["appId"]): told["version"] for told in actions(files, path, "txn")}
