"""The parts of jobs: where rows come from, what happens to them, where they go.

    Source --> Transform --> ... --> Sink, Sink ...

These are plain values: created in Python, or filled from a file by ``settings.build``.  sinks.py
writes batches to sinks; this file only says what a user may ask for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from forebay_spark.errors import ConnectorError, OptionError
from forebay_spark.options import (
    DEFAULT_URL,
    LONG_RETRY,
    STREAM,
    WRITE,
    Options,
    read_options,
)
from forebay_spark.pipeline import settings
from forebay_spark.pipeline.flow import AVAILABLE_NOW, trigger_of
from forebay_spark.pipeline.settings import Reader, build, setting
from forebay_spark.runtime.start_race import settle
from forebay_spark.servers import state
from forebay_spark.servers.connect import parse_url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

INPUT = "input"
WAIT = "how long to wait for the server if it is away; or forever"
ACCESS = ("url", "user", "password", "timeoutseconds")


@dataclass(frozen=True)
class Source:
    """Streams to read."""

    streams: tuple[str, ...] = setting(settings.texts, "names of streams", default=())
    pattern: str | None = setting(settings.text, "glob of names of streams", default=None)
    url: str = setting(settings.text, "the server", default=DEFAULT_URL)
    schema: str | None = setting(settings.text, "fields and their types, as DDL", default=None)
    start: str = setting(settings.text, "earliest, latest or JSON", default="earliest")
    group: str | None = setting(settings.text, "group that mirrors the progress", default=None)
    fail_on_data_loss: bool = setting(settings.boolean, "stop if entries are gone", default=True)
    retry_for: str | None = setting(settings.text, WAIT, default=None)
    options: Mapping[str, str] = setting(
        settings.mapping, "further options of the connector", default_factory=dict
    )

    def texts(self) -> dict[str, str]:
        """The options of the connector for this source."""
        named = {
            "url": self.url,
            "streams": ",".join(self.streams),
            "streamsPattern": self.pattern or "",
            "group": self.group or "",
            "failOnDataLoss": str(self.fail_on_data_loss).lower(),
            "retryFor": self.retry_for or "",
        }
        return {**{name: value for name, value in named.items() if value}, **self.options}

    def access(self) -> dict[str, str]:
        """How to reach the server, for code that writes to it besides Spark."""
        return {name: v for name, v in self.texts().items() if name.lower() in ACCESS}

    def checked(self) -> Options:
        """The options, read by the connector itself; OptionError says what is wrong."""
        return read_options({**self.texts(), "startingOffsets": self.start}, STREAM)

    def reads(self, stream: str) -> bool:
        """Whether a stream of this name is among those to read."""
        return state.is_read(self.checked(), stream)

    def stream(
        self, spark: SparkSession, schema: StructType | None = None, start: str | None = None
    ) -> DataFrame:
        """The endless table of entries; ``start`` may name streams that are not read here."""
        self.checked()
        settle(spark)
        reader = spark.readStream.format("forebay").options(**self.texts())
        reader = reader.option("startingOffsets", self._own(start) or self.start)
        wanted = schema if schema is not None else self.schema
        return (reader if wanted is None else reader.schema(wanted)).load()

    def _own(self, start: str | None) -> str | None:
        """Starting offsets without those of streams that other jobs read; None if none is left."""
        if start is None or not start.startswith("{"):
            return start
        options, given = self.checked(), json.loads(start)
        own = {stream: at for stream, at in given.items() if state.is_read(options, stream)}
        return offsets_json(own) if own else None


@dataclass(frozen=True)
class Transform:
    """One step: Spark SQL over the table ``input``, or a Python function of a DataFrame."""

    sql: str | None = setting(settings.text, "a query over the table input", default=None)
    function: str | None = setting(settings.text, "module:function", default=None)

    def __post_init__(self) -> None:
        if (self.sql is None) == (self.function is None):
            raise OptionError("A transform is either sql or function. Give one of the two.")

    def apply(self, frame: DataFrame) -> DataFrame:
        """The table after this step."""
        if self.sql is not None:
            frame.createOrReplaceTempView(INPUT)
            return frame.sparkSession.sql(self.sql)
        function = function_of(self.function or "")
        try:
            result: DataFrame = function(frame)
        except Exception as error:
            raise self._failed(error) from error
        return result

    def _failed(self, error: Exception) -> Exception:
        """An error in the user's own code, with its line."""
        if isinstance(error, ConnectorError | PySparkException):
            return error
        last = extract_tb(error.__traceback__)[-1]
        return OptionError(
            f"The function {self.function!r} failed at line {last.lineno} of {last.filename}: "
            f"{type(error).__name__}: {error}. Correct it."
        )


def function_of(text: str) -> Any:
    """The function that ``module:function`` names; OptionError if there is none."""
    module, _, name = text.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise OptionError(
            f"The function {text!r} cannot be found. Write module:function, and put "
            "the module where Python finds it (PYTHONPATH, or --py-files on a cluster)."
        ) from None


@dataclass(frozen=True)
class LakeSink:
    """Rows go to files of a lake, each once."""

    path: str = setting(settings.text, "the folder or URL of the lake")
    partitions: tuple[str, ...] = setting(settings.texts, "columns to split by", default=())
    options: Mapping[str, str] = setting(
        settings.mapping, "keys and endpoints of an object store", default_factory=dict
    )


@dataclass(frozen=True)
class StreamSink:
    """Rows become entries of a stream."""

    stream: str | None = setting(settings.text, "the stream; or a column stream", default=None)
    url: str = setting(settings.text, "the server", default=DEFAULT_URL)
    retry_for: str = setting(
        settings.text,
        "how long to wait for the server if it is away; or forever",
        default=LONG_RETRY,
    )
    options: Mapping[str, str] = setting(
        settings.mapping, "further options of the connector", default_factory=dict
    )

    def texts(self) -> dict[str, str]:
        """The options of the connector for this sink."""
        named = {"url": self.url, "stream": self.stream or "", "retryFor": self.retry_for}
        return {**{name: value for name, value in named.items() if value}, **self.options}

    def __post_init__(self) -> None:
        read_options(self.texts(), WRITE)


@dataclass(frozen=True)
class FormatSink:
    """Rows go to another format of Spark, with the guarantees of that format."""

    format: str = setting(settings.text, "a format whose jar Spark has")
    path: str | None = setting(settings.text, "where to", default=None)
    options: Mapping[str, str] = setting(settings.mapping, "its options", default_factory=dict)


Sink = LakeSink | StreamSink | FormatSink

SINKS: dict[str, type[Sink]] = {"lake": LakeSink, "stream": StreamSink, "format": FormatSink}


def sink(value: object, where: str) -> Sink:
    """A sink from a table of settings with a ``kind``."""
    if isinstance(value, Sink):
        return value
    kinds = settings.one_of(*SINKS)
    given = dict(value) if isinstance(value, Mapping) else {}
    kind = kinds(given.pop("kind", None), f"{where}.kind")
    return build(SINKS[kind], given, where)


source_reader: Reader[Source] = settings.nested(Source)
transform_reader: Reader[tuple[Transform, ...]] = settings.each(settings.nested(Transform))
sink_reader: Reader[tuple[Sink, ...]] = settings.each(sink)


def _trigger(value: object, where: str) -> str:
    trigger_of(settings.text(value, where))
    return str(value)


@dataclass(frozen=True, kw_only=True)
class Job:
    """The settings of every job on streams."""

    source: Source = setting(source_reader, "the streams to read")
    name: str = setting(settings.text, "name of the job")
    trigger: str = setting(_trigger, "'available now' or an interval", default=AVAILABLE_NOW)
    checkpoint: str | None = setting(settings.text, "where Spark keeps its progress", default=None)


def refuse_loop(job: Job, sink: Sink, what: str) -> None:
    """OptionError if a sink writes to a stream that the job itself reads."""
    if not isinstance(sink, StreamSink) or sink.stream is None or not _same_server(job, sink):
        return
    if job.source.reads(sink.stream):
        chosen = f"pattern {job.source.pattern!r}" if job.source.pattern else "streams"
        raise OptionError(
            f"The job {job.name} would read what it writes, for ever: its {what} "
            f"{sink.stream!r} is one of the {chosen} of its source. Write to another stream, or "
            "leave that one out of the source."
        )


def _same_server(job: Job, sink: StreamSink) -> bool:
    """Whether two URLs name the same server, for any user; two names of a host count as two."""
    ours, theirs = parse_url(job.source.checked().url), parse_url(sink.texts()["url"])
    return (set(ours.hosts), ours.path or ("0",)) == (set(theirs.hosts), theirs.path or ("0",))


def transformed(frame: DataFrame, steps: tuple[Transform, ...]) -> DataFrame:
    """The table after all steps."""
    for step in steps:
        frame = step.apply(frame)
    return frame


def offsets_json(starts: Mapping[str, str]) -> str:
    """Starting offsets of some streams in the form that the connector takes."""
    return json.dumps(dict(starts))
