"""Hot and cold as one table: no gap, no overlap, while entries are archived and trimmed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import forebay_spark
from forebay_spark.errors import DataLossError, OptionError
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake
from forebay_spark.lake.upkeep import compact
from forebay_spark.pipeline.archive import Trim
from forebay_spark.query import table
from spark.tests.support.lakes import archive, ids_of, rows_in, run, same
from spark.tests.support.spark_streams import Target

pytestmark = pytest.mark.spark

N = "fields['n']"
SNAPSHOTS, TRIMS = 6, 4
PATIENCE_S = 180.0


def numbers(frame: Any) -> list[int]:
    return sorted(int(row[0]) for row in frame.selectExpr("fields['n']").collect())


def test_cold_and_hot_meet_at_the_cut(spark: Any, target: Target, tmp_path: Path) -> None:
    wanted = target.add("s", 40)
    run(spark, archive(target, tmp_path, "s", trim=Trim()))
    assert target.ids("s") == []
    wanted += target.add("s", 10, first=40)
    frame = forebay_spark.table(spark, "s", lake=str(tmp_path), url=target.url)
    same(ids_of(frame), wanted)
    assert frame.columns == ["stream", "id", "timestamp", "seq", "fields", "raw", "date"]
    assert frame.where("date IS NULL").count() == 0


def test_entries_that_are_archived_and_still_hot_are_there_once(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    wanted = redis_target.add("s", 40)
    run(spark, archive(redis_target, tmp_path, "s"))
    wanted += redis_target.add("s", 10)
    same(ids_of(table.table(spark, lake=str(tmp_path), url=redis_target.url)), wanted)


def test_a_table_is_a_snapshot_that_outlives_trimming(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 10)
    job = archive(redis_target, tmp_path, "s", trim=Trim())
    run(spark, job)
    wanted = redis_target.add("s", 10, first=10)
    frame = table.table(spark, "s", lake=str(tmp_path), url=redis_target.url)
    redis_target.add("s", 5, first=20)
    run(spark, job)
    assert redis_target.ids("s") == []
    assert numbers(frame) == list(range(20))
    assert wanted[-1] in ids_of(frame)


def test_a_trim_while_the_hot_part_is_read_leaves_no_gap(
    spark: Any, redis_target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_target.add("s", 10)
    job = archive(redis_target, tmp_path, "s", trim=Trim())
    run(spark, job)
    redis_target.add("s", 10, first=10)
    original = table._Maker._copy

    def archive_first(self: Any, *args: Any) -> Any:
        run(spark, job)
        return original(self, *args)

    monkeypatch.setattr(table._Maker, "_copy", archive_first)
    frame = table.table(spark, "s", lake=str(tmp_path), url=redis_target.url)
    assert numbers(frame) == list(range(20))


def test_a_stream_that_enters_the_lake_while_it_is_read_does_not_vanish(
    spark: Any, redis_target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first commit of a stream, and a new stream, both during the copy."""
    redis_target.add("old", 10)
    run(spark, archive(redis_target, tmp_path, "old", trim=Trim()))
    redis_target.add("old", 5, first=10)
    redis_target.add("fresh", 10, first=100)
    original = table._Maker._copy

    def archive_first(self: Any, *args: Any) -> Any:
        run(spark, archive(redis_target, tmp_path, "fresh", trim=Trim(), name="fresh"))
        redis_target.add("fresh", 2, first=110)
        return original(self, *args)

    monkeypatch.setattr(table._Maker, "_copy", archive_first)
    named = table.table(spark, ["old", "fresh"], lake=str(tmp_path), url=redis_target.url)
    wanted = [*range(15), *range(100, 110)]
    assert [n for n in numbers(named) if n < 110] == wanted
    everything = table.table(spark, lake=str(tmp_path), url=redis_target.url)
    assert [n for n in numbers(everything) if n < 110] == wanted


def test_a_stream_that_was_made_anew_is_not_added_to_the_old_one(
    spark: Any, counting_redis: Target, tmp_path: Path
) -> None:
    counting_redis.add("s", 20)
    run(spark, archive(counting_redis, tmp_path, "s"))
    counting_redis.client.delete("s")
    counting_redis.add("s", 5)
    with pytest.raises(DataLossError, match="it was deleted and created again"):
        table.table(spark, "s", lake=str(tmp_path), url=counting_redis.url)
    cold = table.table(spark, "s", lake=str(tmp_path), url=None)
    assert len(ids_of(cold)) == 20


def test_tables_taken_while_everything_runs_have_no_gap_and_no_duplicate(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    """Producer, archive and trim never pause, and files are merged again and again; every table
    has all entries up to some moment."""
    added = target.add("s", 50)
    job = archive(target, tmp_path, "s", trim=Trim(), trigger="100 ms")
    stop = threading.Event()

    def produce() -> None:
        while not stop.is_set():
            added.extend(target.add("s", 5, first=len(added)))
            stop.wait(0.05)

    firsts: set[str] = set()
    mixed = 0
    deadline_s = time.monotonic() + PATIENCE_S
    with ThreadPoolExecutor() as pool:
        producer = pool.submit(produce)
        flow = job.start(spark)
        try:
            while len(firsts) < TRIMS or mixed < SNAPSHOTS:
                assert time.monotonic() < deadline_s, (len(firsts), mixed)
                assert flow.query.isActive and not producer.done()
                at_least, cold = len(added), rows_in(tmp_path)
                if cold:
                    compact(Lake(str(tmp_path)))
                frame = table.table(spark, "s", lake=str(tmp_path), url=target.url)
                found = sorted((int(n), entry) for n, entry in frame.selectExpr(N, "id").collect())
                assert [n for n, _ in found] == list(range(len(found)))
                assert [entry for _, entry in found] == added[: len(found)]
                assert len(found) >= at_least
                mixed += 0 < cold < len(found)
                firsts.update(target.ids("s")[:1])
        finally:
            stop.set()
            producer.result()
            flow.finish()
            flow.wait()
    same(ids_of(table.table(spark, "s", lake=str(tmp_path), url=target.url)), added)


def test_a_stream_without_a_lake_shows_what_was_there_at_the_end(
    spark: Any, redis_target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = redis_target.add("s", 20)
    original = table._Maker._copy

    def trim_after(self: Any, *args: Any) -> Any:
        copied = original(self, *args)
        redis_target.trim("s", wanted[5])
        return copied

    monkeypatch.setattr(table._Maker, "_copy", trim_after)
    same(ids_of(table.table(spark, "s", url=redis_target.url)), wanted[5:])


def test_entries_that_are_neither_hot_nor_cold_are_told(
    spark: Any, counting_redis: Target, tmp_path: Path
) -> None:
    counting_redis.add("s", 10)
    run(spark, archive(counting_redis, tmp_path, "s"))
    lost = counting_redis.add("s", 10)
    counting_redis.trim("s", lost[3])
    with pytest.raises(
        DataLossError, match=r"3 entries after .* are gone. The lake has entries up to"
    ):
        table.table(spark, "s", lake=str(tmp_path), url=counting_redis.url)


def test_since_and_until_cut_both_parts(spark: Any, redis_target: Target, tmp_path: Path) -> None:
    redis_target.add_at("s", [f"{ms}-{seq}" for ms in (1000, 2000, 3000) for seq in (0, 1)])
    run(spark, archive(redis_target, tmp_path, "s"))
    redis_target.add_at("s", ["4000-0", "5000-0", "6000-7"])
    frame = table.table(
        spark,
        "s",
        lake=str(tmp_path),
        url=redis_target.url,
        since=2000,
        until="1970-01-01T00:00:05Z",
    )
    assert ids_of(frame) == ["2000-0", "2000-1", "3000-0", "3000-1", "4000-0"]


def test_hot_entries_are_read_as_the_lake_read_its_own(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    schema = "n int, kind string"
    redis_target.add("s", 3, kind="a")
    run(spark, archive(redis_target, tmp_path, "s", schema=schema))
    redis_target.add("s", 2, first=3, kind="b")
    frame = table.table(spark, "s", lake=str(tmp_path), url=redis_target.url)
    found = {row[0]: row[1] for row in frame.groupBy("kind").sum("n").collect()}
    assert found == {"a": 3, "b": 7}
    assert dict(frame.dtypes)["n"] == "int"


def test_what_cannot_be_a_table_is_told(spark: Any, redis_target: Target, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="needs a lake, streams or a pattern"):
        table.table(spark)
    with pytest.raises(OptionError, match="There is no stream 'nobody'"):
        table.table(spark, "nobody", url=redis_target.url)
    with pytest.raises(LakeError, match="There is no lake at"):
        table.table(spark, "s", lake=str(tmp_path / "none"), url=redis_target.url)
    with pytest.raises(OptionError, match="cannot be 'noon'"):
        table.table(spark, "s", url=redis_target.url, since="noon")
