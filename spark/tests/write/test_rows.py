"""Rows of a table to fields of entries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

from forebay_spark.errors import OptionError, SinkError
from forebay_spark.read.decode import Decoder
from forebay_spark.read.pages import EntryPage
from forebay_spark.servers.connect import pack
from forebay_spark.values.schema import ARCHIVED, PLAIN
from forebay_spark.write.rows import Layout, Row
from spark.tests.support.spark_streams import batch_options, struct, write_options


def rows(table: dict[str, Any], **given: Any) -> list[Row]:
    batch = pa.RecordBatch.from_pydict(table)
    layout = Layout(from_arrow_schema(batch.schema), write_options(**given))
    return list(layout.rows(batch))


def test_every_column_is_a_field_of_the_stream_in_the_option() -> None:
    assert rows({"a": [1, 2], "b": ["x", "y"]}, stream="s") == [
        Row("s", None, None, ("a", "1", "b", "x")),
        Row("s", None, None, ("a", "2", "b", "y")),
    ]


def test_a_column_may_name_the_stream_the_id_and_the_key() -> None:
    table = {"to": ["s", "t"], "at": ["1-1", "2-2"], "a": [1, 2]}
    assert rows(table, streamColumn="to", idColumn="at") == [
        Row("s", "1-1", None, ("a", "1")),
        Row("t", "2-2", None, ("a", "2")),
    ]
    assert rows({"k": ["x"], "a": [1]}, stream="s", keyColumn="k")[0].key == "x"


def test_null_fields_are_left_out() -> None:
    assert [row.fields for row in rows({"a": [1, None], "b": ["x", "y"]}, stream="s")] == [
        ("a", "1", "b", "x"),
        ("b", "y"),
    ]


def test_values_are_written_as_the_source_reads_them() -> None:
    table = {
        "i": [7],
        "f": [0.5],
        "b": [True],
        "t": pa.array([datetime(2026, 1, 31, 12, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "raw": [b"\xff\x00"],
        "j": [{"x": 1, "y": [1.5, None], "w": datetime(2026, 1, 31, tzinfo=UTC)}],
    }
    fields = rows(table, stream="s")[0].fields
    assert dict(zip(fields[0::2], fields[1::2], strict=True)) == {
        "i": "7",
        "f": "0.5",
        "b": "true",
        "t": "2026-01-31 12:00:00.000000Z",
        "raw": b"\xff\x00",
        "j": '{"x":1,"y":[1.5,null],"w":"2026-01-31 00:00:00.000000Z"}',
    }


def test_what_the_source_has_read_is_written_as_it_was() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "stream": ["s"],
            "id": ["1-1"],
            "timestamp": [datetime(1970, 1, 1, tzinfo=UTC)],
            "seq": [1],
            "fields": pa.array([[("a", "1"), ("b", None)]], pa.map_(pa.string(), pa.string())),
        }
    )
    assert list(Layout(PLAIN, write_options()).rows(batch)) == [Row("s", None, None, ("a", "1"))]
    with_id = Layout(PLAIN, write_options(stream="t", idColumn="id"))
    assert list(with_id.rows(batch)) == [Row("t", "1-1", None, ("a", "1"))]


def test_rows_of_an_archive_become_the_entries_that_they_were() -> None:
    entry = (b"b", b"\xff", b"a", b"1", b"b", b"2")
    page = EntryPage([[b"1-1", list(entry)], [b"1-2", [b"a", b"1"]]])
    batch = Decoder(ARCHIVED, batch_options()).batch("s", page)
    made = Layout(ARCHIVED, write_options()).rows(batch)
    assert [row.fields for row in made] == [entry, (b"a", b"1")]
    less = pa.array([[("b", "2")], []], pa.map_(pa.string(), pa.string()))
    changed = batch.set_column(4, "fields", less)
    with pytest.raises(SinkError, match=r"no field 'a' in its map .* Drop the column raw"):
        list(Layout(ARCHIVED, write_options()).rows(changed))


def test_columns_can_be_chosen() -> None:
    table = {"a": [1], "b": [2], "c": [3]}
    assert rows(table, stream="s", fieldColumns="c, a")[0].fields == ("c", "3", "a", "1")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "Where to write is not clear"),
        ({"stream": "s", "idColumn": "z"}, "Option idColumn names the column 'z'"),
        ({"stream": "s", "fieldColumns": "z"}, "Option fieldColumns names the column 'z'"),
        ({"stream": "s", "idColumn": "a", "keyColumn": "b"}, "exclude each other"),
    ],
)
def test_a_column_that_is_not_there_is_named(given: dict[str, str], fault: str) -> None:
    with pytest.raises(OptionError, match=fault):
        Layout(struct(a="integer", b="string"), write_options(**given))


def test_a_column_that_names_things_is_not_binary() -> None:
    for part in ({"idColumn": "a"}, {"keyColumn": "a"}):
        with pytest.raises(OptionError, match="Column 'a' is binary"):
            Layout(struct(a="binary", b="string"), write_options(stream="s", **part))


def test_a_row_without_stream_or_fields_cannot_be_an_entry() -> None:
    with pytest.raises(SinkError, match=r"no field that is not null"):
        rows({"a": pa.array([None], pa.string())}, stream="s")
    with pytest.raises(SinkError, match="no stream name"):
        rows({"stream": pa.array([None], pa.string()), "a": [1]})


CELLS = st.one_of(st.none(), st.text(max_size=4), st.text("é\r\n$*", max_size=3))


@given(
    st.lists(st.tuples(CELLS, st.one_of(st.none(), st.integers(-5, 5))), min_size=1, max_size=6),
    st.booleans(),
)
def test_columns_are_joined_to_the_same_bytes_as_rows(
    cells: list[tuple[str | None, int | None]], by_column: bool
) -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "stream": ["s", "tt"] * (len(cells) // 2) + ["s"] * (len(cells) % 2),
            "a": pa.array([a for a, _ in cells], pa.string()),
            "b": pa.array([b for _, b in cells], pa.int32()),
            "c": [0.5] * len(cells),
        }
    )
    options = write_options(**({} if by_column else {"stream": "always"}))
    layout = Layout(from_arrow_schema(batch.schema), options)
    middle = ("MAXLEN", "~", 10, "*")
    wanted = b"".join(pack("XADD", r.stream, *middle, *r.fields) for r in layout.rows(batch))
    assert layout.packed(batch, middle) == wanted
    halves = [batch[: len(cells) // 2], batch[len(cells) // 2 :]]
    assert b"".join(layout.packed(half, middle) for half in halves) == wanted
