"""Batch reads to Spark's noop sink: rows a second, compared with four other ways.

    Forebay   const           the same columns, ready-made: the ceiling of the transport
              tuples          the same entries as Python tuples, as a simple source would do it
              redis XRANGE    the same connector on redis-server
              XRANGE          the same connector on Forebay, without the server's help

Forebay is compared with the ceiling twice: in a session of ours, whose JVM and workers talk over
Unix sockets, and in one with Spark's default, TCP, where both are slower.

Only the job is timed, not the creation of the table.  The warm-up counts the rows of every case.
"""

from __future__ import annotations

import time
from statistics import median

from pyspark.sql import DataFrame

from bench.peers import Peer
from bench.spark.cpu import Usage, usage
from bench.spark.lines import Line, compare, in_turns, warm_in_turns
from bench.spark.stage import Stage
from forebay_spark.runtime.worker_sockets import ENABLED

TYPED = "rider string, speed double, position int, location_id bigint"
#: A read takes a second and so does the ceiling: by three rounds their ratio is right to a
#: twelfth only, and its goal is nearer than that.
MORE_ROUNDS = 12
CLOSE = ("Forebay", "const")
CEILING = {"const": 0.88}
TARGETS = CEILING | {
    "tuples": 3.0,
    "redis-server, XRANGE": 2.0,
    "Forebay, XRANGE": None,
}


def to_noop_s(frame: DataFrame) -> float:
    """Seconds to read a table and drop it."""
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


class Case:
    """One way to read the bench's stream."""

    def __init__(self, stage: Stage, frame: DataFrame, server: Peer) -> None:
        self.frame = frame
        self._stage = stage
        self._server = server
        self._usages: list[Usage] = []

    def rate(self) -> float:
        """Rows a second of one read; the CPU time is kept."""
        rows, before = self._stage.plan.entries, usage(self._stage.jvm_pid, self._server)
        rate = rows / to_noop_s(self.frame)
        after = usage(self._stage.jvm_pid, self._server)
        self._usages.append(after.per_row_us(before, rows))
        return rate

    @property
    def usage(self) -> Usage:
        """Medians of all reads but the first."""
        return Usage(*map(median, zip(*self._usages[1:], strict=True)))


def cases(stage: Stage, schema: str | None) -> dict[str, Case]:
    """The table read in all ways, each checked; the first is the one to judge."""
    forebay, redis = stage.forebay, stage.redis
    ours = stage.read(forebay, schema=schema)
    tasks = ours.rdd.getNumPartitions()
    frames = {
        "Forebay": (ours, forebay),
        "const": (ready_made(stage, ours), forebay),
        "tuples": (stage.read(forebay, "bench-tuples", schema=schema), forebay),
        "redis-server, XRANGE": (stage.read(redis, schema=schema, fetch="range"), redis),
        "Forebay, XRANGE": (stage.read(forebay, schema=schema, fetch="range"), forebay),
    }
    for name, (frame, _) in frames.items():
        assert frame.schema == ours.schema, f"{name} has other columns"
        assert frame.rdd.getNumPartitions() == tasks, f"{name} has another number of tasks"
        count = frame.count()
        assert count == stage.plan.entries, f"{name} gives {count} rows"
    return {name: Case(stage, frame, server) for name, (frame, server) in frames.items()}


def ready_made(stage: Stage, like: DataFrame) -> DataFrame:
    """A table with the same columns, rows and tasks, which no server has."""
    options = {"rows": stage.plan.entries, "parts": like.rdd.getNumPartitions()}
    return stage.read(stage.forebay, "bench-const", **options, schema=like.schema)


def over_tcp(stage: Stage, schema: str | None) -> dict[str, list[float]]:
    """The rates of our table and of its ceiling in a session as Spark has it by default."""
    with stage.other_session(**{ENABLED: "false"}):
        ours = stage.read(stage.forebay, schema=schema)
        frames = {"Forebay": ours, "const": ready_made(stage, ours)}
        ways = {name: Case(stage, frame, stage.forebay) for name, frame in frames.items()}
        rounds = stage.plan.rounds + MORE_ROUNDS
        return warm_in_turns(rounds, {name: way.rate for name, way in ways.items()})


def measure(stage: Stage, title: str, schema: str | None) -> list[Line]:
    """All ways of reading, in turns."""
    for peer in (stage.forebay, stage.redis):
        stage.prepare(peer)
    ways = cases(stage, schema)
    samples = warm_in_turns(stage.plan.rounds, {name: way.rate for name, way in ways.items()})
    for name, more in in_turns(MORE_ROUNDS, {name: ways[name].rate for name in CLOSE}).items():
        samples[name] += more
    stage.samples[title] = samples
    stage.cpu_us[title] = {name: way.usage._asdict() for name, way in ways.items()}
    show_cpu(title, {name: way.usage for name, way in ways.items()})
    by_default = stage.samples[f"{title}, TCP"] = over_tcp(stage, schema)
    return [
        *compare(title, "rows/s", samples, TARGETS),
        *compare(f"{title}, TCP", "rows/s", by_default, CEILING),
    ]


def show_cpu(title: str, ways: dict[str, Usage]) -> None:
    """Show how the CPU time of a row is split."""
    print(f"\n{title}: CPU microseconds per row")
    print(f"  {'':24}" + "".join(f"{name:>10}" for name in (*Usage._fields, "all")))
    for name, used in ways.items():
        print(f"  {name:24}" + "".join(f"{figure:10.3f}" for figure in (*used, sum(used))))


def plain(stage: Stage) -> list[Line]:
    """Without a schema: stream, id, timestamp, seq, fields."""
    return measure(stage, "read, plain columns", None)


def typed(stage: Stage) -> list[Line]:
    """Four fields as typed columns."""
    return measure(stage, "read, four typed columns", TYPED)
