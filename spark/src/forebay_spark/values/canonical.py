"""A typed value as text again: one text for each value, whatever text it was read from.

    int, decimal          12   -3   0.50                 a decimal with all digits of its type
    float, double         0.5  20   1e-7                 the shortest text for the same value
    boolean               true false
    timestamp             2026-01-31T12:00:00.250Z       three digits, or six if it has them;
                                                         or an epoch number, by timestampFormat
    date, time            2026-01-31   12:00:00.000000
    struct, array, map    {"a":1,"b":["x",null]}         no spaces; members that are null are left
                                                         out, but not elements of an array
    string, binary        as it is

It is used twice: when an entry is read, to see whether its producer wrote the same text (if not,
the bytes are kept next to the columns), and when the entry is rebuilt.  So it need not be the text
of producers, nor even readable, but it must never change: lakes rely on it, and
tests/values/test_canonical.py fixes it.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.options import EPOCH_MS, EPOCH_S, ISO

_UNITS_US = {EPOCH_S: 1_000_000, EPOCH_MS: 1_000}
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def text_of(values: pa.Array, timestamp_format: str = ISO) -> pa.Array:
    """Typed values as the bytes of their text; null stays null."""
    if pa.types.is_nested(values.type):
        return _json(values, timestamp_format).cast(pa.binary())
    return _scalar(values, timestamp_format).cast(pa.binary())


def is_its_own_text(kind: pa.DataType) -> bool:
    """Whether values of a type are exactly the bytes that they were read from."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _scalar(values: pa.Array, timestamp_format: str) -> pa.Array:
    if is_its_own_text(values.type):
        return values.view(pa.string())
    if not pa.types.is_timestamp(values.type):
        return values.cast(pa.string())
    if timestamp_format == ISO:
        return _iso(values)
    micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    return pc.divide(micros, _UNITS_US[timestamp_format]).cast(pa.string())


def _iso(times: pa.Array) -> pa.Array:
    text = times.cast(pa.timestamp("us")).cast(pa.string())
    text = pc.replace_substring(text, " ", "T", max_replacements=1)
    text = pc.replace_substring_regex(text, "000$", "")
    return text if times.type.tz is None else _joined(text, "Z")


def _json(values: pa.Array, timestamp_format: str) -> pa.Array:
    kind = values.type
    if pa.types.is_struct(kind):
        text = _object(values, timestamp_format)
    elif pa.types.is_map(kind):
        items = pc.coalesce(_json(values.items, timestamp_format), pa.scalar("null"))
        pairs = _joined(_quoted(values.keys), ":", items)
        text = _joined("{", _listed(values.offsets, pairs), "}")
    elif pa.types.is_list(kind):
        elements = pc.coalesce(_json(values.values, timestamp_format), pa.scalar("null"))
        text = _joined("[", _listed(values.offsets, elements), "]")
    else:
        text = _scalar(values, timestamp_format)
        return _quoted(text) if _is_quoted(kind, timestamp_format) else text
    return pc.if_else(values.is_valid(), text, pa.scalar(None, pa.string()))


def _object(values: pa.Array, timestamp_format: str) -> pa.Array:
    members = [
        _joined(f"{json.dumps(field.name, ensure_ascii=False)}:", _json(member, timestamp_format))
        for field, member in zip(values.type, values.flatten(), strict=True)
    ]
    nothing = pa.repeat(pa.scalar(""), len(values))
    # Without it Arrow (26) loses a row in which all members are null.
    body = pc.binary_join_element_wise(nothing, *members, ",", null_handling="skip")
    return pc.replace_substring(_joined("{", body, "}"), "{,", "{", max_replacements=1)


def _listed(offsets: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",")


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _quoted(text: pa.Array) -> pa.Array:
    for plain, escaped in _ESCAPES:
        text = pc.replace_substring(text, plain, escaped)
    return _joined('"', text, '"')


def _is_quoted(kind: pa.DataType, timestamp_format: str) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    is_epoch = pa.types.is_timestamp(kind) and timestamp_format != ISO
    return not (is_number or is_epoch or pa.types.is_boolean(kind))
