"""The one text form of a typed value: lakes rely on it, so this test fixes it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.options import EPOCH_MS, EPOCH_S, ISO
from forebay_spark.values.canonical import text_of

MOMENT = datetime(2026, 1, 31, 12, 0, 0, 250_000, UTC)
PAIR = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int32(), -3, "-3"),
        (pa.int64(), 2**63 - 1, "9223372036854775807"),
        (pa.float64(), 20.0, "20"),
        (pa.float64(), 0.1, "0.1"),
        (pa.float64(), 19.99, "19.99"),
        (pa.float64(), 1e20, "1e+20"),
        (pa.float64(), 1e-7, "1e-7"),
        (pa.float64(), -0.0, "-0"),
        (pa.float64(), float("nan"), "nan"),
        (pa.float64(), float("inf"), "inf"),
        (pa.float32(), 0.1, "0.1"),
        (pa.decimal128(10, 2), Decimal("0.50"), "0.50"),
        (pa.decimal128(10, 7), Decimal("1E-7"), "1E-7"),
        (pa.bool_(), True, "true"),
        (pa.bool_(), False, "false"),
        (pa.date32(), date(2026, 1, 31), "2026-01-31"),
        (pa.time64("us"), time(12), "12:00:00.000000"),
        (pa.timestamp("us", "UTC"), MOMENT, "2026-01-31T12:00:00.250Z"),
        (pa.timestamp("us", "Europe/Berlin"), MOMENT, "2026-01-31T12:00:00.250Z"),
        (pa.timestamp("us", "UTC"), MOMENT.replace(microsecond=1), "2026-01-31T12:00:00.000001Z"),
        (pa.timestamp("us"), MOMENT.replace(tzinfo=None), "2026-01-31T12:00:00.250"),
        (pa.string(), "café", "café"),
        (PAIR, {"a": 1, "b": ["x", None, 'y"\\\n']}, '{"a":1,"b":["x",null,"y\\"\\\\\\n"]}'),
        (PAIR, {"a": None, "b": []}, '{"b":[]}'),
        (PAIR, {"a": None, "b": None}, "{}"),
        (pa.map_(pa.string(), pa.float64()), [("k", 1.5), ("n", None)], '{"k":1.5,"n":null}'),
        (pa.list_(pa.timestamp("us", "UTC")), [MOMENT], '["2026-01-31T12:00:00.250Z"]'),
        (pa.list_(pa.binary()), [b"\xff"], b'["\xff"]'),
    ],
)
def test_every_type_has_its_text(kind: pa.DataType, value: Any, text: str | bytes) -> None:
    expected = text.encode() if isinstance(text, str) else text
    values = pa.array([value, None, value], kind)
    assert text_of(values).to_pylist() == [expected, None, expected]
    assert text_of(values[1:]).to_pylist() == [None, expected]


def test_times_are_numbers_if_they_were_read_from_numbers() -> None:
    times = pa.array([MOMENT], pa.timestamp("us", "UTC"))
    assert text_of(times, EPOCH_MS).to_pylist() == [b"1769860800250"]
    assert text_of(times, EPOCH_S).to_pylist() == [b"1769860800"]
    assert text_of(pa.array([[MOMENT]]), EPOCH_MS).to_pylist() == [b"[1769860800250]"]
    assert text_of(times, ISO) != text_of(times, EPOCH_S)


TEXTS = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs",)))
MEMBERS = st.builds(
    lambda a, b: {"a": a, "b": b}, st.integers(-(2**31), 2**31 - 1), st.lists(TEXTS)
)


@given(st.lists(MEMBERS | st.none()))
def test_nested_values_are_json_as_python_writes_it_without_spaces(rows: list[Any]) -> None:
    dumped = [
        row and json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() for row in rows
    ]
    assert text_of(pa.array(rows, PAIR)).to_pylist() == dumped
