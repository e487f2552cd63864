"""The columns of the source: the plain ones, or those of the user's schema.

Without a schema an entry is

    stream string, id string, timestamp timestamp, seq bigint, fields map<string,string>

or, if values are not text, ``fields map<string,binary>``.  An archive adds ``raw``, which makes
rows exact (exact.py).  With a schema every column is a field of the entry, read as the column's
type.  These names are exceptions; they describe the entry itself:

    _stream _id _timestamp _seq _fields      the plain columns
    _corrupt                                 the fields as JSON, if one did not fit the schema
    _reason                                  and why
    _rest                                    the fields that no column of the schema could take
    _raw                                     the entry as it arrived, if no other column has it

A sequence number past 2^63, or a time past the year 292277, is null; ``id`` is exact.

Spark's own readers ignore "not null" in a schema.  A source in Python cannot: Spark
takes the schema as it is, trusts it, and its generated code breaks on the first null.  So
"not null" is refused in the mode that makes nulls, and means "required" in the other modes.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    DataType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from forebay_spark.errors import OptionError

_TEXT_MAP = MapType(StringType(), StringType())
_BYTES_MAP = MapType(StringType(), BinaryType())
_PAIRS = ArrayType(StructType([StructField(n, BinaryType()) for n in ("name", "value")]))


def _plain(fields: DataType) -> StructType:
    return StructType(
        [
            StructField("stream", StringType()),
            StructField("id", StringType()),
            StructField("timestamp", TimestampType()),
            StructField("seq", LongType()),
            StructField("fields", fields),
        ]
    )


PLAIN = _plain(_TEXT_MAP)
#: The same with values as bytes (option fieldValues).
PLAIN_BYTES = _plain(_BYTES_MAP)
#: The columns of an archive without a schema.
ARCHIVED = StructType([*PLAIN, StructField("raw", _PAIRS)])

FIELDS, CORRUPT, REASON, REST, RAW = "_fields", "_corrupt", "_reason", "_rest", "_raw"

#: Columns of a user's schema that are not fields: name and type.
SPECIAL: dict[str, DataType] = {
    **{f"_{field.name}": field.dataType for field in PLAIN},
    CORRUPT: StringType(),
    REASON: StringType(),
    REST: _TEXT_MAP,
    RAW: _PAIRS,
}


#: Columns about the entry that are never null.
NEVER_NULL = frozenset({"_stream", "_id", "_fields"})


class Column(NamedTuple):
    """One column to deliver: a special one (named as in SPECIAL) or a field."""

    name: str
    special: str | None
    type: DataType
    required: bool


def is_plain(schema: StructType) -> bool:
    """Whether a schema is one of the source's or an archive's own."""
    columns = [(field.name, field.dataType) for field in schema]
    own = (PLAIN, PLAIN_BYTES, ARCHIVED)
    return any(columns == [(field.name, field.dataType) for field in one] for one in own)


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """The columns to deliver for a schema; OptionError names an impossible one."""
    if is_plain(schema):
        return tuple(Column(f.name, f"_{f.name}", f.dataType, False) for f in schema)
    return tuple(_column(field) for field in schema)


def refuse_broken_promises(schema: StructType, mode: str) -> None:
    """OptionError if a column is "not null" in the schema and the source may give null."""
    for field, column in zip(schema, columns_of(schema), strict=True):
        if field.nullable or column.special in NEVER_NULL:
            continue
        if column.special:
            raise OptionError(
                f"Column {field.name} is NOT NULL in the schema, but it is null if there is "
                "nothing to report. Leave NOT NULL out."
            )
        if mode == "PERMISSIVE":
            raise OptionError(
                f"Column {field.name} is NOT NULL in the schema, but mode PERMISSIVE makes it null "
                "in entries that lack it or do not fit. Leave NOT NULL out, or set mode to "
                "DROPMALFORMED or FAILFAST."
            )


def _column(field: StructField) -> Column:
    special = SPECIAL.get(field.name)
    if special is not None:
        if field.dataType not in (special, _BYTES_MAP if field.name == FIELDS else special):
            raise OptionError(
                f"Column {field.name} is of type {field.dataType.simpleString()} in the schema, "
                f"but it describes the entry and is {special.simpleString()}. Change its type."
            )
        return Column(field.name, field.name, field.dataType, False)
    if not _readable(field.dataType):
        raise OptionError(
            f"Column {field.name} is of type {field.dataType.simpleString()}, "
            "which cannot be read from text. Read it as string and convert it in the query."
        )
    return Column(field.name, None, field.dataType, not field.nullable)


def _readable(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return all(_readable(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _readable(kind.elementType)
    if isinstance(kind, MapType):
        return isinstance(kind.keyType, StringType) and _readable(kind.valueType)
    return (
        isinstance(kind, AtomicType)
        and not isinstance(kind, NullType)
        and "interval" not in kind.simpleString()
        and not kind.simpleString().startswith(("variant", "time("))
    )
