"""Helpers for tests of the connector: a server to read from, and reading without Spark.

``Target`` is a server of either kind with a client.  ``rows_of`` and ``read_tasks`` do
Spark's work between two offsets in this process, so that most of the connector is
tested in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import redis
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType, _parse_datatype_json_string

from forebay_spark import ids
from forebay_spark.ids import FIRST
from forebay_spark.options import BATCH, STREAM, WRITE, Options, read_options
from forebay_spark.read.offsets import Piece
from testkit.oracle import counts_entries
from testkit.servers import ServerProcess

Fields = dict[str, Any]


class Target:
    """A server under test."""

    def __init__(self, server: ServerProcess) -> None:
        self.name = server.name
        self.port = server.port
        self.url = f"redis://127.0.0.1:{server.port}"
        self.client = redis.Redis(port=server.port)
        #: Whether it counts all entries ever added to a stream; Redis before 7.0 does not.
        self.counts = server.name == "forebay" or counts_entries()

    def add(self, stream: str, count: int, first: int = 0, **fields: Any) -> list[str]:
        """Add numbered entries; returns their IDs."""
        pipeline = self.client.pipeline(transaction=False)
        for number in range(first, first + count):
            entry: Any = {"n": number, **fields}
            pipeline.xadd(stream, entry)
        return [entry_id.decode() for entry_id in pipeline.execute()]

    def add_at(self, stream: str, ids: Iterable[str]) -> None:
        """Add entries with these IDs."""
        pipeline = self.client.pipeline(transaction=False)
        for number, entry_id in enumerate(ids):
            pipeline.xadd(stream, {"n": number}, id=entry_id)
        pipeline.execute()

    def trim(self, stream: str, first_id: str) -> None:
        """Remove everything before an ID."""
        self.client.xtrim(stream, minid=first_id, approximate=False)

    def ids(self, stream: str) -> list[str]:
        """All IDs of a stream, in order."""
        return [entry_id.decode() for entry_id, _ in self._entries(stream)]

    def numbers(self, stream: str) -> list[int]:
        """The field ``n`` of all entries, in order."""
        return [int(fields[b"n"]) for _, fields in self._entries(stream)]

    def _entries(self, stream: str) -> list[Any]:
        entries: Any = self.client.xrange(stream)
        return list(entries)

    def whole(self, stream: str) -> Piece:
        """The whole range of a stream, in the form of a plan."""
        known: Any = self.client.xinfo_stream(stream)
        return Piece(FIRST, ids.parse(known["last-generated-id"].decode()), None)

    def options(self, where: str, **given: Any) -> Options:
        """Options of the connector for this server."""
        return read_options({"url": self.url, **texts(given)}, where)


def texts(given: Fields) -> dict[str, str]:
    """Options as Spark passes them."""
    return {name: str(value) for name, value in given.items()}


def stream_options(**given: Any) -> Options:
    """Options of a streaming read without a server."""
    return read_options({"streams": "s", **texts(given)}, STREAM)


def batch_options(**given: Any) -> Options:
    """Options of a batch read without a server."""
    return read_options({"streams": "s", **texts(given)}, BATCH)


def write_options(**given: Any) -> Options:
    """Options of a write without a server."""
    return read_options(texts(given), WRITE)


def struct(**columns: str) -> StructType:
    """A schema from names and types: struct(a="integer")."""
    fields = ",".join(
        f'{{"name":"{name}","type":"{kind}","nullable":true,"metadata":{{}}}}'
        for name, kind in columns.items()
    )
    schema = _parse_datatype_json_string(f'{{"type":"struct","fields":[{fields}]}}')
    assert isinstance(schema, StructType)
    return schema


def read_tasks(
    reader: DataSourceReader | DataSourceStreamReader, tasks: Sequence[InputPartition]
) -> list[pa.RecordBatch]:
    """Run tasks one after the other."""
    batches: list[pa.RecordBatch] = []
    for task in tasks:
        batches += reader.read(task)
    return batches


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """All rows as dictionaries; maps as dictionaries too."""
    rows = []
    for batch in batches:
        for row in batch.to_pylist():
            is_map = isinstance(row.get("fields"), list)
            rows.append({**row, "fields": dict(row["fields"])} if is_map else row)
    return rows


def numbers_of(batches: Iterable[pa.RecordBatch]) -> list[int]:
    """The field ``n`` of all rows of the plain schema."""
    return [int(row["fields"]["n"]) for row in rows_of(batches)]
