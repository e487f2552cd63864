"""The data source "forebay": the entry point for Spark.

    spark.read.format("forebay").options(url=..., streams="orders").load()
    spark.readStream.format("forebay").options(url=..., streamsPattern="orders:*").load()
    df.write.format("forebay").options(url=..., stream="totals").mode("append").save()
    df.writeStream.format("forebay").options(url=..., stream="totals", checkpointLocation=...)

Spark creates this object in one Python process, pickles it, and asks it in others for
readers and writers; they are pickled again and run in tasks.  So nothing here holds a
connection: each part opens its own where it runs, and options travel as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from forebay_spark.errors import ConnectorError
from forebay_spark.options import BATCH, BINARY, LONG_RETRY, STREAM, TEXT, WRITE, read_options
from forebay_spark.read import batch, micro_batch, offsets
from forebay_spark.values import payloads
from forebay_spark.values.schema import PLAIN, PLAIN_BYTES, refuse_broken_promises
from forebay_spark.write import sink


class Refusal(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming read that cannot work: raises the reason at the first call.

    An error of ``streamReader`` itself never arrives: Spark (4.3) then stops a reader that it does
    not have, and this error of its own replaces our sentence.
    """

    def __init__(self, error: ConnectorError) -> None:
        self._error = error

    def prepareForTriggerAvailableNow(self) -> None:
        """Raise the reason."""
        raise self._error

    def getDefaultReadLimit(self) -> ReadLimit:
        """Raise the reason."""
        raise self._error

    def initialOffset(self) -> offsets.Json:
        """Raise the reason."""
        raise self._error

    def latestOffset(self, start: offsets.Json, limit: ReadLimit) -> offsets.Json:
        """Raise the reason."""
        raise self._error

    def partitions(self, start: offsets.Json, end: offsets.Json) -> Sequence[InputPartition]:
        """Raise the reason."""
        raise self._error

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Raise the reason."""
        raise self._error


class ForebaySource(DataSource):
    """Streams of Forebay, Redis or Valkey as tables, and tables as streams."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return "forebay"

    def schema(self) -> StructType:
        """The columns if the user gives no schema."""
        # The reader refuses an unknown word, with one sentence.
        asked = self.options.get("fieldValues", TEXT).strip().lower()
        return PLAIN_BYTES if asked == BINARY else PLAIN

    def reader(self, schema: StructType) -> DataSourceReader:
        """A bounded read."""
        options = read_options(self.options, BATCH)
        refuse_broken_promises(schema, options.mode)
        payloads.check(schema, options)
        return batch.reader(schema, options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """An endless read."""
        try:
            options = read_options(self.options, STREAM)
            refuse_broken_promises(schema, options.mode)
            payloads.check(schema, options)
            return micro_batch.MicroBatchReader(schema, options)
        except ConnectorError as error:
            return Refusal(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A write of a table."""
        return sink.BatchWriter(schema, read_options(self.options, WRITE), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """A write of every micro-batch; a query has time to wait for a server."""
        options = read_options({"retryFor": LONG_RETRY, **self.options}, WRITE)
        return sink.MicroBatchWriter(schema, options, overwrite)
