"""Rows from which the entry can be rebuilt, byte for byte.

Users want to query a map of text, or typed columns, but these lose something: bytes that are not
text, the order of fields, a repeated name, ``1.50`` that became 1.5, a field that the schema does
not have.  Two columns keep it:

    _rest   map<string,string>                          fields without a column, and values
                                                        that their column could not take
    _raw    array<struct<name:binary,value:binary>>     null if the other columns have it all

The other columns stand for this entry: the map ``fields`` in its order, if the row has it; else
the typed columns that are not null, in the order of the schema, as text (canonical.py), and after
them ``_rest``.  If that is not the entry, ``_raw`` has all its names in order, and a value wherever
the row does not hold exactly these bytes under that name:

    entry             n 1  amount "1.50"  n 2  coupon C1        schema: n int, amount double
    the columns       n = 2, amount = 1.5, _rest = {coupon: C1}
    _raw              (n, 1) (amount, 1.50) (n, null) (coupon, null)

So text of one producer costs nothing, and another order of fields costs only names.
``rebuilt`` reads what the other functions write; for every entry that a stream can hold it gives
back the same entry (tests/values/test_exact.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from forebay_spark.options import ISO
from forebay_spark.values.canonical import is_its_own_text, text_of
from forebay_spark.values.pairs import Pairs, decoded, is_text
from forebay_spark.values.ready import positions
from forebay_spark.values.schema import RAW, REST, SPECIAL, columns_of, is_plain

TEXT, BYTES = pa.string(), pa.binary()
RAW_TYPE = pa.list_(
    pa.field("element", pa.struct([pa.field("name", BYTES), pa.field("value", BYTES)]))
)
REST_TYPE = pa.map_(TEXT, TEXT)
#: The column that an archive adds to a row; the ID already contains it.
DATE = "_date"


class Field(NamedTuple):
    """A field of an entry."""

    name: bytes
    value: bytes


Fields = list[Field]


class Read(NamedTuple):
    """A column of a schema: the values of entries under its name, and the typed result."""

    name: str
    given: pa.Array
    array: pa.Array
    unread: Sequence[int]


def by_map(pairs: Pairs, as_text: bool) -> tuple[pa.Array, pa.Array]:
    """The map ``fields`` and ``_raw``; a value that is not text is null in the map."""
    last = pairs.last_of_each()
    if last is None:
        try:
            names = decoded(pairs.names)
            values = decoded(pairs.values) if as_text else pairs.values
            whole = pa.MapArray.from_arrays(pairs.offsets, names, values)
            return whole, pa.nulls(pairs.rows, RAW_TYPE)
        except pa.ArrowInvalid:
            pass
    named, shown = is_text(pairs.names), pairs.values
    if as_text:
        shown = pc.if_else(is_text(shown), shown, pa.scalar(None, BYTES)).view(TEXT)
    held = _at(shown.view(BYTES), last)
    same = pc.and_(named, pc.equal(held, pairs.values).fill_null(False))
    flawed = pc.invert(same)
    if last is not None:
        is_last = pc.equal(last, positions(len(last)))
        named, flawed = pc.and_(named, is_last), pc.or_(flawed, pc.invert(is_last))
    chosen = pairs._replace(values=shown).chosen(named)
    maps = pa.MapArray.from_arrays(chosen.offsets, chosen.names.cast(TEXT), chosen.values)
    return maps, _raw(pairs, same, flawed)


def by_columns(
    pairs: Pairs, reads: Sequence[Read], timestamp_format: str
) -> tuple[pa.Array, pa.Array]:
    """The columns ``_rest`` and ``_raw`` for typed columns."""
    if _says_all(pairs, reads, timestamp_format):
        return pa.nulls(pairs.rows, REST_TYPE), pa.nulls(pairs.rows, RAW_TYPE)
    entry, last = pairs.entry_of_each(), pairs.last_of_each()
    rank = _ranks(pairs, reads)
    place = pc.add(pc.multiply(rank, pairs.rows), entry)
    value_is_text = is_text(pairs.values)
    left = pc.and_(_has_no_column(place, pairs.rows, reads), is_text(pairs.names))
    texts = [text_of(read.array, timestamp_format) for read in reads]
    shown = pa.concat_arrays([*texts, pa.nulls(pairs.rows, BYTES)]).take(place)
    in_rest = pc.and_(left, _at(value_is_text, last))
    if last is not None:
        in_rest = pc.and_(in_rest, pc.equal(_at(pairs.values, last), pairs.values))
    same = pc.or_(pc.equal(shown, pairs.values).fill_null(False), in_rest)
    flawed = pc.or_(pc.invert(same), _steps_back(pc.if_else(left, len(reads), rank), entry))
    if last is not None:
        is_last = pc.equal(last, positions(len(last)))
        left, flawed = pc.and_(left, is_last), pc.or_(flawed, pc.invert(is_last))
    return _rest(pairs, left, value_is_text), _raw(pairs, same, flawed)


def _says_all(pairs: Pairs, reads: Sequence[Read], timestamp_format: str) -> bool:
    """Whether typed columns alone hold all entries; this needs no look at pairs."""
    names = pairs.common
    if names is None:
        return False
    present = {read.name.encode(): read for read in reads if read.name.encode() in names}
    return tuple(present) == names and all(
        not read.unread
        and (
            is_its_own_text(read.array.type)
            or text_of(read.array, timestamp_format).equals(read.given)
        )
        for read in present.values()
    )


def _ranks(pairs: Pairs, reads: Sequence[Read]) -> pa.Array:
    """The column of each name; after the last one if it has none."""
    order = {read.name.encode(): at for at, read in enumerate(reads)}
    names, codes = pairs.different_names()
    return pa.array([order.get(name, len(reads)) for name in names], pa.int64()).take(codes)


def _has_no_column(place: pa.Array, rows: int, reads: Sequence[Read]) -> pa.Array:
    """Pairs whose name has no column, or whose value the column could not take."""
    misfits = [at * rows + row for at, read in enumerate(reads) for row in read.unread]
    unknown = pc.greater_equal(place, len(reads) * rows)
    return pc.or_(unknown, pc.is_in(place, pa.array(misfits, pa.int64()))) if misfits else unknown


def _at(values: pa.Array, places: pa.Array | None) -> pa.Array:
    """Values at other places, or unchanged."""
    return values if places is None else values.take(places)


def _steps_back(rank: pa.Array, entry: pa.Array) -> pa.Array:
    """Pairs that follow a pair with a later column."""
    earlier = pc.less(rank[1:], rank[:-1])
    back = pc.and_(earlier, pc.equal(entry[1:], entry[:-1]))
    return pa.concat_arrays([pa.array([False]), back])


def _rest(pairs: Pairs, left: pa.Array, value_is_text: pa.Array) -> pa.Array:
    if not pc.any(left).as_py():
        return pa.nulls(pairs.rows, REST_TYPE)
    texts = pc.if_else(value_is_text, pairs.values, pa.scalar(None, BYTES)).view(TEXT)
    chosen = pairs._replace(values=texts).chosen(left)
    offsets = _null_where_empty(chosen.offsets)
    return pa.MapArray.from_arrays(offsets, chosen.names.cast(TEXT), chosen.values)


def _raw(pairs: Pairs, same: pa.Array, flawed: pa.Array) -> pa.Array:
    """All pairs of entries with a flawed pair; values only where they are not the same."""
    if not pc.any(flawed).as_py():
        return pa.nulls(pairs.rows, RAW_TYPE)
    entry = pairs.entry_of_each()
    entries = pc.is_in(positions(pairs.rows), pc.unique(entry.filter(flawed)))
    told = pc.if_else(same, pa.scalar(None, BYTES), pairs.values)
    chosen = pairs._replace(values=told).chosen(entries.take(entry))
    parts = pa.StructArray.from_arrays(
        [chosen.names.cast(BYTES), chosen.values], fields=list(RAW_TYPE.value_type)
    )
    return pa.ListArray.from_arrays(_null_where_empty(chosen.offsets), parts, type=RAW_TYPE)


def _null_where_empty(offsets: pa.Array) -> pa.Array:
    """Offsets of lists; Arrow takes a list without a start as null."""
    is_empty = pc.equal(offsets[:-1], offsets[1:])
    starts = pc.if_else(is_empty, pa.scalar(None, pa.int32()), offsets[:-1])
    return pa.concat_arrays([starts, offsets[-1:]])


def rebuilt(rows: pa.RecordBatch, timestamp_format: str = ISO) -> list[Fields]:
    """The original entries of an archive: names and values as bytes, in order.

    Rows of older lakes, which have no ``_raw``, give the values of their columns.
    """
    mark = "_" if "_id" in rows.schema.names else ""
    said = list(_said(rows, mark, timestamp_format))
    raw = f"{mark}raw"
    if raw not in rows.schema.names or rows.column(raw).null_count == rows.num_rows:
        return said
    return [
        columns if pairs is None else _filled(pairs, dict(columns))
        for pairs, columns in zip(rows.column(raw).to_pylist(), said, strict=True)
    ]


def told_whole(rows: pa.RecordBatch, chosen: pa.Array, timestamp_format: str) -> pa.RecordBatch:
    """Put every value of some entries into ``_raw``: their columns are no longer needed."""
    if not pc.any(chosen).as_py():
        return rows
    entries = rebuilt(rows.filter(chosen), timestamp_format)
    told = pa.array([[field._asdict() for field in fields] for fields in entries], RAW_TYPE)
    after = pc.add(pc.cumulative_sum(chosen.cast(pa.int64())), rows.num_rows - 1)
    both = pa.concat_arrays([rows.column(RAW), told])
    raw = both.take(pc.if_else(chosen, after, positions(rows.num_rows)))
    return rows.set_column(rows.schema.names.index(RAW), rows.schema.field(RAW), raw)


def _filled(pairs: list[dict[str, Any]], columns: dict[bytes, bytes]) -> Fields:
    """The pairs of ``_raw``, with the values that only the columns have."""
    return [
        Field(pair["name"], columns[pair["name"]] if pair["value"] is None else pair["value"])
        for pair in pairs
    ]


def _said(rows: pa.RecordBatch, mark: str, timestamp_format: str) -> Iterator[Fields]:
    """The entries from the columns without ``_raw``."""
    fields = f"{mark}fields"
    if fields in rows.schema.names:
        return _maps(rows.column(fields))
    special = {*SPECIAL, DATE}
    typed = [
        (field.name.encode(), text_of(rows.column(field.name), timestamp_format).to_pylist())
        for field in rows.schema
        if field.name not in special
    ]
    rest = _maps(rows.column(REST)) if REST in rows.schema.names else iter([[]] * rows.num_rows)
    return (
        [Field(name, texts[row]) for name, texts in typed if texts[row] is not None] + left
        for row, left in enumerate(rest)
    )


def _maps(maps: pa.Array) -> Iterator[Fields]:
    """The pairs of each map that have a value; none of a map that is null."""
    for pairs in maps.cast(pa.map_(BYTES, BYTES)).to_pylist():
        yield [Field(name, value) for name, value in pairs or () if value is not None]


def leftovers(rows: pa.RecordBatch) -> Counter[str]:
    """How many values of each name no column of the schema could take."""
    if REST not in rows.schema.names:
        return Counter()
    rest = rows.column(REST)
    first, last = rest.offsets[0].as_py(), rest.offsets[-1].as_py()
    counts = pc.value_counts(rest.keys[first:last])
    return Counter({pair["values"]: pair["counts"] for pair in counts.to_pylist()})


def refuses_loss(schema: StructType, mode: str) -> str | None:
    """Why entries that are archived with a schema must not be trimmed; None if they may."""
    if not {RAW, RAW[1:]} & set(schema.fieldNames()):
        return (
            "Rows of this lake have no column for what the others cannot hold, so trimming would "
            "lose values that are not text. Archive to a new lake, or without trim."
        )
    if mode == "DROPMALFORMED" and not is_plain(schema) and _has_fields(schema):
        return (
            "Mode DROPMALFORMED leaves entries out of the lake, and trimming would then delete "
            "them on the server. Set mode to PERMISSIVE, which keeps what does not fit in the "
            "columns _rest and _raw, or archive without trim."
        )
    return None


def _has_fields(schema: StructType) -> bool:
    return any(column.special is None for column in columns_of(schema))
