"""Results of SQL as text, without Spark."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

from forebay_spark.sql import name_of, render, write_csv, write_json

ROWS = [
    ("tea", 3, 1.5, datetime(2026, 11, 16, 12, tzinfo=UTC), {"a": "1"}),
    ("a longer name", 12, None, None, None),
]
COLUMNS = ["item", "n", "price", "at", "fields"]


def test_a_table_aligns_its_columns() -> None:
    assert render(["item", "n"], [("tea", 3), ("coffee", 12)]) == (
        "item     n\n------  --\ntea      3\ncoffee  12\n(2 rows)\n"
    )


def test_a_table_without_rows_shows_its_columns() -> None:
    assert render(["item"], []) == "item\n----\n(0 rows)\n"


def test_long_cells_are_cut_and_lines_stay_lines() -> None:
    lines = render(["x"], [("a" * 100,), ("b\nc",)]).splitlines()
    assert lines[2].endswith("…") and len(lines[2]) == 60
    assert lines[3] == "b\\nc"


def test_csv_has_a_head_and_empty_nulls() -> None:
    out = io.StringIO()
    assert write_csv(COLUMNS, ROWS, out) == 2
    assert out.getvalue().splitlines() == [
        "item,n,price,at,fields",
        'tea,3,1.5,2026-11-16T12:00:00+00:00,"{""a"": ""1""}"',
        "a longer name,12,,,",
    ]


def test_json_lines_keep_types() -> None:
    out = io.StringIO()
    write_json(["n", "d", "price", "raw"], [(1, date(2026, 1, 2), Decimal("2.50"), b"x")], out)
    assert json.loads(out.getvalue()) == {"n": 1, "d": "2026-01-02", "price": 2.5, "raw": "x"}


def test_streams_have_names_that_sql_can_say() -> None:
    assert [name_of(s) for s in ("orders", "orders:{0}", "9lives")] == [
        "orders",
        "orders__0_",
        "_9lives",
    ]
