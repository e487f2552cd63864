"""How a server is asked for a page of entries, and what its answer means.

    RangeForm      XRANGE        every server of the family; entries become columns here
    ColumnsForm    FB.COLUMNS    Forebay; the answer is columns, only those of the schema

Both give pages of the same content (tests/read/test_page_requests.py), so which one is used
changes the speed and nothing else.
"""

from __future__ import annotations

from typing import Any, Protocol

from forebay_spark.ids import EntryId
from forebay_spark.read.column_pages import FieldsPage, IdColumns, MapPage
from forebay_spark.read.pages import EntryPage, Page
from forebay_spark.values.schema import CORRUPT, FIELDS, RAW, REST, Column

Command = tuple[Any, ...]


class Form(Protocol):
    """One way to ask for entries."""

    def ask(self, stream: str, after: EntryId, end: EntryId, entries: int) -> Command:
        """The command for some entries of ``(after, end]``, from its beginning."""

    def page(self, reply: Any) -> Page:
        """What was answered."""

    def is_last(self, page: Page, entries: int, end: EntryId) -> bool:
        """Whether nothing comes after a page that was asked for with these words."""


class RangeForm:
    """Entries one by one."""

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

    def __init__(self, columns: tuple[Column, ...]) -> None:
        special = {column.special for column in columns}
        self._as_map = bool(special & {FIELDS, CORRUPT, REST, RAW})
        self._names = tuple(column.name for column in columns if column.special is None)
        fields = () if self._as_map else ("FIELDS", len(self._names), *self._names)
        self._with_ids = "_id" in special
        self._words = ("IDS", *fields) if self._with_ids else fields

    def ask(self, stream: str, after: EntryId, end: EntryId, entries: int) -> Command:
        """See Form."""
        span = (f"({after}", str(end), "COUNT", entries)
        return ("FB.COLUMNS", stream, *span, *self._words)

    def page(self, reply: Any) -> Page:
        """See Form."""
        count, ms, seq, *rest = reply
        ids = IdColumns(count, ms, seq, rest[:2] if self._with_ids else None)
        parts = rest[2:] if self._with_ids else rest
        return MapPage(ids, parts) if self._as_map else FieldsPage(ids, parts, self._names)

    def is_last(self, page: Page, entries: int, end: EntryId) -> bool:
        """See Form; a long answer may end early, so only the last ID tells."""
        return page.rows == 0 or page.last_id >= end
