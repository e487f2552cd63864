"""Three jobs of the same form: streams, transformations of the rows, sinks.

    process       any transformation, any sinks
    aggregate     windows of event time, closed by a watermark
    quarantine    rows that do not fit the schema to a dead-letter stream, with the reason

Event time: a window is written when the newest time seen is later than its end by more than the
watermark; rows that arrive after that are dropped and counted.  With ``emit = "updates"`` a
window is sent each time it changes, which only a stream can take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from forebay_spark.errors import OptionError
from forebay_spark.pipeline import settings
from forebay_spark.pipeline.flow import BatchFunction, Flow, Settings
from forebay_spark.pipeline.settings import setting
from forebay_spark.pipeline.sinks import Sinks, checkpoint_of
from forebay_spark.pipeline.spec import (
    Job,
    Sink,
    StreamSink,
    Transform,
    refuse_loop,
    sink_reader,
    transform_reader,
    transformed,
)
from forebay_spark.values.entry_columns import EntryColumns, row_schema
from forebay_spark.values.schema import CORRUPT, REASON, SPECIAL

FINAL, UPDATES = "final", "updates"
FIELDS, RAW = "_fields", "_raw"


@dataclass(frozen=True, kw_only=True)
class SinkJob(Job):
    """A job with transformations and sinks."""

    transform: tuple[Transform, ...] = setting(transform_reader, "steps, in order", default=())
    sink: tuple[Sink, ...] = setting(sink_reader, "where the rows go", default=())

    def every_sink(self) -> tuple[Sink, ...]:
        """All sinks, in the order in which they are written."""
        return self.sink

    def check(self) -> None:
        """OptionError for settings that cannot work, as far as known before Spark starts."""
        self.checkpoint_path()
        for sink in self.every_sink():
            refuse_loop(self, sink, "sink")

    def checkpoint_path(self) -> str:
        """Where the progress is kept; OptionError if it is not given, or there is no sink."""
        if not self.every_sink():
            raise OptionError(
                f"The job {self.name} has no sink, so nothing would be kept. Add a [[sink]]."
            )
        return checkpoint_of(self.checkpoint, self.name, self.every_sink())

    def run_flow(
        self,
        spark: SparkSession,
        frame: DataFrame,
        write: Callable[[Sinks | None], BatchFunction],
        output_mode: str = "append",
    ) -> Flow:
        """Start a flow that writes to the sinks."""
        checkpoint = self.checkpoint_path()
        sinks = Sinks(spark, self.sink, checkpoint) if self.sink else None
        common = Settings(self.name, checkpoint, self.trigger, output_mode)
        return Flow(frame, write(sinks), common)


def _all(sinks: Sinks | None) -> BatchFunction:
    assert sinks is not None, "checkpoint_path has seen to it"
    return sinks.write


@dataclass(frozen=True, kw_only=True)
class Process(SinkJob):
    """Streams through transformations to sinks."""

    name: str = setting(settings.text, "name of the job", default="process")

    def start(self, spark: SparkSession) -> Flow:
        """Begin."""
        self.check()
        frame = transformed(self.source.stream(spark), self.transform)
        return self.run_flow(spark, frame, _all)


@dataclass(frozen=True, kw_only=True)
class Aggregate(SinkJob):
    """Windows of event time."""

    name: str = setting(settings.text, "name of the job", default="aggregate")
    time: str | None = setting(
        settings.text, "column of the event time; else the time of the entry", default=None
    )
    window: str = setting(settings.text, "length of a window, as in '1 minute'")
    slide: str | None = setting(settings.text, "start a window this often", default=None)
    watermark: str = setting(settings.text, "how late rows may arrive", default="10 seconds")
    keys: tuple[str, ...] = setting(settings.texts, "columns to group by", default=())
    values: Mapping[str, str] = setting(settings.mapping, "name to SQL, as in {n = 'count(*)'}")
    emit: str = setting(settings.one_of(FINAL, UPDATES), "final or updates", default=FINAL)

    def check(self) -> None:
        """Also: updates may go only to streams; their readers can replace earlier results."""
        super().check()
        if self.emit == UPDATES and any(not isinstance(s, StreamSink) for s in self.sink):
            raise OptionError(
                "Updates of windows can go to a stream only; a lake takes each window once. "
                "Set emit to final, or leave only sinks of kind stream."
            )

    def start(self, spark: SparkSession) -> Flow:
        """Begin."""
        self.check()
        entry = row_schema(self.source.schema)
        rows = transformed(self.source.stream(spark, entry), self.transform)
        frame = self.windows(rows, self.time or EntryColumns(entry).timestamp)
        mode = "append" if self.emit == FINAL else "update"
        return self.run_flow(spark, frame, self._sorted, mode)

    def windows(self, rows: DataFrame, time: str) -> DataFrame:
        """One row per window and keys."""
        for what, column in (("time", time), *(("keys", key) for key in self.keys)):
            if column not in rows.columns:
                raise OptionError(
                    f"aggregate.{what} names the column {column!r}, but there are only "
                    f"{', '.join(rows.columns)}. Correct it, or add a transform that makes it."
                )
        window = F.window(F.col(time), self.window, self.slide)
        groups = rows.withWatermark(time, self.watermark).groupBy(window, *self.keys)
        result = groups.agg(*(F.expr(sql).alias(name) for name, sql in self.values.items()))
        ends = [F.col(f"window.{end}").alias(f"window_{end}") for end in ("start", "end")]
        return result.select(*ends, *self.keys, *self.values)

    def _sorted(self, sinks: Sinks | None) -> BatchFunction:
        """Write windows in their order, also when a batch is repeated; streams need this."""
        write = _all(sinks)
        order = ["window_start", "window_end", *self.keys]
        return lambda frame, batch: write(frame.repartition(1).sortWithinPartitions(*order), batch)


@dataclass(frozen=True, kw_only=True)
class Quarantine(SinkJob):
    """Rows that fit the schema go to the sinks, the others to a dead-letter stream."""

    name: str = setting(settings.text, "name of the job", default="quarantine")
    dead_letter: StreamSink = setting(settings.nested(StreamSink), "where bad rows go")

    def check(self) -> None:
        """Also: a schema is required to judge rows."""
        if self.source.schema is None:
            raise OptionError(
                "A quarantine needs source.schema to tell good rows from bad ones. Add it, as in "
                "schema = 'rider string not null, speed double'."
            )
        refuse_loop(self, self.dead_letter, "dead-letter stream")
        super().check()

    def start(self, spark: SparkSession) -> Flow:
        """Begin."""
        self.check()
        assert self.source.schema is not None, "check has seen to it"
        rows = self.source.stream(spark, judged_schema(self.source.schema))
        frame = judged(rows, row_schema(self.source.schema))
        return self.run_flow(spark, frame, self._split(spark))

    def every_sink(self) -> tuple[Sink, ...]:
        """Bad rows first."""
        return (self.dead_letter, *self.sink)

    def _split(self, spark: SparkSession) -> Callable[[Sinks | None], BatchFunction]:
        bad_sinks = Sinks(spark, (self.dead_letter,), self.checkpoint_path())

        def make(good_sinks: Sinks | None) -> BatchFunction:
            def write(frame: DataFrame, batch: int) -> None:
                frame = frame.persist()
                try:
                    bad_sinks.write(dead_letters(frame), batch)
                    if good_sinks is not None:
                        good = frame.where(F.col(REASON).isNull()).drop(
                            FIELDS, RAW, CORRUPT, REASON
                        )
                        good_sinks.write(transformed(good, self.transform), batch)
                finally:
                    frame.unpersist()

            return write

        return make


def judged_schema(schema: str) -> StructType:
    """A schema with the columns that say what did not fit, and without "not null".

    Spark trusts a "not null" in a schema, and would break on exactly the rows that a quarantine
    is for.  ``judged`` checks those columns instead.
    """
    entry = [StructField(field.name, field.dataType) for field in row_schema(schema)]
    names = [field.name for field in entry]
    told = [n for n in (FIELDS, RAW, CORRUPT, REASON) if n in SPECIAL and n not in names]
    return StructType([*entry, *(StructField(n, SPECIAL[n]) for n in told)])


def judged(rows: DataFrame, entry: StructType) -> DataFrame:
    """Rows, with a reason also for those that lack a required field."""
    lacking = [
        F.when(F.col(f"`{field.name}`").isNull(), F.lit(f"{field.name}: missing"))
        for field in entry
        if not field.nullable
    ]
    return rows.withColumn(REASON, F.coalesce(F.col(REASON), *lacking))


def dead_letters(frame: DataFrame) -> DataFrame:
    """The bad rows in a form for a person, or for a program that corrects them.

    ``payload`` is JSON, for a person.  JSON has no bytes and no repeated names; if an entry has
    such things, ``original`` has it exactly: names and values, alternating, each in base64.
    """
    bad = frame.where(F.col(REASON).isNotNull())
    return bad.select(
        F.col("_stream").alias("source_stream"),
        F.col("_id").alias("source_id"),
        F.col(REASON).alias("reason"),
        F.to_json(F.col(FIELDS)).alias("payload"),
        *([_original().alias("original")] if RAW in frame.columns else []),
    )


def _original() -> Column:
    """The entry as it came, null if the payload has it exactly; ``_raw`` is from exact.py."""

    def pair(field: Column) -> Column:
        text = F.try_element_at(F.col(FIELDS), field["name"].cast("string"))
        value = F.coalesce(field["value"], text.cast("binary"))
        return F.array(F.base64(field["name"]), F.base64(value))

    return F.to_json(F.flatten(F.transform(F.col(RAW), pair)))
