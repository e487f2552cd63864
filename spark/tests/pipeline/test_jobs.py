"""Process, aggregate and quarantine on a real Spark."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.errors import OptionError, SinkError
from forebay_spark.pipeline import sinks
from forebay_spark.pipeline.jobs import Aggregate, Process, Quarantine
from forebay_spark.pipeline.spec import FormatSink, LakeSink, Source, StreamSink, Transform
from forebay_spark.write.sink import MARKER_GRACE_MS
from spark.tests.support.lakes import lake_frame, run
from spark.tests.support.spark_streams import Target

pytestmark = pytest.mark.spark


def only_even(frame: Any) -> Any:
    """A transformation of the user's own."""
    return frame.where("n % 2 = 0")


def rows_of(spark: Any, path: Path) -> list[dict[str, Any]]:
    return [row.asDict() for row in lake_frame(spark, path).collect()]


def test_sql_and_functions_change_rows_on_their_way_to_all_sinks(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    target.add("s", 6)
    job = Process(
        source=Source(url=target.url, streams=("s",), schema="n int"),
        transform=(
            Transform(function="spark.tests.pipeline.test_jobs:only_even"),
            Transform(sql="SELECT n, n * 10 AS tens, n % 4 AS kind FROM input"),
        ),
        sink=(
            LakeSink(str(tmp_path / "lake"), partitions=("kind",)),
            StreamSink("tens", url=target.url),
            FormatSink("json", str(tmp_path / "json")),
        ),
    )
    run(spark, job)
    wanted = [(0, 0, 0), (2, 20, 2), (4, 40, 0)]
    found = rows_of(spark, tmp_path / "lake")
    assert sorted((row["n"], row["tens"], row["kind"]) for row in found) == wanted
    assert sorted(int(fields[b"tens"]) for _, fields in target.client.xrange("tens")) == [0, 20, 40]
    assert spark.read.json(str(tmp_path / "json")).count() == 3


def test_a_batch_that_comes_again_is_in_lake_and_stream_once(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    target.add("s", 10)
    checkpoint = tmp_path / "checkpoint"
    job = Process(
        source=Source(url=target.url, streams=("s",), schema="n int"),
        sink=(LakeSink(str(tmp_path / "lake")), StreamSink("copy", url=target.url)),
        checkpoint=str(checkpoint),
    )
    run(spark, job)
    for path in (checkpoint / "commits").glob("*0*"):
        path.unlink()
    run(spark, job)
    assert sorted(row["n"] for row in rows_of(spark, tmp_path / "lake")) == list(range(10))
    assert sorted(target.numbers("copy")) == list(range(10))
    target.add("s", 1, first=10)
    run(spark, job)
    assert sorted(target.numbers("copy")) == list(range(11))
    fences = [key for key in target.client.keys("forebay:sink:*") if b"-0:" in key]
    assert fences
    assert all(0 < target.client.pttl(key) <= MARKER_GRACE_MS for key in fences)


def at(second: int) -> str:
    return datetime.fromtimestamp(1_800_000_000 + second, UTC).isoformat()


def test_windows_close_when_the_watermark_passes_and_late_rows_are_dropped(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    job = Aggregate(
        source=Source(
            url=redis_target.url,
            streams=("race",),
            schema="rider string, at timestamp, speed double",
        ),
        time="at",
        window="10 seconds",
        watermark="5 seconds",
        keys=("rider",),
        values={"passages": "count(*)", "fastest": "max(speed)"},
        sink=(
            LakeSink(str(tmp_path / "lake")),
            StreamSink("windows", url=redis_target.url),
        ),
    )

    def report(second: int, speed: float) -> None:
        redis_target.client.xadd("race", {"rider": "Sam", "at": at(second), "speed": speed})

    for second, speed in ((1, 30.0), (4, 32.5), (2, 31.0), (12, 29.0)):
        report(second, speed)
    run(spark, job)
    assert redis_target.client.xlen("windows") == 0
    report(40, 30.0)
    run(spark, job)
    report(3, 99.0)
    report(70, 30.0)
    run(spark, job)
    run(spark, job)
    found = sorted(rows_of(spark, tmp_path / "lake"), key=lambda row: row["window_start"])
    assert [(row["passages"], row["fastest"]) for row in found][:2] == [(3, 32.5), (1, 29.0)]
    sent = [fields for _, fields in redis_target.client.xrange("windows")]
    assert [(f[b"rider"], f[b"passages"]) for f in sent][:2] == [(b"Sam", b"3"), (b"Sam", b"1")]
    assert len(sent) == len(found)


def test_what_a_window_cannot_be_made_of_is_told(spark: Any, redis_target: Target) -> None:
    redis_target.add("s", 1)
    source = Source(url=redis_target.url, streams=("s",))
    common = {"source": source, "window": "1 minute", "values": {"n": "count(*)"}}
    with pytest.raises(
        OptionError, match=r"aggregate.keys names the column 'rider', but there are"
    ):
        Aggregate(**common, keys=("rider",), sink=(LakeSink("/x"),)).start(spark)
    with pytest.raises(OptionError, match="Updates of windows can go to a stream only"):
        Aggregate(**common, emit="updates", sink=(LakeSink("/x"),)).start(spark)
    with pytest.raises(OptionError, match="has no checkpoint"):
        Aggregate(**common, sink=(StreamSink("x"),)).start(spark)


def test_bad_rows_go_to_the_dead_letter_stream_with_the_reason(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    good = target.client.xadd("race", {"rider": "Sam", "speed": "30.5"})
    slow = target.client.xadd("race", {"rider": "Wood", "speed": "slow"})
    nobody = target.client.xadd("race", {"speed": "12"})
    job = Quarantine(
        source=Source(
            url=target.url, streams=("race",), schema="rider string not null, speed double"
        ),
        dead_letter=StreamSink("race.dlq", url=target.url),
        sink=(LakeSink(str(tmp_path)),),
    )
    run(spark, job)
    letters = {f[b"source_id"]: f for _, f in target.client.xrange("race.dlq")}
    assert set(letters) == {slow, nobody}
    assert letters[slow][b"reason"] == b"speed: 'slow' is not a double"
    assert json.loads(letters[slow][b"payload"]) == {"rider": "Wood", "speed": "slow"}
    assert b"rider" in letters[nobody][b"reason"]
    (row,) = rows_of(spark, tmp_path)
    assert (row["_id"], row["rider"], row["speed"]) == (good.decode(), "Sam", 30.5)
    with pytest.raises(OptionError, match=r"needs source.schema"):
        Quarantine(source=Source(), dead_letter=StreamSink("x")).start(spark)


def test_a_checkpoint_that_is_lost_is_a_new_writer(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 3)
    job = Process(
        source=Source(url=redis_target.url, streams=("s",), schema="n int"),
        sink=(LakeSink(str(tmp_path / "lake")),),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    run(spark, job)
    shutil.rmtree(tmp_path / "checkpoint")
    run(spark, job)
    assert len(rows_of(spark, tmp_path / "lake")) == 6


def test_a_lake_is_split_only_by_columns_that_exist(spark: Any) -> None:
    schema = spark.range(1).schema
    with pytest.raises(OptionError, match="split by 'day', but the rows have only the columns id"):
        sinks.about_results(schema, LakeSink("/x", partitions=("day",)))


def test_a_batch_is_written_once_and_one_of_an_old_checkpoint_is_refused(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    lake, stream = LakeSink(str(tmp_path / "lake")), StreamSink("out", url=target.url)
    for sink in (lake, stream):
        for batch in (0, 1, 1):
            rows = spark.createDataFrame([(batch,)], "n int")
            sinks.write(rows, sink, "some-query", batch)
        with pytest.raises(SinkError, match=r"Batch 0 .* checkpoint is an old copy"):
            sinks.write(spark.createDataFrame([(9,)], "n int"), sink, "some-query", 0)
    assert sorted(row["n"] for row in rows_of(spark, tmp_path / "lake")) == [0, 1]
    assert target.numbers("out") == [0, 1]
