"""The table: create it, open a version, add to it, all or nothing.

    lake = Lake("/data/lake")
    lake.create(about)                        unless the same lake already exists
    snapshot = lake.snapshot()                a version: files, cuts, batches; it never changes
    lake.commit(lambda snapshot: Change(...)) all readers see all of it, or nothing

Files are written before the commit that names them (parquet.py).  ``commit`` calls a function with
the newest snapshot, and the function returns a change.  If another writer was quicker, the function
is called again, with the newer snapshot.  It may then decide otherwise, for example because its
batch is already there.

    folder    the commit is our own file (changes.py), under a name that can be taken only once; any
              commit by another writer meanwhile means another call
    store     the library commits, and refuses if another writer has moved the same cut or batch.
              It does not notice that another tool has removed the same files.  So a change that
              removes files, in a folder too, is refused if anything was committed meanwhile

The files of a version are read on first use: a job that only adds files does not need them.

Facts that only Forebay knows about a table (how entries were read) are among its properties.

Invariants
  1. A cut and the files that it promises are in one commit; so are a batch and its rows.
  2. ``commit`` returns when the commit would survive a loss of power.
  3. No file is committed before it is safe itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from deltalake import (
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Schema,
)
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    DeltaProtocolError,
    TableNotFoundError,
)
from pyspark.sql.types import StructField, StructType

from forebay_spark.lake import changes, log, stores, transactions
from forebay_spark.lake.changes import Change, DataFile
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.stores import Place, place_of
from forebay_spark.lake.transactions import Cut, Known
from forebay_spark.moments import moment_ms

DATE, READING = "forebay.date", "forebay.reading"
PROPERTIES = {log.RETENTION: log.A_DAY}
#: Opening a table takes longer with each commit after a checkpoint.  So does a commit of the
#: library, by a quarter of a millisecond for each; a checkpoint takes a hundred milliseconds.
CHECKPOINT_EVERY = 50
#: We make checkpoints ourselves; the library's hook would list the log after each commit.
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
MOST_TRIES = 100
#: The features of a table that a reader with the list of its files supports.
UNDERSTOOD = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
OLD_LOG = "_log"
CHECKPOINTS = "_checkpoints"


class About(NamedTuple):
    """What a lake is, decided when it is created.

    ``entry`` says how an entry of a stream becomes a row of an archive: all columns but the
    day.  A lake of results has none.
    """

    columns: StructType
    partitions: tuple[str, ...]
    entry: StructType | None = None
    reading: Mapping[str, str] = {}

    @property
    def is_archive(self) -> bool:
        """Whether rows are entries of streams, with cuts."""
        return self.entry is not None


class Head(NamedTuple):
    """The metadata of a table, without its files; few commits change it."""

    about: About
    is_plain: bool


class Snapshot:
    """A table at one version; slow parts are loaded on first use."""

    def __init__(
        self,
        place: Place,
        version: int,
        head: Head,
        known: Known | None = None,
        table: DeltaTable | None = None,
    ) -> None:
        self.place = place
        self.version = version
        self.head = head
        self._known = known
        self._table = table

    @property
    def about(self) -> About:
        """What the lake is."""
        return self.head.about

    def moved_to(self, version: int) -> Snapshot:
        """A later version, if no commit up to it has changed the head."""
        return Snapshot(self.place, version, self.head, self.known())

    @property
    def table(self) -> DeltaTable:
        """The library's table at this version."""
        if self._table is None or self._table.version() != self.version:
            with in_words(self.place):
                self._table = opened(self.place, self.version)
        return self._table

    @cached_property
    def transactions(self) -> dict[str, int]:
        """The name of every writer, and its number."""
        with in_words(self.place):
            return transactions.read(self.place, self.version, self._known)

    def known(self) -> Known | None:
        """What the next version need not read again; None if it was not loaded."""
        if "transactions" in self.__dict__:
            return Known(self.version, self.transactions)
        return self._known

    @cached_property
    def cuts(self) -> dict[str, Cut]:
        """How far each stream is in the table."""
        return transactions.cuts_in(self.transactions)

    def batch_of(self, writer: str) -> int:
        """The last micro-batch of a query that is in the table; -1 if there is none."""
        return self.transactions.get(f"{transactions.BATCH}:{writer}", -1)

    @cached_property
    def _actions(self) -> Any:
        return self.table.get_add_actions()

    @property
    def paths(self) -> set[str]:
        """The paths of the files; much quicker than ``files``."""
        return set(map(unquote, pa.table(self._actions)["path"].to_pylist()))

    @cached_property
    def files(self) -> list[DataFile]:
        """The files that are the table."""
        return [_data_file(row) for row in pa.table(self._actions).to_pylist()]


class Lake:
    """One lake; remembers the newest version that it has seen."""

    def __init__(self, root: str, options: Mapping[str, str] | None = None) -> None:
        self.place = place_of(root, options)
        self._newest: Snapshot | None = None
        self._opened_at = 0

    @property
    def root(self) -> str:
        """Where it is."""
        return self.place.root

    def create(self, about: About, *, may_have_grown: bool = False) -> Snapshot:
        """Create the lake, or check that the existing one is the same, except for new columns."""
        stores.set_torn_files_aside(self.place)
        _refuse_file(self.place)
        with in_words(self.place):
            there = DeltaTable.is_deltatable(self.root, dict(self.place.options))
        if not there:
            self._make(about)
        snapshot = self.snapshot()
        is_there = without_growth(snapshot.about, about) if may_have_grown else snapshot.about
        _refuse_other(self.root, is_there, about)
        return snapshot

    def _make(self, about: About) -> None:
        _refuse_folder(self.place)
        properties = {**PROPERTIES, **properties_of(about)}
        with in_words(self.place):
            try:
                DeltaTable.create(
                    self.root,
                    Schema.from_json(about.columns.json()),
                    mode="ignore",
                    partition_by=list(about.partitions),
                    configuration=properties,
                    storage_options=dict(self.place.options),
                    raise_if_key_not_exists=False,
                )
            except CommitFailedError:
                return  # another job was quicker; its lake is checked next
        stores.sync_folders(self.place, [f"{stores.LOG}/0"])
        stores.sync_commit(self.place, 0)

    def snapshot(self, version: int | None = None, as_of: datetime | str | None = None) -> Snapshot:
        """The newest version, or an earlier one; LakeError if there is none."""
        with in_words(self.place):
            if version is not None or as_of is not None:
                return self._earlier(as_of if as_of is not None else version or 0)
            if self._newest is None:
                self._newest = self._opened(None)
            elif self.place.is_local:
                self._newest = self._followed(self._newest)
            else:
                self._newest = self._updated(self._newest)
            return self._newest

    def _opened(self, known: Known | None) -> Snapshot:
        table = opened(self.place)
        self._opened_at = table.version()
        return Snapshot(self.place, table.version(), head_of(table), known, table)

    def _followed(self, last: Snapshot) -> Snapshot:
        """The newest version of a folder, by the names of its commits; mostly they are few."""
        newest = log.newest_version(self.place)
        if newest == last.version:
            return last
        if log.leaves_head(self.place, last.version, newest):
            return last.moved_to(newest)
        return self._opened(last.known() if newest > last.version else None)

    def _updated(self, last: Snapshot) -> Snapshot:
        """The newest version of a store, from the library's table, which is updated."""
        table = last.table
        table.update_incremental()
        if table.version() == last.version:
            return last
        if _checkpoints_before(table.version()) > _checkpoints_before(self._opened_at):
            return self._opened(last.known())
        return Snapshot(self.place, table.version(), head_of(table), last.known(), table)

    def _earlier(self, when: int | datetime | str) -> Snapshot:
        table = opened(self.place)
        wanted = when if isinstance(when, int) else _moment(when)
        try:
            table.load_as_version(wanted)
        except (DeltaError, ValueError):
            raise _not_there(self.root, when) from None
        # For a time before the first remaining commit, the library opens that commit.
        if isinstance(wanted, datetime) and log.moment_of(self.place, table.version()) > wanted:
            raise _not_there(self.root, when)
        return Snapshot(self.place, table.version(), head_of(table), table=table)

    def commit(self, decide: Callable[[Snapshot], Change | None]) -> Snapshot:
        """Commit the change that ``decide`` makes of the newest version; return the next one."""
        for _ in range(MOST_TRIES):
            snapshot = self.snapshot()
            change = decide(snapshot)
            if change is None:
                return snapshot
            with in_words(self.place):
                try:
                    self._write(snapshot, change)
                except (CommitFailedError, stores.TakenError):
                    continue
            return self._settled(snapshot)
        raise _busy(self.root)

    def grow(self, fields: Sequence[StructField]) -> Snapshot:
        """Add columns, except those that another job has added meanwhile."""
        for _ in range(MOST_TRIES):
            snapshot = self.snapshot()
            known = set(snapshot.about.columns.fieldNames())
            missing = StructType([field for field in fields if field.name not in known])
            if not missing:
                return snapshot
            with in_words(self.place):
                try:
                    snapshot.table.alter.add_columns(Schema.from_json(missing.json()).fields)
                except CommitFailedError:
                    continue
            return self._settled(snapshot)
        raise _busy(self.root)

    def _write(self, snapshot: Snapshot, change: Change) -> None:
        """Make the commit; if we write its file ourselves, it is then safe on disk."""
        stores.sync_folders(self.place, [file.path for file in change.files])
        now_ms = time.time_ns() // 1_000_000
        if self.place.is_local and snapshot.head.is_plain and not change.instead_of:
            content = changes.commit_file(change, snapshot.about.partitions, now_ms)
            stores.put_commit(self.place, snapshot.version + 1, content)
        else:
            _hand_over(snapshot, change, now_ms)

    def _settled(self, before: Snapshot) -> Snapshot:
        """The version after a commit, which is safe on disk now."""
        first = before.version + 1
        after = self.snapshot()
        for version in range(first, after.version + 1):
            stores.sync_commit(self.place, version)
        if after.version // CHECKPOINT_EVERY > before.version // CHECKPOINT_EVERY:
            log.tidy(self.place, after.table)
        return after


def opened(place: Place, version: int | None = None) -> DeltaTable:
    """The library's table, at its newest version or another."""
    _refuse_file(place)
    return DeltaTable(place.root, version, storage_options=dict(place.options) or None)


def _hand_over(snapshot: Snapshot, change: Change, now_ms: int) -> None:
    """Let the library make a commit."""
    snapshot.table.create_write_transaction(
        changes.library_actions(change, now_ms),
        mode="append",
        schema=snapshot.table.schema(),
        partition_by=list(snapshot.about.partitions),
        commit_properties=CommitProperties(
            custom_metadata=dict(change.told),
            app_transactions=list(change.said),
            max_commit_retries=0 if change.instead_of else None,
        ),
        post_commithook_properties=NO_HOOKS,
    )


def _checkpoints_before(version: int) -> int:
    """How many checkpoints a lake has had before a version."""
    return max(0, version - 1) // CHECKPOINT_EVERY


def _moment(when: datetime | str) -> datetime:
    text = when.isoformat() if isinstance(when, datetime) else when
    return datetime.fromtimestamp(moment_ms(text, "as_of") / 1000, UTC)


def _not_there(root: str, when: object) -> LakeError:
    return LakeError(
        f"The lake {root} has no version {when} any more, or not yet. "
        "`forebay lake history` shows those that it has."
    )


def _busy(root: str) -> LakeError:
    return LakeError(f"Others write to {root} all the time, so nothing could be added. Try again.")


@contextmanager
def in_words(place: Place) -> Iterator[None]:
    """Turn errors of the library or a store into a sentence about the lake."""
    try:
        yield
    except TableNotFoundError:
        _refuse_folder(place)
        raise LakeError(
            f"There is no lake at {place.root}. Correct the path, or run an archive job first."
        ) from None
    except DeltaProtocolError as error:
        raise LakeError(
            f"The table {place.root} is of a type that this version cannot use "
            f"({stores.told(error)}). Install a newer forebay[spark], or name another lake."
        ) from None
    except (DeltaError, OSError) as error:
        raise stores.said(place, error) from None


def _refuse_file(place: Place) -> None:
    if place.is_local and place.folder.is_file():
        raise LakeError(f"{place.root} is a file. Name a folder for the lake.")


def _refuse_folder(place: Place) -> None:
    """LakeError if the folder exists and is something else."""
    if not place.is_local or not place.folder.exists():
        return
    names = {path.name for path in place.folder.iterdir()}
    if OLD_LOG in names:
        raise LakeError(
            f"The lake {place.root} has the format of an earlier version. "
            f"Take it over, which copies no data: forebay lake upgrade {place.root}"
        )
    if names - {CHECKPOINTS, stores.LOG}:
        raise LakeError(
            f"The folder {place.root} is not empty and is not a Delta table. Name another folder."
        )


def head_of(table: DeltaTable) -> Head:
    """The metadata of a table; LakeError if it needs more than we support."""
    protocol = table.protocol()
    asked = set(protocol.reader_features or ()) - UNDERSTOOD
    if asked:
        raise LakeError(
            f"The table {table.table_uri} uses {', '.join(sorted(asked))}, which cannot be read "
            "here. Read it with Spark and Delta's own jar, or archive to another lake."
        )
    return Head(_about(table), changes.is_plain(protocol))


def _about(table: DeltaTable) -> About:
    about = table.metadata()
    columns = StructType.fromJson(json.loads(table.schema().to_json()))
    date = about.configuration.get(DATE)
    entry = StructType([field for field in columns if field.name != date]) if date else None
    reading = json.loads(about.configuration.get(READING) or "{}")
    return About(columns, tuple(about.partition_columns), entry, reading)


def properties_of(about: About) -> dict[str, str]:
    """Facts that only Forebay knows about a table, as its properties."""
    if about.entry is None:
        return {}
    (date,) = set(about.columns.fieldNames()) - set(about.entry.fieldNames())
    return {DATE: date, READING: json.dumps(dict(about.reading))}


def without_growth(there: About, wanted: About) -> About:
    """The table as it was before a job added columns to it."""
    names = wanted.columns.fieldNames()
    columns = StructType([field for field in there.columns if field.name in names])
    if there.entry is None or wanted.entry is None:
        return there._replace(columns=columns)
    entry = StructType([field for field in there.entry if field.name in names])
    return there._replace(columns=columns, entry=entry)


def _refuse_other(root: str, there: About, wanted: About) -> None:
    """LakeError if a lake was created with other settings than the job's."""
    for name, is_there, is_wanted in zip(About._fields, there, wanted, strict=True):
        if is_there != is_wanted:
            raise LakeError(
                f"The lake {root} was made with other settings: {name}: {_brief(is_there)}, "
                f"not {_brief(is_wanted)}. Give this job its own lake, or the settings of "
                "the lake."
            )


def _brief(value: Any) -> str:
    """A setting as a person writes it; a schema as DDL."""
    if isinstance(value, StructType):
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in value)
    return "none" if value is None else repr(value)


def _data_file(row: Mapping[str, Any]) -> DataFile:
    return DataFile(
        unquote(row["path"]),
        row["size_bytes"],
        row["num_records"],
        row.get("partition") or {},
        row.get("min") or {},
        row.get("max") or {},
    )
