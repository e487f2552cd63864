"""Results as text, without Spark: exact for a program, readable for a person."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    DataType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from forebay_spark.query.results import Result, render, write_csv, write_json, write_result

NAN = float("nan")


def json_of(value: Any, kind: DataType | None = None, **parse: Any) -> Any:
    """One value, written as JSON and read back."""
    out = io.StringIO()
    write_json(Result(["v"], [(value,)], [kind]), out)
    return json.loads(out.getvalue(), **parse)["v"]


def csv_of(*values: Any) -> str:
    out = io.StringIO()
    write_csv(Result([f"c{at}" for at in range(len(values))], [values]), out)
    return out.getvalue().split("\n", 1)[1].removesuffix("\n")


def test_a_table_aligns_its_columns() -> None:
    assert render(["item", "n"], [("tea", 3), ("coffee", 12)]) == (
        "item     n\n------  --\ntea      3\ncoffee  12\n(2 rows)\n"
    )


def test_a_table_without_rows_shows_its_columns() -> None:
    assert render(["item"], []) == "item\n----\n(0 rows)\n"


def test_long_cells_are_cut_and_lines_stay_lines() -> None:
    lines = render(["x", "n"], [("a" * 100, 1), ("b\nc", 2)]).splitlines()
    assert lines[2] == "a" * 59 + "…  1"
    assert lines[3].split() == ["b\\nc", "2"]


def test_a_plan_is_printed_as_it_is() -> None:
    plan = "== Physical Plan ==\n" + "x" * 200 + "\n+- Scan\n\n"
    assert render(["plan"], [(plan,)]) == plan.rstrip("\n") + "\n"
    assert "y" * 200 in render(["only"], [("y" * 200,), ("z",)])


def test_more_rows_than_a_person_wants_are_counted() -> None:
    out = io.StringIO()
    assert write_result(Result(["n"], ((n,) for n in range(9))), "table", out, 2) == 2
    assert out.getvalue().splitlines()[2:] == [
        "0", "1", "(2 rows)", "only the first 2 rows; --format csv or json gives all"
    ]  # fmt: skip


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_keeps_its_digits(value: Decimal) -> None:
    assert json_of(value, parse_float=Decimal, parse_int=Decimal) == value
    assert Decimal(csv_of(value)) == value


def test_a_decimal_keeps_its_scale() -> None:
    assert csv_of(Decimal("2.50")) == "2.50"
    assert csv_of(Decimal("12345678901234567890123456789012345678")) == (
        "12345678901234567890123456789012345678"
    )


@given(st.floats())
def test_a_float_comes_back_and_what_is_no_number_is_a_word(value: float) -> None:
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    wanted = words.get(str(value), value)
    assert str(json_of(value)) == str(wanted)  # as text, which tells 0.0 from -0.0
    assert csv_of(value) == str(wanted)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_number_of_32_bits_has_no_digits_that_it_does_not_need(value: float) -> None:
    from ctypes import c_float

    read = json_of(value, FloatType())
    assert c_float(read).value == value
    assert len(repr(read)) <= len(repr(value))
    assert json_of(c_float(0.1).value, FloatType()) == 0.1


def test_a_timestamp_says_its_zone_and_one_without_has_none() -> None:
    noon = datetime(2026, 11, 16, 12, 0, 0, 5)
    kept = noon.replace(tzinfo=UTC)
    # Spark returns local time without saying so.
    local = kept.astimezone().replace(tzinfo=None)
    assert json_of(local, TimestampType()) == "2026-11-16T12:00:00.000005+00:00"
    elsewhere = kept.astimezone(timezone(timedelta(hours=5)))
    assert json_of(elsewhere, TimestampType()) == "2026-11-16T12:00:00.000005+00:00"
    assert json_of(noon, TimestampNTZType()) == "2026-11-16T12:00:00.000005"
    assert json_of(None, TimestampType()) is None
    assert csv_of(date(2026, 1, 2)) == "2026-01-02"


def test_binary_is_base64() -> None:
    assert json_of(bytearray(b"\x00\xff")) == "AP8="
    assert csv_of(b"\x00\xff") == "AP8="


def test_what_is_nested_is_read_by_its_types_too() -> None:
    kind = StructType(
        [
            StructField("at", ArrayType(TimestampType())),
            StructField("by", MapType(TimestampType(), StringType())),
        ]
    )
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    told = "2026-01-01T00:00:00+00:00"
    assert json_of(([moment, None], {moment: "x"}), kind) == {"at": [told, None], "by": {told: "x"}}
    assert json_of((None, None), kind) == {"at": None, "by": None}
    assert json_of(None, kind) is None
    assert json_of([Decimal("1.10"), NAN, b"a"], parse_float=Decimal) == [
        Decimal("1.10"), "NaN", "YQ=="
    ]  # fmt: skip


def test_csv_tells_null_from_an_empty_text() -> None:
    assert csv_of(None, "", "x") == ',"",x'


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=4))
def test_csv_is_read_back_by_any_reader(cells: list[str]) -> None:
    out = io.StringIO(newline="")
    write_csv(Result(["a"] * len(cells), [cells]), out)
    out.seek(0)
    assert list(csv.reader(out))[1] == cells


def test_two_columns_of_one_name_are_both_written() -> None:
    out = io.StringIO()
    write_json(Result(["a", "a"], [(1, 2)]), out)
    assert out.getvalue() == '{"a": 1, "a": 2}\n'


def test_a_format_that_is_none_is_told() -> None:
    with pytest.raises(Exception, match="Use table, csv or json"):
        write_result(Result(["a"], []), "xml", io.StringIO(), 1)
