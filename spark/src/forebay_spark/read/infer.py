"""The schema that a stream seems to have: proposed from its last entries, without Spark.

    entries --by name--> values --which type takes all of them--> DDL, to paste as a schema

A type is proposed only if the connector reads every value seen as that type (the same code checks
it), and if nothing is lost: 007 stays a string, a number with more digits than a double holds is a
decimal, ``N/A`` among numbers makes the field a string, and the remark says how many would have
been numbers.

    boolean        true, false
    int, bigint    whole numbers; decimal(n,0) past 64 bits
    double         other numbers; decimal(p,s) where a double would lose digits
    date           2026-01-31
    timestamp      ISO 8601, with a time of day
    struct, array  JSON objects and arrays, their members merged over all values
    string         any other text
    binary         what is not UTF-8

``wider`` is the lattice below it: the narrowest type that holds all values of two others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from forebay_spark.errors import ServerError
from forebay_spark.options import Options
from forebay_spark.servers.connect import Server
from forebay_spark.values.nested import Literal, converter
from forebay_spark.values.schema import SPECIAL
from forebay_spark.values.values import is_text

Entry = Sequence[tuple[bytes, bytes]]

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)|(?i:-?inf(inity)?|nan)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE_DIGITS: dict[type[DataType], int] = {
    ByteType: 3,
    ShortType: 5,
    IntegerType: 10,
    LongType: 19,
}
_MOST_DIGITS = 38
#: An object with more names than this is a map, without members.
_MOST_MEMBERS = 100
#: A remark names the type of most values, from this share on.
_MOST = 0.5


class Seen(NamedTuple):
    """One field of the entries."""

    name: str
    kind: DataType | None  # None: it cannot be a column
    entries: int
    remark: str


class Proposal(NamedTuple):
    """The proposal, and how many entries it is based on."""

    entries: int
    fields: tuple[Seen, ...]

    @property
    def schema(self) -> StructType:
        """The columns."""
        return StructType([StructField(f.name, f.kind) for f in self.fields if f.kind is not None])

    @property
    def ddl(self) -> str:
        """The columns as text, for ``--schema`` and ``.schema(...)``."""
        return ", ".join(f"{_quoted(f.name)} {ddl(f.dataType)}" for f in self.schema)

    def table(self) -> str:
        """What was seen, for a person."""
        rows = [
            (f.name, "-" if f.kind is None else ddl(f.kind), f"{f.entries}", f.remark)
            for f in self.fields
        ]
        head = ("field", "type", f"in {self.entries}", "remark")
        widths = [max(len(row[at]) for row in (head, *rows)) for at in range(3)]
        return "".join(
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {count:>{widths[2]}}  {remark}".rstrip()
            + "\n"
            for name, kind, count, remark in (head, *rows)
        )


def infer_schema(entries: Iterable[Entry]) -> Proposal:
    """The schema that takes every value of these entries; of a repeated name the last counts."""
    columns: dict[bytes, list[bytes]] = {}
    count = 0
    for entry in entries:
        count += 1
        for name, value in dict(entry).items():
            columns.setdefault(name, []).append(value)
    known: dict[str, str] = {}
    return Proposal(count, tuple(_seen(name, found, known) for name, found in columns.items()))


def _seen(raw: bytes, found: list[bytes], known: dict[str, str]) -> Seen:
    """One field; ``known`` are the columns so far, which Spark compares without case."""
    name = raw.decode("utf-8", "backslashreplace")
    if not is_text(raw):
        return Seen(name, None, len(found), "the name is not UTF-8")
    if name in SPECIAL:
        return Seen(name, None, len(found), "the name describes the entry itself")
    twin = known.setdefault(name.lower(), name)
    if twin != name:
        return Seen(name, None, len(found), f"differs from {twin} by letter case alone")
    kind = types_of(found)
    return Seen(name, kind, len(found), _remark(kind, found))


def types_of(found: list[bytes]) -> DataType:
    """The narrowest type that takes all these values and loses nothing."""
    if not all(map(is_text, found)):
        return BinaryType()
    texts = [value.decode() for value in found]
    for guess in _GUESSES:
        kinds = [kind for kind in map(guess, texts) if kind is not None]
        if texts and len(kinds) == len(texts):
            kind = _settled(_merged(kinds))
            if guess is _number and isinstance(kind, StringType):
                kind = _decimals(texts)
            return kind if _takes(kind, found) else StringType()
    return StringType()


def _remark(kind: DataType, found: list[bytes]) -> str:
    """How many values of a string would have fitted a narrower type."""
    if kind != StringType():
        return ""
    empty = found.count(b"")
    if empty:
        return f"empty in {empty}"
    for guess in _GUESSES:
        fitting = [value for value in found if guess(value.decode()) is not None]
        if len(fitting) > _MOST * len(found) and types_of(fitting) != kind:
            return f"{ddl(types_of(fitting))} in {len(fitting)}"
    return ""


def _takes(kind: DataType, found: list[bytes]) -> bool:
    """Whether the connector reads all values as this type."""
    arrow = to_arrow_type(kind, timezone="UTC")
    return not converter(arrow).tolerant(pa.array(found, pa.binary()))[1]


def _boolean(text: str) -> DataType | None:
    return BooleanType() if text.lower() in ("true", "false") else None


def _number(text: str) -> DataType | None:
    """The type that keeps all digits of a number; None if it is not a number."""
    if _WHOLE.fullmatch(text):
        return _integer(int(text))
    if not _NUMBER.fullmatch(text):
        return None
    exact = Decimal(text)
    if not exact.is_finite() or exact == Decimal(repr(float(text))):
        return DoubleType()
    return _decimals([text])


def _decimals(texts: Sequence[str]) -> DataType:
    """The decimal that holds all of these numbers, or a string if none does."""
    numbers = [Decimal(text) for text in texts]
    if not all(number.is_finite() for number in numbers):
        return StringType()
    whole = max(number.adjusted() + 1 for number in numbers)
    scale = max(-int(number.as_tuple().exponent) for number in numbers)
    return _decimal(max(whole, 0), max(scale, 0)) or StringType()


def _integer(number: int) -> DataType:
    if -(2**31) <= number < 2**31:
        return IntegerType()
    if -(2**63) <= number < 2**63:
        return LongType()
    return _decimal(len(str(abs(number))), 0) or StringType()


def _decimal(whole: int, scale: int) -> DataType | None:
    precision = max(whole + scale, 1)
    return DecimalType(precision, scale) if precision <= _MOST_DIGITS else None


def _moment(text: str) -> DataType | None:
    """A day, or a time of a day."""
    if not _DAY.match(text):
        return None
    kinds = (DateType(), TimestampType())
    return next((kind for kind in kinds if _takes(kind, [text.encode("utf-8", "replace")])), None)


def _document(text: str) -> DataType | None:
    """A JSON object or array."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return _json_type(json.loads(text, parse_float=Literal))
    except (ValueError, RecursionError):
        return None


def _json_type(value: Any) -> DataType:
    """The type of a decoded JSON value; NullType if there is nothing to see."""
    if value is None:
        return NullType()
    if isinstance(value, bool):
        return BooleanType()
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return (_number(value.text) if isinstance(value, Literal) else None) or DoubleType()
    if isinstance(value, str):
        return _moment(value) or StringType()
    if isinstance(value, list):
        return ArrayType(_merged(map(_json_type, value)))
    return StructType([StructField(name, _json_type(item)) for name, item in value.items()])


_GUESSES: tuple[Callable[[str], DataType | None], ...] = (_boolean, _number, _moment, _document)


def _merged(kinds: Iterable[DataType]) -> DataType:
    """One type for all of them."""
    nothing: DataType = NullType()
    return reduce(lambda a, b: _join(a, b, StringType()) or StringType(), kinds, nothing)


def _settled(kind: DataType) -> DataType:
    """The type without members that had no values, and with maps for objects of many names."""
    if isinstance(kind, ArrayType):
        return ArrayType(_settled(kind.elementType))
    if isinstance(kind, StructType) and len(kind) > _MOST_MEMBERS:
        return MapType(StringType(), _settled(_merged(f.dataType for f in kind)))
    if isinstance(kind, StructType) and len(kind):
        return StructType([StructField(f.name, _settled(f.dataType)) for f in kind])
    return StringType() if isinstance(kind, NullType | StructType) else kind


def wider(a: DataType, b: DataType) -> DataType | None:
    """The narrowest type that holds all values of both, to the last digit; None if none does."""
    return _join(a, b, None)


def _join(a: DataType, b: DataType, otherwise: DataType | None) -> DataType | None:
    """The same; ``otherwise`` is the type of members that have no common type."""
    if a == b or isinstance(b, NullType):
        return a
    if isinstance(a, NullType):
        return b
    if isinstance(a, StructType) and isinstance(b, StructType):
        return _join_structs(a, b, otherwise)
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        element = _join(a.elementType, b.elementType, otherwise)
        return otherwise if element is None else ArrayType(element)
    if isinstance(a, MapType) and isinstance(b, MapType) and a.keyType == b.keyType:
        item = _join(a.valueType, b.valueType, otherwise)
        return otherwise if item is None else MapType(a.keyType, item)
    return _join_scalars(a, b) or otherwise


def _join_structs(a: StructType, b: StructType, otherwise: DataType | None) -> DataType | None:
    members = {field.name: field.dataType for field in a}
    for field in b:
        joined = _join(members.get(field.name, NullType()), field.dataType, otherwise)
        if joined is None:
            return None
        members[field.name] = joined
    return StructType([StructField(name, kind) for name, kind in members.items()])


def _join_scalars(a: DataType, b: DataType) -> DataType | None:
    if any(isinstance(kind, ArrayType | MapType | StructType) for kind in (a, b)):
        return None
    pair = {type(a), type(b)}
    if BinaryType in pair:
        return BinaryType() if StringType in pair else None
    if pair == {DateType, TimestampType}:
        return TimestampType()
    return _join_numbers(a, b) or StringType()


#: Which other numbers a type holds to the last digit.
_HOLDS: dict[type[DataType], tuple[type[DataType], ...]] = {
    ShortType: (ByteType,),
    IntegerType: (ByteType, ShortType),
    LongType: (ByteType, ShortType, IntegerType),
    FloatType: (ByteType, ShortType),
    DoubleType: (ByteType, ShortType, IntegerType, FloatType),
}


def _join_numbers(a: DataType, b: DataType) -> DataType | None:
    """None if one of them is not a number, or no number type holds both to the last digit."""
    for narrow, wide in ((a, b), (b, a)):
        if type(narrow) in _HOLDS.get(type(wide), ()):
            return wide
    digits = [_digits(kind) for kind in (a, b)]
    if None in digits:
        return None
    return _decimal(*(max(side) for side in zip(*digits, strict=True)))


def _digits(kind: DataType) -> tuple[int, int] | None:
    """Most digits before and after the point."""
    if isinstance(kind, DecimalType):
        return kind.precision - kind.scale, kind.scale
    whole = _WHOLE_DIGITS.get(type(kind))
    return None if whole is None else (whole, 0)


def ddl(kind: DataType) -> str:
    """A type as Spark's DDL, with names quoted if necessary."""
    if isinstance(kind, StructType):
        members = (f"{_quoted(field.name)}: {ddl(field.dataType)}" for field in kind)
        return f"struct<{', '.join(members)}>"
    if isinstance(kind, ArrayType):
        return f"array<{ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{ddl(kind.keyType)}, {ddl(kind.valueType)}>"
    return kind.simpleString()


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def last_entries(options: Options, stream: str, count: int) -> list[Entry]:
    """The last entries of a stream, as pairs of names and values."""
    server = Server(options)
    try:
        found = server.link(stream).call("XREVRANGE", stream, "+", "-", "COUNT", count)
    finally:
        server.close()
    if not found:
        raise ServerError(
            f"The stream {stream!r} at {server.where} has no entries to infer a schema from. "
            "Correct the name, or wait until something was added."
        )
    return [list(zip(fields[0::2], fields[1::2], strict=True)) for _, fields in found]
