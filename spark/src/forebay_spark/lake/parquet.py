"""Arrow columns into Parquet files of a lake, in any process that has them.

    record batches --> PartitionedFiles --> stream=orders/date=2026-01-31/part-<random>.parquet
                                        --> [NewFile, ...]   safe on disk, in no commit yet

Rows are split by the partition columns; their values are in the log and in the name of the folder,
not in the file.  Entries of a stream arrive in the order of their IDs, so mostly one file is open.
Unsorted rows have up to ``MOST_OPEN`` files; the least recently used one is ended for the next.
Ended files are made durable together (stores.py).

IDs and times are written as differences, which makes files smaller.  The log gets minima and maxima
of whole numbers, dates and times, so that a query for an hour opens only that hour's files.
Files of a failed attempt are in no commit; vacuum removes them.
"""

from __future__ import annotations

import io
import json
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from forebay_spark.lake import stores
from forebay_spark.lake.changes import NewFile
from forebay_spark.lake.stores import Place
from forebay_spark.values.entry_columns import EntryColumns

CODEC = "zstd"
#: Bytes that wait for the rest of their row group: a bound for the memory of a task.
GROUP_BYTES = 32 << 20
MOST_OPEN = 16
#: Ended files that wait to be made durable.
MOST_ENDED = 64
#: How Hive, Spark and Delta name the folder of rows that have no value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

Values = tuple[str | None, ...]
NONE: Mapping[str, str] = {}


class PartitionedFiles:
    """The files of one task."""

    def __init__(
        self,
        place: Place,
        partitions: tuple[str, ...],
        differences: Mapping[str, str] = NONE,
    ) -> None:
        self._place = place
        self._partitions = partitions
        self._differences = differences
        self._open: OrderedDict[Values, OpenFile] = OrderedDict()
        self._ended: list[OpenFile] = []
        self._done: list[NewFile] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        rows = batch.drop_columns(list(self._partitions)) if self._partitions else batch
        for values, order in split(batch, self._partitions):
            chosen = rows.slice(order.start, len(order)) if isinstance(order, range) else None
            self._file_of(values, rows.schema).add(rows.take(order) if chosen is None else chosen)

    def _file_of(self, values: Values, schema: pa.Schema) -> OpenFile:
        file = self._open.get(values)
        if file is None:
            if len(self._open) >= MOST_OPEN:
                self._end_oldest()
            file = OpenFile(self._place, self._named(values), schema, self._differences)
            self._open[values] = file
        self._open.move_to_end(values)
        return file

    def _named(self, values: Values) -> dict[str, str | None]:
        return dict(zip(self._partitions, values, strict=True))

    def finish(self) -> list[NewFile]:
        """Finish all files; they are then safe on disk."""
        while self._open:
            self._end_oldest()
        self._finish_ended()
        return self._done

    def _end_oldest(self) -> None:
        values, file = next(iter(self._open.items()))
        file.end()
        self._ended.append(file)
        del self._open[values]
        if len(self._ended) >= MOST_ENDED:
            self._finish_ended()

    def _finish_ended(self) -> None:
        self._done += finish(self._ended)
        self._ended = []

    def close(self) -> None:
        """Give up files that will not be finished."""
        for file in (*self._open.values(), *self._ended):
            file.give_up()
        self._open.clear()
        self._ended.clear()


class OpenFile:
    """A Parquet file that grows by row groups."""

    def __init__(
        self,
        place: Place,
        values: Mapping[str, str | None],
        schema: pa.Schema,
        differences: Mapping[str, str],
    ) -> None:
        self._values = values
        self._path = f"{folder_of(values)}part-{uuid.uuid4().hex}.{CODEC}.parquet"
        self.out = stores.create(place, self._path)
        try:
            self._writer = parquet_writer(self.out, schema, differences)
        except OSError:
            self.out.close()
            raise
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._rows = 0
        self._stats = Statistics(schema)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch)
        self._waiting_bytes += batch.nbytes
        self._rows += batch.num_rows
        if self._waiting_bytes >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if self._waiting:
            rows = pa.Table.from_batches(self._waiting)
            self._stats.see(rows)
            self._writer.write_table(rows, row_group_size=rows.num_rows)
            self._waiting, self._waiting_bytes = [], 0

    def end(self) -> None:
        """Write waiting rows; the file is not safe yet."""
        self._write_group()
        self._writer.close()

    def finish(self) -> NewFile:
        """End this file; return when it would survive a power failure."""
        self.end()
        (done,) = finish([self])
        return done

    def told(self) -> NewFile:
        """The facts of an ended file for the log."""
        size_bytes = self.out.tell()
        return NewFile(self._path, size_bytes, self._rows, self._values, self._stats.text())

    def give_up(self) -> None:
        """Leave the file as it is; Arrow insists on ending it, if there is room."""
        with suppress(OSError), closing(self.out):
            self._writer.close()


def finish(ended: Sequence[OpenFile]) -> list[NewFile]:
    """Make ended files safe."""
    done = [file.told() for file in ended]
    stores.finish([file.out for file in ended])
    return done


def parquet_writer(
    out: BinaryIO, schema: pa.Schema, differences: Mapping[str, str]
) -> pq.ParquetWriter:
    """Some columns are written as differences, all others by dictionary."""
    chosen = {name: how for name, how in differences.items() if name in schema.names}
    return pq.ParquetWriter(
        out,
        schema,
        compression=CODEC,
        use_dictionary=[path for path in leaves(schema) if path not in chosen],
        column_encoding=chosen or None,
    )


@lru_cache(maxsize=16)
def leaves(schema: pa.Schema) -> list[str]:
    """The paths of all columns as Parquet sees them, nested ones too."""
    empty = io.BytesIO()
    pq.write_table(schema.empty_table(), empty)
    parquet = pq.ParquetFile(empty).schema
    return [parquet.column(at).path for at in range(len(parquet))]


def differences(entry: StructType | None) -> dict[str, str]:
    """The encodings of columns whose values rise from entry to entry."""
    if entry is None:
        return {}
    names = EntryColumns(entry)
    return {names.id: "DELTA_BYTE_ARRAY", names.timestamp: "DELTA_BINARY_PACKED"}


# Rows by their folder.


def split(
    batch: pa.RecordBatch, partitions: tuple[str, ...]
) -> Iterator[tuple[Values, range | pa.Array]]:
    """The rows of each partition: a range if they are adjacent, else their numbers."""
    columns = [batch.column(name) for name in partitions]
    if all(len(pc.unique(column)) <= 1 for column in columns):
        # The usual case: a page of one stream and one day.
        firsts = [value_texts(column[:1]).to_pylist() or [None] for column in columns]
        yield tuple(text for (text,) in firsts), range(batch.num_rows)
        return
    texts = [value_texts(column) for column in columns]
    codes = _codes(texts)
    runs = pc.run_end_encode(codes)
    ends = runs.run_ends.to_pylist()
    if len(ends) == len(pc.unique(codes)):
        start = 0
        for end in ends:
            yield tuple(text[start].as_py() for text in texts), range(start, end)
            start = end
        return
    for code in pc.unique(codes):
        rows = pc.indices_nonzero(pc.equal(codes, code))
        yield tuple(text[rows[0].as_py()].as_py() for text in texts), rows


def _codes(texts: list[pa.Array]) -> pa.Array:
    """One number for each row; equal if all texts are equal."""
    total = pa.repeat(pa.scalar(0, pa.int64()), len(texts[0]))
    for text in texts:
        coded = pc.dictionary_encode(text, null_encoding="encode")
        total = pc.add(pc.multiply(total, len(coded.dictionary)), coded.indices.cast(pa.int64()))
    return total


def value_texts(column: pa.Array) -> pa.Array:
    """Values in the form of Delta's log; a day after the year 9999 has no text and is null."""
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%d %H:%M:%S")
    if pa.types.is_date(column.type):
        days = column.cast(pa.int32())
        known = pc.and_(pc.less_equal(days, LAST_DAY), pc.greater_equal(days, 0))
        return pc.if_else(known, column, pa.scalar(None, column.type)).cast(pa.string())
    return column.cast(pa.string())


LAST_DAY = (date(9999, 12, 31) - date(1970, 1, 1)).days


def folder_of(values: Mapping[str, str | None]) -> str:
    """The folders of some values, as Delta's writers name them."""
    return "".join(
        f"{quote(name, safe='')}={NO_VALUE if value in (None, '') else quote(str(value), safe='')}/"
        for name, value in values.items()
    )


# Statistics of a file for the log.


class Statistics:
    """Minima, maxima and numbers of nulls, as Delta's log has them."""

    def __init__(self, schema: pa.Schema) -> None:
        self.columns = [field.name for field in schema if _is_ordered(field.type)]
        self._low: dict[str, Any] = {}
        self._high: dict[str, Any] = {}
        self._nulls = dict.fromkeys(self.columns, 0)
        self._rows = 0
        self._types = {name: schema.field(name).type for name in self.columns}

    def see(self, rows: pa.Table) -> None:
        """Add rows."""
        self._rows += rows.num_rows
        for name in self.columns:
            column = rows.column(name)
            self._nulls[name] += column.null_count
            ends = pc.min_max(column)
            low, high = _number(ends["min"]), _number(ends["max"])
            if low is not None and high is not None:
                self._low[name] = min(low, self._low.get(name, low))
                self._high[name] = max(high, self._high.get(name, high))

    def text(self) -> str:
        """The JSON of the log."""
        told = {
            name: (_text(self._low[name], kind), _text(self._high[name], kind))
            for name, kind in self._types.items()
            if name in self._low
        }
        known = {name: ends for name, ends in told.items() if None not in ends}
        return json.dumps(
            {
                "numRecords": self._rows,
                "minValues": {name: low for name, (low, _) in known.items()},
                "maxValues": {name: high for name, (_, high) in known.items()},
                "nullCount": self._nulls,
            }
        )


def _is_ordered(kind: pa.DataType) -> bool:
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.types.is_signed_integer(kind) or pa.types.is_date(kind) or zoned


def _number(value: pa.Scalar) -> int | None:
    """A value as the whole number that Arrow stores."""
    if not value.is_valid:
        return None
    return int(value.value if hasattr(value, "value") else value.as_py())


def _text(number: int, kind: pa.DataType) -> Any:
    """A number of Arrow in JSON; None if JSON cannot express it."""
    try:
        if pa.types.is_timestamp(kind):
            moment = datetime.fromtimestamp(number // 1_000_000, UTC)
            return f"{moment:%Y-%m-%dT%H:%M:%S}.{number % 1_000_000:06}Z"
        if pa.types.is_date(kind):
            return pa.scalar(number, pa.int32()).cast(pa.date32()).as_py().isoformat()
    except (OverflowError, ValueError, OSError):
        return None
    return number
