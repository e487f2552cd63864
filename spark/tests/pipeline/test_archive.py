"""The archive job on a real Spark: every entry once, whatever happens between the steps."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.errors import DataLossError, OptionError
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline import archive as archiving
from forebay_spark.pipeline import flow as flow_module
from forebay_spark.pipeline.archive import Archive, Archiver, Trim
from spark.tests.support.lakes import archive, lake_frame, lake_ids, newest, rows_in, run, same
from spark.tests.support.spark_streams import Target
from testkit.waiting import wait_until

pytestmark = pytest.mark.spark


def test_streams_arrive_once_and_a_second_run_goes_on(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    wanted = target.add("orders", 700) + target.add("pay:ments", 50)
    job = archive(target, tmp_path, "orders", "pay:ments", most=300)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)
    wanted += target.add("orders", 10, first=700)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)
    snapshot = newest(tmp_path)
    assert snapshot is not None
    assert snapshot.cuts["orders"].n == (710 if target.counts else None)
    assert rows_in(tmp_path) == len(wanted)
    row = lake_frame(spark, tmp_path).where("stream = 'pay:ments'").orderBy("id").first()
    assert row["fields"] == {"n": "0"}
    assert row["date"] == row["timestamp"].date()


class Looking:
    """A query that is looking for entries, and finds none, when it is asked to finish."""

    def __init__(self, query: Any) -> None:
        self._query = query
        self._asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)

    @property
    def status(self) -> dict[str, Any]:
        self._asked += 1
        return {**self._query.status, "isTriggerActive": self._asked == 1}


@pytest.mark.timeout(200)
def test_a_job_that_is_to_finish_ends_though_no_batch_comes_any_more(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 3)
    flow = archive(redis_target, tmp_path, "s", trigger="200 ms").start(spark)
    wait_until("all is archived", lambda: rows_in(tmp_path) == 3, 120)
    query, flow.query = flow.query, Looking(flow.query)  # type: ignore[assignment]
    flow.finish()
    flow.wait()
    assert not query.isActive


def test_a_lost_checkpoint_neither_loses_nor_doubles(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    wanted = redis_target.add("s", 100)
    job = archive(redis_target, tmp_path, "s")
    run(spark, job)
    shutil.rmtree(tmp_path / "_checkpoints")
    wanted += redis_target.add("s", 30)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)


def test_another_checkpoint_that_begins_too_early_writes_only_what_is_new(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    def job(checkpoint: str, **more: Any) -> Archive:
        folder, where = tmp_path / "lake", str(tmp_path / checkpoint)
        return archive(redis_target, folder, "s", checkpoint=where, **more)

    wanted = redis_target.add("s", 100)
    run(spark, job("old", most=60))
    shutil.copytree(tmp_path / "old", tmp_path / "older")
    for log in ("offsets", "commits"):
        for path in (tmp_path / "older" / log).glob("*1*"):
            path.unlink()
    wanted += redis_target.add("s", 30)
    run(spark, job("older"))
    same(lake_ids(spark, tmp_path / "lake"), wanted)


class Crash(Exception):
    """The job ends here, as if the machine had died."""


def crash(*_: Any, **__: Any) -> None:
    raise Crash


def before(original: Callable[..., Any]) -> Callable[..., Any]:
    return crash


def after(original: Callable[..., Any]) -> Callable[..., Any]:
    def run_then_crash(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        raise Crash

    return run_then_crash


@pytest.mark.parametrize(
    ("owner", "step", "when"),
    [
        (archiving, "land", before),
        (archiving, "land", after),
        (Lake, "commit", before),
        (Lake, "commit", after),
        (Archiver, "trim", after),
    ],
    ids=["before-files", "after-files", "before-commit", "after-commit", "after-trim"],
)
def test_a_crash_at_any_step_is_made_good_by_the_next_start(
    spark: Any,
    redis_target: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    step: str,
    when: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    wanted = redis_target.add("s", 30)
    job = archive(redis_target, tmp_path, "s", trim=Trim(), most=20)
    archiver = Archiver(spark, job)
    with monkeypatch.context() as patch:
        flow = archiver.start()
        patch.setattr(owner, step, when(getattr(owner, step)))
        with pytest.raises(Exception, match="Crash"):
            flow.wait()
    wanted += redis_target.add("s", 20)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)
    assert redis_target.ids("s") == []


def test_only_what_everybody_has_done_is_trimmed(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    wanted = target.add("s", 50)
    target.client.xgroup_create("s", "others", wanted[29])
    run(spark, archive(target, tmp_path, "s", group="mirror", trim=Trim()))
    assert target.ids("s") == wanted[30:]
    target.client.xgroup_setid("s", "others", "$")
    wanted += target.add("s", 5)
    run(spark, archive(target, tmp_path, "s", group="mirror", trim=Trim(keep_ms=3_600_000)))
    assert target.ids("s") == wanted[30:]
    same(lake_ids(spark, tmp_path), wanted)


def test_entries_that_were_trimmed_before_they_were_archived_stop_the_job(
    spark: Any, counting_redis: Target, tmp_path: Path
) -> None:
    counting_redis.add("s", 20)
    job = archive(counting_redis, tmp_path, "s")
    run(spark, job)
    unread = counting_redis.add("s", 20)
    counting_redis.trim("s", unread[5])
    shutil.rmtree(tmp_path / "_checkpoints")
    with pytest.raises(DataLossError, match="5 entries after"):
        run(spark, job)
    run(spark, archive(counting_redis, tmp_path, "s", fail_on_data_loss=False))
    assert len(lake_ids(spark, tmp_path)) == 35


def test_a_schema_gives_typed_columns_and_names_the_entry(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.client.xadd("s", {"rider": "Sam", "speed": "31.5"})
    redis_target.client.xadd("s", {"rider": "Wood", "speed": "fast"})
    schema = "rider string, speed double, _corrupt string"
    run(spark, archive(redis_target, tmp_path, "s", schema=schema))
    rows = lake_frame(spark, tmp_path).orderBy("rider").collect()
    assert [(row["rider"], row["speed"]) for row in rows] == [("Sam", 31.5), ("Wood", None)]
    assert [row["_stream"] for row in rows] == ["s", "s"]
    assert rows[1]["_corrupt"] is not None and rows[0]["_date"] is not None


def test_a_lake_refuses_a_job_with_other_columns(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 1)
    run(spark, archive(redis_target, tmp_path, "s"))
    with pytest.raises(LakeError, match="was made with other settings"):
        run(spark, archive(redis_target, tmp_path, "s", schema="n int"))


def test_two_archive_jobs_of_one_stream_do_not_mix(
    spark: Any, redis_target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = redis_target.add("s", 20)
    first = archive(redis_target, tmp_path, "s", name="first")
    second = archive(redis_target, tmp_path, "s", name="second")
    original = archiving.land
    entered: list[str] = []

    def land_while_another_commits(*args: Any) -> Any:
        entered.append("")
        written = original(*args)
        if len(entered) == 1:
            run(spark, second)
        return written

    monkeypatch.setattr(archiving, "land", land_while_another_commits)
    with pytest.raises(OptionError, match="Another archive job"):
        run(spark, first)
    same(lake_ids(spark, tmp_path), wanted)


def test_streams_that_match_a_pattern_share_a_lake(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    wanted = target.add("orders:{0}", 10) + target.add("orders:{1}", 10)
    job = archive(target, tmp_path, pattern="orders:*")
    run(spark, job)
    wanted += target.add("orders:{2}", 10)
    run(spark, job)
    same(lake_ids(spark, tmp_path), wanted)
    snapshot = newest(tmp_path)
    assert snapshot is not None
    assert sorted(snapshot.cuts) == [f"orders:{{{i}}}" for i in range(3)]


def test_a_flow_that_runs_for_long_keeps_only_the_counts_of_its_last_batches(
    spark: Any, redis_target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_module, "KEPT_COUNTS", 2)
    redis_target.add("s", 50)
    flow = archive(redis_target, tmp_path, "s", most=10).start(spark)
    flow.wait()
    assert flow.counted == {3: 10, 4: 10}
