"""Streams and their lake as one table: cold files, hot entries, and one cut between them.

    lake      ======================|
    server                 .........|-----------------|   . may be trimmed at any moment
                                   cut               end
    table     ======================|-----------------|

In this order, so that neither a commit nor a trim in between makes a gap or an overlap:

    1  load the lake: the cuts             entries up to them need not be copied
    2  copy the hot entries after them     some may be trimmed before they are read
    3  ask the server what is gone
    4  load the lake again: files and cuts

Only entries in the lake are trimmed.  So entries that the copy has missed were in the lake at 3,
and the cut of 4 covers them: the table is the files of 4, and the part of the copy after the cuts
of 4.  A stream that is in the lake at 4 and was in no copy is copied in another round.

If more is gone at 3 than the lake has at 4, another program has trimmed the stream or created it
again; then the table would have a hole, and is refused.

The copy makes the table a snapshot: it can be queried later and more than once.  Nothing of it
stays on the server, and Spark drops it with the DataFrame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import NamedTuple, TypedDict, Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from forebay_spark.errors import DataLossError, OptionError
from forebay_spark.ids import FIRST, LAST, EntryId
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import Lake, Snapshot
from forebay_spark.lake.scan_files import Hours
from forebay_spark.lake.transactions import Cut
from forebay_spark.options import BATCH, DEFAULT_URL, read_options
from forebay_spark.read import loss
from forebay_spark.read.offsets import Position
from forebay_spark.servers import glob, state
from forebay_spark.servers.connect import Server
from forebay_spark.servers.state import StreamState
from forebay_spark.values.entry_columns import EntryColumns, entry_schema

Moment = str | int | datetime | None


class Stretch(NamedTuple):
    """A part of a stream or of time, as IDs: ``(low, high]``."""

    low: EntryId
    high: EntryId


class How(TypedDict, total=False):
    """The options of a table.

    Without ``streams`` and ``pattern`` it has all streams of the lake.  Without ``lake`` it has the
    entries on the server; without ``url`` (None), or with an older ``version`` or time (``as_of``)
    of the lake, only the entries in the lake.  ``schema`` is for a table without a lake; a lake
    has its own.
    """

    lake: str | Lake | None
    url: str | None
    pattern: str | None
    schema: str | None
    since: Moment
    until: Moment
    version: int | None
    as_of: datetime | str | None
    options: Mapping[str, str] | None


def table(spark: SparkSession, streams: str | Sequence[str] = (), **how: Unpack[How]) -> DataFrame:
    """Hot and cold entries of streams as one table, a snapshot of this moment; see ``How``."""
    names = (streams,) if isinstance(streams, str) else tuple(streams)
    lake, pattern = how.get("lake"), how.get("pattern")
    opened = Lake(lake) if isinstance(lake, str) else lake
    if opened is None and not names and not pattern:
        raise OptionError("A table needs a lake, streams or a pattern. Give one of them.")
    window = _window(how.get("since"), how.get("until"))
    wanted = Wanted(names, pattern)
    version, as_of, url = how.get("version"), how.get("as_of"), how.get("url", DEFAULT_URL)
    if opened is not None and (url is None or version is not None or as_of is not None):
        return _cold_only(spark, opened.snapshot(version, as_of), wanted, window).frame()
    texts = {"url": url or DEFAULT_URL, **(how.get("options") or {})}
    maker = _Maker(spark, opened, wanted, entry_schema(how.get("schema")), window, texts)
    try:
        return maker.make().frame()
    finally:
        maker.close()


class Entries(NamedTuple):
    """Cold files and copies of hot entries, which together are the table."""

    spark: SparkSession
    schema: StructType
    cold: Snapshot | None
    wanted: Wanted
    window: Stretch
    hot: Sequence[DataFrame] = ()

    def frame(self) -> DataFrame:
        """The rows."""
        columns, parts = EntryColumns(self.schema), list(self.hot)
        if self.cold is not None:
            parts.insert(0, _cold(self.spark, self.cold, self.wanted, self.window))
        if not parts:
            return columns.dated(self.spark.createDataFrame([], self.schema))
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


class Wanted(NamedTuple):
    """The streams of a table: by name, by pattern, or all that exist."""

    names: tuple[str, ...]
    pattern: str | None

    def takes(self, stream: str) -> bool:
        """Whether a stream of the lake belongs to the table."""
        if self.pattern is not None and glob.matches(self.pattern, stream):
            return True
        return stream in self.names or (not self.names and self.pattern is None)


def _window(since: Moment, until: Moment) -> Stretch:
    """The IDs between two times; the connector's own options read and check them."""
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
        wanted: Wanted,
        entry: StructType,
        window: Stretch,
        options: Mapping[str, str],
    ) -> None:
        self._spark = spark
        self._lake = lake
        self._wanted = wanted
        self._entry = entry
        self._window = window
        self._texts = options
        self._server = Server(read_options({**options, "streams": "any"}, BATCH))
        self._copies: list[DataFrame] = []
        self._seen: dict[str, Seen] = {}

    def close(self) -> None:
        self._server.close()

    def make(self) -> Entries:
        """Copy hot entries, round by round, until no stream of the lake is left out."""
        cold = self._lake.snapshot() if self._lake is not None else None
        streams = self._on_server(cold)
        while streams:
            self._copy_round(streams, cold)
            cold = self._lake.snapshot() if self._lake is not None else None
            known = filter(self._wanted.takes, cold.cuts if cold else ())
            streams = [stream for stream in known if stream not in self._seen]
        self._refuse_missing(cold)
        cuts = cold.cuts if cold else {}
        self._refuse_loss(cuts)
        return self._joined(cold, cuts)

    def _on_server(self, cold: Snapshot | None) -> list[str]:
        names = set(self._wanted.names)
        if self._wanted.pattern is not None:
            names |= set(state.discover(self._server, self._wanted.pattern))
        return sorted(names | set(filter(self._wanted.takes, cold.cuts if cold else ())))

    def _copy_round(self, streams: Sequence[str], cold: Snapshot | None) -> None:
        """Copy the entries of some streams after their cuts, then check what is gone."""
        cuts = cold.cuts if cold else {}
        now = state.fetch_all(self._server, streams)
        ranges = {}
        for stream in streams:
            cut = cuts[stream].id if stream in cuts else FIRST
            hot = self._hot_range(now.get(stream), cut)
            if hot is not None:
                ranges[stream] = hot
            self._seen[stream] = Seen(cut, now.get(stream), None)
        if ranges:
            self._copies.append(self._copy(ranges, cold))
        after = state.fetch_all(self._server, streams)
        for stream in streams:
            self._seen[stream] = self._seen[stream]._replace(after=after.get(stream))

    def _hot_range(self, now: StreamState | None, cut: EntryId) -> Stretch | None:
        if now is None or not now.length:
            return None
        low, high = max(cut, self._window.low), min(now.last_id, self._window.high)
        return Stretch(low, high) if low < high else None

    def _copy(self, ranges: Mapping[str, Stretch], cold: Snapshot | None) -> DataFrame:
        """Hot entries, in Spark's own storage."""
        reading = {**self._texts, **(cold.about.reading if cold else {})}
        reader = self._spark.read.format("forebay").schema(self._schema(cold)).options(**reading)
        # Entries that are trimmed meanwhile are in the lake, so a warning would be wrong.
        reader = reader.options(failOnDataLoss="false", reportDataLoss="false")
        reader = reader.option("streams", ",".join(ranges))
        starts = {stream: f"({hot.low}" for stream, hot in ranges.items()}
        ends = {stream: str(hot.high) for stream, hot in ranges.items()}
        reader = reader.option("startingOffsets", json.dumps(starts))
        return reader.option("endingOffsets", json.dumps(ends)).load().localCheckpoint()

    def _schema(self, cold: Snapshot | None) -> StructType:
        return self._entry if cold is None else entry_of(cold)

    def _refuse_missing(self, cold: Snapshot | None) -> None:
        for name in self._wanted.names:
            if self._seen[name].before is None and (cold is None or name not in cold.cuts):
                raise OptionError(
                    f"There is no stream {name!r}, neither on the server at {self._server.where} "
                    "nor in the lake. Correct its name."
                )

    def _refuse_loss(self, cuts: Mapping[str, Cut]) -> None:
        """Refuse if entries are gone that the lake lacks, or a stream is not that of the lake."""
        now = state.fetch_all(self._server, [s for s in self._seen if s in cuts])
        for stream, at in now.items():
            cut = Position(*cuts[stream])
            after = self._seen[stream].after
            lost = loss.went_back(stream, cut, at) or (after and loss.trimmed(stream, cut, after))
            if lost:
                raise DataLossError(
                    f"{lost} The lake has entries up to {cut.id}, so the table would be wrong. "
                    "Trim with the archive job only; to see what is left, query the server or the "
                    "lake alone."
                )

    def _joined(self, cold: Snapshot | None, cuts: Mapping[str, Cut]) -> Entries:
        """The files, and the parts of the copies after them."""
        schema = self._schema(cold)
        columns, left_out = EntryColumns(schema), self._left_out(cuts)
        hot = [
            columns.dated(copy.where(columns.after(left_out)) if left_out else copy)
            for copy in self._copies
        ]
        return Entries(self._spark, schema, cold, self._wanted, self._window, hot)

    def _left_out(self, cuts: Mapping[str, Cut]) -> dict[str, EntryId]:
        """How much of each copy is left out: the lake has it by now, or it has a hole.

        Any program may trim a stream that no lake has.  Then the table has the entries that were
        still there at the end.
        """
        left_out = {}
        for stream, seen in self._seen.items():
            if stream in cuts:
                if cuts[stream].id > seen.cut:
                    left_out[stream] = cuts[stream].id
            elif _gone(seen.after) > max(_gone(seen.before), self._window.low):
                left_out[stream] = _gone(seen.after)
        return left_out


class Seen(NamedTuple):
    """A copied stream: the start, and its state on the server before and after."""

    cut: EntryId
    before: StreamState | None
    after: StreamState | None


def _cold_only(spark: SparkSession, snapshot: Snapshot, wanted: Wanted, window: Stretch) -> Entries:
    missing = [name for name in wanted.names if name not in snapshot.cuts]
    if missing:
        raise OptionError(
            f"The lake {snapshot.place.root} has no stream {missing[0]!r}. "
            f"It has: {', '.join(sorted(snapshot.cuts)) or 'none yet'}."
        )
    return Entries(spark, entry_of(snapshot), snapshot, wanted, window)


def cold_table(
    spark: SparkSession,
    stream: str,
    lake: str | Lake,
    since: Moment = None,
    until: Moment = None,
) -> DataFrame:
    """The entries of one stream that a lake has."""
    return table(spark, stream, lake=lake, url=None, since=since, until=until)


def entry_of(snapshot: Snapshot) -> StructType:
    """How an archive reads entries; LakeError if the lake is not an archive."""
    if snapshot.about.entry is None:
        raise LakeError(
            "This lake has results, not entries of streams. "
            "Read it as it is: forebay sql --lake PATH."
        )
    return snapshot.about.entry


def _cold(
    spark: SparkSession,
    snapshot: Snapshot,
    wanted: Wanted,
    window: Stretch,
) -> DataFrame:
    """The rows of some streams and a period."""
    names = EntryColumns(entry_of(snapshot))
    everything = not wanted.names and wanted.pattern is None
    streams = sorted(filter(wanted.takes, snapshot.cuts))
    files = [
        file
        for file in snapshot.files
        if file.values.get(names.stream, streams[0] if streams else None) in streams
        and Hours(window.low.ms, window.high.ms).touches(file, names.timestamp)
    ]
    frame = frame_of(spark, snapshot, files, names.timestamp)
    if not everything and names.stream not in snapshot.about.partitions:
        frame = frame.where(F.col(names.stream).isin(streams))
    time = F.col(names.timestamp)
    if window.low > FIRST:
        frame = frame.where((time >= F.timestamp_millis(F.lit(window.low.ms + 1))) | time.isNull())
    if window.high < LAST:
        frame = frame.where(time < F.timestamp_millis(F.lit(window.high.ms + 1)))
    return frame


def _gone(now: StreamState | None) -> EntryId:
    """All entries up to this one are gone from the server."""
    if now is None:
        return LAST
    return now.last_id if now.first_id is None else now.first_id.before()
