"""Data sources to compare with: the ceiling of the transport, and the naive way.

    bench-const    sends one ready-made record batch again and again: nothing is fetched or
                   decoded, so this is the most that Spark itself takes from a Python source
    bench-tuples   plans and fetches as the connector does, but hands over Python tuples

Both deliver the columns of the schema that they are read with.  Workers import this module,
and keep the ready-made batch from one task to the next.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType

from bench.rows import F4, STREAM, entry_id
from forebay_spark.options import BATCH, read_options
from forebay_spark.read.batch import BatchReader
from forebay_spark.read.decode import Decoder
from forebay_spark.read.page_requests import ColumnsForm
from forebay_spark.read.pages import EntryPage
from forebay_spark.read.reading import Task
from forebay_spark.servers.connect import Server
from forebay_spark.source import ForebaySource
from forebay_spark.values.schema import is_plain

#: As many rows as a page of the connector has at most.
BATCH_ROWS = ColumnsForm.most_entries
#: How many entries a naive connector asks for at once.
TUPLE_PAGE_ENTRIES = 10_000
MICRO_BATCH_TASKS = 2
#: The key of an offset of the ready-made stream: how many rows were sent.
SENT = "sent"

Offset = dict[str, int]


def make_batch(schema: StructType, rows: int) -> pa.RecordBatch:
    """The record batch that the connector makes of the first entries of the bench's stream."""
    decoder = Decoder(schema, read_options({"streams": STREAM.decode()}, BATCH))
    entries = [[entry_id(at), list(F4)] for at in range(rows)]
    return decoder.batch(STREAM.decode(), EntryPage(entries))


@lru_cache(maxsize=4)
def ready_batch(schema_json: str) -> pa.RecordBatch:
    """The batch that is sent again and again, made once in each worker."""
    batch = make_batch(StructType.fromJson(json.loads(schema_json)), BATCH_ROWS)
    # Workers search all objects after each task; the daemon has excluded the connector's from that.
    gc.freeze()
    return batch


class Rows(InputPartition):
    """A task of this many rows."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


class ConstReader(DataSourceReader):
    """The bounded read: ``rows`` in ``parts`` tasks."""

    def __init__(self, schema: StructType, rows: int, parts: int) -> None:
        self._schema_json = schema.json()
        self._rows = rows
        self._parts = parts

    def partitions(self) -> Sequence[InputPartition]:
        """About equal tasks."""
        bounds = [self._rows * at // self._parts for at in range(self._parts + 1)]
        return [Rows(high - low) for low, high in pairwise(bounds)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The same batch until the rows are reached."""
        assert isinstance(partition, Rows)
        batch, left = ready_batch(self._schema_json), partition.rows
        while left > 0:
            yield batch if left >= batch.num_rows else batch.slice(0, left)
            left -= batch.num_rows


class ConstStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The endless read: micro-batches of one row a task, until ``rows`` are sent."""

    def __init__(self, schema: StructType, rows: int) -> None:
        self._batch = make_batch(schema, 1)
        self._rows = rows

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing comes later, so there is nothing to remember."""

    def initialOffset(self) -> Offset:
        """Nothing was sent."""
        return {SENT: 0}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """One row a task more."""
        return {SENT: min(start[SENT] + MICRO_BATCH_TASKS, self._rows)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """A task for each row."""
        return [Rows(1) for _ in range(start[SENT], end[SENT])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The one row."""
        yield self._batch


class ConstSource(DataSource):
    """Ready-made rows; options ``rows`` and ``parts``."""

    @classmethod
    def name(cls) -> str:
        """What stands in ``format(...)``."""
        return "bench-const"

    def reader(self, schema: StructType) -> DataSourceReader:
        """A bounded read."""
        return ConstReader(schema, int(self.options["rows"]), int(self.options["parts"]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """An endless read."""
        return ConstStreamReader(schema, int(self.options["rows"]))


class TupleReader(BatchReader):
    """The connector's plan and tasks; entries become tuples one by one."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The entries of a task as tuples."""
        assert isinstance(partition, Task)
        to_tuple = tuple_maker(self._schema)
        server = Server(self._options)
        (part,) = partition.parts
        stream, at, end = part.stream, str(part.piece.start), part.piece.end
        link = server.link(stream)
        try:
            while True:
                entries = link.call(
                    *("XRANGE", stream, f"({at}", str(end)),
                    *("COUNT", TUPLE_PAGE_ENTRIES),
                )
                for entry_id_, fields in entries:
                    yield to_tuple(stream, entry_id_, fields)
                if len(entries) < TUPLE_PAGE_ENTRIES:
                    return
                at = entries[-1][0].decode()
        finally:
            server.close()


CONVERSIONS: dict[type, Callable[[bytes], Any]] = {
    StringType: bytes.decode,
    DoubleType: float,
    IntegerType: int,
    LongType: int,
}


def tuple_maker(schema: StructType) -> Callable[[str, bytes, list[bytes]], tuple[Any, ...]]:
    """A function that makes a row of this schema from an entry, with as little work as possible."""
    if is_plain(schema):
        return plain_tuple
    wanted = [(field.name.encode(), CONVERSIONS[type(field.dataType)]) for field in schema]

    def typed_tuple(_stream: str, _id: bytes, flat: list[bytes]) -> tuple[Any, ...]:
        fields = dict(zip(flat[0::2], flat[1::2], strict=True))
        return tuple([convert(fields[name]) for name, convert in wanted])

    return typed_tuple


def plain_tuple(stream: str, id_: bytes, flat: list[bytes]) -> tuple[Any, ...]:
    """The plain columns of an entry."""
    text = [item.decode() for item in flat]
    ms, seq = id_.split(b"-")
    moment = datetime.fromtimestamp(int(ms) / 1000, UTC)
    fields = dict(zip(text[0::2], text[1::2], strict=True))
    return stream, id_.decode(), moment, int(seq), fields


class TupleSource(ForebaySource):
    """The connector over row tuples."""

    @classmethod
    def name(cls) -> str:
        """What stands in ``format(...)``."""
        return "bench-tuples"

    def reader(self, schema: StructType) -> DataSourceReader:
        """A bounded read."""
        return TupleReader(schema, read_options(self.options, BATCH))
