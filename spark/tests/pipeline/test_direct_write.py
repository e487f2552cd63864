"""Files that tasks write: every entry, in the right folders, with the statistics of the table."""

from __future__ import annotations

import errno
import gc
import json
import os
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.errors import MalformedError, explain
from forebay_spark.ids import FIRST
from forebay_spark.lake import parquet, stores
from forebay_spark.lake.changes import NewFile
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake
from forebay_spark.lake.old import partition_values
from forebay_spark.lake.parquet import PartitionedFiles, folder_of
from forebay_spark.lake.stores import place_of
from forebay_spark.lake.upkeep import vacuum
from forebay_spark.options import STREAM
from forebay_spark.pipeline import direct_write
from forebay_spark.pipeline.direct_write import Landing, land_task
from forebay_spark.read.offsets import Position
from forebay_spark.read.reading import FIRST_PAGE_ENTRIES, Part, Task
from forebay_spark.values.entry_columns import completed_schema
from forebay_spark.values.exact import rebuilt
from forebay_spark.values.schema import PLAIN
from spark.tests.support.lakes import archive, lake_frame, lake_ids, rows_in, run, same
from spark.tests.support.spark_faults import land_and_die
from spark.tests.support.spark_streams import Target, struct

DAY_MS = 86_400_000
#: Two days, the year 33658, and a time that no timestamp can hold.
IDS = ("1-1", "5-0", f"{DAY_MS}-0", f"{DAY_MS}-7", "999999999999999-0", f"{2**64 - 1}-3")
DAYS = ("1970-01-01", "1970-01-02", None)

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
    """The files of one task, without Spark."""
    options = target.options(STREAM, streams=stream, **options)
    plan = Landing(PLAIN, options, place_of(str(folder)), ("stream", "date"))
    return land_task(plan, whole(target, stream)).files


def whole(target: Target, stream: str = "s") -> Task:
    """A task that reads all of a stream."""
    return Task([Part(stream, target.whole(stream), Position(FIRST, None))])


def test_a_task_writes_one_file_for_each_day_of_its_entries(target: Target, tmp_path: Path) -> None:
    target.add_at("s", IDS)
    landed = land_here(target, tmp_path)
    assert [file.values["date"] for file in landed] == list(DAYS)
    assert [file.rows for file in landed] == [2, 2, 2]
    for file in landed:
        assert (tmp_path / file.path).stat().st_size == file.size_bytes
    ids = [pq.read_table(tmp_path / file.path)["id"].to_pylist() for file in landed]
    assert list(chain(*ids)) == list(IDS)


def test_rows_wait_for_their_row_group_only_up_to_a_bound(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1_000)
    target.add_at("s", [f"5-{seq}" for seq in range(1000)])
    (file,) = land_here(target, tmp_path, pageBytes=1_000)
    groups = pq.ParquetFile(tmp_path / file.path).metadata
    assert groups.num_rows == file.rows == 1000
    assert groups.num_row_groups > 3


def test_the_log_gets_bounds_of_times_so_that_a_query_can_pass_over_files(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add_at("s", ["5-0", "9-0"])
    (file,) = land_here(redis_target, tmp_path)
    told = json.loads(file.stats)
    assert told["numRecords"] == 2
    assert told["minValues"]["timestamp"] == "1970-01-01T00:00:00.005000Z"
    assert told["maxValues"]["timestamp"] == "1970-01-01T00:00:00.009000Z"
    assert told["nullCount"]["timestamp"] == 0


def test_an_attempt_that_is_repeated_leaves_the_files_of_the_first_alone(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 10)
    (first,), (second,) = land_here(redis_target, tmp_path), land_here(redis_target, tmp_path)
    assert first.path != second.path
    assert pq.read_table(tmp_path / first.path).num_rows == 10


def test_what_no_folder_can_say_is_in_the_row(redis_target: Target, tmp_path: Path) -> None:
    entries: list[dict[Any, Any]] = [
        {"item": "tea", "day": "2026-01-31"},
        {"item": "", "day": "2026-01-31"},
        {"item": "tea", "day": "1492-10-12"},
        {"day": "2026-01-31"},
    ]
    for entry in entries:
        redis_target.client.xadd("s", entry)
    schema = completed_schema(
        struct(_id="string", _timestamp="timestamp", item="string", day="date")
    )
    options = redis_target.options(STREAM, streams="s")
    plan = Landing(schema, options, place_of(str(tmp_path)), ("item", "day"))
    landed = land_task(plan, whole(redis_target)).files
    made = []
    for file in landed:
        rows = pq.ParquetFile(tmp_path / file.path).read()
        for name, kind in (("item", pa.string()), ("day", pa.date32())):
            value = pa.scalar(file.values[name] or None, pa.string()).cast(kind)
            rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
        made += rebuilt(rows.select(schema.fieldNames()).combine_chunks().to_batches()[0])
    wanted = [[(k.encode(), v.encode()) for k, v in entry.items()] for entry in entries]
    assert sorted(made) == sorted(wanted)


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
    plan = Landing(with_number, options, place_of(str(tmp_path)), ("_stream",))
    with pytest.raises(MalformedError, match="6-0"):
        land_task(plan, whole(redis_target))
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    gc.collect()
    assert capfd.readouterr().err == ""


def test_a_folder_that_cannot_be_written_is_one_sentence(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 3)
    taken = tmp_path / "file"
    taken.touch()
    with pytest.raises(LakeError, match=r"cannot be used .* there is room"):
        land_here(redis_target, taken)


def test_a_full_disk_in_the_middle_of_a_file_is_one_sentence(redis_target: Target) -> None:
    redis_target.add("s", 3)
    with pytest.raises(LakeError, match=r"No space left on device"):
        land_full(redis_target)


def land_full(target: Target) -> None:
    """The error of a task when the device is full."""
    full = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet.stores, "create", lambda *_: full)
        land_here(target, Path("/nowhere"))


def test_explain_finds_the_sentence_of_a_lake_in_what_spark_tells() -> None:
    told = "Job aborted\nforebay_spark.lake.errors.LakeError: No room. Make some.\n at x"
    assert explain(RuntimeError(told)) == "No room. Make some."


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_of_a_stream_comes_back_from_the_name_of_its_folder(name: str) -> None:
    spelled = folder_of({"stream": name})
    assert partition_values(f"{spelled}x.parquet")["stream"] == name
    assert spelled.isascii() and spelled.count("/") == 1


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2)), max_size=40))
def test_rows_go_to_the_folder_of_their_values_whatever_their_order(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str | None, int]]
) -> None:
    folder = tmp_path_factory.mktemp("lake")
    files = PartitionedFiles(place_of(str(folder)), ("kind", "day"))
    columns = {
        "kind": pa.array([kind for kind, _ in rows], pa.string()),
        "day": pa.array([day for _, day in rows], pa.int32()).cast(pa.date32()),
        "n": pa.array(range(len(rows)), pa.int64()),
    }
    batch = pa.record_batch(columns)
    for part in (batch[:7], batch[7:]):
        if part.num_rows:
            files.add(part)
    found = []
    for file in files.finish():
        values = (file.values["kind"], file.values["day"])
        found += [(n, *values) for n in pq.read_table(folder / file.path)["n"].to_pylist()]
    wanted = [(n, kind, f"1970-01-0{day + 1}") for n, (kind, day) in enumerate(rows)]
    assert sorted(found, key=lambda row: row[0]) == wanted


def test_more_folders_than_files_may_be_open_make_more_files(tmp_path: Path) -> None:
    files = PartitionedFiles(place_of(str(tmp_path)), ("kind",))
    for _ in range(2):
        for kind in range(parquet.MOST_OPEN + 1):
            files.add(pa.record_batch({"kind": [str(kind)], "n": [kind]}))
    landed = files.finish()
    assert sum(file.rows for file in landed) == 2 * (parquet.MOST_OPEN + 1)
    assert len(landed) > parquet.MOST_OPEN + 1


def land_kinds(folder: Path, kinds: int) -> list[NewFile]:
    """A file for each of some kinds, as one task writes them."""
    files = PartitionedFiles(place_of(str(folder)), ("kind",))
    try:
        for kind in range(kinds):
            files.add(pa.record_batch({"kind": [str(kind)], "n": [kind]}))
        return files.finish()
    finally:
        files.close()


def test_many_files_are_made_durable_together_and_every_one_of_them_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[int] = []
    durable: list[int] = []
    finish, fsync = stores.finish, os.fsync
    monkeypatch.setattr(stores, "finish", lambda outs: (groups.append(len(outs)), finish(outs)))
    monkeypatch.setattr(os, "fsync", lambda at: (durable.append(os.fstat(at).st_ino), fsync(at)))
    monkeypatch.setattr(parquet, "MOST_ENDED", 8)
    landed = land_kinds(tmp_path, 30)
    assert groups == [8, 8, 8, 6]
    assert sorted(durable) == sorted((tmp_path / file.path).stat().st_ino for file in landed)
    assert len(set(durable)) == 30


def test_one_file_of_many_that_cannot_be_made_durable_fails_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    refused = iter([False] * 20 + [True])

    def fsync(_at: int) -> None:
        if next(refused, False):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="Input/output error"):
        land_kinds(tmp_path, 30)
    gc.collect()
    assert not list(recwarn), "a file was left open"


@pytest.mark.spark
@pytest.mark.parametrize("schema", [None, TYPED], ids=["plain", "typed"])
def test_what_tasks_write_is_what_spark_reads_from_the_source(
    spark: Any, target: Target, tmp_path: Path, schema: str | None
) -> None:
    stream = "a b:c/%é"
    fill(target, stream)
    job = archive(target, tmp_path, stream, schema=schema)
    run(spark, job)
    frame = lake_frame(spark, tmp_path)
    wanted = spark.read.format("forebay").schema(frame.drop("date", "_date").schema)
    hot = wanted.options(url=target.url, streams=stream).load()
    assert texts(frame.drop("date", "_date")) == texts(hot)
    assert rows_in(tmp_path) == len(IDS)
    days = {row[0] for row in frame.select("date" if schema is None else "_date").collect()}
    assert {str(day) if day else None for day in days} == set(DAYS)


def texts(frame: Any) -> list[str]:
    """All rows as text, in order."""
    return sorted(row[0] for row in frame.selectExpr("to_json(struct(*))").collect())


def fill(target: Target, stream: str) -> None:
    """Whole entries, one without any field, and one with only wrong values."""
    target.add_at(stream, IDS[:2])
    for entry_id in IDS[2:4]:
        target.client.xadd(stream, FIELDS, id=entry_id)  # type: ignore[arg-type]
    target.client.xadd(stream, {"other": b"\xff"}, id=IDS[4])
    target.client.xadd(stream, dict.fromkeys(FIELDS, "?"), id=IDS[5])


@pytest.mark.spark
def test_a_file_that_is_half_written_when_its_worker_dies_counts_for_nothing(
    spark: Any, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = target.add("s", 100)
    with monkeypatch.context() as patch:
        patch.setattr(direct_write, "land_task", land_and_die)
        run(spark, archive(target, tmp_path, "s"))
    same(lake_ids(spark, tmp_path), wanted)
    assert len(list(tmp_path.glob("stream=*/**/*.parquet"))) == 2
    assert len(vacuum(Lake(str(tmp_path)), keep_ms=0)) == 1
    same(lake_ids(spark, tmp_path), wanted)
