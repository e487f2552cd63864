"""Files that tasks write: the same rows, in the same folders, as Spark's own writer gives."""

from __future__ import annotations

import gc
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.errors import MalformedError, explain
from forebay_spark.ids import EntryId
from forebay_spark.lake.compact import clean
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.files import now_ms
from forebay_spark.lake.lake import Lake, partition_values
from forebay_spark.offsets import Piece, Position
from forebay_spark.options import STREAM
from forebay_spark.pipeline import landing
from forebay_spark.pipeline.archive import about_archive
from forebay_spark.pipeline.landing import (
    ESCAPED,
    NO_VALUE,
    Landing,
    day_text,
    escaped,
    land_task,
    lands,
)
from forebay_spark.pipeline.spec import Source
from forebay_spark.reading import FIRST_PAGE_ENTRIES, Part, Task
from forebay_spark.schema import PLAIN
from tests.support.lakes import archive, lake_ids, run, same
from tests.support.spark_faults import land_and_die
from tests.support.spark_streams import Target, struct

DAY_MS = 86_400_000
#: Two days, the year 33658, and a time that no timestamp can hold.
IDS = ("1-1", "5-0", f"{DAY_MS}-0", f"{DAY_MS}-7", "999999999999999-0", f"{2**64 - 1}-3")
DAYS = ("1970-01-01", "1970-01-02", "+33658-09-27", NO_VALUE)
WHOLE = Piece(EntryId(0, 0), EntryId(2**64 - 1, 2**64 - 1), None)

TYPED = """
    n int, small tinyint, short smallint, big bigint, real float, price decimal(10,2),
    huge decimal(38,3), ok boolean, day date, at timestamp, local timestamp_ntz, raw binary,
    item struct<name: string, tags: array<string>, sizes: map<string, double>>, missing string,
    _corrupt string, _reason string
"""
FIELDS = {
    "n": "7",
    "small": "-8",
    "short": "300",
    "big": str(2**62),
    "real": "0.5",
    "price": "-12.30",
    "huge": "12345678901234567890123456789012345.678",
    "ok": "true",
    "day": "1492-10-12",
    "at": "1066-10-14T09:00:00Z",
    "local": "1066-10-14T09:00:00",
    "raw": b"\x00\xff",
    "item": '{"name": "té", "tags": ["a", null], "sizes": {"x": 1.5}}',
}


def land_here(target: Target, folder: Path, stream: str = "s", **options: Any) -> list[Any]:
    """What one task writes, without Spark."""
    plan = Landing(PLAIN, target.options(STREAM, streams=stream, **options), "snappy")
    return land_task(plan, str(folder), Task([Part(stream, WHOLE, Position(EntryId(0, 0), None))]))


def test_a_task_writes_one_file_for_each_day_of_its_entries(target: Target, tmp_path: Path) -> None:
    target.add_at("s", IDS)
    landed = land_here(target, tmp_path)
    assert [partition_values(file.path)["date"] for file in landed] == list(DAYS)
    assert [file.rows for file in landed] == [2, 2, 1, 1]
    for file in landed:
        assert (tmp_path / file.path).stat().st_size == file.size_bytes
    ids = [pq.read_table(tmp_path / file.path)["id"].to_pylist() for file in landed]
    assert list(chain(*ids)) == list(IDS)


def test_rows_wait_for_their_row_group_only_up_to_a_bound(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landing, "GROUP_BYTES", 1_000)
    target.add_at("s", [f"5-{seq}" for seq in range(1000)])
    (file,) = land_here(target, tmp_path, pageBytes=1_000)
    groups = pq.ParquetFile(tmp_path / file.path).metadata
    assert groups.num_rows == file.rows == 1000
    assert groups.num_row_groups > 3


def test_times_have_bounds_so_that_a_query_can_pass_over_row_groups(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add_at("s", ["5-0", "9-0"])
    (file,) = land_here(redis_target, tmp_path)
    group = pq.ParquetFile(tmp_path / file.path).metadata.row_group(0)
    columns = {column["path_in_schema"]: column for column in group.to_dict()["columns"]}
    bounds = columns["timestamp"]["statistics"]
    assert (bounds["min"].microsecond, bounds["max"].microsecond) == (5000, 9000)


def test_an_attempt_that_is_repeated_leaves_the_files_of_the_first_alone(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 10)
    (first,), (second,) = land_here(redis_target, tmp_path), land_here(redis_target, tmp_path)
    assert first.path != second.path
    assert pq.read_table(tmp_path / first.path).num_rows == 10


def test_a_task_without_entries_writes_nothing(redis_target: Target, tmp_path: Path) -> None:
    redis_target.add("s", 3)
    redis_target.client.xtrim("s", maxlen=0)
    assert land_here(redis_target, tmp_path, failOnDataLoss="false") == []
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_fails_lets_go_of_its_file_in_silence(
    redis_target: Target, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    redis_target.add_at("s", [f"5-{seq}" for seq in range(FIRST_PAGE_ENTRIES)])
    redis_target.client.xadd("s", {"n": "x"}, id="6-0")
    options = redis_target.options(STREAM, streams="s", mode="FAILFAST")
    with_number = struct(_stream="string", _id="string", _timestamp="timestamp", n="integer")
    plan = Landing(with_number, options, "snappy")
    with pytest.raises(MalformedError, match="6-0"):
        land_task(plan, str(tmp_path), Task([Part("s", WHOLE, Position(EntryId(0, 0), None))]))
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    gc.collect()
    assert capfd.readouterr().err == ""


def test_a_folder_that_cannot_be_written_is_one_sentence(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 3)
    taken = tmp_path / "file"
    taken.touch()
    with pytest.raises(LakeError, match=r"cannot be written by a task .* Make room and see"):
        land_here(redis_target, taken)


def test_explain_finds_the_sentence_of_a_lake_in_what_spark_tells() -> None:
    told = "Job aborted\nforebay_spark.lake.errors.LakeError: No room. Make some.\n at x"
    assert explain(RuntimeError(told)) == "No room. Make some."


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_of_a_stream_comes_back_from_the_name_of_its_folder(name: str) -> None:
    spelled = escaped(name)
    assert partition_values(f"stream={spelled}/x.parquet")["stream"] == name
    assert not set(spelled) & (ESCAPED - {"%"}) and min(spelled) >= " "


@given(st.integers(0, 2_932_896))
def test_days_are_named_as_python_names_them_as_far_as_it_goes(day: int) -> None:
    named = pa.scalar(day, pa.int32()).cast(pa.date32()).as_py()
    assert day_text(day) == named.isoformat()


@pytest.mark.spark
def test_later_days_are_named_as_spark_names_them(spark: Any) -> None:
    days = [2_932_896, 2_932_897, 11_574_074, 106_751_991]
    rows = spark.createDataFrame([(day,) for day in days], "day int")
    named = rows.selectExpr("cast(date_from_unix_date(day) as string)").collect()
    assert [day_text(day) for day in days] == [row[0] for row in named]


@pytest.mark.spark
@pytest.mark.parametrize("schema", [None, TYPED], ids=["plain", "typed"])
def test_tasks_and_spark_write_the_same_rows_into_the_same_folders(
    spark: Any, target: Target, tmp_path: Path, schema: str | None
) -> None:
    stream = "a b:c/%é"
    fill(target, stream)
    for writer in ("auto", "spark"):
        run(spark, archive(target, tmp_path / writer, stream, schema=schema, writer=writer))
    assert contents(spark, tmp_path / "auto") == contents(spark, tmp_path / "spark")
    assert are_of_tasks(tmp_path / "auto") == {True}
    assert are_of_tasks(tmp_path / "spark") == {False}


@pytest.mark.spark
@pytest.mark.parametrize("codec", landing.CODECS)
def test_the_compression_is_the_one_that_spark_was_told(
    spark: Any, redis_target: Target, tmp_path: Path, codec: str
) -> None:
    fill(redis_target, "s")
    spark.conf.set(landing.CODEC, codec)
    run(spark, archive(redis_target, tmp_path, "s"))
    spark.conf.unset(landing.CODEC)
    assert len(contents(spark, tmp_path)[0]) == len(IDS)
    stored = pq.ParquetFile(min(tmp_path.rglob("*.parquet"))).metadata.row_group(0).column(0)
    told = {"lz4_raw": "LZ4", "none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert stored.compression == told


def fill(target: Target, stream: str) -> None:
    """Whole entries, one that lacks everything, and one that fits nothing."""
    target.add_at(stream, IDS[:2])
    for entry_id in IDS[2:4]:
        target.client.xadd(stream, FIELDS, id=entry_id)  # type: ignore[arg-type]
    target.client.xadd(stream, {"other": b"\xff"}, id=IDS[4])
    target.client.xadd(stream, dict.fromkeys(FIELDS, "?"), id=IDS[5])


def contents(spark: Any, folder: Path) -> tuple[list[str], set[str]]:
    """All rows as text, in order, and the folders that hold them."""
    lake = Lake(spark, str(folder))
    state = lake.state()
    frame = lake.read(state)
    rows = sorted(row[0] for row in frame.selectExpr("to_json(struct(*))").collect())
    assert len(rows) == state.rows == len(IDS)
    return rows, {file.partition for file in state.files.values()}


def are_of_tasks(folder: Path) -> set[bool]:
    """Whether tasks wrote the files, by their names: Spark's have the number of a task."""
    return {"-" not in path.name.removeprefix("part-") for path in folder.rglob("*.parquet")}


@pytest.mark.spark
def test_what_only_sparks_writer_can_do_is_left_to_it(spark: Any, tmp_path: Path) -> None:
    about = about_archive(Source(("s",)), "parquet")
    assert lands(spark, about, str(tmp_path))
    assert not lands(spark, about_archive(Source(("s",)), "orc"), str(tmp_path))
    assert not lands(spark, about, "hdfs://name/lake")
    for name, value in ((landing.CODEC, "brotli"), ("parquet.block.size", "1000000")):
        spark.conf.set(name, value)
        assert not lands(spark, about, str(tmp_path))
        spark.conf.unset(name)


@pytest.mark.spark
def test_a_file_that_is_half_written_when_its_worker_dies_counts_for_nothing(
    spark: Any, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = target.add("s", 100)
    with monkeypatch.context() as patch:
        patch.setattr(landing, "land_task", land_and_die)
        run(spark, archive(target, tmp_path, "s"))
    same(lake_ids(spark, tmp_path), wanted)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    assert clean(Lake(spark, str(tmp_path)), before_ms=now_ms() + 1000) == 1
    same(lake_ids(spark, tmp_path), wanted)
