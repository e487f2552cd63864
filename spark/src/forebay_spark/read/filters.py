"""Conditions of a query that make the range smaller before anything is read.

Every condition stays with Spark too, so a range may be too large but never too small.

- timestamp: the time in an ID is exact, so bounds carry over.
- stream: equality drops streams.
- id: Spark compares IDs as text, where "10-0" < "9-0".  Text and number agree only on
  the milliseconds, and only while they have the same number of digits; so a bound
  counts to the millisecond, and only in a stream whose IDs all have as many digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import datasource as spark

from forebay_spark import ids
from forebay_spark.ids import WORD_MAX, EntryId
from forebay_spark.read.offsets import Position
from forebay_spark.servers.state import StreamState

_LOW = (spark.GreaterThan, spark.GreaterThanOrEqual, spark.EqualTo, spark.EqualNullSafe)
_HIGH = (spark.LessThan, spark.LessThanOrEqual, spark.EqualTo, spark.EqualNullSafe)
_EQUAL = (spark.EqualTo, spark.EqualNullSafe)


class Bounds:
    """The parts of the streams that the conditions leave."""

    def __init__(self) -> None:
        self.streams: set[str] | None = None
        self.low_ms = 0
        self.high_ms = WORD_MAX
        self.id_low: list[EntryId] = []
        self.id_high: list[EntryId] = []

    def takes(self, stream: str) -> bool:
        """Whether a stream can have rows at all."""
        return self.streams is None or stream in self.streams

    def narrow(self, start: Position, end: Position, now: StreamState) -> tuple[Position, Position]:
        """The part of ``(start, end]`` that can have rows."""
        lows, highs = [self.low_ms], [self.high_ms]
        if now.first_id is not None:
            digits = {len(str(now.first_id.ms)), len(str(now.last_id.ms))}
            lows += [i.ms for i in self.id_low if digits == {len(str(i.ms))}]
            highs += [i.ms for i in self.id_high if digits == {len(str(i.ms))}]
        low = EntryId(max(lows), 0).before()
        high = EntryId(min(highs), WORD_MAX)
        if low > start.id:
            start = start._replace(id=low, n=None)
        if high < end.id:
            end = end._replace(id=high, n=None)
        return start, end


def bounds_of(filters: Iterable[spark.Filter], names: Mapping[str, str]) -> Bounds:
    """Bounds from the supported conditions; ``names`` maps special columns to names."""
    bounds = Bounds()
    for condition in filters:
        attribute = getattr(condition, "attribute", None)
        value = getattr(condition, "value", None)
        if attribute == (names.get("_timestamp"),) and isinstance(value, datetime):
            _time(bounds, condition, value)
        elif attribute == (names.get("_id"),) and isinstance(value, str):
            _id(bounds, condition, value)
        elif attribute == (names.get("_stream"),):
            _stream(bounds, condition, value)
    return bounds


def _time(bounds: Bounds, condition: spark.Filter, value: datetime) -> None:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    micros = round(moment.timestamp() * 1_000_000)
    if isinstance(condition, _LOW):
        bounds.low_ms = max(bounds.low_ms, micros // 1000)
    if isinstance(condition, _HIGH):
        bounds.high_ms = max(0, min(bounds.high_ms, -(-micros // 1000)))


def _id(bounds: Bounds, condition: spark.Filter, value: str) -> None:
    try:
        entry_id = ids.parse(value)
    except ValueError:
        return
    if isinstance(condition, _LOW):
        bounds.id_low.append(entry_id)
    if isinstance(condition, _HIGH):
        bounds.id_high.append(entry_id)


def _stream(bounds: Bounds, condition: spark.Filter, value: Any) -> None:
    names: set[str] | None = None
    if isinstance(condition, _EQUAL) and isinstance(value, str):
        names = {value}
    elif isinstance(condition, spark.In):
        names = {name for name in value if isinstance(name, str)}
    if names is not None:
        bounds.streams = names if bounds.streams is None else bounds.streams & names
