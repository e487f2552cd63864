"""The archive job against writing the same rows from memory; and rows written to streams.

The job does more than write: it starts a streaming query, fetches and decodes, syncs its
files to the disk and commits.  It is compared with the least that Spark could do, to write the
same rows, ready in its memory, to Parquet files of the same partitions; and with itself when
Spark writes its files.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.peers import Peer
from bench.rows import STREAM
from bench.spark.lines import Line, compare, warm_in_turns
from bench.spark.reads import to_noop_s
from bench.spark.stage import PARTITIONS, Stage, url
from forebay_spark.entries import EntryColumns
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline.archive import Archive, about_archive
from forebay_spark.pipeline.spec import Source
from forebay_spark.schema import PLAIN

WRITTEN = "race:written"
FROM_MEMORY = "Parquet from Spark's memory"
BY_SPARK = "the job, files by Spark"
WRITERS = {"archive": "auto", BY_SPARK: "spark"}


class Archives:
    """Archive jobs on lakes of their own, and what is told about them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._numbers = count()
        self.source = Source(
            (STREAM.decode(),), url=url(stage.forebay), options={"minPartitions": str(PARTITIONS)}
        )
        self.batches_s: dict[str, list[float]] = {name: [] for name in WRITERS}
        self.lakes: dict[str, Lake] = {}

    def folder(self) -> str:
        """One that nobody has used."""
        return f"{self._stage.folder}/{next(self._numbers)}"

    def run_s(self, name: str) -> float:
        """The job on an empty lake; what its one micro-batch took alone is kept."""
        path = self.folder()
        start = time.perf_counter()
        job = Archive(source=self.source, lake=path, writer=WRITERS[name])
        flow = job.start(self._stage.spark)
        flow.wait()
        seconds = time.perf_counter() - start
        (batch,) = (p for p in flow.query.recentProgress if "addBatch" in p["durationMs"])
        self.batches_s[name].append(batch["durationMs"]["triggerExecution"] / 1000)
        lake = self.lakes[name] = Lake(path)
        archived = frame_of(self._stage.spark, lake.snapshot()).count()
        assert archived == self._stage.plan.entries, f"{archived} rows are in the lake"
        return seconds

    def read_s(self, name: str) -> float:
        """The way back: all columns of a lake to nowhere."""
        lake = self.lakes[name]
        return to_noop_s(frame_of(self._stage.spark, lake.snapshot()))


def archive(stage: Stage) -> list[Line]:
    """Seconds of the whole job, and of the micro-batch that is its work; and what it leaves."""
    stage.prepare(stage.forebay)
    archives = Archives(stage)
    rows = EntryColumns(PLAIN).dated(stage.read(stage.forebay)).cache()
    assert rows.count() == stage.plan.entries
    partitions = about_archive(archives.source, "parquet").partitions
    runs: dict[str, Callable[[], float]] = {
        "archive": partial(archives.run_s, "archive"),
        FROM_MEMORY: lambda: save_s(rows, partitions, archives.folder()),
        BY_SPARK: partial(archives.run_s, BY_SPARK),
    }
    whole = warm_in_turns(stage.plan.rounds, runs)
    rows.unpersist()
    batches = {
        "archive": archives.batches_s["archive"][1:],
        FROM_MEMORY: whole[FROM_MEMORY],
        BY_SPARK: archives.batches_s[BY_SPARK][1:],
    }
    back = warm_in_turns(
        stage.plan.rounds, {name: partial(archives.read_s, name) for name in WRITERS}
    )
    lines = []
    for title, samples in (
        ("archive to Parquet, the whole job", whole),
        ("archive to Parquet, its micro-batch", batches),
        ("archive, reading it back", back),
    ):
        stage.samples[title] = samples
        targets = {FROM_MEMORY: 1.5, BY_SPARK: None} if FROM_MEMORY in samples else {BY_SPARK: None}
        lines += compare(title, "s", samples, targets, smaller_is_better=True)
    return lines


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
