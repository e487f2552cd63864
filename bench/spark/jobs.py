"""The archive job against writing the same rows from memory; and rows written to streams.

The job does more than write: it starts a streaming query, fetches and decodes, syncs its
files to the disk and commits.  What it is compared with is the least that any job could do:
the same rows, ready in Spark's memory, to Parquet files of the same partitions.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import count

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.peers import Peer
from bench.rows import STREAM
from bench.spark.lines import Line, compare, warm_in_turns
from bench.spark.stage import PARTITIONS, Stage, url
from forebay_spark.entries import EntryColumns
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline.archive import Archive, about_archive
from forebay_spark.pipeline.spec import Source
from forebay_spark.schema import PLAIN

WRITTEN = "race:written"
FROM_MEMORY = "Parquet from Spark's memory"


def archive(stage: Stage) -> list[Line]:
    """Seconds of the whole job, from start to end, and of the micro-batch that is its work."""
    stage.prepare(stage.forebay)
    source = Source(
        (STREAM.decode(),), url=url(stage.forebay), options={"minPartitions": str(PARTITIONS)}
    )
    rows = EntryColumns(PLAIN).dated(stage.read(stage.forebay)).cache()
    assert rows.count() == stage.plan.entries
    number, batches_s = count(), list[float]()
    runs = {
        "archive": lambda: archive_s(
            stage, source, f"{stage.folder}/lake-{next(number)}", batches_s
        ),
        FROM_MEMORY: lambda: save_s(
            rows, about_archive(source, "parquet").partitions, f"{stage.folder}/save-{next(number)}"
        ),
    }
    title, batch_title = "archive to Parquet, the whole job", "archive to Parquet, its micro-batch"
    samples = stage.samples[title] = warm_in_turns(stage.plan.rounds, runs)
    batches = stage.samples[batch_title] = {
        "archive": batches_s[1:],
        FROM_MEMORY: samples[FROM_MEMORY],
    }
    rows.unpersist()
    targets = {FROM_MEMORY: 1.5}
    return [
        *compare(title, "s", samples, targets, smaller_is_better=True),
        *compare(batch_title, "s", batches, targets, smaller_is_better=True),
    ]


def archive_s(stage: Stage, source: Source, path: str, batches_s: list[float]) -> float:
    """The job on an empty lake; what its one micro-batch took alone is added to the list."""
    start = time.perf_counter()
    flow = Archive(source=source, lake=path).start(stage.spark)
    flow.wait()
    seconds = time.perf_counter() - start
    (batch,) = (p for p in flow.query.recentProgress if p["numInputRows"])
    batches_s.append(batch["durationMs"]["triggerExecution"] / 1000)
    lake = Lake(stage.spark, path)
    archived = lake.read(lake.state()).count()
    assert archived == stage.plan.entries, f"{archived} rows are in the lake"
    return seconds


def save_s(rows: DataFrame, partitions: tuple[str, ...], path: str) -> float:
    """A plain write."""
    start = time.perf_counter()
    rows.write.format("parquet").partitionBy(*partitions).save(path)
    return time.perf_counter() - start


def sink(stage: Stage) -> list[Line]:
    """Rows a second into a stream, with the guarantee that is the default and without."""
    lines = []
    for title, delivery in (("exactly once", "exactly-once"), ("at least once", "at-least-once")):
        name = f"write to a stream, {title}"
        runs = {
            "Forebay": partial(write_rate, stage, stage.forebay, delivery),
            "redis-server": partial(write_rate, stage, stage.redis, delivery),
        }
        samples = stage.samples[name] = warm_in_turns(stage.plan.rounds, runs)
        lines += compare(name, "rows/s", samples, {"redis-server": None})
    return lines


def write_rate(stage: Stage, peer: Peer, delivery: str) -> float:
    """One batch write of four columns into an empty stream."""
    wanted = stage.plan.sink_rows
    rows = stage.spark.range(0, wanted, 1, PARTITIONS).select(
        F.lit("Castilla").alias("rider"),
        F.lit(30.2).alias("speed"),
        (F.col("id") % 100).cast("int").alias("position"),
        F.col("id").alias("location_id"),
    )
    writer = rows.write.format("forebay").mode("append")
    writer = writer.options(url=url(peer), stream=WRITTEN, delivery=delivery)
    start = time.perf_counter()
    writer.save()
    seconds = time.perf_counter() - start
    assert peer.command("XLEN", WRITTEN) == wanted
    peer.command("DEL", WRITTEN)
    return wanted / seconds
