"""Rows that are entries of streams: the columns about the entry itself.

The source delivers plain columns, or those of a schema.  An archive always has the columns about
the entry and those that keep it exact (exact.py), and adds the day, by which its files are split:

    plain         stream   id   timestamp   seq   fields  raw   date
    with schema   _stream  _id  _timestamp  _seq  fields of the schema ...  _rest  _raw  _date
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StructField, StructType

from forebay_spark.errors import OptionError
from forebay_spark.ids import EntryId
from forebay_spark.values.schema import ARCHIVED, PLAIN, RAW, REST, SPECIAL, columns_of, is_plain

MS_PER_DAY = 86_400_000


class EntryColumns:
    """Names of the columns about the entry, plain or with a schema."""

    def __init__(self, entry: StructType) -> None:
        columns_of(entry)
        mark = "" if is_plain(entry) else "_"
        self.stream, self.id, self.timestamp = f"{mark}stream", f"{mark}id", f"{mark}timestamp"
        self.date = f"{mark}date"
        if self.date in entry.fieldNames():
            raise OptionError(
                f"The schema has a column {self.date}, which the lake adds. Rename it."
            )

    def dated(self, frame: DataFrame) -> DataFrame:
        """Add the day of each entry in UTC, whatever the session's time zone."""
        days = F.floor(F.unix_millis(F.col(self.timestamp)) / MS_PER_DAY).cast("int")
        return frame.withColumn(self.date, F.date_from_unix_date(days))

    def after(self, known: Mapping[str, EntryId]) -> Column:
        """The condition that an entry comes after the known ones of its stream."""
        halves = F.split(F.col(self.id), "-")
        ms, seq = (halves[at].cast("decimal(20,0)") for at in (0, 1))
        condition = F.lit(True)
        for stream, entry in known.items():
            low_ms, low_seq = (F.lit(str(half)).cast("decimal(20,0)") for half in entry)
            newer = (ms > low_ms) | ((ms == low_ms) & (seq > low_seq))
            condition = condition & ((F.col(self.stream) != stream) | newer)
        return condition


def dated_schema(entry: StructType) -> StructType:
    """The columns of an archive whose entries have this schema."""
    return StructType([*entry, StructField(EntryColumns(entry).date, DateType())])


def entry_schema(schema: str | None) -> StructType:
    """How the archive reads entries: with the given schema, and without any loss."""
    return completed_schema(row_schema(schema))


def completed_schema(entry: StructType) -> StructType:
    """A schema of entries, with columns for what its own cannot hold."""
    return ARCHIVED if is_plain(entry) else StructType([*entry, *_lacking(entry, (REST, RAW))])


def row_schema(schema: str | None) -> StructType:
    """How a job reads entries that it does not keep: with the columns about the entry."""
    if schema is None:
        return PLAIN
    wanted = StructType(list(StructType.fromDDL(schema)))  # type: ignore[call-overload]
    return StructType([*_lacking(wanted, ("_stream", "_id", "_timestamp", "_seq")), *wanted])


def _lacking(schema: StructType, names: tuple[str, ...]) -> list[StructField]:
    known = schema.fieldNames()
    return [StructField(name, SPECIAL[name]) for name in names if name not in known]
