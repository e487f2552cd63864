"""JSON into structs, arrays and maps: decoding a page at once equals decoding each value alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay_spark.options import ISO
from forebay_spark.values.nested import Literal, converter
from forebay_spark.values.values import Flat

UTC_TIME = pa.timestamp("us", "UTC")

KINDS = (
    pa.struct(
        [
            ("a", pa.int32()),
            ("b", pa.string()),
            ("c", pa.float64()),
            ("d", pa.bool_()),
            ("e", pa.list_(pa.int64())),
            ("f", pa.struct([pa.field("a", pa.int8(), nullable=False), ("b", UTC_TIME)])),
            ("g", pa.map_(pa.string(), pa.list_(pa.string()))),
        ]
    ),
    pa.struct([("a", pa.decimal128(10, 2)), ("b", pa.date32()), ("c", pa.binary())]),
    pa.list_(pa.field("element", pa.int32(), nullable=False)),
    pa.map_(pa.string(), pa.struct([("a", pa.float32()), ("b", pa.string())])),
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-200, 200),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["12", "-1.5", "1e2", "true", "2026-01-31", "2026-01-31T12:00:00+01:00"]),
)
jsons = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from("abcdefgz") | st.text(max_size=2), inner, max_size=5),
    ),
    max_leaves=8,
)


def of_kind(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values that mostly fit."""
    if pa.types.is_struct(kind):
        members = {f.name: _mostly(of_kind(f.type)) for f in kind}
        return st.fixed_dictionaries({}, optional=members | {"z": jsons})
    if pa.types.is_map(kind):
        return st.dictionaries(st.text(max_size=3), _mostly(of_kind(kind.item_type)), max_size=3)
    if pa.types.is_list(kind):
        return st.lists(_mostly(of_kind(kind.value_type)), max_size=3)
    if pa.types.is_integer(kind):
        return st.integers(-128, 127)
    if pa.types.is_floating(kind):
        return st.floats(width=32) | st.integers(-9, 9)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_decimal(kind):
        return st.decimals(-999, 999, places=2).map(float)
    if pa.types.is_temporal(kind):
        return st.dates(datetime(1900, 1, 1).date()).map(str)
    return st.text(max_size=5)


def _mostly(fitting: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(fitting, fitting, fitting, fitting, jsons)


@st.composite
def texts(draw: st.DrawFn, kind: pa.DataType) -> bytes | None:
    """JSON that fits, JSON that does not, and text that is not JSON."""
    made = json.dumps(draw(_mostly(of_kind(kind)))).encode()
    at, how = draw(st.integers(0, len(made))), draw(st.integers(0, 12))
    if how == 0:
        return made[:at]
    if how == 1:
        return made[:at] + draw(st.sampled_from([b",", b"}", b"]", b'"', b"1", b"\n"])) + made[at:]
    return None if how == 2 else made


Read = Callable[[Any], Any]


def alone(kind: pa.DataType, raw: bytes) -> Any:
    """The reference: one value, member by member; ValueError if it does not fit."""
    found = json.loads(raw, parse_float=Literal)
    return None if found is None else reader(kind)(found)


def reader(kind: pa.DataType) -> Read:
    if pa.types.is_struct(kind):
        members = [(f.name, optional(f)) for f in kind]
        return lambda value: {name: read(named(value).get(name)) for name, read in members}
    if pa.types.is_map(kind):
        item = optional(kind.item_field)
        return lambda value: [(text(k), item(v)) for k, v in of(dict, value).items()]
    if pa.types.is_list(kind):
        element = optional(kind.value_field)
        return lambda value: [element(v) for v in of(list, value)]
    if pa.types.is_binary(kind):
        return lambda value: of(str, value).encode()
    return lambda value: scalar(kind, value)


def named(value: Any) -> dict[str, Any]:
    """An object; all its names must be text, also the ignored ones."""
    return {text(name): item for name, item in of(dict, value).items()}


def text(value: str) -> str:
    """A name; UnicodeEncodeError, which is a ValueError, if it has half a surrogate pair."""
    return value.encode().decode()


def scalar(kind: pa.DataType, value: Any) -> Any:
    """A scalar, decoded from the text that it would have as a field."""
    if pa.types.is_decimal(kind) and isinstance(value, Literal):
        value = value.text
    field = value if isinstance(value, str) else json.dumps(value)
    array, bad = Flat(kind, ISO).tolerant(pa.array([field.encode()], pa.binary()))
    if bad:
        raise ValueError(field)
    return array[0].as_py()


def optional(field: pa.Field) -> Read:
    read = reader(field.type)

    def member(value: Any) -> Any:
        if value is None and not field.nullable:
            raise ValueError("missing")
        return None if value is None else read(value)

    return member


def of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(value)  # noqa: TRY004
    return value


def compare(kind: pa.DataType, page: list[bytes | None]) -> None:
    array, bad = converter(kind).tolerant(pa.array(page, pa.binary()))
    array.validate(full=True)
    assert array.type == kind
    wanted: list[Any] = []
    wanted_bad: list[int] = []
    for row, raw in enumerate(page):
        try:
            wanted.append(None if raw is None else alone(kind, raw))
        except (ValueError, RecursionError):
            wanted.append(None)
            wanted_bad.append(row)
    assert bad == wanted_bad
    assert repr(array.to_pylist()) == repr(pa.array(wanted, kind).to_pylist())


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_page_means_what_each_of_its_values_means_alone(kind: pa.DataType) -> None:
    @settings(max_examples=60)
    @given(st.lists(texts(kind), max_size=12))
    def hold(page: list[bytes | None]) -> None:
        compare(kind, page)

    hold()


ORDER = pa.struct([("id", pa.int64()), ("amount", pa.decimal128(20, 2)), ("note", pa.string())])


def read(kind: pa.DataType, *page: bytes | None) -> tuple[list[Any], list[int]]:
    array, bad = converter(kind).tolerant(pa.array(page, pa.binary()))
    return array.to_pylist(), bad


def test_decimals_keep_the_digits_that_were_written() -> None:
    found, bad = read(
        ORDER, b'{"id": 9007199254740993, "amount": 123456789012345678.91, "note": 1.10}'
    )
    assert bad == []
    assert found == [{"id": 2**53 + 1, "amount": Decimal("123456789012345678.91"), "note": "1.1"}]


def test_what_only_pythons_parser_takes_is_read() -> None:
    kind = pa.struct([("a", pa.float64())])
    found, bad = read(kind, b'{"a": Infinity}', b'\xef\xbb\xbf{"a": 1}', b'{"a": 1e400}')
    assert (found, bad) == ([{"a": float("inf")}, {"a": 1.0}, {"a": float("inf")}], [])


def test_json_too_deep_to_be_read_is_malformed_and_no_crash() -> None:
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert read(pa.struct([("a", pa.int32())]), deep, b'{"a": 1}') == ([None, {"a": 1}], [0])


def test_text_that_is_no_utf_8_is_malformed_where_it_is_read() -> None:
    kind = pa.map_(pa.string(), pa.string())
    assert read(kind, b'{"\\ud800": "x"}', b'{"x": "\\ud800"}', b'{"x": "y"}') == (
        [None, None, [("x", "y")]],
        [0, 1],
    )
    record = pa.struct([("a", pa.int32())])
    assert read(record, b'{"a": 1, "\\ud800,": 2}', b'{"a": 1, "z": "\\ud800"}')[1] == [0]


def test_types_without_members_and_with_a_name_twice_are_read() -> None:
    assert read(pa.struct([]), b'{"a": 1}', b"null", b"1") == ([{}, None, None], [2])
    twice = pa.struct([("a", pa.int32()), ("a", pa.int32())])
    array, bad = converter(twice).tolerant(pa.array([b'{"a": 1}'], pa.binary()))
    assert [array.field(at).to_pylist() for at in (0, 1)] == [[1], [1]] and bad == []


def test_members_may_have_any_name() -> None:
    inner = pa.struct([pa.field("\t", pa.int32(), nullable=False)])
    kind = pa.struct([('a"b', pa.int32()), ("\\", inner), ("plain", pa.string())])
    page = [{'a"b': 1, "\\": {"\t": 2}, "z": 0}, {"plain": "x"}, {"\\": {}}, None]
    found, bad = read(kind, *(json.dumps(value).encode() for value in page))
    assert found == [
        {'a"b': 1, "\\": {"\t": 2}, "plain": None},
        {'a"b': None, "\\": None, "plain": "x"},
        None,
        None,
    ]
    assert bad == [2]
