"""Streams and their lake as one table: cold files, hot entries, and one cut between them.

    lake      ======================|
    server                 .........|-----------------|   . may be trimmed at any moment
                                   cut               end
    table     ======================|-----------------|

In this order, so that neither a commit nor a trim in between makes a gap or an overlap:

    1  look at the server: which entries are gone
    2  load the lake: files and cut       what was gone at 1 was committed before 1
    3  look at the server again: the end
    4  copy the hot entries (cut, end]    nothing that the lake has is read again
    5  look once more: if entries after the cut are gone that were there at 1, the archive
       job has overtaken us, and all begins anew with the cut that it has made

The copy makes the table a snapshot: it can be queried later and more than once.  Nothing
of it stays on the server, and Spark drops it with the DataFrame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from forebay_spark import glob, loss, state
from forebay_spark.connect import Server
from forebay_spark.entries import EntryColumns, entry_schema
from forebay_spark.errors import DataLossError, OptionError
from forebay_spark.ids import FIRST, LAST, EntryId
from forebay_spark.lake.commits import Cut, DataFile, State
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake
from forebay_spark.offsets import Position
from forebay_spark.options import BATCH, read_options
from forebay_spark.state import StreamState

DEFAULT_URL = "redis://127.0.0.1:6379"
#: Each try reads only what came after the last commit, so more than a few need a very
#: short stream and a very busy archive.
TRIES = 10

Moment = str | int | datetime | None


class Stretch(NamedTuple):
    """A part of a stream or of time, as IDs: ``(low, high]``."""

    low: EntryId
    high: EntryId


def table(
    spark: SparkSession,
    streams: str | Sequence[str] = (),
    *,
    lake: str | None = None,
    url: str = DEFAULT_URL,
    pattern: str | None = None,
    schema: str | None = None,
    since: Moment = None,
    until: Moment = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Hot and cold entries of streams as one table, a snapshot of this moment.

    Without ``streams`` and ``pattern`` it has all streams of the lake.  Without ``lake`` it
    has what is on the server.  ``schema`` is for a table without a lake; a lake knows its own.
    """
    names = (streams,) if isinstance(streams, str) else tuple(streams)
    if lake is None and not names and not pattern:
        raise OptionError("A table needs a lake, streams or a pattern. Give one of them.")
    maker = _Maker(
        spark,
        Lake(spark, lake) if lake is not None else None,
        names,
        pattern,
        entry_schema(schema),
        _window(since, until),
        {"url": url, **(options or {})},
    )
    try:
        return maker.make()
    finally:
        maker.close()


def _window(since: Moment, until: Moment) -> Stretch:
    """The IDs between two moments; the connector's own options read and judge them."""
    given = {"startingTimestamp": since, "endingTimestamp": until}
    texts = {name: _text(moment) for name, moment in given.items() if moment is not None}
    read = read_options({"streams": "any", **texts}, BATCH)
    low = FIRST if since is None else EntryId(read.startingTimestamp, 0).before()
    return Stretch(low, LAST if until is None else EntryId(read.endingTimestamp, 0).before())


def _text(moment: Moment) -> str:
    return moment.isoformat() if isinstance(moment, datetime) else str(moment)


class _Maker:
    """One call of ``table``."""

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake | None,
        names: tuple[str, ...],
        pattern: str | None,
        entry: StructType,
        window: Stretch,
        options: Mapping[str, str],
    ) -> None:
        self._spark = spark
        self._lake = lake
        self._names = names
        self._pattern = pattern
        self._entry = entry
        self._window = window
        self._texts = options
        self._server = Server(read_options({**options, "streams": "any"}, BATCH))

    def close(self) -> None:
        self._server.close()

    def make(self) -> DataFrame:
        """Try until a copy was taken that no trimming has disturbed."""
        for _ in range(TRIES):
            before = self._look(self._streams_on_server())
            cold = self._lake.state() if self._lake is not None else None
            frame = self._attempt(before, cold)
            if frame is not None:
                return frame
        raise DataLossError(
            f"The streams were trimmed faster than they could be read, {TRIES} times. "
            "Let the archive job keep some history on the server (trim = '10 minutes')."
        )

    def _attempt(self, before: Mapping[str, StreamState], cold: State | None) -> DataFrame | None:
        """One try; None if the archive job was quicker."""
        cuts = cold.cuts if cold else {}
        streams = self._chosen(before, cuts)
        self._check_loss(before, cuts)
        now = self._look(streams)
        ranges = self._hot_ranges(now, cuts)
        entry = self._entry if cold is None else entry_of(cold)
        columns = EntryColumns(entry)
        hot = self._copy(ranges, entry, cold)
        known = self._overtaken(ranges, before, cuts)
        if known is None:
            return None
        if hot is not None:
            hot = columns.dated(hot.where(columns.after(known)) if known else hot)
        parts = [] if hot is None else [hot]
        if cold is not None and self._lake is not None:
            parts.append(_cold(self._lake, cold, streams, self._window))
        if not parts:
            return columns.dated(self._spark.createDataFrame([], entry))
        return parts[0] if len(parts) == 1 else parts[1].unionByName(parts[0])

    def _streams_on_server(self) -> list[str]:
        if self._pattern is not None:
            return sorted({*self._names, *state.discover(self._server, self._pattern)})
        if not self._names and self._lake is not None:
            return sorted(self._lake.state().cuts)
        return list(self._names)

    def _look(self, streams: Sequence[str]) -> dict[str, StreamState]:
        return state.fetch_all(self._server, streams)

    def _chosen(self, now: Mapping[str, StreamState], cuts: Mapping[str, Cut]) -> list[str]:
        """The streams of the table, which are on the server or in the lake."""
        missing = [name for name in self._names if name not in now and name not in cuts]
        if missing:
            raise OptionError(
                f"There is no stream {missing[0]!r}, neither on the server at {self._server.where} "
                "nor in the lake. Correct its name."
            )
        everything = not self._names and self._pattern is None
        cold = [s for s in cuts if everything or s in self._names or self._matches(s)]
        return sorted({*now, *cold})

    def _matches(self, stream: str) -> bool:
        return self._pattern is not None and glob.matches(self._pattern, stream)

    def _check_loss(self, before: Mapping[str, StreamState], cuts: Mapping[str, Cut]) -> None:
        """Was anything gone before we looked that is not in the lake?"""
        for stream, now in before.items():
            cut = cuts.get(stream)
            lost = loss.trimmed(stream, Position(cut.id, cut.n), now) if cut else None
            if lost:
                raise DataLossError(
                    f"{lost} They are not in the lake either, so the table would have a gap. "
                    "Trim with the archive job only; to see what is left, query without the lake."
                )

    def _hot_ranges(
        self, now: Mapping[str, StreamState], cuts: Mapping[str, Cut]
    ) -> dict[str, Stretch]:
        ranges = {}
        for stream, at in now.items():
            cut = cuts[stream].id if stream in cuts else FIRST
            low, high = max(cut, self._window.low), min(at.last_id, self._window.high)
            if at.length and low < high:
                ranges[stream] = Stretch(low, high)
        return ranges

    def _copy(
        self, ranges: Mapping[str, Stretch], entry: StructType, cold: State | None
    ) -> DataFrame | None:
        """The hot entries, in Spark's own storage."""
        if not ranges:
            return None
        reading = {**self._texts, **(cold.about.reading if cold else {})}
        reader = self._spark.read.format("forebay").schema(entry).options(**reading)
        reader = reader.option("streams", ",".join(ranges)).option("failOnDataLoss", "false")
        starts = {stream: f"({hot.low}" for stream, hot in ranges.items()}
        ends = {stream: str(hot.high) for stream, hot in ranges.items()}
        reader = reader.option("startingOffsets", json.dumps(starts))
        return reader.option("endingOffsets", json.dumps(ends)).load().localCheckpoint()

    def _overtaken(
        self,
        ranges: Mapping[str, Stretch],
        before: Mapping[str, StreamState],
        cuts: Mapping[str, Cut],
    ) -> dict[str, EntryId] | None:
        """None if a trim spoilt the copy; else what to leave out of it.

        A stream that no lake has may be trimmed by anybody.  Then the table has what was
        still there at the end: entries below are left out, and no hole remains.
        """
        left_out = {}
        now = self._look(list(ranges))
        for stream, hot in ranges.items():
            gone = _gone(now.get(stream))
            if gone <= hot.low or gone == _gone(before.get(stream)):
                continue
            if stream in cuts:
                return None
            left_out[stream] = gone
        return left_out


def cold_table(
    spark: SparkSession, stream: str, lake: str, since: Moment = None, until: Moment = None
) -> DataFrame:
    """The entries of one stream that a lake has."""
    opened = Lake(spark, lake)
    state = opened.state()
    entry_of(state)
    if stream not in state.cuts:
        raise OptionError(
            f"The lake {opened.root} has no stream {stream!r}. "
            f"It has: {', '.join(sorted(state.cuts)) or 'none yet'}."
        )
    return _cold(opened, state, [stream], _window(since, until))


def entry_of(state: State) -> StructType:
    """How an archive reads entries; LakeError if the lake is none."""
    if state.about.entry is None:
        raise LakeError(
            "This lake has results, not entries of streams. "
            "Read it as it is: forebay sql --lake PATH."
        )
    return StructType.fromJson(json.loads(state.about.entry))


def _cold(lake: Lake, state: State, streams: Sequence[str], window: Stretch) -> DataFrame:
    """The rows of some streams and some time."""
    files = [f for f in state.files.values() if f.stream in streams and _touches(f, window)]
    frame = lake.read(state, files)
    time = F.col(EntryColumns(entry_of(state)).timestamp)
    if window.low > FIRST:
        frame = frame.where((time >= F.timestamp_millis(F.lit(window.low.ms + 1))) | time.isNull())
    if window.high < LAST:
        frame = frame.where(time < F.timestamp_millis(F.lit(window.high.ms + 1)))
    return frame


def _touches(file: DataFile, window: Stretch) -> bool:
    """Whether a file may have entries of the window."""
    return (file.low or FIRST) < window.high and (file.high or LAST) > window.low


def _gone(now: StreamState | None) -> EntryId:
    """All entries up to this one are gone from the server."""
    if now is None:
        return LAST
    return now.last_id if now.first_id is None else now.first_id.before()
