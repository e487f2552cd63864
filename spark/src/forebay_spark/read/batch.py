"""The bounded read: everything between two positions, as the streams are now.

Planning happens once, on the driver, when Spark makes a plan: one XINFO per stream
says what there is, and the span is cut as that of a micro-batch.  Conditions on time, ID and
stream make the span smaller before anything is read, if Spark hands them down (filters.py).  That
must be asked for: Spark (4.3) plans a DataFrame's read once for all queries of it, so that one with
conditions would leave its small span to the next one, which has none.
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
    """A reader, which takes filters if it was asked to."""
    return FilteringReader(schema, options) if options.pushFilters else BatchReader(schema, options)


class BatchReader(DataSourceReader):
    """Reads what is there."""

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
        """Leave out what no row can come of that meets the conditions."""
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
    """What stands for ``pushFilters`` of a reader, whether Spark hands filters down or not.

    Spark has a switch for it (spark.sql.python.filterPushdown.enabled), off by default, and
    refuses a reader with a ``pushFilters`` of its own while it is off; nothing here can see
    the switch.  It tells by ``__func__`` whether the method is the reader's own.  So this shows
    the inherited one: where the switch is off nothing is asked, and where it is on this is called.
    """

    def __init__(self, reader: BatchReader) -> None:
        self._reader = reader
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters_: list[Filter]) -> Iterable[Filter]:
        """Take what narrows the span; every condition is left to Spark to check as well."""
        self._reader.narrow(filters_)
        return filters_


class FilteringReader(BatchReader):
    """The same, with conditions that Spark hands down."""

    @property
    def pushFilters(self) -> Taker:  # type: ignore[override]
        """Called by Spark as if it were a method."""
        return Taker(self)
