"""The cost of a micro-batch when there is next to nothing to read.

Two rows in two tasks, to the noop sink: nearly all of the time is Spark's own (checkpoint,
planning, a round trip to two Python workers).  Ours is compared with a source that only
sends a ready-made row, in the same session; the difference is the connector's cost.
"""

from __future__ import annotations

from itertools import count
from statistics import median

from pyspark.sql import DataFrame

from bench.rows import PIPELINE, entry_id, fill
from bench.spark.lines import Line, compare, warm_in_turns
from bench.spark.sources import MICRO_BATCH_TASKS, SENT
from bench.spark.stage import Stage, url
from forebay_spark.pipeline.spec import offsets_json
from forebay_spark.values.schema import PLAIN

FEW = "race:few"
#: The first triggers start processes and compile.
SKIPPED = 3


def micro_batches(stage: Stage) -> list[Line]:
    """Median milliseconds of a trigger, ours and the least possible."""
    stage.forebay.command("DEL", FEW)
    fill(stage.forebay, FEW.encode(), PIPELINE)
    rows = MICRO_BATCH_TASKS * (stage.plan.micro_batches + SKIPPED)
    ours = stage.spark.readStream.format("forebay").options(
        url=url(stage.forebay),
        streams=FEW,
        startingOffsets=offsets_json({FEW: entry_id(PIPELINE - rows).decode()}),
        maxEntriesPerTrigger=MICRO_BATCH_TASKS,
        minPartitions=MICRO_BATCH_TASKS,
    )
    least = stage.spark.readStream.format("bench-const").schema(PLAIN).option("rows", rows)
    number = count()
    runs = {
        name: lambda frame=frame, mark=mark: trigger_ms(stage, frame, mark, next(number))
        for name, frame, mark in (
            ("Forebay", ours.load(), FEW),
            ("empty source", least.load(), SENT),
        )
    }
    title = "micro-batch of two rows"
    samples = stage.samples[title] = warm_in_turns(stage.plan.rounds, runs)
    return compare(title, "ms", samples, {"empty source": 1.2}, smaller_is_better=True)


def trigger_ms(stage: Stage, frame: DataFrame, mark: str, number: int) -> float:
    """The median trigger of one query, run to its end; its offsets carry the mark of its source."""
    writer = frame.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", f"{stage.folder}/checkpoint-{number}").start()
    query.awaitTermination()
    busy = [p for p in query.recentProgress if p["numInputRows"]]
    read = [p["numInputRows"] for p in busy]
    assert all(mark in str(p["sources"][0]["endOffset"]) for p in busy), f"this is not {mark}"
    wanted = stage.plan.micro_batches + SKIPPED
    assert read == [MICRO_BATCH_TASKS] * wanted, f"the micro-batches had {read} rows"
    return median(float(p["durationMs"]["triggerExecution"]) for p in busy[SKIPPED:])
