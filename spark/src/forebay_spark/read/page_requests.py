"""How to ask a server for a page of entries, and how to read its reply.

    RangeForm      XRANGE        every server of the family; entries become columns here
    ColumnsForm    FB.COLUMNS    Forebay; the reply is columns, only those of the schema

Both give pages of the same content (tests/read/test_page_requests.py), so the choice changes only
the speed.
"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.types import ByteType, DoubleType, IntegerType, LongType, ShortType

from forebay_spark.ids import EntryId
from forebay_spark.read.column_pages import (
    DOUBLE,
    TEXT,
    WHOLE,
    FieldsPage,
    IdColumns,
    Kind,
    MapPage,
    parts_of,
)
from forebay_spark.read.pages import EntryPage, Page
from forebay_spark.servers.connect import Command
from forebay_spark.values.schema import CORRUPT, FIELDS, RAW, REST, Column

#: Types whose fields may arrive as numbers.
_KINDS: dict[type, Kind] = {
    **dict.fromkeys((ByteType, ShortType, IntegerType, LongType), WHOLE),
    DoubleType: DOUBLE,
}


class Form(Protocol):
    """One way to ask for entries."""

    #: A page of small entries has no more.
    most_entries: int
    #: Nor has the first one, whose entries may be larger than those that were seen.
    most_first_entries: int

    def ask(self, stream: str, after: EntryId, end: EntryId, entries: int) -> Command:
        """The command for some entries of ``(after, end]``, from its beginning."""

    def page(self, reply: Any) -> Page:
        """The page of a reply."""

    def is_last(self, page: Page, entries: int, end: EntryId) -> bool:
        """Whether a page that was requested like this is the last one."""


class RangeForm:
    """Entries one by one."""

    #: An entry is many objects, and more of them would not be in a cache when they are needed.
    most_entries = 20_000
    most_first_entries = 2_000

    def ask(self, stream: str, after: EntryId, end: EntryId, entries: int) -> Command:
        """See Form."""
        return ("XRANGE", stream, f"({after}", str(end), "COUNT", entries)

    def page(self, reply: Any) -> Page:
        """See Form."""
        return EntryPage(reply)

    def is_last(self, page: Page, entries: int, end: EntryId) -> bool:
        """See Form."""
        return page.rows < entries


class ColumnsForm:
    """Columns, cut to what a schema needs."""

    #: A page costs both sides some time of its own, which more entries share.
    most_entries = 50_000
    #: The server ends an answer of large entries early.
    most_first_entries = most_entries

    def __init__(self, columns: tuple[Column, ...], *, names_entries: bool = False) -> None:
        """``names_entries``: errors name the entry, so IDs are always needed."""
        special = {column.special for column in columns}
        self._as_map = bool(special & {FIELDS, CORRUPT, REST, RAW})
        fields = [column for column in columns if column.special is None]
        self._kinds = {column.name: _KINDS.get(type(column.type), TEXT) for column in fields}
        self._with_ids = "_id" in special
        self._with_times = names_entries or bool(special & {"_timestamp", "_seq"})
        words = {"TIMES": self._with_times, "IDS": self._with_ids}
        letters = "".join(kind.letter for kind in self._kinds.values())
        named: Command = ("FIELDS", len(self._kinds), *self._kinds, "KINDS", letters)
        asked = [word for word, wanted in words.items() if wanted]
        self._words = (*asked, *(() if self._as_map else named))

    def ask(self, stream: str, after: EntryId, end: EntryId, entries: int) -> Command:
        """See Form."""
        span = (f"({after}", str(end), "COUNT", entries)
        return ("FB.COLUMNS", stream, *span, *self._words)

    def page(self, reply: Any) -> Page:
        """See Form."""
        count, (last, *rest) = parts_of(pa.py_buffer(reply))
        halves = [rest.pop(0), rest.pop(0)] if self._with_times else None
        texts = [rest.pop(0), rest.pop(0)] if self._with_ids else None
        ids = IdColumns(count, last, halves, texts)
        return MapPage(ids, rest) if self._as_map else FieldsPage(ids, rest, self._kinds)

    def is_last(self, page: Page, entries: int, end: EntryId) -> bool:
        """See Form; a long reply may end early, so only the last ID decides."""
        return page.rows == 0 or page.last_id >= end
