"""From rows of a table to XADD commands.

    stream      the option ``stream``, or else the column ``streamColumn`` of each row
    fields      every other column (or those of ``fieldColumns``), by its name
                a map column named ``fields`` gives its members instead, so that what the
                source has read can be written as it stands; then id, timestamp and seq,
                which the source has made, are not fields
    null        the field is left out

Values are written in the form that the source reads back: numbers and booleans as text,
times as ISO 8601 in UTC, binary as it is, nested values as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import MapType, StructType

from forebay_spark.errors import OptionError, SinkError
from forebay_spark.options import Options
from forebay_spark.schema import PLAIN

FIELDS = "fields"
MADE_BY_THE_SOURCE = frozenset({"id", "timestamp", "seq"})


class Row(NamedTuple):
    """One row, ready to be sent."""

    stream: str
    id: str | None
    key: str | None
    fields: tuple[Any, ...]


class Layout:
    """Which column plays which part."""

    def __init__(self, schema: StructType, options: Options) -> None:
        names = schema.fieldNames()
        self.stream = options.stream
        self.stream_column = None if options.stream else options.streamColumn
        self.id_column = options.idColumn
        self.key_column = options.keyColumn
        if self.stream_column and self.stream_column not in names:
            raise OptionError(
                "Where to write is not clear. Give the option stream, or a column "
                f"{self.stream_column!r} with the name of the stream of each row."
            )
        for option in ("idColumn", "keyColumn"):
            _check(option, getattr(options, option), names)
        if self.id_column and self.key_column:
            raise OptionError("idColumn and keyColumn exclude each other. Give one of them.")
        for name in options.fieldColumns:
            _check("fieldColumns", name, names)
        self.field_columns = options.fieldColumns or self._fields(schema)
        self.map_column = FIELDS if _has_map(schema) and FIELDS in self.field_columns else None

    def _fields(self, schema: StructType) -> tuple[str, ...]:
        parts = {self.stream_column, self.id_column, self.key_column}
        if _has_map(schema):
            parts |= MADE_BY_THE_SOURCE | {PLAIN[0].name}
        return tuple(name for name in schema.fieldNames() if name not in parts)

    def rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        """The rows of a record batch, in order."""
        streams = self._column(batch, self.stream_column, self.stream)
        entry_ids = self._column(batch, self.id_column, None)
        keys = self._column(batch, self.key_column, None)
        for stream, entry_id, key, fields in zip(
            streams, entry_ids, keys, self._field_lists(batch), strict=False
        ):
            if stream is None or not fields:
                what = "no stream name" if stream is None else "no field that is not null"
                raise SinkError(f"A row has {what}, so it cannot be an entry. Filter such rows.")
            yield Row(stream, entry_id, key, fields)

    def _column(self, batch: pa.RecordBatch, name: str | None, constant: str | None) -> Any:
        return repeat(constant) if name is None else texts(batch.column(name))

    def _field_lists(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        """Names and values in turns, for each row."""
        plain = [name for name in self.field_columns if name != self.map_column]
        columns = [texts(batch.column(name)) for name in plain]
        if self.map_column is None and all(batch.column(n).null_count == 0 for n in plain):
            pairs = [part for name, values in zip(plain, columns, strict=True)
                     for part in (repeat(name), values)]  # fmt: skip
            return zip(*pairs, strict=False)
        maps = batch.column(self.map_column).to_pylist() if self.map_column else repeat(())
        rows = zip(*columns, strict=True) if columns else repeat(())
        return map(
            lambda row, members, _: _without_nulls(plain, row, members or ()),
            rows,
            maps,
            range(batch.num_rows),
        )


def _without_nulls(names: list[str], row: Any, members: Any) -> tuple[Any, ...]:
    pairs = [*zip(names, row, strict=True), *members]
    return tuple(part for name, value in pairs if value is not None for part in (name, value))


def _has_map(schema: StructType) -> bool:
    return FIELDS in schema.fieldNames() and isinstance(schema[FIELDS].dataType, MapType)


def _check(option: str, name: str | None, names: list[str]) -> None:
    if name is not None and name not in names:
        raise OptionError(
            f"Option {option} names the column {name!r}, but there are only {', '.join(names)}. "
            "Correct it."
        )


def texts(column: pa.Array) -> list[Any]:
    """The values of a column as text, bytes or None."""
    kind = column.type
    if pa.types.is_nested(kind):
        return [None if v is None else _as_json(v, kind) for v in column.to_pylist()]
    if not (pa.types.is_binary(kind) or pa.types.is_string(kind)):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    return values


def _as_json(value: Any, kind: pa.DataType) -> str:
    return json.dumps(_plain(value, kind), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A nested Arrow value as what JSON can say."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {str(k): _plain(v, kind.item_type) for k, v in value}
    if pa.types.is_list(kind):
        return [_plain(v, kind.value_type) for v in value]
    if isinstance(value, bool | int | float | str):
        return value
    return texts(pa.array([value], kind))[0]
