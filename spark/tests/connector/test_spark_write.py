"""Writing with a real Spark: exactly once, whatever fails."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

from forebay_spark import explain
from forebay_spark.write.sink import MARKER_GRACE_MS
from spark.tests.support.spark_streams import Target, texts

pytestmark = pytest.mark.spark

COUNT = 1000


def write(rows: Any, target: Target, kind: str = "forebay", **given: Any) -> None:
    options = texts({"stream": "out", "rowsPerTransaction": 100, **given})
    rows.write.format(kind).options(url=target.url, **options).mode("append").save()


def numbered(spark: Any, parts: int = 2) -> Any:
    return spark.range(0, COUNT, 1, parts).select(f.col("id").alias("n"))


def copy(spark: Any, target: Target, place: Path, kind: str = "forebay", **given: Any) -> None:
    """Copy stream s to stream out with a streaming query."""
    read = {"streams": "s", "startingOffsets": "earliest", "maxEntriesPerTrigger": "400"}
    rows = spark.readStream.format("forebay").options(url=target.url, **read).load()
    options = texts({"stream": "out", "rowsPerTransaction": 50, **given})
    writer = rows.writeStream.format(kind).options(url=target.url, **options)
    query = writer.option("checkpointLocation", str(place)).trigger(availableNow=True).start()
    query.awaitTermination()


def test_a_table_becomes_a_stream_and_leaves_nothing_for_long(spark: Any, target: Target) -> None:
    write(numbered(spark), target)
    assert Counter(target.numbers("out")) == Counter(range(COUNT))
    for key in target.client.keys("*"):
        assert key == b"out" or 0 < target.client.pttl(key) <= MARKER_GRACE_MS


def test_rows_go_to_the_stream_that_they_name(spark: Any, target: Target) -> None:
    rows = numbered(spark).withColumn("stream", f.concat(f.lit("out:"), f.col("n") % 3))
    write(rows, target, stream="")
    assert sorted(target.numbers("out:1")) == list(range(1, COUNT, 3))


def test_a_task_that_fails_half_way_is_continued(spark: Any, target: Target) -> None:
    write(numbered(spark), target, "faulty", fault="write")
    assert Counter(target.numbers("out")) == Counter(range(COUNT))


def test_a_named_write_can_be_repeated(spark: Any, target: Target) -> None:
    for _ in range(2):
        write(numbered(spark), target, writeId="january")
    assert Counter(target.numbers("out")) == Counter(range(COUNT))


def test_one_name_may_be_used_for_writes_to_two_streams(spark: Any, target: Target) -> None:
    for _ in range(2):
        write(numbered(spark), target, writeId="january")
        write(numbered(spark).where("n < 300"), target, writeId="january", stream="some")
    assert Counter(target.numbers("out")) == Counter(range(COUNT))
    assert Counter(target.numbers("some")) == Counter(range(300))


def test_rows_with_ids_keep_them(spark: Any, target: Target) -> None:
    rows = numbered(spark, 1).withColumn("at", f.concat(f.col("n") + 1, f.lit("-5")))
    for _ in range(2):
        write(rows, target, "faulty", fault="write", idColumn="at")
    assert target.ids("out") == [f"{n + 1}-5" for n in range(COUNT)]


def test_keys_are_written_once_over_jobs_and_partitions(spark: Any, forebay_server: Any) -> None:
    target = Target(forebay_server)
    rows = numbered(spark, 2).withColumn("key", f.col("n").cast("string"))
    write(rows, target, "faulty", fault="write", keyColumn="key")
    write(rows.repartition(3).orderBy(f.desc("n")), target, keyColumn="key")
    assert Counter(target.numbers("out")) == Counter(range(COUNT))


def test_a_streaming_copy_is_exact_though_tasks_fail(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    target.add("s", COUNT)
    copy(spark, target, tmp_path, "faulty", fault="write", faultAt=1)
    assert target.numbers("out") == list(range(COUNT))


def test_a_batch_that_was_written_but_not_committed_is_not_written_again(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    target.add("s", COUNT)
    with pytest.raises(Exception, match="a fault in phase written"):
        copy(spark, target, tmp_path, "faulty", fault="written", faultAt=1)
    assert target.client.xlen("out") == 800
    copy(spark, target, tmp_path)
    assert target.numbers("out") == list(range(COUNT))


def test_overwriting_is_refused_in_a_sentence(spark: Any, redis_target: Target) -> None:
    with pytest.raises(Exception) as caught:
        writer = numbered(spark).write.format("forebay").option("stream", "out")
        writer.option("url", redis_target.url).mode("overwrite").save()
    assert explain(caught.value) == (
        "A stream cannot be overwritten. Use mode append or outputMode append."
    )


def test_a_column_that_is_not_there_is_named(spark: Any, redis_target: Target) -> None:
    with pytest.raises(Exception) as caught:
        write(numbered(spark), redis_target, idColumn="z")
    assert (explain(caught.value) or "").startswith("Option idColumn names the column 'z'")
