"""From rows of a table to XADD commands.

    stream      the option ``stream``, or else the column ``streamColumn`` of each row
    fields      every other column (or those of ``fieldColumns``), by its name
                a map column named ``fields`` gives its members instead, so that rows of the
                source can be written unchanged; then id, timestamp and seq, which the source
                has made, are not fields; the column ``raw`` of an archive has what the map
                cannot hold
    null        the field is left out

Values are written in the form that the source reads back: numbers and booleans as text,
times as ISO 8601 in UTC, binary as it is, nested values as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, MapType, StructType

from forebay_spark.errors import OptionError, SinkError
from forebay_spark.options import Options
from forebay_spark.servers.connect import bulk, pack
from forebay_spark.values import exact
from forebay_spark.values.schema import PLAIN, RAW, SPECIAL

FIELDS, RAW_FIELDS = "fields", "raw"
MADE_BY_THE_SOURCE = frozenset({"id", "timestamp", "seq"})


class Row(NamedTuple):
    """One row, ready to be sent."""

    stream: str
    id: str | None
    key: str | None
    fields: tuple[Any, ...]


class Layout:
    """The role of each column."""

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
        for name in (self.stream_column, self.id_column, self.key_column):
            if name and isinstance(schema[name].dataType, BinaryType):
                raise OptionError(
                    f"Column {name!r} is binary, but it names things. Make it a string."
                )
        if self.id_column and self.key_column:
            raise OptionError("idColumn and keyColumn exclude each other. Give one of them.")
        for name in options.fieldColumns:
            _check("fieldColumns", name, names)
        self.field_columns = options.fieldColumns or self._fields(schema)
        self.map_column = FIELDS if _has_map(schema) and FIELDS in self.field_columns else None
        #: Rows of an archive have there what the map cannot hold, and become the original entries.
        self._is_exact = self.map_column is not None and _has_raw(schema)

    def _fields(self, schema: StructType) -> tuple[str, ...]:
        parts = {self.stream_column, self.id_column, self.key_column}
        if _has_map(schema):
            parts |= MADE_BY_THE_SOURCE | {PLAIN[0].name}
            parts |= {RAW_FIELDS} if _has_raw(schema) else set()
        return tuple(name for name in schema.fieldNames() if name not in parts)

    def rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        """The rows of a record batch, in order."""
        streams = self._column(batch, self.stream_column, self.stream)
        entry_ids = self._column(batch, self.id_column, None)
        keys = self._column(batch, self.key_column, None)
        for stream, entry_id, key, fields in zip(
            streams, entry_ids, keys, self._field_lists(batch), strict=False
        ):
            if not fields:
                raise _no_entry("no field that is not null")
            yield Row(_named(stream), entry_id, key, fields)

    def streams(self, batch: pa.RecordBatch) -> list[str]:
        """The streams of the rows of a record batch, in the order of appearance."""
        if self.stream_column is None:
            return [self.stream]
        names: list[str | None] = texts(batch.column(self.stream_column).unique())
        return [_named(name) for name in names]

    def of_stream(self, batch: pa.RecordBatch, stream: str) -> pa.RecordBatch:
        """The rows of a record batch for one stream."""
        if self.stream_column is None:
            return batch
        return batch.filter(pc.equal(batch.column(self.stream_column), stream))

    def packed(self, batch: pa.RecordBatch, middle: tuple[Any, ...]) -> bytes:
        """XADD commands of all rows on the wire; ``middle`` is between stream and fields.

        Arrow joins the columns; rows with nulls or a map of fields are joined one by one,
        to the same bytes.
        """
        names = self.field_columns
        used = [*names, *([self.stream_column] if self.stream_column else ())]
        if not names or self.map_column or any(batch.column(n).null_count for n in used):
            return b"".join(pack("XADD", r.stream, *middle, *r.fields) for r in self.rows(batch))
        words = 2 + len(middle) + 2 * len(names)
        wire = _Wire(b"*%d\r\n" % words + bulk(b"XADD"))
        if self.stream_column is None:
            wire.constant(bulk(self.stream.encode()))
        else:
            wire.column(batch.column(self.stream_column))
        wire.constant(b"".join(bulk(str(word).encode()) for word in middle))
        for name in names:
            wire.constant(bulk(name.encode()))
            wire.column(batch.column(name))
        return wire.join()

    def _column(self, batch: pa.RecordBatch, name: str | None, constant: str | None) -> Any:
        return repeat(constant) if name is None else texts(batch.column(name))

    def _field_lists(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        """Names and values, alternating, for each row."""
        plain = [name for name in self.field_columns if name != self.map_column]
        columns = [texts(batch.column(name)) for name in plain]
        if self.map_column is None and all(batch.column(n).null_count == 0 for n in plain):
            pairs = [part for name, values in zip(plain, columns, strict=True)
                     for part in (repeat(name), values)]  # fmt: skip
            return zip(*pairs, strict=False)
        maps: Iterable[Any] = repeat(())
        if self._is_exact:
            maps = _rebuilt(batch)
        elif self.map_column:
            maps = batch.column(self.map_column).to_pylist()
        rows = zip(*columns, strict=True) if columns else repeat(())
        return map(
            lambda row, members, _: _without_nulls(plain, row, members or ()),
            rows,
            maps,
            range(batch.num_rows),
        )


class _Wire:
    """Rows as bytes, made of constants and columns."""

    def __init__(self, head: bytes) -> None:
        self._text = head
        self._parts: list[Any] = []

    def constant(self, text: bytes) -> None:
        """The same in every row."""
        self._text += text

    def column(self, values: pa.Array) -> None:
        """An argument that differs from row to row."""
        data = as_text(values).cast(pa.binary())
        lengths = pc.binary_length(data).cast(pa.string()).cast(pa.binary())
        self._parts += [_scalar(self._text + b"$"), lengths, _scalar(b"\r\n"), data]
        self._text = b"\r\n"

    def join(self) -> bytes:
        """All rows, one after the other."""
        rows = pc.binary_join_element_wise(*self._parts, _scalar(self._text), _scalar(b""))
        size = pc.sum(pc.binary_length(rows)).as_py() or 0
        data: bytes = rows.buffers()[2].to_pybytes()[:size] if size else b""
        return data


def _scalar(text: bytes) -> pa.Scalar:
    return pa.scalar(text, pa.binary())


def _named(stream: str | None) -> str:
    if stream is None:
        raise _no_entry("no stream name")
    return stream


def _no_entry(what: str) -> SinkError:
    return SinkError(f"A row has {what}, so it cannot be an entry. Filter such rows.")


def _without_nulls(names: list[str], row: Any, members: Any) -> tuple[Any, ...]:
    pairs = [*zip(names, row, strict=True), *members]
    return tuple(part for name, value in pairs if value is not None for part in (name, value))


def _rebuilt(batch: pa.RecordBatch) -> list[exact.Fields]:
    try:
        return exact.rebuilt(batch.select([FIELDS, RAW_FIELDS]))
    except KeyError as error:
        name = error.args[0].decode("utf-8", "replace")
        raise SinkError(
            f"A row has no field {name!r} in its map fields, but its column raw needs it. "
            "Drop the column raw where fields are changed."
        ) from None


def _has_map(schema: StructType) -> bool:
    return FIELDS in schema.fieldNames() and isinstance(schema[FIELDS].dataType, MapType)


def _has_raw(schema: StructType) -> bool:
    return RAW_FIELDS in schema.fieldNames() and schema[RAW_FIELDS].dataType == SPECIAL[RAW]


def _check(option: str, name: str | None, names: list[str]) -> None:
    if name is not None and name not in names:
        raise OptionError(
            f"Option {option} names the column {name!r}, but there are only {', '.join(names)}. "
            "Correct it."
        )


def texts(column: pa.Array) -> list[Any]:
    """The values of a column as text, bytes or None."""
    values: list[Any] = as_text(column).to_pylist()
    return values


def as_text(column: pa.Array) -> pa.Array:
    """A column as strings or, if it is binary, as it is."""
    kind = column.type
    if pa.types.is_nested(kind):
        members = [None if v is None else _as_json(v, kind) for v in column.to_pylist()]
        return pa.array(members, pa.string())
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return column
    return column.cast(pa.string())


def _as_json(value: Any, kind: pa.DataType) -> str:
    return json.dumps(_plain(value, kind), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A nested Arrow value as values of JSON."""
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
