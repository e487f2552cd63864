"""Reading with a real Spark: batch and streaming, from both servers."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

import forebay_spark.pipeline
from forebay_spark import explain, session
from forebay_spark.errors import OldSparkError
from forebay_spark.runtime.old_spark import OldSparkSource
from spark.tests.support.spark_streams import Target, texts
from testkit.servers import free_port

pytestmark = pytest.mark.spark

COUNT = 1000
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def source(spark: Any, target: Target, kind: str = "forebay", **given: Any) -> Any:
    return spark.read.format(kind).options(url=target.url, **texts({"streams": "s", **given}))


def endless(spark: Any, target: Target, kind: str = "forebay", **given: Any) -> Any:
    options = {"streams": "s", "startingOffsets": "earliest", **given}
    return spark.readStream.format(kind).options(url=target.url, **texts(options))


def to_parquet(rows: Any, place: Path) -> Any:
    """Run a query to its end; it writes to ``place/out``."""
    writer = rows.writeStream.format("parquet").option("path", str(place / "out"))
    query = writer.option("checkpointLocation", str(place / "check")).trigger(availableNow=True)
    running = query.start()
    running.awaitTermination()
    return running


def numbers(spark: Any, place: Path) -> Counter[int]:
    rows = spark.read.parquet(str(place / "out")).select(f.col("fields.n").cast("int"))
    return Counter(row[0] for row in rows.collect())


def test_spark_finds_the_source_by_its_name_and_reads_all(spark: Any, target: Target) -> None:
    ids = target.add("s", COUNT)
    rows = source(spark, target, minPartitions=2).load()
    assert rows.rdd.getNumPartitions() == 2
    assert [row.id for row in rows.orderBy("timestamp", "seq").collect()] == ids
    first = rows.where(f.col("id") == ids[0]).first()
    assert (first.stream, dict(first.fields)) == ("s", {"n": "0"})
    as_bytes = source(spark, target, fieldValues="binary").load().select("id", "fields")
    assert as_bytes.where(f.col("id") == ids[0]).first().fields == {"n": b"0"}
    assert first.timestamp.replace(tzinfo=UTC) == datetime.fromtimestamp(
        int(ids[0].split("-")[0]) / 1000, UTC
    )


def test_a_schema_and_sql_work_on_entries(spark: Any, target: Target) -> None:
    target.add("s", 10, speed="2.5", at="2026-01-31T12:00:00Z", tags='{"a": [1, 2]}')
    schema = "n int, speed double, at timestamp, tags struct<a: array<int>>, _seq long"
    rows = source(spark, target).schema(schema).load()
    rows.createOrReplaceTempView("entries")
    totals = spark.sql(
        "SELECT sum(n), sum(speed), max(at), sum(tags.a[1]), count(_seq) FROM entries"
    )
    assert tuple(totals.first()) == (45, 25.0, datetime(2026, 1, 31, 12), 20, 10)


def test_modes_are_those_of_sparks_own_readers(spark: Any, target: Target) -> None:
    target.add("s", 3)
    target.client.xadd("s", {"n": "many", "z": b"\xff"})
    schema = (
        "n int, _corrupt string, _reason string, _rest map<string,string>, "
        "_raw array<struct<name:binary,value:binary>>"
    )
    kept = source(spark, target).schema(schema).load().collect()
    assert (kept[0]._rest, kept[0]._raw) == (None, None)
    assert kept[-1]._rest == {"n": "many", "z": None}
    assert [tuple(pair) for pair in kept[-1]._raw] == [(b"n", None), (b"z", b"\xff")]
    assert [(row.n, row._reason) for row in kept][-1] == (None, "n: 'many' is not an int")
    assert json.loads(kept[-1]._corrupt) == {"n": "many", "z": "\ufffd"}
    dropped = source(spark, target, mode="DROPMALFORMED").schema(schema).load()
    assert [row.n for row in dropped.collect()] == [0, 1, 2]
    with pytest.raises(Exception) as caught:
        source(spark, target, mode="FAILFAST").schema(schema).load().collect()
    assert "does not fit the schema (n: 'many' is not an int)" in (explain(caught.value) or "")


def test_not_null_is_refused_where_nulls_can_come_and_kept_elsewhere(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 3)
    redis_target.client.xadd("s", {"other": 1})
    wanted = "n int not null"
    with pytest.raises(Exception) as caught:
        source(spark, redis_target).schema(wanted).load().collect()
    assert "Leave NOT NULL out" in (explain(caught.value) or "")
    with pytest.raises(Exception) as caught:
        to_parquet(endless(spark, redis_target).schema(wanted).load(), tmp_path / "refused")
    assert "Leave NOT NULL out" in (explain(caught.value) or "")
    strict = {"mode": "DROPMALFORMED"}
    batch = source(spark, redis_target, **strict).schema(wanted).load()
    assert [row.n for row in batch.collect()] == [0, 1, 2]
    to_parquet(endless(spark, redis_target, **strict).schema(wanted).load(), tmp_path)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"stream": "s"}, "Option stream has no meaning for a streaming read"),
        ({"startingOffsets": "{s"}, "Option startingOffsets is not JSON"),
    ],
)
def test_a_streaming_read_says_what_is_wrong_with_its_options(
    spark: Any, redis_target: Target, tmp_path: Path, given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Exception) as caught:
        to_parquet(endless(spark, redis_target, **given).load(), tmp_path)
    assert sentence in (explain(caught.value) or "")


@pytest.fixture
def pushdown(spark: Any) -> Iterator[None]:
    """Let Spark push conditions down."""
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, "true")
    yield
    spark.conf.set(PUSHDOWN, before)


@pytest.mark.usefixtures("pushdown")
def test_filters_cut_the_range_and_change_no_result(spark: Any, target: Target) -> None:
    target.add_at("s", [f"{ms}-0" for ms in range(1, 101)])
    plain = source(spark, target).load()
    for condition in (
        "timestamp >= timestamp_millis(40) AND timestamp < timestamp_millis(60)",
        "id = '50-0'",
        "id > '5-0'",
        "stream = 't'",
    ):
        wanted = sorted(row.id for row in plain.where(condition).collect())
        pushed = source(spark, target, pushFilters=True).load()
        assert sorted(row.id for row in pushed.where(condition).collect()) == wanted
    # A missing stream is an error, unless a condition has excluded it before.
    given, ours = {"streams": "s,missing", "pushFilters": True}, "stream = 's'"
    assert source(spark, target, **given).load().where(ours).count() == 100
    spark.conf.set(PUSHDOWN, "false")
    assert source(spark, target, pushFilters=True).load().where(ours).count() == 100
    with pytest.raises(Exception) as caught:
        source(spark, target, **given).load().where(ours).count()
    assert "There is no stream 'missing'" in (explain(caught.value) or "")


@pytest.mark.usefixtures("pushdown")
def test_a_query_for_a_part_leaves_the_table_whole(spark: Any, redis_target: Target) -> None:
    """Spark keeps the plan of a read with pushed conditions, for all later queries."""
    redis_target.add_at("s", [f"{ms}-0" for ms in range(1, 101)])
    table = source(spark, redis_target).load()
    early, late = (table.where(f"timestamp {part} timestamp_millis(10)") for part in ("<", ">="))
    assert early.count() == 9
    assert table.count() == 100
    assert early.union(late).count() == 100


def test_a_stream_is_a_view_of_sql_with_or_without_a_schema(
    spark: Any, redis_target: Target
) -> None:
    redis_target.add("s", 10)
    options = f"USING forebay OPTIONS (url '{redis_target.url}', streams 's')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW entries {options}")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW typed (n INT, _id STRING) {options}")
    sums = spark.sql(
        "SELECT (SELECT sum(fields['n']) FROM entries), (SELECT sum(n) FROM typed WHERE n > 4)"
    )
    assert tuple(sums.first()) == (45, 35)


def test_micro_batches_are_limited_by_bytes_and_wait_for_enough_entries(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 40, text="x" * 1000)
    limits = {"maxBytesPerTrigger": 10_000, "minEntriesPerTrigger": 7, "maxTriggerDelay": "1h"}
    query = to_parquet(endless(spark, redis_target, **limits).load(), tmp_path)
    sizes = [p["numInputRows"] for p in query.recentProgress if p["numInputRows"]]
    assert sum(sizes) == 40 and len(sizes) >= 4
    assert numbers(spark, tmp_path) == Counter(range(40))


class TooOld(OldSparkSource):
    """The stand-in for the connector under a Spark that is too old."""

    @classmethod
    def name(cls) -> str:
        return "too-old"


def test_a_spark_that_is_too_old_is_told_so(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.dataSource.register(TooOld)
    with pytest.raises(Exception) as caught:
        spark.read.format("too-old").load()
    assert "needs PySpark 4.2 or later" in (explain(caught.value) or "")
    monkeypatch.setattr("pyspark.__version__", "4.1.1")
    with pytest.raises(OldSparkError, match=r"needs PySpark 4.2 or later, but 4.1.1 is installed"):
        session()
    with pytest.raises(OldSparkError, match=r"needs PySpark 4.2"):
        forebay_spark.__getattr__("table")
    with pytest.raises(OldSparkError, match=r"needs PySpark 4.2"):
        importlib.reload(forebay_spark.pipeline)


def test_a_stream_is_archived_once_over_restarts(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    target.add("s", COUNT)
    rows = endless(spark, target, maxEntriesPerTrigger=300, minPartitions=2, group="archive")
    query = to_parquet(rows.load(), tmp_path)
    sizes = [progress.numInputRows for progress in query.recentProgress]
    assert sizes == [300, 300, 300, 100]
    newest = json.loads(query.lastProgress.sources[0].latestOffset)
    assert newest["s"].get("n") == (COUNT if target.counts else None)
    target.add("s", COUNT, first=COUNT)
    to_parquet(rows.load(), tmp_path)
    assert numbers(spark, tmp_path) == Counter(range(2 * COUNT))
    (group,) = target.client.xinfo_groups("s")
    assert group["last-delivered-id"].decode() == target.ids("s")[-1]
    assert group.get("lag", 0) == 0


def test_a_running_query_reads_what_comes_after_its_start(spark: Any, target: Target) -> None:
    target.add("s", 10)
    rows = endless(spark, target, startingOffsets="latest").load()
    query = rows.writeStream.format("memory").queryName("seen").start()
    try:
        query.processAllAvailable()
        for first in (10, 20):
            target.add("s", 10, first=first)
            query.processAllAvailable()
        seen = spark.table("seen").selectExpr("cast(fields.n as int)").collect()
    finally:
        query.stop()
    assert sorted(row[0] for row in seen) == list(range(10, 30))


def test_streams_that_appear_later_are_read_too(spark: Any, target: Target, tmp_path: Path) -> None:
    target.add("s:1", 10)
    options = {"streamsPattern": "s:*", "startingOffsets": "earliest"}
    rows = spark.readStream.format("forebay").options(url=target.url, **options)
    to_parquet(rows.load(), tmp_path)
    target.add("s:2", 10, first=10)
    to_parquet(rows.load(), tmp_path)
    assert numbers(spark, tmp_path) == Counter(range(20))


def test_a_task_that_fails_half_way_neither_loses_nor_doubles(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    target.add("s", COUNT)
    rows = source(spark, target, "faulty", fault="read", minPartitions=2).load()
    assert Counter(int(row.n) for row in rows.select("fields.n").collect()) == Counter(range(COUNT))
    given = {"fault": "read", "faultAt": 1, "maxEntriesPerTrigger": 400}
    to_parquet(endless(spark, target, "faulty", **given).load(), tmp_path)
    assert numbers(spark, tmp_path) == Counter(range(COUNT))


def test_trimming_unread_entries_fails_the_query_with_a_sentence(
    spark: Any, counting_target: Target, tmp_path: Path
) -> None:
    counting_target.add("s", 100)
    rows = endless(spark, counting_target).load()
    to_parquet(rows, tmp_path)
    ids = counting_target.add("s", 100, first=100)
    counting_target.trim("s", ids[50])
    with pytest.raises(Exception) as caught:
        to_parquet(rows, tmp_path)
    assert (explain(caught.value) or "").startswith("Stream 's' was trimmed past the reader: 50")
    allowed = endless(spark, counting_target, failOnDataLoss="false").load()
    to_parquet(allowed, tmp_path)
    assert numbers(spark, tmp_path) == Counter([*range(100), *range(150, 200)])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"streems": "s"}, "There is no option streems for a batch read. Did you mean streams?"),
        ({"startingOffsets": "{"}, "Option startingOffsets is not JSON: '{'."),
        ({"url": "http://x"}, "The url 'http://x' has no known scheme."),
        ({"url": f"redis://127.0.0.1:{free_port()}"}, "No server answers at redis://127.0.0.1:"),
        ({"streams": "text"}, "The key 'text' at redis://"),
        ({"streams": "nothing"}, "There is no stream 'nothing' at redis://"),
    ],
)
def test_bad_input_is_answered_in_a_sentence_and_nothing_in_front_of_it(
    spark: Any, redis_target: Target, given: dict[str, str], sentence: str
) -> None:
    redis_target.client.set("text", "x")
    options = {"url": redis_target.url, "streams": "s", **given}
    with pytest.raises(Exception) as caught:
        spark.read.format("forebay").options(**options).load().collect()
    assert (explain(caught.value) or str(caught.value)).startswith(sentence)
