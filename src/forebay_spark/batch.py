"""The bounded read: everything between two positions, as the streams are now.

Planning happens once, on the driver, when Spark makes a plan: one XINFO per stream
says what there is, and the span is cut as that of a micro-batch.  With ``pushFilters``
(and Spark's own switch for it) conditions on time, ID and stream make the span smaller
before anything is read; see filters.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from forebay_spark import filters, offsets, planning, state
from forebay_spark.connect import Server
from forebay_spark.errors import ServerError
from forebay_spark.options import Options
from forebay_spark.reading import bundled, read_task
from forebay_spark.schema import columns_of
from forebay_spark.server_help import Helper
from forebay_spark.splitting import AskingSplitter
from forebay_spark.state import StreamState


def reader(schema: StructType, options: Options) -> DataSourceReader:
    """A reader that takes filters only if it was asked to.

    Spark refuses a reader that has pushFilters while its own switch is off, which it
    is by default, and nothing here can see the switch.
    """
    return FilteringReader(schema, options) if options.pushFilters else BatchReader(schema, options)


class BatchReader(DataSourceReader):
    """Reads what is there."""

    def __init__(self, schema: StructType, options: Options) -> None:
        self._columns = columns_of(schema)
        self._schema = schema
        self._options = options
        self._starts = offsets.starts(options)
        self._ends = offsets.ends(options)
        self.bounds = filters.Bounds()

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        server = Server(self._options)
        helper = Helper(server, self._options)
        splitter = AskingSplitter(server, helper)
        try:
            states = self._look(server)
            wanted = self._wanted(states)
            spans = planning.plan(wanted, None, self._options.minPartitions, splitter)
            return bundled(spans, states, helper)
        finally:
            server.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a worker: the entries of one task."""
        return read_task(self._schema, self._options, partition)

    def _look(self, server: Server) -> dict[str, StreamState]:
        """The streams that can have rows."""
        pattern = self._options.streamsPattern
        named = state.discover(server, pattern) if pattern else self._options.names
        streams = list(filter(self.bounds.takes, named))
        states = state.fetch_all(server, streams)
        missing = [] if pattern else [stream for stream in streams if stream not in states]
        if missing:
            raise ServerError(
                f"There is no stream {missing[0]!r} at {server.where}. "
                "Correct the option streams, or wait until something was added."
            )
        return states

    def _wanted(self, states: Mapping[str, StreamState]) -> dict[str, planning.Wanted]:
        wanted = {}
        for stream, now in states.items():
            start = offsets.start_of(offsets.wish_for(stream, self._starts, offsets.EARLIEST), now)
            end = offsets.end_of(offsets.wish_for(stream, self._ends, offsets.LATEST), now)
            item = planning.wanted(stream, *self.bounds.narrow(start, end, now), now)
            if item is not None:
                wanted[stream] = item
        return wanted


class FilteringReader(BatchReader):
    """The same, with conditions that Spark hands down."""

    def pushFilters(self, filters_: list[Filter]) -> Iterable[Filter]:
        """Take what narrows the span; every condition is left to Spark to check as well."""
        names = {column.special: column.name for column in self._columns if column.special}
        self.bounds = filters.bounds_of(filters_, names)
        return filters_
