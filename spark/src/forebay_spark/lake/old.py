"""Converts lakes of the earlier format, with their own commit log, to Delta tables in place.

    _log/00000000000000000007.json        commit 7: files added and removed, cuts, batches
    _log/00000000000000000050.snapshot    the sum of all commits up to 50

The files stay where they are and are not copied: ``data/commit=x/stream=s/date=d/part.parquet``.
One commit makes the table: its files, the cut of each stream, the last batch of each query.
Then the old log is renamed, so that no older version of the program continues with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import CommitProperties, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions
from pyspark.sql.types import StructType

from forebay_spark import ids
from forebay_spark.lake import stores, transactions
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import OLD_LOG, PROPERTIES, About, Lake, in_words, properties_of
from forebay_spark.lake.parquet import NO_VALUE, Statistics
from forebay_spark.lake.stores import Place
from forebay_spark.lake.transactions import Cut
from forebay_spark.values.entry_columns import completed_schema, dated_schema

KEPT_LOG = "_log-before-delta"
PARQUET = "parquet"

Json = dict[str, Any]


@dataclass
class Old:
    """All commits of an old lake added up."""

    about: Json = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)

    def apply(self, commit: Json) -> None:
        """Add a commit, or a snapshot, which says the same in another form."""
        self.about = commit.get("about") or self.about
        for path in commit.get("remove", ()):
            self.files.pop(path, None)
        for file in (*commit.get("add", ()), *commit.get("files", ())):
            self.files[file["path"]] = file["bytes"]
        for stream, (text, n) in commit.get("cuts", {}).items():
            self.cuts[stream] = Cut(ids.parse(text), n)
        self.batches |= commit.get("batches", {})


def upgrade(root: str) -> Lake:
    """Convert an old lake; LakeError if there is none, or it cannot be converted."""
    lake = Lake(root)
    log = lake.place.folder / OLD_LOG
    if not lake.place.is_local or not log.is_dir():
        raise LakeError(f"There is no lake of the earlier format at {root}. Correct the path.")
    old = _load(log)
    if old.about.get("format", PARQUET) != PARQUET:
        raise LakeError(
            f"The files of {root} are {old.about['format']}; a Delta table has Parquet only. "
            "Archive to a new lake."
        )
    with in_words(lake.place):
        _make(lake.place, old)
    stores.sync_folders(lake.place, [f"{stores.LOG}/0"])
    stores.sync_commit(lake.place, 0)
    log.rename(log.with_name(KEPT_LOG))
    return lake


def _load(log: Path) -> Old:
    """The state of an old lake; checked against the files that must exist."""
    old = Old()
    versions = {int(path.stem): path for path in log.glob("*.json") if path.stem.isdigit()}
    snapshots = {int(path.stem): path for path in log.glob("*.snapshot") if path.stem.isdigit()}
    newest = max(versions, default=-1)
    begun = max((at for at in snapshots if at <= newest), default=-1)
    try:
        if begun >= 0:
            old.apply(json.loads(snapshots[begun].read_bytes()))
        for at in range(begun + 1, newest + 1):
            old.apply(json.loads(versions[at].read_bytes()))
    except (ValueError, LookupError, TypeError, OSError):
        raise LakeError(
            f"The log {log} is damaged. Restore it from a backup; nothing was changed."
        ) from None
    return old


def _make(place: Place, old: Old) -> None:
    about = about_of(old.about)
    said = transactions.of_cuts(old.cuts)
    for writer, batch in old.batches.items():
        said += transactions.of_batch(writer, batch)
    create_table_with_add_actions(
        place.root,
        Schema.from_json(about.columns.json()),
        [_action(place, path, size, about) for path, size in old.files.items()],
        mode="error",
        partition_by=list(about.partitions),
        configuration={**PROPERTIES, **properties_of(about)},
        commit_properties=CommitProperties(app_transactions=said),
    )


def about_of(told: Json) -> About:
    """The description of the table; an archive also keeps what the earlier format could not."""
    partitions = tuple(told["partitions"])
    if told.get("entry") is None:
        return About(StructType.fromJson(json.loads(told["columns"])), partitions)
    entry = completed_schema(StructType.fromJson(json.loads(told["entry"])))
    return About(dated_schema(entry), partitions, entry, told.get("reading", {}))


def _action(place: Place, path: str, size_bytes: int, about: About) -> AddAction:
    values = partition_values(path)
    shown = {name: values.get(name) for name in about.partitions}
    return AddAction(path, size_bytes, shown, 0, True, _stats(place.folder / path))


def partition_values(path: str) -> Mapping[str, str | None]:
    """Column and value of each folder of a data file's path."""
    folders = [part.partition("=") for part in path.split("/")[:-1]]
    return {
        name: None if value == NO_VALUE else unquote(value)
        for name, equals, value in folders
        if equals
    }


def _stats(path: Path) -> str:
    """The statistics of a file for the log, from the file itself."""
    content = pq.ParquetFile(path)
    stats = Statistics(content.schema_arrow)
    for at in range(content.num_row_groups):
        stats.see(content.read_row_group(at, stats.columns or None))
    return stats.text()
