"""A page of entries as columns: the result of every way of reading.

``Page`` is the interface between fetching and decoding.  XRANGE replies become an
``EntryPage`` here, column_pages.py wraps those of FB.COLUMNS, and both share everything
after this point.

Values are bytes until the schema says otherwise, so columns are Arrow ``binary``.
Entries of one producer have the same fields in the same order; then columns are strides
of one flat list and no row is touched in Python.  Entries that differ become pairs
(pairs.py); of a repeated field the last one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark import ids
from forebay_spark.ids import EntryId
from forebay_spark.values.pairs import Pairs
from forebay_spark.values.ready import even_edges, repeated

SAMPLED_ENTRIES = 32

Entry = Sequence[Any]  # [id, [name, value, name, value, ...]]


class Page(Protocol):
    """Some entries of one stream, in order."""

    rows: int

    @property
    def size(self) -> int:
        """About how many bytes the entries are."""

    @property
    def last_id(self) -> EntryId:
        """The ID of the last entry; the page must not be empty."""

    def ids(self) -> pa.Array:
        """IDs as text."""

    @property
    def halves(self) -> tuple[pa.Array, pa.Array]:
        """Milliseconds and sequence numbers, unsigned."""

    def column(self, name: str) -> pa.Array:
        """The values of one field as binary, null where an entry lacks it."""

    def numbers(self, name: str) -> pa.Array | None:
        """The same as numbers, if the server has sent numbers: whole ones, or doubles."""

    def fields(self) -> pa.MapArray:
        """All fields of each entry, as a map from binary or text to binary."""

    def pairs(self) -> Pairs:
        """The same, exactly as they arrived."""


class EntryPage:
    """A page made of an XRANGE reply."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.rows = len(entries)
        self._ids = pa.array([entry[0] for entry in entries], pa.string())
        self._lists: list[list[bytes]] = [entry[1] for entry in entries]
        self._flat = list(chain.from_iterable(self._lists))
        self._names = self._common_names()

    @property
    def last_id(self) -> EntryId:
        """The ID of the last entry."""
        return ids.parse(self._ids[-1].as_py())

    @cached_property
    def size(self) -> int:
        """Bytes of names and values, by a sample."""
        sample = self._lists[:: max(1, self.rows // SAMPLED_ENTRIES)]
        return sum(sum(map(len, fields)) for fields in sample) * self.rows // max(len(sample), 1)

    def ids(self) -> pa.Array:
        """IDs as text."""
        return self._ids

    @cached_property
    def halves(self) -> tuple[pa.Array, pa.Array]:
        """Milliseconds and sequence numbers, unsigned."""
        parts = pc.split_pattern(self._ids, "-")
        numbers = pc.cast(parts.flatten(), pa.uint64())
        both = pa.FixedSizeListArray.from_arrays(numbers, 2)
        return pc.list_element(both, 0), pc.list_element(both, 1)

    def column(self, name: str) -> pa.Array:
        """The values of one field as binary, null where an entry lacks it."""
        wanted = name.encode()
        if self._names is None:
            return pc.map_lookup(self.pairs().as_map(), pa.scalar(wanted, pa.binary()), "last")
        if wanted not in self._names:
            return pa.nulls(self.rows, pa.binary())
        at = 2 * self._names.index(wanted) + 1
        return pa.array(self._flat[at :: 2 * len(self._names)], pa.binary())

    def numbers(self, name: str) -> None:
        """XRANGE sends texts."""

    def fields(self) -> pa.MapArray:
        """All fields of each entry, as a map from binary or text to binary."""
        return self.pairs().without_repeats().as_map()

    def pairs(self) -> Pairs:
        """The same, exactly as they arrived."""
        return self._pairs

    @cached_property
    def _pairs(self) -> Pairs:
        values = pa.array(self._flat[1::2], pa.binary())
        if self._names is not None:
            common = tuple(self._names)
            offsets = even_edges(self.rows, len(common))
            return Pairs(offsets, repeated(common, self.rows), values, common)
        widths = (len(fields) // 2 for fields in self._lists)
        offsets = pa.array(accumulate(widths, initial=0), pa.int32())
        return Pairs(offsets, pa.array(self._flat[0::2], pa.binary()), values)

    def _common_names(self) -> list[bytes] | None:
        """The field names if every entry has the same ones in the same order."""
        if not self._lists:
            return None
        first, width = self._lists[0], len(self._lists[0])
        names = first[0::2]
        if len(set(names)) < len(names) or set(map(len, self._lists)) != {width}:
            return None
        for i, name in enumerate(names):
            if self._flat[2 * i :: width].count(name) != self.rows:
                return None
        return names
