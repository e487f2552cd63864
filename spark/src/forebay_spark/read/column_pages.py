"""Pages made of an FB.COLUMNS reply: buffers of the server, wrapped as they are.

    n, ms, seq                                        every reply
    + ID offsets, ID texts                            the schema has the ID
    + per field: offsets, texts, validity             FieldsPage: the schema names its fields
    + pair offsets, key offsets, keys,                MapPage: the schema wants all of them
      value offsets, values

Nothing is copied and no row is touched.  Where all entries have the same fields in the
same order, the server sends the keys once and no pair offsets; what Arrow wants to have
in their place is made once and used for every page of that length.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.ids import EntryId
from forebay_spark.read.pages import even_edges, repeated
from forebay_spark.values.pairs import Pairs

WORD_BYTES = 8
BINARY = pa.binary()


def buffer(data: bytes) -> pa.Buffer:
    """Bytes of a reply as Arrow sees them."""
    return pa.py_buffer(data)


def texts(
    rows: int, offsets: bytes, data: bytes, valid: bytes | None = None, kind: pa.DataType = BINARY
) -> pa.Array:
    """A column of the server, checked as far as that costs nothing."""
    parts = [buffer(valid) if valid else None, buffer(offsets), buffer(data)]
    array = pa.Array.from_buffers(kind, rows, parts)
    array.validate()
    return array


class IdColumns(NamedTuple):
    """How many entries a reply has, and their IDs."""

    rows: int
    ms: bytes
    seq: bytes
    texts: list[bytes] | None


class ColumnPage:
    """What both kinds have: the IDs."""

    def __init__(self, ids: IdColumns, parts: list[bytes]) -> None:
        self.rows = ids.rows
        self.size = sum(map(len, (ids.ms, ids.seq, *(ids.texts or ()), *parts)))
        self._ids = ids

    @property
    def last_id(self) -> EntryId:
        """The ID of the last entry."""
        halves = (self._ids.ms, self._ids.seq)
        ms, seq = (int.from_bytes(half[-WORD_BYTES:], "little") for half in halves)
        return EntryId(ms, seq)

    def ids(self) -> pa.Array:
        """IDs as text; made here if they did not come, which only an error message needs."""
        if self._ids.texts is None:
            ms, seq = (half.cast(pa.string()) for half in self.halves)
            return pc.binary_join_element_wise(ms, seq, "-")
        offsets, data = self._ids.texts
        return texts(self.rows, offsets, data, kind=pa.string())

    @property
    def halves(self) -> tuple[pa.Array, pa.Array]:
        """Milliseconds and sequence numbers, unsigned."""
        ms, seq = (
            pa.Array.from_buffers(pa.uint64(), self.rows, [None, buffer(half)])
            for half in (self._ids.ms, self._ids.seq)
        )
        return ms, seq


class FieldsPage(ColumnPage):
    """Entries of which some fields were asked for."""

    def __init__(self, ids: IdColumns, parts: list[bytes], names: tuple[str, ...]) -> None:
        super().__init__(ids, parts)
        self._columns = {name: parts[3 * i : 3 * i + 3] for i, name in enumerate(names)}

    def column(self, name: str) -> pa.Array:
        """The values of one field as binary, null where an entry lacks it."""
        return texts(self.rows, *self._columns[name])

    def fields(self) -> pa.MapArray:
        """Not there: a caller that needs all fields asks for a map."""
        raise AssertionError("only some fields were asked for")

    def pairs(self) -> Pairs:
        """Not there either."""
        raise AssertionError("only some fields were asked for")


class MapPage(ColumnPage):
    """Entries with all their fields."""

    def __init__(self, ids: IdColumns, parts: list[bytes]) -> None:
        super().__init__(ids, parts)
        edges, key_offsets, keys, value_offsets, values = parts
        keys_sent = texts(len(key_offsets) // 4 - 1, key_offsets, keys)
        all_values = texts(len(value_offsets) // 4 - 1, value_offsets, values)
        self._pairs = _paired(ids.rows, edges, keys_sent, all_values)

    def column(self, name: str) -> pa.Array:
        """The values of one field as binary, null where an entry lacks it."""
        wanted, common = name.encode(), self._pairs.common
        if common is None:
            pairs = self._pairs.as_map()
            return pc.map_lookup(pairs, pa.scalar(wanted, pairs.type.key_type), "last")
        if wanted not in common:
            return pa.nulls(self.rows, pa.binary())
        rows = pa.FixedSizeListArray.from_arrays(self._pairs.values, len(common))
        return pc.list_element(rows, common.index(wanted))

    def fields(self) -> pa.MapArray:
        """All fields of each entry, as a map; of a field named twice the last one counts."""
        return self._pairs.without_repeats().as_map()

    def pairs(self) -> Pairs:
        """The same, exactly as they came."""
        return self._pairs


def _paired(rows: int, edges: bytes, keys: pa.Array, values: pa.Array) -> Pairs:
    """Without edges all entries have the same keys in the same order."""
    if edges:
        offsets = pa.Array.from_buffers(pa.int32(), rows + 1, [None, buffer(edges)])
        return Pairs(offsets, keys, values)
    names = tuple(keys.to_pylist())
    common = names if len(set(names)) == len(names) else None
    return Pairs(even_edges(rows, len(names)), repeated(names, rows), values, common)
