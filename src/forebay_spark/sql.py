"""``forebay sql``: a query over streams and lakes, and its result as text.

tables     entries            all streams that were asked for, hot and cold
           <stream>           one of them; what is not a letter or digit is _
           <name>             a lake of results, as --table name=path
results    a table for a person, CSV or JSON lines for a program
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, TextIO

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from forebay_spark.errors import OptionError
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import Lake
from forebay_spark.one_table import DEFAULT_URL, Moment, table

ENTRIES = "entries"
TABLE, CSV, JSON = "table", "csv", "json"
WIDEST_CELL = 60

Row = Sequence[Any]


def name_of(stream: str) -> str:
    """The name of a stream's table in SQL."""
    name = re.sub(r"\W", "_", stream)
    return f"_{name}" if name[:1].isdigit() else name


def open_tables(
    spark: SparkSession,
    *,
    streams: Sequence[str] = (),
    lake: str | None = None,
    url: str = DEFAULT_URL,
    pattern: str | None = None,
    schema: str | None = None,
    since: Moment = None,
    until: Moment = None,
    options: Mapping[str, str] | None = None,
) -> list[str]:
    """Make the tables that a query may use; their names."""
    if lake is not None and not Lake(lake).snapshot().about.is_archive:
        open_lake(spark, ENTRIES, lake)
        return [ENTRIES]
    frame = table(
        spark,
        streams,
        lake=lake,
        url=url,
        pattern=pattern,
        schema=schema,
        since=since,
        until=until,
        options=options,
    )
    frame.createOrReplaceTempView(ENTRIES)
    column = "stream" if "stream" in frame.columns else "_stream"
    known = [*streams, *(Lake(lake).snapshot().cuts if lake else ())]
    for stream in dict.fromkeys(known):
        frame.where(F.col(column) == stream).createOrReplaceTempView(name_of(stream))
    return [ENTRIES, *dict.fromkeys(map(name_of, known))]


def open_lake(spark: SparkSession, name: str, path: str) -> None:
    """A lake as a table of its own, as it is on disk."""
    frame_of(spark, Lake(path).snapshot()).createOrReplaceTempView(name)


def write_result(frame: DataFrame, kind: str, out: TextIO, most_rows: int) -> int:
    """Write a result; how many rows were written.  What is no query has nothing to write."""
    if not frame.columns:
        return 0
    rows = frame.toLocalIterator()
    if kind == CSV:
        return write_csv(frame.columns, rows, out)
    if kind == JSON:
        return write_json(frame.columns, rows, out)
    if kind != TABLE:
        raise OptionError(f"A result cannot be written as {kind!r}. Say table, csv or json.")
    shown = list(islice(rows, most_rows + 1))
    out.write(render(frame.columns, shown[:most_rows]))
    if len(shown) > most_rows:
        out.write(f"only the first {most_rows} rows; --format csv or json gives all\n")
    return min(len(shown), most_rows)


def write_csv(columns: Sequence[str], rows: Iterable[Row], out: TextIO) -> int:
    """Comma-separated values with a head; null is empty."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    total = 0
    for row in rows:
        writer.writerow("" if value is None else text(value) for value in row)
        total += 1
    return total


def write_json(columns: Sequence[str], rows: Iterable[Row], out: TextIO) -> int:
    """One object a line."""
    total = 0
    for row in rows:
        record = dict(zip(columns, map(plain, row), strict=True))
        out.write(json.dumps(record, ensure_ascii=False) + "\n")
        total += 1
    return total


def plain(value: Any) -> Any:
    """A value of Spark as JSON knows it."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if hasattr(value, "asDict"):
        return plain(value.asDict())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def text(value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return "null"
    known = plain(value)
    return known if isinstance(known, str) else json.dumps(known, ensure_ascii=False)


def render(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table with aligned columns; numbers stand to the right."""
    cells = [[_short(text(value)) for value in row] for row in rows]
    widths = [max(len(line[at]) for line in [list(columns), *cells]) for at in range(len(columns))]
    right = [
        bool(rows) and all(isinstance(row[at], int | float | Decimal) for row in rows)
        for at in range(len(columns))
    ]
    lines = [_line(list(columns), widths, right), "  ".join("-" * width for width in widths)]
    lines += [_line(line, widths, right) for line in cells]
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return "\n".join([*lines, f"({count})", ""])


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    return "  ".join(_aligned(cells, widths, right)).rstrip()


def _aligned(cells: list[str], widths: list[int], right: list[bool]) -> Iterator[str]:
    for cell, width, to_the_right in zip(cells, widths, right, strict=True):
        yield cell.rjust(width) if to_the_right else cell.ljust(width)


def _short(cell: str) -> str:
    line = cell.replace("\n", "\\n")
    return line if len(line) <= WIDEST_CELL else line[: WIDEST_CELL - 1] + "…"
