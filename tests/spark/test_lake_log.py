"""The log of a table: short, and every version that is left can be opened."""

from __future__ import annotations

from pathlib import Path

import pyarrow.fs as pa_fs
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StructField, StructType

import forebay_spark.lake.lake as lake_module
from forebay_spark.lake import log
from forebay_spark.lake.lake import About, Change, Lake
from forebay_spark.lake.log import MOST_COMMITS, LogFiles, surplus
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
    return [at for at, _ in log.files_of(pa_fs.PyFileSystem(lake.place.handler())).commits]


@given(st.sets(st.integers(0, 5000)), st.sets(st.integers(0, 5000)), st.integers(0, 5000))
def test_what_goes_is_never_needed_for_one_of_the_last_versions(
    commits: set[int], checkpoints: set[int], version: int
) -> None:
    files = LogFiles([(at, f"{at}.json") for at in commits], [(at, f"{at}.c") for at in checkpoints])
    gone = surplus(files, version)
    for wanted in range(max(0, version - MOST_COMMITS), version + 1, 100):
        base = max((at for at in checkpoints if at <= wanted), default=None)
        needed = {f"{at}.json" for at in commits if (base or 0) <= at <= wanted}
        assert not needed & set(gone)
        assert f"{base}.c" not in gone


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
