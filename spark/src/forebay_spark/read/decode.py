"""Pages to Arrow record batches that Spark takes as they are.

The Arrow schema must be Spark's own for the columns, to the letter (microseconds,
UTC, plain strings), or Spark refuses the batch.  ``mode`` says what happens to an
entry with a field that does not fit, with the words of Spark's own readers:

    PERMISSIVE      the field is null; _corrupt and _reason say why, if the schema has them
    DROPMALFORMED   the entry is left out
    FAILFAST        the query fails and names the entry
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from forebay_spark.errors import MalformedError
from forebay_spark.options import Options
from forebay_spark.read.pages import Page
from forebay_spark.values import exact, payloads
from forebay_spark.values.exact import Read
from forebay_spark.values.nested import Converter
from forebay_spark.values.pairs import decoded
from forebay_spark.values.ready import same
from forebay_spark.values.schema import (
    CORRUPT,
    FIELDS,
    RAW,
    REASON,
    REST,
    SPECIAL,
    Column,
    columns_of,
)

FAILFAST = "FAILFAST"
_SIGNED_MAX = 2**63 - 1
_SHOWN_CHARACTERS = 60


class Decoder:
    """Turns pages of one stream into record batches of one schema."""

    def __init__(self, schema: StructType, options: Options) -> None:
        self._columns = columns_of(schema)
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        self._mode = options.mode
        self._timestamp_format = options.timestampFormat
        self._special = {column.special: column.type for column in self._columns}
        self._typed = [
            (column, field.type, payloads.converter(column.name, field.type, options))
            for column, field in zip(self._columns, self._arrow, strict=True)
            if column.special is None
        ]

    def batch(self, stream: str, page: Page) -> pa.RecordBatch:
        """The record batch of a page."""
        bad: dict[int, str] = {}
        reads = [_read(page, bad, *typed) for typed in self._typed]
        if bad and self._mode == FAILFAST:
            raise _failure(stream, page, bad)
        arrays = {read.name: read.array for read in reads}
        arrays |= {f: make(stream, page) for f, make in _SPECIAL.items() if f in self._special}
        arrays |= self._kept(page, reads)
        arrays |= {n: tell(page, bad) for n, tell in _TOLD.items() if n in self._special}
        batch = pa.RecordBatch.from_arrays(
            [arrays[column.special or column.name] for column in self._columns], schema=self._arrow
        )
        if bad and self._mode == "DROPMALFORMED":
            batch = batch.filter(pa.array([row not in bad for row in range(page.rows)]))
        return batch

    def _kept(self, page: Page, reads: list[Read]) -> dict[str, pa.Array]:
        """The columns with all fields of an entry, or with those that the other columns lack."""
        has = self._special.keys()
        kept: dict[str, pa.Array] = {}
        if REST in has or (RAW in has and FIELDS not in has):
            kept[REST], kept[RAW] = exact.by_columns(page.pairs(), reads, self._timestamp_format)
        if FIELDS in has:
            as_text = self._special[FIELDS] == SPECIAL[FIELDS]
            if RAW in has:
                kept[FIELDS], kept[RAW] = exact.by_map(page.pairs(), as_text)
            else:
                kept[FIELDS] = _fields(page, as_text)
        return kept


def _read(
    page: Page, bad: dict[int, str], column: Column, kind: pa.DataType, convert: Converter
) -> Read:
    """One field of all entries; rows where it does not fit are added to ``bad``."""
    read = _ready(page, column, kind)
    if read is None:
        given = page.column(column.name)
        read = Read(column.name, given, *convert.tolerant(given))
    for row in read.unread:
        shown = read.given[row].as_py().decode("utf-8", "replace")[:_SHOWN_CHARACTERS]
        wanted = _article(column.type.simpleString())
        bad.setdefault(row, f"{column.name}: {shown!r} is not {wanted}")
    if column.required and read.array.null_count > len(read.unread):
        for row in range(page.rows):
            if not read.array[row].is_valid:
                bad.setdefault(row, f"{column.name}: missing")
    return read


def _ready(page: Page, column: Column, kind: pa.DataType) -> Read | None:
    """The same if the field arrived as numbers, all of which fit the type."""
    numbers = page.numbers(column.name)
    if numbers is None:
        return None
    try:
        array = numbers if numbers.type == kind else numbers.cast(kind)
        return Read(column.name, numbers, array, ())
    except pa.ArrowInvalid:
        return None  # one is too large: read as text, it is reported


def _corrupt(page: Page, bad: dict[int, str]) -> pa.Array:
    """The fields of the bad entries as JSON."""
    told: list[str | None] = [None] * page.rows
    maps = page.fields() if bad else []
    for row in bad:
        told[row] = json.dumps(_readable(maps[row].as_py()), ensure_ascii=False)
    return pa.array(told, pa.string())


def _reason(page: Page, bad: dict[int, str]) -> pa.Array:
    """The reasons of the bad entries."""
    return pa.array([bad.get(row) for row in range(page.rows)], pa.string())


def _failure(stream: str, page: Page, bad: dict[int, str]) -> MalformedError:
    row = min(bad)
    return MalformedError(
        f"Entry {page.ids()[row].as_py()} of stream {stream!r} does not fit the schema "
        f"({bad[row]}). Correct the schema, or set mode to PERMISSIVE or DROPMALFORMED."
    )


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _readable(fields: list[tuple[bytes | str, bytes]]) -> dict[str, str]:
    return {_as_text(name): _as_text(value) for name, value in fields}


def _as_text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _stream(stream: str, page: Page) -> pa.Array:
    return same(stream, page.rows)


def _id(_stream: str, page: Page) -> pa.Array:
    return page.ids()


def _timestamp(_stream: str, page: Page) -> pa.Array:
    ms, _ = page.halves
    # IDs rise, so the last one has the latest time.
    micros = pc.multiply(_signed(ms, page.last_id.ms, _SIGNED_MAX // 1000), 1000)
    return micros.view(pa.timestamp("us", "UTC"))


def _seq(_stream: str, page: Page) -> pa.Array:
    _, seq = page.halves
    return _signed(seq, pc.max(seq).as_py(), _SIGNED_MAX)


def _signed(numbers: pa.Array, largest: int, most: int) -> pa.Array:
    """Unsigned numbers as signed ones, null where they are larger than ``most``."""
    if largest <= most:
        return numbers.view(pa.int64())
    small = pc.less_equal(numbers, pa.scalar(most, pa.uint64()))
    return pc.if_else(small, numbers, pa.scalar(None, pa.uint64())).cast(pa.int64())


def _fields(page: Page, as_text: bool) -> pa.Array:
    maps = page.fields()
    items = _text(maps.items) if as_text else maps.items
    return pa.MapArray.from_arrays(maps.offsets, _text(maps.keys), items)


def _text(raw: pa.Array) -> pa.Array:
    """Bytes as text; what is not UTF-8 gets replacement characters."""
    try:
        return decoded(raw)
    except pa.ArrowInvalid:
        return pa.array([value.as_py().decode("utf-8", "replace") for value in raw], pa.string())


_SPECIAL: dict[str, Callable[[str, Page], Any]] = {
    "_stream": _stream,
    "_id": _id,
    "_timestamp": _timestamp,
    "_seq": _seq,
}
_TOLD: dict[str, Callable[[Page, dict[int, str]], Any]] = {CORRUPT: _corrupt, REASON: _reason}
