"""The archive job against writing the same rows from memory; and rows written to streams.

The job does more than write: it starts a streaming query, fetches and decodes, syncs its
files to the disk and commits.  It is compared with the least work that Spark could do: write
the same rows, ready in its memory, to Parquet files of the same partitions.
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
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline.archive import Archive, about_archive
from forebay_spark.pipeline.spec import Source
from forebay_spark.values.entry_columns import EntryColumns
from forebay_spark.values.schema import PLAIN

WRITTEN = "race:written"
FROM_MEMORY = "Parquet from Spark's memory"
ARCHIVE = "archive"


class Archives:
    """Archive jobs on lakes of their own, and the figures about them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._numbers = count()
        self.source = Source(
            (STREAM.decode(),), url=url(stage.forebay), options={"minPartitions": str(PARTITIONS)}
        )
        self.batches_s: list[float] = []
        self.lake = Lake(str(stage.folder))
        self.saved = ""

    def folder(self) -> str:
        """A new folder."""
        return f"{self._stage.folder}/{next(self._numbers)}"

    def run_s(self) -> float:
        """Run the job on an empty lake; the time of its one micro-batch is kept."""
        path = self.folder()
        start = time.perf_counter()
        flow = Archive(source=self.source, lake=path).start(self._stage.spark)
        flow.wait()
        seconds = time.perf_counter() - start
        (batch,) = (p for p in flow.query.recentProgress if "addBatch" in p["durationMs"])
        self.batches_s.append(batch["durationMs"]["triggerExecution"] / 1000)
        self.lake = Lake(path)
        archived = frame_of(self._stage.spark, self.lake.snapshot()).count()
        assert archived == self._stage.plan.entries, f"{archived} rows are in the lake"
        return seconds

    def save_s(self, rows: DataFrame) -> float:
        """A plain write of the same rows."""
        self.saved = self.folder()
        partitions = about_archive(self.source).partitions
        start = time.perf_counter()
        rows.write.format("parquet").partitionBy(*partitions).save(self.saved)
        return time.perf_counter() - start

    def read_s(self) -> float:
        """The way back: read all columns of a lake and drop them."""
        return to_noop_s(frame_of(self._stage.spark, self.lake.snapshot()))

    def read_saved_s(self) -> float:
        """The same for the files that Spark wrote."""
        return to_noop_s(self._stage.spark.read.parquet(self.saved))


def archive(stage: Stage) -> list[Line]:
    """Seconds of the whole job, and of the micro-batch that is its work; and the lake it leaves."""
    stage.prepare(stage.forebay)
    archives = Archives(stage)
    rows = EntryColumns(PLAIN).dated(stage.read(stage.forebay)).cache()
    assert rows.count() == stage.plan.entries
    runs: dict[str, Callable[[], float]] = {
        ARCHIVE: archives.run_s,
        FROM_MEMORY: partial(archives.save_s, rows),
    }
    whole = warm_in_turns(stage.plan.rounds, runs)
    rows.unpersist()
    batches = {ARCHIVE: archives.batches_s[1:], FROM_MEMORY: whole[FROM_MEMORY]}
    ways_back = {ARCHIVE: archives.read_s, FROM_MEMORY: archives.read_saved_s}
    lines = []
    for title, samples in (
        ("archive to a lake, the whole job", whole),
        ("archive to a lake, its micro-batch", batches),
        ("archive, reading it back", warm_in_turns(stage.plan.rounds, ways_back)),
    ):
        stage.samples[title] = samples
        lines += compare(title, "s", samples, {FROM_MEMORY: 1.5}, smaller_is_better=True)
    return lines


def sink(stage: Stage) -> list[Line]:
    """Rows a second into a stream, with the default guarantee and without it."""
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
