"""Pages to record batches: columns, types and the three modes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from forebay_spark.errors import MalformedError, OptionError
from forebay_spark.read.decode import Decoder
from forebay_spark.read.pages import EntryPage
from forebay_spark.source import ForebaySource
from forebay_spark.values.schema import (
    PLAIN,
    PLAIN_BYTES,
    SPECIAL,
    columns_of,
    refuse_broken_promises,
)
from spark.tests.support.spark_streams import batch_options, rows_of, struct

BYTES = PLAIN_BYTES["fields"].dataType
GOOD = [b"1000-1", [b"n", b"1", b"name", b"ann"]]
BAD = [b"2000-2", [b"n", b"one", b"name", b"bob"]]
THIN = [b"3000-3", [b"name", b"cid"]]
TYPED = struct(n="integer", name="string", _corrupt="string", _reason="string")


def decode(schema: StructType, *entries: Any, **options: Any) -> pa.RecordBatch:
    batch = Decoder(schema, batch_options(**options)).batch("s", EntryPage(list(entries)))
    assert batch.schema.equals(to_arrow_schema(schema, timezone="UTC"))
    return batch


def test_without_a_schema_an_entry_is_its_parts() -> None:
    assert rows_of([decode(PLAIN, GOOD)]) == [
        {
            "stream": "s",
            "id": "1000-1",
            "timestamp": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "seq": 1,
            "fields": {"n": "1", "name": "ann"},
        }
    ]


def test_bytes_that_are_not_text_are_replaced_in_the_plain_map() -> None:
    row = rows_of([decode(PLAIN, [b"1-1", [b"k", b"\xff!"]])])[0]
    assert row["fields"] == {"k": "\ufffd!"}


def test_values_are_bytes_by_option() -> None:
    def columns(**options: str) -> StructType:
        return ForebaySource(CaseInsensitiveDict(options)).schema()

    assert columns() == columns(fieldValues="text") == PLAIN
    assert columns(fieldvalues=" Binary") == PLAIN_BYTES
    with pytest.raises(OptionError, match=r"fieldValues cannot be 'bytes'. Give it text or binary"):
        batch_options(fieldValues="bytes")
    row = rows_of([decode(PLAIN_BYTES, [b"1-1", [b"n", b"1", b"avro", b"\xff\x00"]])])[0]
    assert row["fields"] == {"n": b"1", "avro": b"\xff\x00"}
    typed = StructType([StructField("n", IntegerType()), StructField("_fields", BYTES)])
    row = decode(typed, [b"1-1", [b"n", b"1", b"avro", b"\xff"]]).to_pylist()[0]
    assert (row["n"], dict(row["_fields"])) == (1, {"n": b"1", "avro": b"\xff"})


def test_numbers_that_spark_cannot_hold_are_null_and_the_id_is_exact() -> None:
    largest = "18446744073709551615-18446744073709551615"
    row = rows_of([decode(PLAIN, [largest.encode(), [b"k", b"v"]])])[0]
    assert (row["id"], row["timestamp"], row["seq"]) == (largest, None, None)


def test_a_schema_reads_fields_as_types_and_knows_special_columns() -> None:
    schema = struct(n="integer", _id="string", _seq="long", _stream="string", absent="double")
    assert rows_of([decode(schema, GOOD)]) == [
        {"n": 1, "_id": "1000-1", "_seq": 1, "_stream": "s", "absent": None}
    ]


def test_a_field_may_be_called_id_or_timestamp_in_a_schema() -> None:
    entry = [b"5-5", [b"id", b"77", b"timestamp", b"2026-01-31T00:00:00Z"]]
    row = rows_of([decode(struct(id="integer", timestamp="timestamp"), entry)])[0]
    assert row == {"id": 77, "timestamp": datetime(2026, 1, 31, tzinfo=UTC)}


def test_permissive_keeps_the_row_with_null_and_tells_why() -> None:
    rows = rows_of([decode(TYPED, GOOD, BAD, THIN)])
    assert [row["n"] for row in rows] == [1, None, None]
    assert [row["name"] for row in rows] == ["ann", "bob", "cid"]
    assert [row["_reason"] for row in rows] == [None, "n: 'one' is not an int", None]
    assert json.loads(rows[1]["_corrupt"]) == {"n": "one", "name": "bob"}
    assert rows[0]["_corrupt"] is None


def test_dropmalformed_leaves_the_row_out() -> None:
    rows = rows_of([decode(TYPED, GOOD, BAD, THIN, mode="dropmalformed")])
    assert [row["name"] for row in rows] == ["ann", "cid"]


def test_failfast_names_the_entry() -> None:
    with pytest.raises(MalformedError, match=r"Entry 2000-2 of stream 's' .*'one' is not an int"):
        decode(TYPED, GOOD, BAD, mode="FAILFAST")


def test_a_required_field_that_is_missing_is_malformed() -> None:
    schema = StructType([StructField("n", IntegerType(), nullable=False)])
    with pytest.raises(MalformedError, match="n: missing"):
        decode(schema, GOOD, THIN, mode="FAILFAST")
    assert decode(schema, GOOD, THIN, mode="DROPMALFORMED").num_rows == 1


def test_a_required_struct_that_is_null_in_json_is_malformed() -> None:
    kind = StructType([StructField("a", IntegerType())])
    schema = StructType([StructField("n", kind, nullable=False)])
    with pytest.raises(MalformedError, match="n: missing"):
        decode(schema, [b"1-1", [b"n", b'{"a": 1}']], [b"1-2", [b"n", b"null"]], mode="FAILFAST")


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "FAILFAST"])
def test_not_null_is_allowed_where_no_null_can_come(mode: str) -> None:
    schema = StructType([StructField("n", IntegerType(), nullable=False)])
    refuse_broken_promises(schema, mode)
    with pytest.raises(OptionError, match="mode PERMISSIVE makes it null"):
        refuse_broken_promises(schema, "PERMISSIVE")


def test_columns_about_the_entry_are_not_null_if_every_entry_has_them() -> None:
    always = [StructField(n, SPECIAL[n], nullable=False) for n in ("_stream", "_id", "_fields")]
    refuse_broken_promises(StructType(always), "PERMISSIVE")
    for name in ("_corrupt", "_reason", "_timestamp", "_seq"):
        schema = StructType([StructField(name, SPECIAL[name], nullable=False)])
        with pytest.raises(OptionError, match=f"Column {name} is NOT NULL"):
            refuse_broken_promises(schema, "FAILFAST")


def test_a_special_column_of_another_type_is_refused() -> None:
    with pytest.raises(OptionError, match="Column _seq is of type string"):
        columns_of(struct(_seq="string"))


@pytest.mark.parametrize("kind", ["void", "variant", "time(6)"])
def test_a_type_that_no_text_has_is_refused(kind: str) -> None:
    with pytest.raises(OptionError, match="cannot be read from text"):
        columns_of(struct(x=kind))


def test_string_columns_take_any_entry() -> None:
    schema = StructType([StructField("name", StringType())])
    assert decode(schema, GOOD, BAD, THIN, mode="FAILFAST").num_rows == 3
