"""The bounded read: everything between two positions, as the streams are now.

Planning happens once, on the driver, when Spark makes a plan: one XINFO per stream
gives its state, and the span is split like that of a micro-batch.  Conditions on time, ID and
stream make the span smaller before anything is read, if Spark passes them down (filters.py).  This
is off by default: Spark (4.3) plans a DataFrame's read once for all queries of it, so a query with
conditions would leave its small span to the next query, which has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from forebay_spark.errors import ServerError
from forebay_spark.options import Options
from forebay_spark.read import filters, offsets, planning
from forebay_spark.read.reading import bundled, read_task
from forebay_spark.read.splitting import AskingSplitter
from forebay_spark.servers import state
from forebay_spark.servers.capabilities import Helper
from forebay_spark.servers.connect import Server
from forebay_spark.servers.state import StreamState
from forebay_spark.values.schema import columns_of


def reader(schema: StructType, options: Options) -> DataSourceReader:
    """A reader; it takes filters if the option asks for it."""
    return FilteringReader(schema, options) if options.pushFilters else BatchReader(schema, options)


class BatchReader(DataSourceReader):
    """Reads the existing entries."""

    def __init__(self, schema: StructType, options: Options) -> None:
        self._columns = columns_of(schema)
        self._schema = schema
        self._options = options
        self._starts = offsets.starts(options)
        self._ends = offsets.ends(options)
        self._bounds = filters.Bounds()

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

    def narrow(self, conditions: Iterable[Filter]) -> None:
        """Leave out the parts in which no row can meet the conditions."""
        names = {column.special: column.name for column in self._columns if column.special}
        self._bounds = filters.bounds_of(conditions, names)

    def _look(self, server: Server) -> dict[str, StreamState]:
        """The streams that can have rows."""
        pattern = self._options.streamsPattern
        named = state.discover(server, pattern) if pattern else self._options.names
        streams = list(filter(self._bounds.takes, named))
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
            item = planning.wanted(stream, *self._bounds.narrow(start, end, now), now)
            if item is not None:
                wanted[stream] = item
        return wanted


class Taker:
    """Replaces ``pushFilters`` of a reader, whether Spark passes filters down or not.

    Spark has a switch for it (spark.sql.python.filterPushdown.enabled), off by default, and
    refuses a reader with its own ``pushFilters`` while it is off; code here cannot see the
    switch.  Spark checks ``__func__`` to see whether the method is the reader's own.  So this shows
    the inherited one: while the switch is off nothing is called, while it is on this is called.
    """

    def __init__(self, reader: BatchReader) -> None:
        self._reader = reader
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters_: list[Filter]) -> Iterable[Filter]:
        """Take conditions that narrow the span; Spark checks every condition as well."""
        self._reader.narrow(filters_)
        return filters_


class FilteringReader(BatchReader):
    """The same, with conditions that Spark passes down."""

    @property
    def pushFilters(self) -> Taker:  # type: ignore[override]
        """Called by Spark as if it were a method."""
        return Taker(self)
