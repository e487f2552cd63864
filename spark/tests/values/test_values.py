"""Text to typed columns: which texts are accepted, and which are not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.options import EPOCH_MS, EPOCH_S, ISO
from forebay_spark.values.nested import converter

UTC_TIME = pa.timestamp("us", "UTC")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def read(
    kind: pa.DataType, *texts: str | bytes | None, timestamp_format: str = ISO
) -> tuple[list[Any], list[int]]:
    raw = pa.array([t.encode() if isinstance(t, str) else t for t in texts], pa.binary())
    array, bad = converter(kind, timestamp_format).tolerant(raw)
    assert array.type == kind
    return array.to_pylist(), bad


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int32(), "-12", -12),
        (pa.int64(), str(2**63 - 1), 2**63 - 1),
        (pa.float64(), "1e3", 1000.0),
        (pa.bool_(), "True", True),
        (pa.bool_(), "0", False),
        (pa.decimal128(10, 2), "1.5", Decimal("1.50")),
        (pa.date32(), "2026-01-31", date(2026, 1, 31)),
        (UTC_TIME, "2026-01-31T12:00:00Z", NOON),
        (UTC_TIME, "2026-01-31 13:00:00.000+01:00", NOON),
        (UTC_TIME, "2026-01-31T12:00:00", NOON),
        (UTC_TIME, "2026-01-31T12:00:00.000000999Z", NOON),
        (UTC_TIME, "2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        (pa.timestamp("us"), "2026-01-31T12:00:00", NOON.replace(tzinfo=None)),
        (pa.string(), "héé", "héé"),
        (pa.binary(), b"\xff\x00", b"\xff\x00"),
    ],
)
def test_a_value_that_fits_is_read(kind: pa.DataType, text: str, value: Any) -> None:
    assert read(kind, text, None) == ([value, None], [])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.int32(), ""),
        (pa.int32(), "12 "),
        (pa.int32(), "1.0"),
        (pa.int8(), "300"),
        (pa.float64(), "1,5"),
        (pa.bool_(), "yes"),
        (pa.decimal128(10, 2), "1.555"),
        (pa.date32(), "31.1.2026"),
        (UTC_TIME, "noon"),
        (pa.string(), b"\xff"),
        (pa.struct([("a", pa.int32())]), "{"),
        (pa.struct([("a", pa.int32())]), "[]"),
        (pa.struct([("a", pa.int32())]), '{"a": "x"}'),
        (pa.struct([pa.field("a", pa.int32(), nullable=False)]), '{"b": 1}'),
        (pa.list_(pa.field("item", pa.int32(), nullable=False)), "[1, null]"),
        (pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)), '{"a": null}'),
        (pa.list_(pa.int32()), '{"a": 1}'),
    ],
)
def test_a_value_that_does_not_fit_is_null_and_named(kind: pa.DataType, text: str) -> None:
    assert read(kind, text) == ([None], [0])


@given(st.lists(st.sampled_from(["1", "2", "bad", None]), max_size=40))
def test_bad_values_never_take_good_ones_with_them(texts: list[str | None]) -> None:
    values, bad = read(pa.int32(), *texts)
    assert bad == [i for i, text in enumerate(texts) if text == "bad"]
    assert values == [int(t) if t and t != "bad" else None for t in texts]


def test_epoch_numbers_are_times_if_the_option_says_so() -> None:
    seconds = str(int(NOON.timestamp()))
    assert read(UTC_TIME, seconds, timestamp_format=EPOCH_S) == ([NOON], [])
    assert read(UTC_TIME, seconds + "000", timestamp_format=EPOCH_MS) == ([NOON], [])
    assert read(UTC_TIME, seconds + ".0", timestamp_format=EPOCH_S) == ([NOON], [])
    assert read(UTC_TIME, seconds) == ([None], [0])


def test_json_becomes_structs_lists_and_maps() -> None:
    kind = pa.struct(
        [
            ("a", pa.int32()),
            ("when", UTC_TIME),
            ("tags", pa.list_(pa.string())),
            ("more", pa.map_(pa.string(), pa.float64())),
        ]
    )
    text = (
        '{"a": 1, "when": "2026-01-31T12:00:00Z", "tags": ["x", null], "more": {"k": 2.5}, "z": 0}'
    )
    values, bad = read(kind, text, '{"a": null}', "null", None)
    assert bad == []
    assert values[0] == {"a": 1, "when": NOON, "tags": ["x", None], "more": [("k", 2.5)]}
    assert values[1:] == [{"a": None, "when": None, "tags": None, "more": None}, None, None]
