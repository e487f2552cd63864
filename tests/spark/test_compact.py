"""Compaction: the same rows in fewer files, while others read and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay_spark.ids import EntryId
from forebay_spark.lake import compact as compaction
from forebay_spark.lake.commits import About, DataFile, State
from forebay_spark.lake.compact import compact, plans
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline.config import Compact
from tests.support.lakes import archive, ids_of, lake_ids, run, same
from tests.support.spark_streams import Target

pytestmark = pytest.mark.spark


def data_file(name: str, size: int, day: str = "1") -> DataFile:
    path = f"data/commit=x/stream=s/date={day}/{name}"
    return DataFile(path, size, "s", EntryId(1, 0), EntryId(2, 0))


def test_only_partitions_with_several_small_files_are_planned() -> None:
    files = [
        *(data_file(f"small{i}", 40) for i in range(5)),
        data_file("large", 60),
        data_file("alone", 10, "2"),
    ]
    state = State(1, About("parquet", "{}", ()), {file.path: file for file in files})
    (plan,) = plans(state, 100)
    assert sorted(file.path[-6:] for file in plan.files) == [f"small{i}" for i in range(5)]
    assert plan.count == 2


def test_small_files_become_one_and_every_row_stays(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    wanted = redis_target.add("s", 40)
    run(spark, archive(redis_target, tmp_path, "s", most=10))
    lake = Lake(spark, str(tmp_path))
    before = lake.read(lake.state())
    done = Compact(lake=str(tmp_path)).run(spark)
    assert (done.files_before, done.files_after, done.deleted_files) == (4, 1, 0)
    same(lake_ids(spark, tmp_path), wanted)
    same(ids_of(before), wanted)
    (merged,) = lake.state().files.values()
    assert (merged.stream, str(merged.high)) == ("s", wanted[-1])
    wanted += redis_target.add("s", 5)
    run(spark, archive(redis_target, tmp_path, "s"))
    same(lake_ids(spark, tmp_path), wanted)
    orphan = tmp_path / "data" / "commit=killed" / "stream=s" / "part.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"half")
    done = compact(spark, str(tmp_path), grace_ms=-1)
    assert (done.files_after, done.deleted_files) == (1, 7)
    assert not orphan.exists()
    same(lake_ids(spark, tmp_path), wanted)
    assert len(list(tmp_path.glob("data/**/*.parquet"))) == 1


def test_of_two_compactions_at_once_one_gives_way(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    wanted = redis_target.add("s", 20)
    run(spark, archive(redis_target, tmp_path, "s", most=10))
    lake = Lake(spark, str(tmp_path))
    state = lake.state()
    (plan,) = plans(state, 1 << 20)
    compact(spark, str(tmp_path))
    compaction.merge(lake, state, plan)
    assert len(lake.state().files) == 1
    same(lake_ids(spark, tmp_path), wanted)
