"""Fields that hold Avro, Protobuf or JSON: decoded by name into structs."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from forebay_spark.errors import MalformedError, OptionError
from forebay_spark.options import Options
from forebay_spark.read.decode import Decoder
from forebay_spark.read.pages import EntryPage
from forebay_spark.values import payloads
from spark.tests.support.spark_streams import Target, batch_options, rows_of, texts

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "item", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "more", "type": {"type": "map", "values": "double"}},
        {"name": "raw", "type": "bytes"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        },
    ],
}
RECORD = {
    "id": 2**40,
    "item": "tea",
    "at": NOON,
    "day": NOON.date(),
    "key": UUID(int=7),
    "tags": ["a", "b"],
    "more": {"k": 0.5},
    "raw": b"\xff\x00",
    "price": Decimal("1.50"),
}
MEMBERS = {
    "id": "long",
    "item": "string",
    "at": "timestamp",
    "day": "date",
    "key": "string",
    "raw": "binary",
    "price": "decimal(10,2)",
}


def schema_of(**members: Any) -> StructType:
    """A column ``payload`` with these members, and the two columns for errors."""

    def field(name: str, kind: Any) -> dict[str, Any]:
        return {"name": name, "type": kind, "nullable": True, "metadata": {}}

    record = {"type": "struct", "fields": [field(n, kind) for n, kind in members.items()]}
    columns = [field("n", "integer"), field("payload", record), field("_reason", "string")]
    return StructType.fromJson({"type": "struct", "fields": columns})


TAGS = {"type": "array", "elementType": "string", "containsNull": True}
MORE = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
SCHEMA = schema_of(**MEMBERS, tags=TAGS, more=MORE)


def avro_bytes(record: dict[str, Any], schema: Any = AVRO) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, record)
    return out.getvalue()


def avro_options(**given: Any) -> Options:
    return batch_options(
        decodeField="payload", decodeAs="Avro", decodeSchema=json.dumps(AVRO), **given
    )


def decoded(schema: StructType, options: Options, *found: bytes) -> list[dict[str, Any]]:
    payloads.check(schema, options)
    entries = [[b"1-%d" % at, [b"n", b"1", b"payload", raw]] for at, raw in enumerate(found)]
    return rows_of([Decoder(schema, options).batch("s", EntryPage(entries))])


def test_avro_becomes_a_struct_with_the_types_of_the_schema() -> None:
    (row,) = decoded(SCHEMA, avro_options(), avro_bytes(RECORD))
    assert row["payload"] | {"more": dict(row["payload"]["more"])} == RECORD | {
        "key": str(UUID(int=7))
    }


def test_a_payload_that_is_no_record_is_malformed_like_any_value() -> None:
    good = avro_bytes(RECORD)
    rows = decoded(SCHEMA, avro_options(), good[:-1], good, good + b"x", b"", b"\xff" * 30)
    assert [row["payload"] is None for row in rows] == [True, False, True, True, True]
    assert "is not a struct<id:bigint" in rows[0]["_reason"]
    with pytest.raises(MalformedError, match="Entry 1-1 of stream 's'"):
        decoded(SCHEMA, avro_options(mode="FAILFAST"), good, b"")


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_break_the_reading_of_avro(found: list[bytes]) -> None:
    assert len(decoded(SCHEMA, avro_options(), *found)) == len(found)


def descriptors() -> descriptor_pb2.FileDescriptorSet:
    """The output of protoc for a message with one member of each kind."""
    field, types = descriptor_pb2.FieldDescriptorProto, descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    colour = file.enum_type.add(name="Colour")
    colour.value.add(name="RED", number=0)
    colour.value.add(name="BLUE", number=1)
    order = file.message_type.add(name="Order")
    entry = order.nested_type.add(name="MoreEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=types.TYPE_INT32, label=field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=types.TYPE_DOUBLE, label=field.LABEL_OPTIONAL)
    for number, (name, kind, label, type_name) in enumerate(
        [
            ("id", types.TYPE_INT64, field.LABEL_OPTIONAL, None),
            ("at", types.TYPE_MESSAGE, field.LABEL_OPTIONAL, ".google.protobuf.Timestamp"),
            ("colour", types.TYPE_ENUM, field.LABEL_OPTIONAL, ".shop.Colour"),
            ("raw", types.TYPE_BYTES, field.LABEL_OPTIONAL, None),
            ("tags", types.TYPE_STRING, field.LABEL_REPEATED, None),
            ("more", types.TYPE_MESSAGE, field.LABEL_REPEATED, ".shop.Order.MoreEntry"),
            ("parent", types.TYPE_MESSAGE, field.LABEL_OPTIONAL, ".shop.Order"),
        ],
        1,
    ):
        order.field.add(name=name, number=number, type=kind, label=label, type_name=type_name)
    stamp = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    return descriptor_pb2.FileDescriptorSet(file=[stamp, file])


def order(**members: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors().file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    return bytes(kind(**members).SerializeToString())


@pytest.fixture
def protobuf(tmp_path: Path) -> dict[str, str]:
    """The options for these messages."""
    path = tmp_path / "shop.desc"
    path.write_bytes(descriptors().SerializeToString())
    return {
        "decodeField": "payload",
        "decodeAs": "protobuf",
        "decodeSchema": str(path),
        "decodeMessage": "shop.Order",
    }


def test_protobuf_becomes_a_struct(protobuf: dict[str, str]) -> None:
    parent = {"type": "struct", "fields": SCHEMA["payload"].dataType.jsonValue()["fields"][:1]}
    schema = schema_of(
        id="long",
        at="timestamp",
        colour="string",
        raw="binary",
        tags=TAGS,
        more=MORE,
        parent=parent,
    )
    full = order(id=5, at=NOON, colour=1, raw=b"\xff", tags=["x"], more={7: 0.5}, parent={"id": 4})
    rows = decoded(schema, batch_options(**protobuf), full, order(), full[:-1])
    assert rows[0]["payload"] == {
        "id": 5, "at": NOON, "colour": "BLUE", "raw": b"\xff", "tags": ["x"],
        "more": [("7", 0.5)], "parent": {"id": 4},
    }  # fmt: skip
    assert rows[1]["payload"] == {
        "id": 0, "at": None, "colour": "RED", "raw": b"", "tags": [], "more": [], "parent": None,
    }  # fmt: skip
    assert rows[2]["payload"] is None


def test_json_needs_nothing_but_the_schema() -> None:
    options = batch_options(decodeField="payload")
    (row,) = decoded(schema_of(id="long"), options, b'{"id": 3}')
    assert row["payload"] == {"id": 3}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"decodeAs": "avro"}, "decodeAs avro needs the option decodeField"),
        ({"decodeAs": "avro", "decodeField": "payload"}, "needs the option decodeSchema"),
        ({"decodeField": "payload", "decodeSchema": "{}"}, "has no meaning for JSON"),
        ({"decodeAs": "thrift"}, "avro or protobuf or json"),
        ({"decodeField": "item"}, "the schema has no struct column 'item'"),
        ({"decodeField": "n"}, "the schema has no struct column 'n'"),
        (
            {"decodeField": "payload", "decodeAs": "avro", "decodeSchema": "nowhere.avsc"},
            r"a file that can be read \(No such file or directory\)",
        ),
        (
            {"decodeField": "payload", "decodeAs": "avro", "decodeSchema": '{"type": "x"}'},
            "is not an Avro schema",
        ),
        (
            {"decodeField": "payload", "decodeAs": "avro", "decodeSchema": "{"},
            "is not an Avro schema",
        ),
        (
            {
                "decodeField": "payload",
                "decodeAs": "protobuf",
                "decodeSchema": "{}",
                "decodeMessage": "x",
            },
            "is not a set of Protobuf descriptors",
        ),
    ],
)
def test_a_mistake_in_the_options_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        payloads.check(SCHEMA, batch_options(**given))


def test_a_message_that_is_not_there_is_named(protobuf: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"has no message 'shop\.Ordr'"):
        payloads.check(SCHEMA, batch_options(**protobuf | {"decodeMessage": "shop.Ordr"}))


@pytest.mark.spark
def test_spark_reads_avro_from_a_stream(spark: Any, target: Target, tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(AVRO))
    entry: dict[Any, Any] = {"payload": avro_bytes(RECORD)}
    target.client.xadd("s", entry)
    reader = spark.read.format("forebay").options(
        url=target.url,
        **texts({"streams": "s", "decodeField": "payload", "decodeAs": "avro"}),
        decodeSchema=str(path),
    )
    rows = reader.schema("payload struct<id: bigint, day: date, raw: binary>").load()
    assert [tuple(row) for row in rows.select("payload.*").collect()] == [
        (2**40, date(2026, 1, 31), b"\xff\x00")
    ]
