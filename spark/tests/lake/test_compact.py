"""Compaction and vacuum: the same rows in fewer files, while others read and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from forebay_spark.lake import upkeep
from forebay_spark.lake.changes import Change, NewFile
from forebay_spark.lake.lake import Lake, Snapshot
from forebay_spark.lake.parquet import PartitionedFiles
from forebay_spark.lake.upkeep import compact, vacuum
from forebay_spark.pipeline.config import Compact
from spark.tests.support.lakes import archive, ids_of, lake_frame, lake_ids, make_lake, run, same
from spark.tests.support.spark_streams import Target

pytestmark = pytest.mark.spark


def test_small_files_become_one_and_every_row_stays(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    wanted = redis_target.add("s", 40)
    job = archive(redis_target, tmp_path, "s", most=10)
    run(spark, job)
    before = lake_frame(spark, tmp_path)
    done = Compact(lake=str(tmp_path)).run()
    assert (done.files_before, done.files_after, done.deleted_files) == (4, 1, 0)
    same(lake_ids(spark, tmp_path), wanted)
    same(ids_of(before), wanted)
    wanted += redis_target.add("s", 5)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)
    orphan = tmp_path / "stream=killed" / "date=2026-01-01" / "part.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"half")
    done = compact(Lake(str(tmp_path)), keep_ms=0)
    assert (done.files_after, done.deleted_files) == (1, 7)
    assert not orphan.parent.parent.exists()
    same(lake_ids(spark, tmp_path), wanted)
    assert len(list(tmp_path.glob("stream=*/**/*.parquet"))) == 1
    # Spark's own record of the job is inside the lake, and vacuum must not touch it.
    wanted += redis_target.add("s", 5)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)


def test_of_two_compactions_at_once_one_gives_way(
    spark: Any, redis_target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = redis_target.add("s", 20)
    run(spark, archive(redis_target, tmp_path, "s", most=10))
    original = Lake.snapshot
    entered: list[str] = []

    def another_comes_first(self: Lake, *args: Any) -> Any:
        entered.append("")
        found = original(self, *args)
        if len(entered) == 2:
            compact(Lake(str(tmp_path)))
        return found

    monkeypatch.setattr(Lake, "snapshot", another_comes_first)
    done = compact(Lake(str(tmp_path)))
    monkeypatch.undo()
    assert done.files_after == 1
    same(lake_ids(spark, tmp_path), wanted)


@pytest.mark.parametrize("rows", [0, 1], ids=["merges the same files", "adds a file"])
def test_a_compaction_notices_what_another_tool_does_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    lake = make_lake(tmp_path)
    for number in range(3):
        lake.commit(lambda _, number=number: Change(file_of(lake, number)))  # type: ignore[misc]
    original = Lake._write
    tries: list[Snapshot] = []

    def another_comes_first(self: Lake, snapshot: Snapshot, change: Change) -> None:
        if not tries:
            other = DeltaTable(str(tmp_path))
            if rows:
                write_deltalake(other, pa.table({"stream": ["s"], "n": [3]}), mode="append")
            else:
                other.optimize.compact()
        tries.append(snapshot)
        original(self, snapshot, change)

    monkeypatch.setattr(Lake, "_write", another_comes_first)
    done = compact(lake)
    assert done.files_after == 1 + rows
    assert len(tries) == 1 + rows
    found = DeltaTable(str(tmp_path)).to_pyarrow_table()["n"].to_pylist()
    assert sorted(found) == list(range(3 + rows))


def file_of(lake: Lake, number: int) -> list[NewFile]:
    files = PartitionedFiles(lake.place, ("stream",))
    files.add(pa.record_batch({"stream": ["s"], "n": [number]}))
    return files.finish()


def test_vacuum_only_says_what_it_would_remove_if_it_is_asked_to(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    orphan = tmp_path / "stream=x" / "part.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"")
    assert vacuum(lake, 0, dry_run=True) == ["stream=x/part.parquet"]
    assert orphan.exists()
    assert vacuum(lake, upkeep.WEEK_MS) == []
    assert vacuum(lake, 0) == ["stream=x/part.parquet"]
    assert not orphan.exists()
