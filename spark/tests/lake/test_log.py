"""The log of a table: it stays short, and every version that is left can be opened."""

from __future__ import annotations

import shutil
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.fs as pa_fs
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StructField, StructType

import forebay_spark.lake.lake as lake_module
from forebay_spark.lake import log, stores
from forebay_spark.lake.changes import Change
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import About, Lake
from forebay_spark.lake.log import MOST_COMMITS, commit_path, sorted_out, surplus
from forebay_spark.lake.transactions import of_batch, read_all

NUMBERS = About(StructType([StructField("n", LongType())]), ())


@pytest.fixture
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint at every fifth commit, and a log of ten."""
    monkeypatch.setattr(lake_module, "CHECKPOINT_EVERY", 5)
    monkeypatch.setattr(log, "MOST_COMMITS", 10)


def commits(lake: Lake, count: int) -> None:
    for number in range(count):
        lake.commit(lambda _, number=number: Change((), of_batch("q", number)))  # type: ignore[misc]


def kept(lake: Lake) -> list[int]:
    return list(log.files_of(pa_fs.PyFileSystem(lake.place.handler())).commits)


@given(st.sets(st.integers(0, 5000)), st.sets(st.integers(0, 5000)), st.integers(0, 5000))
def test_what_goes_is_never_needed_for_one_of_the_last_versions(
    commits: set[int], checkpoints: set[int], version: int
) -> None:
    names = {at: f"{log.LOG}/{at:020}.checkpoint.parquet" for at in checkpoints}
    gone = surplus(sorted_out([*map(commit_path, commits), *names.values()]), version)
    for wanted in range(max(0, version - MOST_COMMITS), version + 1, 100):
        base = max((at for at in checkpoints if at <= wanted), default=0)
        needed = {commit_path(at) for at in commits if base <= at <= wanted}
        assert not needed & set(gone)
        assert names.get(base) not in gone


def test_a_checkpoint_of_which_a_part_is_missing_does_not_count() -> None:
    parts = [f"{log.LOG}/{7:020}.checkpoint.{n:010}.{3:010}.parquet" for n in (1, 2, 3)]
    named = f"{log.LOG}/{5:020}.checkpoint.{uuid.uuid4()}.parquet"
    assert sorted_out([*parts[:2], named]).checkpoints == {5: [named]}
    assert sorted_out([*parts, named]).checkpoint_for(9) == 7
    assert surplus(sorted_out([commit_path(6), *parts[:2]]), 8 + MOST_COMMITS) == []


@pytest.mark.usefixtures("short_log")
def test_a_log_is_shortened_and_every_version_that_is_left_opens(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.create(NUMBERS)
    commits(lake, 33)
    left = kept(lake)
    assert left == list(range(20, 34))
    for version in left:
        assert Lake(str(tmp_path)).snapshot(version).batch_of("q") == version - 1
        assert DeltaTable(str(tmp_path), version=version).transaction_version("forebay:batch:q")


@pytest.mark.usefixtures("short_log")
def test_a_log_that_somebody_wants_kept_for_longer_is_kept(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    table = lake.create(NUMBERS).table
    table.alter.set_table_properties({log.RETENTION: "interval 30 days"})
    commits(lake, 33)
    assert kept(lake) == list(range(35))


@pytest.mark.usefixtures("short_log")
def test_transactions_that_are_read_on_are_those_that_are_read_anew(tmp_path: Path) -> None:
    lake, other = Lake(str(tmp_path)), Lake(str(tmp_path))
    lake.create(NUMBERS)
    for jump in (1, 0, 3, 30, 2):
        commits(other, jump)
        snapshot = lake.snapshot()
        assert snapshot.transactions == read_all(lake.place, snapshot.version)


@pytest.mark.usefixtures("short_log")
def test_transactions_are_read_anew_where_a_commit_in_between_has_gone_by_its_age(
    tmp_path: Path,
) -> None:
    lake, other = Lake(str(tmp_path)), Lake(str(tmp_path))
    lake.create(NUMBERS)
    assert lake.snapshot().transactions == {}
    commits(other, 6)
    for version in range(5):
        (tmp_path / commit_path(version)).unlink()
    assert lake.snapshot().transactions == {"forebay:batch:q": 5}


def test_a_log_with_a_hole_is_refused_rather_than_half_believed(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.create(NUMBERS)
    commits(lake, 3)
    (tmp_path / commit_path(2)).unlink()
    with pytest.raises(LakeError, match="lacks commits between version -1 and 3"):
        read_all(lake.place, 3)


@pytest.mark.usefixtures("short_log")
def test_a_version_or_a_moment_that_has_gone_is_refused(tmp_path: Path) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    lake = Lake(str(tmp_path))
    lake.create(NUMBERS)
    commits(lake, 33)
    for gone in ({"version": 3}, {"as_of": before}, {"as_of": "2026-01-01"}):
        with pytest.raises(LakeError, match="any more, or not yet"):
            lake.snapshot(**gone)  # type: ignore[arg-type]
    assert lake.snapshot(as_of=datetime.now(UTC)).version == 33


@pytest.mark.usefixtures("short_log")
def test_a_checkpoint_that_lost_its_bytes_with_the_power_is_set_aside(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.create(NUMBERS)
    commits(lake, 7)
    checkpoint = tmp_path / stores.LOG / f"{5:020}.checkpoint.parquet"
    for torn in (b"", checkpoint.read_bytes()[:100]):
        copy = tmp_path / f"copy {len(torn)}"
        shutil.copytree(tmp_path / stores.LOG, copy / stores.LOG)
        (copy / stores.LOG / checkpoint.name).write_bytes(torn)
        again = Lake(str(copy))
        assert again.create(NUMBERS).batch_of("q") == 6
        commits(again, 1)


def test_a_checkpoint_is_safe_before_a_commit_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it cannot be made safe, every commit stays."""
    monkeypatch.setattr(lake_module, "CHECKPOINT_EVERY", 5)
    monkeypatch.setattr(log, "MOST_COMMITS", 10)
    monkeypatch.setattr(stores, "sync_checkpoint", _no_room)
    lake = Lake(str(tmp_path))
    lake.create(NUMBERS)
    commits(lake, 33)
    assert kept(lake) == list(range(34))


def _no_room(*_: object) -> None:
    raise OSError("No space left on device")
