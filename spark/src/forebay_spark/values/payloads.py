"""Fields that hold a record of another format: Avro, Protobuf or JSON.

    option("decodeField", "payload")
    option("decodeAs", "avro")                   avro, protobuf or json
    option("decodeSchema", "order.avsc")         Avro: the schema, as a file or as its JSON
                                                 Protobuf: a file of ``protoc --descriptor_set_out
                                                 --include_imports``
    option("decodeMessage", "shop.Order")        Protobuf: which message of that file

The column of the user's schema with the name of the field is then a struct with the wanted
members of the record: ``payload struct<id: bigint, item: string>``, in a query ``payload.id``
or ``payload.*``.  Members are matched by name and judged like those of JSON, and a payload
that cannot be decoded is a malformed value like any other (``mode``).

Schemas are read where the options are, on the driver; tasks get their contents.  The
libraries (fastavro, protobuf) are imported only if a read asks for their format.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from forebay_spark.errors import OptionError
from forebay_spark.options import AVRO, JSON, Options
from forebay_spark.values import nested

_INSTALL = "Install it where tasks run: pip install 'forebay-spark[records]'."
_TIMESTAMP = "google.protobuf.Timestamp"


def converter(name: str, kind: pa.DataType, options: Options) -> nested.Converter:
    """The converter of the field with this name to a column of this type."""
    if name not in options.decodeField or options.decodeAs == JSON:
        return nested.converter(kind, options.timestampFormat)
    return nested.record_column(kind, options.timestampFormat, _decoder(options))


def check(schema: StructType, options: Options) -> None:
    """OptionError if the options for payloads do not match each other or the schema."""
    if not options.decodeField:
        return
    for name in options.decodeField:
        column = next((field for field in schema if field.name == name), None)
        if column is None or not isinstance(column.dataType, StructType):
            raise OptionError(
                f"decodeField names {name!r}, but the schema has no struct column {name!r} for "
                f"its members. Give a schema with one, as in '{name} struct<id: bigint>'."
            )
    if options.decodeAs != JSON:
        _decoder(options)


def _decoder(options: Options) -> nested.Decode:
    return _avro(options) if options.decodeAs == AVRO else _protobuf(options)


def _avro(options: Options) -> nested.Decode:
    try:
        import fastavro
    except ImportError:
        raise OptionError(f"decodeAs avro needs the package fastavro. {_INSTALL}") from None
    try:
        schema = fastavro.parse_schema(json.loads(options.decodeSchema))
    except (ValueError, fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise OptionError(
            f"The decodeSchema is not an Avro schema ({error!r}). Give a file (.avsc) or its JSON."
        ) from None
    return partial(_avro_record, fastavro.schemaless_reader, schema)


def _avro_record(read: Callable[..., Any], schema: Any, raw: bytes) -> Any:
    source = BytesIO(raw)
    try:
        record = read(source, schema, None)
    except (EOFError, LookupError, ArithmeticError) as error:
        raise ValueError(f"not Avro of this schema: {error!r}") from None
    if source.read(1):
        raise ValueError("bytes after the Avro record")
    return record


def _protobuf(options: Options) -> nested.Decode:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
    except ImportError:
        raise OptionError(f"decodeAs protobuf needs the package protobuf. {_INSTALL}") from None
    pool = descriptor_pool.DescriptorPool()
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(options.decodeSchema)
        for file in files.file:
            pool.Add(file)
    except (message.DecodeError, TypeError) as error:
        raise OptionError(
            f"The decodeSchema is not a set of Protobuf descriptors ({error}). Make it with: "
            "protoc --include_imports --descriptor_set_out=FILE order.proto"
        ) from None
    try:
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(options.decodeMessage))
    except KeyError:
        raise OptionError(
            f"The decodeSchema has no message {options.decodeMessage!r}. "
            "Set decodeMessage to the full name, as in shop.Order."
        ) from None
    return partial(_protobuf_record, kind.FromString, message.DecodeError)


def _protobuf_record(parse: Callable[[bytes], Any], broken: type[Exception], raw: bytes) -> Any:
    try:
        return _members(parse(raw))
    except broken as error:
        raise ValueError(f"not Protobuf of this message: {error}") from None


def _members(message: Any) -> Any:
    """A message as a dictionary; enums by name, timestamps as times."""
    if message.DESCRIPTOR.full_name == _TIMESTAMP:
        return message.ToJsonString()
    return {field.name: _member(message, field) for field in message.DESCRIPTOR.fields}


def _member(message: Any, field: Any) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        item = kind.fields_by_name["value"]
        return {_key(key): _plain(item, value[key]) for key in value}
    if field.is_repeated:
        return [_plain(field, item) for item in value]
    return _plain(field, value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)


def _plain(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _members(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return value
