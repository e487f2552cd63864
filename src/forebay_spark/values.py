"""From the bytes of a field to a typed column, a page at a time.

Arrow's own casts read numbers, booleans, dates and times at C speed, but they stop at
the first value that does not fit.  ``tolerant`` then halves the column until the bad
values stand alone: a clean page costs one cast, and every value, good or bad, is
judged by the same cast.

    int, float, decimal   12  -3  0.5  1e3       nothing around them
    boolean               true false 1 0         any letter case
    timestamp             ISO 8601; UTC where no zone is written; or epoch numbers by option
    date                  2026-01-31
    struct, array, map    JSON; missing members are null (the value does not fit if they
                          must not be), unknown ones are passed over
    string, binary        as it is; a string must be UTF-8
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.options import EPOCH_MS, EPOCH_S, ISO

Convert = Callable[[pa.Array], pa.Array]

FITS_NOT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError)

_ZONED = r"\d:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)$"
_BEYOND_MICROSECONDS = r"(\.\d{6})\d+"
_PER_SECOND_US = 1_000_000
_PER_MS_US = 1_000


def tolerant(values: pa.Array, convert: Convert, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Convert a column; values that do not fit become null, and their rows are returned."""
    try:
        return convert(values), []
    except FITS_NOT:
        if len(values) == 1:
            return pa.nulls(1, kind), [0]
    middle = len(values) // 2
    left, left_bad = tolerant(values[:middle], convert, kind)
    right, right_bad = tolerant(values[middle:], convert, kind)
    return pa.concat_arrays([left, right]), left_bad + [middle + row for row in right_bad]


def converter(kind: pa.DataType, timestamp_format: str = ISO) -> Convert:
    """How a binary column becomes one of this type."""
    if pa.types.is_binary(kind):
        return lambda raw: raw
    if pa.types.is_nested(kind):
        member = json_reader(kind, timestamp_format)
        return lambda raw: pa.array([_from_json(member, value.as_py()) for value in raw], kind)
    from_text = _from_text(kind, timestamp_format)
    if pa.types.is_string(kind) or pa.types.is_timestamp(kind):
        return lambda raw: from_text(raw.cast(pa.string()))
    # What is not UTF-8 is no number either: the cast will find out without a look beforehand.
    return lambda raw: from_text(raw.view(pa.string()))


def _from_text(kind: pa.DataType, timestamp_format: str) -> Convert:
    if pa.types.is_string(kind):
        return lambda text: text
    if pa.types.is_timestamp(kind):
        return {
            ISO: lambda text: iso_times(text, kind),
            EPOCH_S: lambda text: _epoch_times(text, kind, _PER_SECOND_US),
            EPOCH_MS: lambda text: _epoch_times(text, kind, _PER_MS_US),
        }[timestamp_format]
    return lambda text: text.cast(kind)


def iso_times(text: pa.Array, kind: pa.TimestampType) -> pa.Array:
    """Times with and without a zone in one column; without means UTC."""
    exact = pc.replace_substring_regex(text, _BEYOND_MICROSECONDS, r"\1")
    zoned = pc.match_substring_regex(exact, _ZONED)
    nothing = pa.scalar(None, pa.string())
    aware = pc.if_else(zoned, exact, nothing).cast(pa.timestamp("us", "UTC"))
    naive = pc.if_else(zoned, nothing, exact).cast(pa.timestamp("us"))
    return pc.coalesce(aware.cast(pa.int64()), naive.cast(pa.int64())).cast(kind)


def _epoch_times(text: pa.Array, kind: pa.TimestampType, unit_us: int) -> pa.Array:
    """Whole or broken numbers of seconds or milliseconds since 1970."""
    try:
        micros = pc.multiply_checked(text.cast(pa.int64()), unit_us)
    except pa.ArrowInvalid:
        micros = pc.round(pc.multiply(text.cast(pa.float64()), unit_us)).cast(pa.int64())
    return micros.cast(kind)


def json_reader(kind: pa.DataType, timestamp_format: str) -> Callable[[Any], Any]:
    """How a decoded JSON value becomes what Arrow takes for this type; ValueError if it cannot."""
    if pa.types.is_struct(kind):
        members = [(f.name, _member(f, timestamp_format)) for f in kind]
        return lambda value: {name: read(_of(dict, value).get(name)) for name, read in members}
    if pa.types.is_map(kind):
        item = _member(kind.item_field, timestamp_format)
        return lambda value: [(k, item(v)) for k, v in _of(dict, value).items()]
    if pa.types.is_list(kind):
        element = _member(kind.value_field, timestamp_format)
        return lambda value: [element(v) for v in _of(list, value)]
    if pa.types.is_string(kind):
        return lambda value: value if isinstance(value, str) else json.dumps(value)
    if pa.types.is_binary(kind):
        return lambda value: _of(str, value).encode()
    from_text = _from_text(kind, timestamp_format)
    return lambda value: from_text(pa.array([_as_text(value)], pa.string()))[0].as_py()


def _member(field: pa.Field, timestamp_format: str) -> Callable[[Any], Any]:
    """How a member of a struct, array or map is read; one that is not null must be there."""
    read = json_reader(field.type, timestamp_format)
    if field.nullable:
        return lambda value: _optional(read, value)
    return lambda value: read(_present(value))


def _from_json(read: Callable[[Any], Any], raw: bytes | None) -> Any:
    return None if raw is None else _optional(read, json.loads(raw))


def _optional(read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else read(value)


def _present(value: Any) -> Any:
    if value is None:
        raise ValueError("null where the schema says not null")
    return value


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} is not of the type that the schema has here")  # noqa: TRY004
    return value


def _as_text(value: Any) -> str:
    """A JSON scalar as the text that the same value would have as a field."""
    return value if isinstance(value, str) else json.dumps(value)
