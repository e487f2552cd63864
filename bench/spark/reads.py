"""Batch reads to Spark's noop sink: how many rows a second, and against what.

    Forebay   const           the same columns, ready-made: the ceiling of the transport
              tuples          the same entries as Python tuples, as a simple source would do it
              redis XRANGE    the same connector on redis-server
              XRANGE          the same connector on Forebay, without the server's help

Only the job is timed, not the making of the table.  The warm-up counts the rows of every case.
"""

from __future__ import annotations

import time

from pyspark.sql import DataFrame

from bench.spark.lines import Line, compare, in_turns
from bench.spark.stage import Stage, by_ranges

TYPED = "rider string, speed double, position int, location_id bigint"
TARGETS = {"const": 0.8, "tuples": 3.0, "redis-server, XRANGE": 2.0, "Forebay, XRANGE": None}


def to_noop_s(frame: DataFrame) -> float:
    """Seconds to read a table and drop it."""
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def cases(stage: Stage, schema: str | None) -> dict[str, DataFrame]:
    """The table read in all ways; the first is the one to judge."""
    forebay, redis = stage.forebay, stage.redis
    ours = stage.read(forebay, schema=schema)
    tasks = ours.rdd.getNumPartitions()
    const = {"rows": stage.plan.entries, "parts": tasks, "schema": ours.schema}
    frames = {
        "Forebay": ours,
        "const": stage.read(forebay, "bench-const", **const),
        "tuples": stage.read(forebay, "bench-tuples", schema=schema),
        "redis-server, XRANGE": stage.read(redis, schema=schema, **by_ranges()),
        "Forebay, XRANGE": stage.read(forebay, schema=schema, **by_ranges()),
    }
    for name, frame in frames.items():
        assert frame.schema == ours.schema, f"{name} has other columns"
        assert frame.rdd.getNumPartitions() == tasks, f"{name} has another number of tasks"
        count = frame.count()
        assert count == stage.plan.entries, f"{name} gives {count} rows"
    return frames


def measure(stage: Stage, title: str, schema: str | None) -> list[Line]:
    """All ways of reading, in turns."""
    for peer in (stage.forebay, stage.redis):
        stage.prepare(peer)
    entries = stage.plan.entries
    runs = {
        name: lambda frame=frame: entries / to_noop_s(frame)
        for name, frame in cases(stage, schema).items()
    }
    samples = stage.samples[title] = in_turns(stage.plan.rounds, runs)
    return compare(title, "rows/s", samples, TARGETS)


def plain(stage: Stage) -> list[Line]:
    """Without a schema: stream, id, timestamp, seq, fields."""
    return measure(stage, "read, plain columns", None)


def typed(stage: Stage) -> list[Line]:
    """Four fields as typed columns."""
    return measure(stage, "read, four typed columns", TYPED)
