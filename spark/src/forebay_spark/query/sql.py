"""``forebay sql``: which tables a query may use, and running it.

    entries            all chosen streams, hot and cold
    `<stream>`         one of them by its exact name, in backticks if it is not a plain word
    <stream_name>      the easy name: _ for each character that is not a letter or digit; if two
                       streams would share one, neither has it
    <name>             a lake of results, as --table name=path

Names are not case-sensitive, as in Spark.  A stream called ``entries`` among others is the table
`stream:entries`.  Streams that differ only in case have no table of their own; use
``entries WHERE stream = '...'`` to distinguish them.

Tables show the time at which they were opened.  ``Asked.check`` finds mistakes without Spark, so a
typing error costs no start of Java.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TextIO

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    VariantType,
    YearMonthIntervalType,
)

from forebay_spark.errors import OptionError
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import Lake
from forebay_spark.moments import moment_ms
from forebay_spark.options import BATCH, DEFAULT_URL, read_options
from forebay_spark.query import results
from forebay_spark.query.table import Moment, table
from forebay_spark.servers import glob, state
from forebay_spark.servers.connect import Server

ENTRIES = "entries"
#: A pattern may match very many streams; with more than this, only ``entries`` has them.
MOST_TABLES = 500
MOST_NAMED = 20
#: Python has no value for these; Spark writes them as text.
AS_TEXT = (CalendarIntervalType, DayTimeIntervalType, YearMonthIntervalType, VariantType)


class Asked(NamedTuple):
    """Which tables a query may use.  Without ``url`` no server is asked: the lake alone."""

    streams: Sequence[str] = ()
    lake: str | None = None
    url: str | None = None
    pattern: str | None = None
    schema: str | None = None
    since: Moment = None
    until: Moment = None
    options: Mapping[str, str] = {}
    results: Mapping[str, str] = {}
    as_of: str | None = None
    version: int | None = None

    @property
    def has_entries(self) -> bool:
        """Whether streams are asked for, not only results."""
        return bool(self.lake or self.streams or self.pattern)

    def travel(self) -> dict[str, Any]:
        """Which state of the lake, if the user chose one."""
        given = {"as_of": self.as_of, "version": self.version}
        return {name: value for name, value in given.items() if value is not None}

    def check(self) -> list[str]:
        """The streams on the server; OptionError or ServerError if something is wrong."""
        named = {"--since": self.since, "--until": self.until, "--as-of": self.as_of}
        for name, moment in named.items():
            if moment is not None:
                moment_ms(str(moment), name)
        if self.travel() and self.lake is None:
            raise OptionError("--as-of and --version are for a lake. Name it with --lake.")
        if ENTRIES in map(str.lower, self.results) and self.has_entries:
            raise OptionError(
                f"The table {ENTRIES} is that of all streams. Give --table another name."
            )
        for path in self.results.values():
            Lake(path).snapshot()
        if self.lake is not None:
            Lake(self.lake).snapshot(**self.travel())
        return self._on_server() if self.has_entries and self.url is not None else []

    def _on_server(self) -> list[str]:
        assert self.url is not None
        options = read_options({"url": self.url, **self.options, "streams": "any"}, BATCH)
        with closing(Server(options)) as server:
            found = list(state.fetch_all(server, self.streams))
            missing = [name for name in self.streams if name not in found]
            if missing and self.lake is None:
                raise OptionError(
                    f"There is no stream {missing[0]!r} on the server at {server.where}. "
                    "Correct its name."
                )
            if self.pattern is not None:
                found += state.discover(server, self.pattern)
            elif not self.streams:
                server.link("").call("PING")
        return list(dict.fromkeys(found))


def easy_name(stream: str) -> str:
    """A name that SQL can use without backticks."""
    name = re.sub(r"\W", "_", stream)
    return f"_{name}" if name[:1].isdigit() else name


def quoted(name: str) -> str:
    """A quoted name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def names_of(streams: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """The tables of streams: table name -> stream."""
    known = list(dict.fromkeys(streams))
    reserved = {name.lower() for name in (ENTRIES, *taken)}
    exact = Counter(stream.lower() for stream in known)
    named: dict[str, str] = {}
    for stream in known:
        name = f"stream:{stream}" if stream.lower() in reserved else stream
        if exact[stream.lower()] == 1 and (name == stream or name.lower() not in exact):
            named[name] = stream
    used = {*reserved, *exact, *(name.lower() for name in named)}
    easy = Counter(easy_name(stream).lower() for stream in known)
    for stream in known:
        name = easy_name(stream)
        if easy[name.lower()] == 1 and name.lower() not in used:
            named[name] = stream
    return named


def open_tables(spark: SparkSession, asked: Asked, on_server: Sequence[str] = ()) -> dict[str, str]:
    """Create the tables that a query may use: table name -> description."""
    told = {}
    for name, path in asked.results.items():
        open_lake(spark, name, path)
        told[name] = f"results in {path}"
    if not asked.has_entries:
        return told
    if asked.lake is not None and not Lake(asked.lake).snapshot().about.is_archive:
        open_lake(spark, ENTRIES, asked.lake)
        return {ENTRIES: f"results in {asked.lake}", **told}
    streams = list(dict.fromkeys([*asked.streams, *on_server, *_in_lake(asked)]))
    named = names_of(streams, asked.results) if len(streams) <= MOST_TABLES else {}
    what = "entries of all streams" if len(streams) != 1 else f"entries of {streams[0]}"
    frame = _entries(spark, asked)
    frame.createOrReplaceTempView(ENTRIES)
    for name, stream in named.items():
        rows = frame.where(F.col(_stream_column(frame)) == stream)
        rows.createOrReplaceTempView(quoted(name))
    return {ENTRIES: what, **{n: f"entries of {s}" for n, s in named.items()}, **told}


def _entries(spark: SparkSession, asked: Asked) -> DataFrame:
    return table(
        spark,
        asked.streams,
        lake=asked.lake,
        url=asked.url if asked.lake is not None else asked.url or DEFAULT_URL,
        pattern=asked.pattern,
        schema=asked.schema,
        since=asked.since,
        until=asked.until,
        options=asked.options,
        **asked.travel(),
    )


def _stream_column(frame: DataFrame) -> str:
    return "stream" if "stream" in frame.columns else "_stream"


def _in_lake(asked: Asked) -> list[str]:
    """The chosen streams of the lake."""
    known = sorted(Lake(asked.lake).snapshot().cuts) if asked.lake else []
    if not asked.streams and asked.pattern is None:
        return known
    return [s for s in known if s in asked.streams or _matches(asked.pattern, s)]


def _matches(pattern: str | None, stream: str) -> bool:
    return pattern is not None and glob.matches(pattern, stream)


def open_lake(spark: SparkSession, name: str, path: str) -> None:
    """A lake as its own table, as it is on disk."""
    frame_of(spark, Lake(path).snapshot()).createOrReplaceTempView(quoted(name))


class Tables:
    """The tables of one session, and statements over them."""

    def __init__(self, spark: SparkSession, asked: Asked, on_server: Sequence[str] = ()) -> None:
        self._spark = spark
        self._asked = asked
        #: Table name -> description.
        self.opened = open_tables(spark, asked, on_server)
        self._has_written = False

    def refresh(self) -> None:
        """Open the tables again, with the current data."""
        self.opened = open_tables(self._spark, self._asked, self._asked.check())

    def execute(self, statement: str, kind: str, out: TextIO, most_rows: int) -> None:
        """Run a statement and write its result, separated from the previous one."""
        try:
            frame = self._spark.sql(statement)
            if frame.columns and self._has_written and kind != results.JSON:
                out.write("\n")
            self._has_written |= bool(frame.columns)
            write(frame, kind, out, most_rows)
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                raise
            name = (error.getMessageParameters() or {}).get("relationName", "of this name")
            raise OptionError(f"There is no table {name}. {self._there_are()}") from error

    def _there_are(self) -> str:
        names = [name if name == easy_name(name) else quoted(name) for name in self.opened]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"There are: {', '.join(names[:MOST_NAMED]) or 'none'}{more}."


def write(frame: DataFrame, kind: str, out: TextIO, most_rows: int) -> None:
    """Write the result of a statement.  Only queries have one."""
    if not frame.columns:
        return
    columns, kinds = frame.columns, [field.dataType for field in frame.schema]
    rows = _as_python_knows(frame, kinds).toLocalIterator()
    results.write_result(results.Result(columns, rows, kinds), kind, out, most_rows)


def _as_python_knows(frame: DataFrame, kinds: Sequence[DataType]) -> DataFrame:
    if not any(isinstance(kind, AS_TEXT) for kind in kinds):
        return frame
    # Two columns may have one name, so they are numbered first.
    names = [str(at) for at in range(len(kinds))]
    columns = [
        F.col(name).cast("string") if isinstance(kind, AS_TEXT) else F.col(name)
        for name, kind in zip(names, kinds, strict=True)
    ]
    return frame.toDF(*names).select(*columns)
