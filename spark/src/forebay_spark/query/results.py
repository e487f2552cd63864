"""Rows as text: a table for a person, CSV or JSON lines for a program.

Nothing is rounded, and different values never look the same:

    decimal          its own digits, 2.50 and not 2.5; in JSON a number
    NaN, infinity    NaN, Infinity, -Infinity; in JSON as strings, since JSON has no such numbers
    timestamp        ISO 8601 in UTC with its zone, 2026-11-16T12:00:00+00:00
    timestamp_ntz    the same without a zone, because it has none
    binary           base64, as Spark's own to_json writes it
    map, struct      a JSON object; list: a JSON array
    null             in CSV nothing at all; an empty text is "" there; in JSON null

Spark passes a timestamp in the zone of this process, without the zone: only the type of the column
distinguishes it from a timestamp that has no zone.  So values are read by their types.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import islice
from struct import pack
from typing import Any, NamedTuple, TextIO

from pyspark.sql.types import (
    ArrayType,
    DataType,
    FloatType,
    MapType,
    StructType,
    TimestampType,
)

from forebay_spark.errors import OptionError

TABLE, CSV, JSON = "table", "csv", "json"
FORMATS = (TABLE, CSV, JSON)
WIDEST_CELL = 60

Row = Sequence[Any]
Read = Callable[[Any], Any]


class Number(NamedTuple):
    """A number with its exact digits, which a float would not keep."""

    digits: str


def reader_of(kind: DataType | None) -> Read:
    """How a value of a column becomes text, number, list or dictionary."""
    if isinstance(kind, TimestampType):
        return _in_utc
    if isinstance(kind, FloatType):
        return _single
    if isinstance(kind, ArrayType):
        return _list_reader(reader_of(kind.elementType))
    if isinstance(kind, MapType):
        return _map_reader(reader_of(kind.keyType), reader_of(kind.valueType))
    if isinstance(kind, StructType):
        return _struct_reader(kind.names, [reader_of(field.dataType) for field in kind])
    return plain


def _in_utc(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).isoformat()


def _single(value: float | None) -> Any:
    """A 32-bit number with as few digits as possible: 0.1 and not 0.10000000149011612."""
    if value is None or not math.isfinite(value):
        return plain(value)
    exact = pack("f", value)
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 9))
    return next((number for number in shorter if pack("f", number) == exact), value)


def _list_reader(read: Read) -> Read:
    return lambda value: None if value is None else [read(inner) for inner in value]


def _map_reader(key: Read, read: Read) -> Read:
    return lambda value: (
        None if value is None else {text(key(name)): read(inner) for name, inner in value.items()}
    )


def _struct_reader(names: Sequence[str], reads: Sequence[Read]) -> Read:
    def read(value: Row | None) -> Any:
        if value is None:
            return None
        return {n: read(v) for n, read, v in zip(names, reads, value, strict=True)}

    return read


def plain(value: Any) -> Any:
    """A value without its type: a JSON value, or a number with its digits."""
    if isinstance(value, Decimal):
        return Number(format(value, "f"))
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return {text(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int) else str(value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def json_text(value: Any) -> str:
    """A value from a reader, as JSON."""
    if isinstance(value, Number):
        return value.digits
    if isinstance(value, dict):
        return json_object(value, value.values())
    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    return json.dumps(value, ensure_ascii=False)


def json_object(names: Iterable[str], values: Iterable[Any]) -> str:
    """An object; two columns of one name are both written."""
    pairs = zip(names, values, strict=True)
    return f"{{{', '.join(f'{json_text(name)}: {json_text(value)}' for name, value in pairs)}}}"


def text(value: Any) -> str:
    """A value from a reader, as text for a person."""
    if isinstance(value, str):
        return value
    return json_text(value)


class Result(NamedTuple):
    """Rows with the names and, if known, the types of their columns."""

    columns: Sequence[str]
    rows: Iterable[Row]
    kinds: Sequence[DataType | None] | None = None

    def read(self) -> Iterator[list[Any]]:
        """The rows as values of JSON."""
        reads = [reader_of(kind) for kind in self.kinds or [None] * len(self.columns)]
        for row in self.rows:
            yield [read(value) for read, value in zip(reads, row, strict=True)]


def write_result(result: Result, kind: str, out: TextIO, most_rows: int) -> int:
    """Write a result; return the number of rows written."""
    if kind == CSV:
        return write_csv(result, out)
    if kind == JSON:
        return write_json(result, out)
    if kind != TABLE:
        raise OptionError(f"A result cannot be written as {kind!r}. Use table, csv or json.")
    shown = list(islice(result.read(), most_rows + 1))
    out.write(render(result.columns, shown[:most_rows]))
    if len(shown) > most_rows:
        out.write(f"only the first {most_rows} rows; --format csv or json gives all\n")
    return min(len(shown), most_rows)


def write_csv(result: Result, out: TextIO) -> int:
    """Comma-separated values with a header line."""
    out.write(",".join(map(_csv_cell, result.columns)) + "\n")
    total = 0
    for total, row in enumerate(result.read(), 1):  # noqa: B007
        out.write(",".join("" if value is None else _csv_cell(text(value)) for value in row) + "\n")
    return total


def _csv_cell(cell: str) -> str:
    """Quoted if necessary; an empty text is quoted too, to distinguish it from null."""
    if cell and not any(mark in cell for mark in ',"\r\n'):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def write_json(result: Result, out: TextIO) -> int:
    """One object a line."""
    total = 0
    for total, row in enumerate(result.read(), 1):  # noqa: B007
        out.write(json_object(result.columns, row) + "\n")
    return total


def render(columns: Sequence[str], rows: Sequence[Row], widest: int | None = WIDEST_CELL) -> str:
    """A table with aligned columns; numbers are right-aligned.

    A single text of several lines is a text and not a table: EXPLAIN is printed as it is.
    Long cells are cut, unless the table has only one column.
    """
    cells = [[text(value) for value in row] for row in rows]
    if len(cells) == 1 and len(columns) == 1 and "\n" in cells[0][0]:
        return cells[0][0].rstrip("\n") + "\n"
    most = widest if len(columns) > 1 else None
    cells = [[_short(cell, most) for cell in line] for line in cells]
    widths = [max(len(line[at]) for line in [list(columns), *cells]) for at in range(len(columns))]
    right = [
        bool(rows) and all(isinstance(row[at], int | float | Number) for row in rows)
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


def _short(cell: str, widest: int | None) -> str:
    line = cell.replace("\n", "\\n")
    return line if widest is None or len(line) <= widest else line[: widest - 1] + "…"
