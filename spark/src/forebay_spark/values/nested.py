"""Records to Arrow columns: structs, arrays and maps from JSON, and from payloads.py.

    bytes --decode--> records --members, list by list--> leaves --one cast each--> Arrow

A record is decoded into classes made for the type (msgspec: C, and it ignores members that the
type lacks).  Then the page is split member by member, so that a leaf of all records is one list,
and one call of Arrow makes it a column:

    [{a: 1, t: [x, y]}, {a: 2}]     a: [1, 2]     t: [x, y] with lengths 2, none

A record is bad as a whole if anything in it does not fit.  This never depends on its neighbours.
Scalars are judged like fields (values.py):

- a value with the same type in Python and Arrow (a JSON number for a double) is taken as it is;
- anything else is judged by the text that it would have as a field: "12" is an int, true is
  not an int, and a string member takes every value as its JSON.

Numbers with a fraction are doubles, but if the type has decimals their digits are kept.
Missing members are null (if they must not be null, the record does not fit).  Names of members
are text: half a character in one (an escape like \\ud800) makes the record bad.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from itertools import accumulate, chain
from operator import attrgetter, methodcaller
from types import NoneType
from typing import Any, Optional, Protocol, TypedDict

import msgspec
import pyarrow as pa

from forebay_spark.options import ISO
from forebay_spark.values import values

Decode = Callable[[bytes], Any]

Built = tuple[pa.Array, set[int]]

#: The type into which msgspec decodes records, and how to get each member of one.
Access = tuple[Any, dict[str, Callable[[Any], Any]]]

#: The errors of a record that cannot be decoded.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

_NOTHING = object()
#: Names that msgspec allows for members of a class.
_NAMES = re.compile(r'[^\\"\x00-\x1f]*\Z')
_FITS_NOT = (*values.FITS_NOT, OverflowError)


class Converter(Protocol):
    """Converts a binary column to a type."""

    def tolerant(self, raw: pa.Array) -> values.Column:
        """The column, null where a value does not fit, and the rows of those."""


class Literal(float):
    """A number with a fraction, with the digits that were written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Literal:
        """The number of a text."""
        made = super().__new__(cls, text)
        made.text = text
        return made


class Node(Protocol):
    """How the values of one type become a column."""

    #: The type into which msgspec decodes.
    shape: Any

    def build(self, found: list[Any]) -> Built:
        """The column, and the positions of values that do not fit."""


class Records:
    """A column of records, each decoded separately; failures may be tried in another way."""

    def __init__(self, top: Node, decode: Decode, again: Decode | None = None) -> None:
        self._top = top
        self._decode = decode
        self._again = again

    def tolerant(self, raw: pa.Array) -> values.Column:
        """The column, null where a record does not fit, and the rows of those."""
        records, bad = self._records(raw.to_pylist())
        array, misfits = self._top.build(records)
        if misfits:
            rows = [None if row in misfits else row for row in range(len(array))]
            array = array.take(pa.array(rows, pa.int32()))
        return array, sorted(bad | misfits)

    def _records(self, raw: list[bytes | None]) -> tuple[list[Any], set[int]]:
        """The decoded records, and the rows of those that cannot be."""
        records: list[Any] = []
        bad: set[int] = set()
        decode = self._decode
        for row, value in enumerate(raw):
            try:
                records.append(None if value is None else decode(value))
            except UNREADABLE:
                record = self._second(value)
                records.append(None if record is _NOTHING else record)
                if record is _NOTHING:
                    bad.add(row)
        return records, bad

    def _second(self, value: Any) -> Any:
        try:
            return _NOTHING if self._again is None else self._again(value)
        except UNREADABLE:
            return _NOTHING


def converter(kind: pa.DataType, timestamp_format: str = ISO) -> Converter:
    """How a binary column becomes one of this type: nested ones are JSON."""
    if pa.types.is_nested(kind):
        return json_column(kind, timestamp_format)
    return values.Flat(kind, timestamp_format)


def json_column(kind: pa.DataType, timestamp_format: str) -> Records:
    """Records written as JSON.

    If that fails, Python's own parser tries: it also takes NaN and a byte order mark.
    """
    top = node(kind, timestamp_format)
    shape = _or_none(top.shape)
    hook = Literal if _has_decimals(kind) else None
    return Records(
        top,
        msgspec.json.Decoder(shape, float_hook=hook).decode,
        lambda raw: msgspec.convert(json.loads(raw, parse_float=Literal), shape),
    )


def record_column(kind: pa.DataType, timestamp_format: str, decode: Decode) -> Records:
    """Records that a function decodes into dictionaries, lists and scalars."""
    top = node(kind, timestamp_format)
    return Records(top, lambda raw: msgspec.convert(decode(raw), top.shape))


def node(kind: pa.DataType, timestamp_format: str) -> Node:
    """The node of a type."""
    if pa.types.is_struct(kind):
        return _Struct(kind, timestamp_format)
    if pa.types.is_map(kind):
        return _Map(kind, timestamp_format)
    if pa.types.is_list(kind):
        return _List(kind, timestamp_format)
    return _Bytes() if pa.types.is_binary(kind) else _Leaf(kind, timestamp_format)


def _or_none(shape: Any) -> Any:
    return Optional[shape]  # noqa: UP045


def _has_decimals(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_decimals(kind.field(at).type) for at in range(kind.num_fields))
    return bool(pa.types.is_decimal(kind))


class _Member:
    """A member of a struct, an array or a map; a "not null" one must exist."""

    def __init__(self, field: pa.Field, timestamp_format: str) -> None:
        self._node = node(field.type, timestamp_format)
        self._required = not field.nullable
        self.shape = _or_none(self._node.shape)

    def build(self, found: list[Any], absent: frozenset[int] = frozenset()) -> Built:
        """As a node does; ``absent`` are positions whose parent is missing."""
        array, bad = self._node.build(found)
        if self._required and None in found:
            bad = bad | {at for at, value in enumerate(found) if value is None} - absent
        return array, bad


class _Struct:
    """An object with the members of the type; others were ignored."""

    def __init__(self, kind: pa.StructType, timestamp_format: str) -> None:
        self._kind = kind
        self._members = [(f.name, _Member(f, timestamp_format)) for f in kind]
        shapes = {name: member.shape for name, member in self._members}
        self.shape, getters = _classes(shapes) if _NAMES.match("".join(shapes)) else _dicts(shapes)
        self._getters = [getters[name] for name, _ in self._members]

    def build(self, found: list[Any]) -> Built:
        """Member by member."""
        mask, absent = _absent(found)
        if absent:
            blank = self.shape()
            found = [blank if value is None else value for value in found]
        arrays, bad = [], set()
        for getter, (_, member) in zip(self._getters, self._members, strict=True):
            array, misfits = member.build(list(map(getter, found)), absent)
            arrays.append(array)
            bad |= misfits
        if not arrays:
            return pa.array(
                [None if at in absent else {} for at in range(len(found))], self._kind
            ), bad
        return pa.StructArray.from_arrays(arrays, fields=list(self._kind), mask=mask), bad


def _classes(shapes: dict[str, Any]) -> Access:
    """Records as objects: the quickest."""
    attributes = {name: f"m{at}" for at, name in enumerate(shapes)}
    shape = msgspec.defstruct(
        "Record",
        [(attributes[name], shape, None) for name, shape in shapes.items()],
        rename={attribute: name for name, attribute in attributes.items()},
        gc=False,  # a page is short-lived, and JSON has no cycles
    )
    return shape, {name: attrgetter(attribute) for name, attribute in attributes.items()}


def _dicts(shapes: dict[str, Any]) -> Access:
    """Records as dictionaries, for names that a class cannot have."""
    shape = TypedDict("Record", shapes, total=False)  # type: ignore[misc]
    return shape, {name: methodcaller("get", name) for name in shapes}


class _List:
    """An array."""

    def __init__(self, kind: pa.ListType, timestamp_format: str) -> None:
        self._kind = kind
        self._element = _Member(kind.value_field, timestamp_format)
        self.shape = list[self._element.shape]  # type: ignore[name-defined]

    def build(self, found: list[Any]) -> Built:
        """All elements of all arrays as one column, and where each array begins."""
        mask, _ = _absent(found)
        edges = _edges(found)
        elements, bad = self._element.build(list(chain.from_iterable(filter(None, found))))
        offsets = pa.array(edges, pa.int32())
        array = pa.ListArray.from_arrays(offsets, elements, type=self._kind, mask=mask)
        return array, _owners(edges, bad)


class _Map:
    """An object whose members are not known beforehand."""

    def __init__(self, kind: pa.MapType, timestamp_format: str) -> None:
        self._kind = kind
        self._key = _Leaf(kind.key_type, timestamp_format)
        self._item = _Member(kind.item_field, timestamp_format)
        self.shape = dict[str, self._item.shape]  # type: ignore[name-defined]

    def build(self, found: list[Any]) -> Built:
        """All names and all values as two columns, and where each object begins."""
        mask, _ = _absent(found)
        edges, there = _edges(found), list(filter(None, found))
        keys, bad_keys = self._key.build(list(chain.from_iterable(there)))
        items, bad = self._item.build(list(chain.from_iterable(map(dict.values, there))))
        # Arrow refuses a null among keys even if the whole map becomes null.
        known = keys.fill_null("") if bad_keys else keys
        offsets = pa.array(edges, pa.int32())
        array = pa.MapArray.from_arrays(offsets, known, items, self._kind, mask=mask)
        return array, _owners(edges, bad | bad_keys)


class _Leaf:
    """A number, a time, a text."""

    shape = Any

    def __init__(self, kind: pa.DataType, timestamp_format: str) -> None:
        self._kind = kind
        self._texts = values.Flat(kind, timestamp_format)
        self._native = _native(kind)
        self._text = _digits if pa.types.is_decimal(kind) else _json_text

    def build(self, found: list[Any]) -> Built:
        """Take values as they are, or by their texts."""
        odd = set(map(type, found)) - self._native - {NoneType}
        rows = [at for at, value in enumerate(found) if type(value) in odd] if odd else []
        if 2 * len(rows) > len(found):
            return self._by_text(found)
        try:
            return self._mixed(found, rows) if rows else (pa.array(found, self._kind), set())
        except _FITS_NOT:
            return self._by_text(found)

    def _mixed(self, found: list[Any], rows: list[int]) -> Built:
        """Take a few values by their texts, the others as they are."""
        few, bad = self._by_text([found[row] for row in rows])
        others, places = found.copy(), list(range(len(found)))
        for at, row in enumerate(rows):
            others[row] = None
            places[row] = len(found) + at
        array = pa.concat_arrays([pa.array(others, self._kind), few])
        return array.take(pa.array(places, pa.int32())), {rows[at] for at in bad}

    def _by_text(self, found: list[Any]) -> Built:
        texts = [None if value is None else self._text(value) for value in found]
        array, bad = self._texts.tolerant(pa.array(texts, pa.binary()))
        return array, set(bad)


class _Bytes:
    """Bytes; JSON has text in their place."""

    shape = Any

    def build(self, found: list[Any]) -> Built:
        """Only texts and bytes fit."""
        bad = {at for at, v in enumerate(found) if not isinstance(v, str | bytes | None)}
        raw = [None if at in bad or v is None else _json_text(v) for at, v in enumerate(found)]
        return pa.array(raw, pa.binary()), bad


def _native(kind: pa.DataType) -> set[type]:
    """Python's types whose values have the same meaning for Arrow as here."""
    for is_kind, types in _NATIVE:
        if is_kind(kind):
            return types
    return set()


_NATIVE: tuple[tuple[Callable[[pa.DataType], bool], set[type]], ...] = (
    (pa.types.is_integer, {int}),
    (pa.types.is_floating, {int, float, Literal}),
    (pa.types.is_string, {str}),
    (pa.types.is_boolean, {bool}),
    (pa.types.is_decimal, {Decimal}),
    (pa.types.is_date, {date}),
    (pa.types.is_timestamp, {datetime}),
)


def _json_text(value: Any) -> bytes:
    """A value as the bytes that it would have as a field; not UTF-8 if it is not text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool | float | list | dict):
        return json.dumps(value, default=str).encode()
    text = value.isoformat() if isinstance(value, date) else str(value)
    return text.encode("utf-8", "surrogatepass")


def _digits(value: Any) -> bytes:
    """The same with the digits that were written."""
    return _json_text(value.text if isinstance(value, Literal) else value)


def _absent(found: list[Any]) -> tuple[pa.Array | None, frozenset[int]]:
    """A mask of missing values, and their positions."""
    if None not in found:
        return None, frozenset()
    mask = [value is None for value in found]
    return pa.array(mask, pa.bool_()), frozenset(at for at, gone in enumerate(mask) if gone)


def _edges(found: list[Any]) -> list[int]:
    return list(accumulate((len(value) if value else 0 for value in found), initial=0))


def _owners(edges: list[int], bad: set[int]) -> set[int]:
    """Which arrays or maps the elements at these positions are in."""
    return {bisect_right(edges, at) - 1 for at in bad}
