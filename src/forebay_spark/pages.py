"""A page of entries as columns: what every way of reading delivers.

``Page`` is the seam between fetching and decoding.  XRANGE replies become an
``EntryPage`` here; a server that sends columns itself (FB.COLUMNS) gets a page of
its own beside it, and everything after this point is shared: one reading, one result.

Values are bytes until the schema says otherwise, so columns are Arrow ``binary``.
Entries written by one producer have the same fields in the same order; then columns
are strides of one flat list and no row is touched in Python.  Entries that differ go
the slow way, through a dictionary each (of a field named twice the last one counts).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

Entry = Sequence[Any]  # [id, [name, value, name, value, ...]]


class Page(Protocol):
    """Some entries of one stream, in order."""

    rows: int

    def ids(self) -> pa.Array:
        """IDs as text."""

    @property
    def halves(self) -> tuple[pa.Array, pa.Array]:
        """Milliseconds and sequence numbers, unsigned."""

    def column(self, name: str) -> pa.Array:
        """The values of one field as binary, null where an entry lacks it."""

    def fields(self) -> pa.MapArray:
        """All fields of each entry, as a map from binary to binary."""


@lru_cache(maxsize=16)
def repeated(names: tuple[bytes, ...], rows: int) -> pa.Array:
    """The same names for every row; pages of one stream ask for the same again and again."""
    return pa.array(names * rows, pa.binary())


class EntryPage:
    """A page made of an XRANGE reply."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.rows = len(entries)
        self._ids = pa.array([entry[0] for entry in entries], pa.string())
        self._lists: list[list[bytes]] = [entry[1] for entry in entries]
        self._flat = list(chain.from_iterable(self._lists))
        self._names = self._common_names()

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
            return pa.array([fields.get(wanted) for fields in self._rows_as_dicts()], pa.binary())
        if wanted not in self._names:
            return pa.nulls(self.rows, pa.binary())
        at = 2 * self._names.index(wanted) + 1
        return pa.array(self._flat[at :: 2 * len(self._names)], pa.binary())

    def fields(self) -> pa.MapArray:
        """All fields of each entry, as a map from binary to binary."""
        if self._names is not None:
            width = len(self._names)
            offsets: Iterable[int] = range(0, self.rows * width + 1, width)
            keys, values = repeated(tuple(self._names), self.rows), self._flat[1::2]
        else:
            dicts = self._rows_as_dicts()
            offsets = accumulate(map(len, dicts), initial=0)
            keys = pa.array(chain.from_iterable(dicts), pa.binary())
            values = list(chain.from_iterable(fields.values() for fields in dicts))
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()),
            keys,
            pa.array(values, pa.binary()),
        )

    def _rows_as_dicts(self) -> list[dict[bytes, bytes]]:
        return [dict(zip(row[0::2], row[1::2], strict=True)) for row in self._lists]

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
