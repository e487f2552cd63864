"""A schema that grows while an archive runs: ``schema_evolution = "add"``.

    batch     item tea  price 3.20  coupon C1          schema: item string, price double
    landed    item, price, _rest = {coupon: C1}        files that no commit names yet
    grown     the table gets a column coupon, the files are written again with it

A new field gets the type that fits all its values of the batch.  A type that later values could
outgrow is made wide at once: whole numbers are ``bigint`` and fractions ``double``, also those
that the schema calls int or float.  So growing numbers need no new column and no new file; Delta
has no way to widen a column that every reader supports.

Some fields cannot be columns and stay in ``_rest``: names that Parquet cannot spell, names that
differ only in letter case, and all beyond ``MOST_COLUMNS``, which are data rather than names.
``_reason`` says why a value did not fit its column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.types import (
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from forebay_spark.read.infer import types_of
from forebay_spark.values.schema import REASON, REST, SPECIAL

FIXED, ADD = "none", "add"
#: How many values of a name decide its type.
SAMPLED = 200
MOST_COLUMNS = 500

Samples = dict[str, list[bytes]]

_SPELLABLE = re.compile(r"[^\s,;{}()=_][^\s,;{}()=]*")
_WIDE: dict[type[DataType], DataType] = {
    ByteType: LongType(),
    ShortType: LongType(),
    IntegerType: LongType(),
    FloatType: DoubleType(),
}


def roomy(entry: StructType) -> StructType:
    """A schema with room to grow: wide numbers, and a column for reasons."""
    wide = [StructField(f.name, _wide(f.dataType), f.nullable) for f in entry]
    if REST not in entry.fieldNames() or REASON in entry.fieldNames():
        return StructType(wide)
    at = entry.fieldNames().index(REST)
    return StructType([*wide[:at], StructField(REASON, SPECIAL[REASON]), *wide[at:]])


def _wide(kind: DataType) -> DataType:
    return _WIDE.get(type(kind), kind)


def sample(samples: Samples, rows: pa.RecordBatch) -> None:
    """Keep some values of the names that have no column."""
    if REST not in rows.schema.names or rows.column(REST).null_count == rows.num_rows:
        return
    for pairs in rows.column(REST).drop_null().to_pylist():
        for name, value in pairs:
            kept = samples.setdefault(name, [])
            if value is not None and len(kept) < SAMPLED:
                kept.append(value.encode())


def joined(parts: Iterable[Samples]) -> Samples:
    """The samples of several tasks."""
    whole: Samples = {}
    for part in parts:
        for name, values in part.items():
            whole.setdefault(name, []).extend(values)
    return whole


def new_fields(columns: StructType, samples: Mapping[str, Sequence[bytes]]) -> list[StructField]:
    """The columns that a table lacks for these values."""
    known = {name.lower() for name in columns.fieldNames()}
    fields: list[StructField] = []
    for name, values in samples.items():
        if not values or name.lower() in known or not _SPELLABLE.fullmatch(name):
            continue
        if len(known) < MOST_COLUMNS:
            known.add(name.lower())
            fields.append(StructField(name, _column_type(list(values))))
    return fields


def _column_type(values: list[bytes]) -> DataType:
    kind = types_of(values)
    return StringType() if isinstance(kind, DecimalType) else _wide(kind)
