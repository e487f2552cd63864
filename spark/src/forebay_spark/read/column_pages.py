"""Pages made of an FB.COLUMNS reply: parts of one block of the server, wrapped as they are.

    n, last ID                                        every reply
    + ms, seq                                         the schema has the time or the number
    + ID offsets, ID texts                            the schema has the ID
    + per field: offsets, texts, validity             FieldsPage: the schema names its fields
    + pair offsets, key offsets, keys,                MapPage: the schema wants all of them
      value offsets, values

Nothing is copied and no row is touched.  If all entries have the same fields in the same
order, the server sends the keys once and no pair offsets; the offsets that Arrow needs are
made once and used for every page of that length.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import unpack_from
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.ids import EntryId, parse
from forebay_spark.values.pairs import Pairs
from forebay_spark.values.ready import even_edges, repeated

WORD_BYTES = 8
BINARY = pa.binary()


def parts_of(block: pa.Buffer) -> tuple[int, list[pa.Buffer]]:
    """The number of entries of a reply, and its parts, not copied."""
    rows, number = unpack_from("<2Q", block)
    parts, at = [], (2 + number) * WORD_BYTES
    for size in unpack_from(f"<{number}Q", block, 2 * WORD_BYTES):
        parts.append(block.slice(at, size))
        at += size + -size % WORD_BYTES
    return rows, parts


def texts(
    rows: int,
    offsets: pa.Buffer,
    data: pa.Buffer,
    valid: pa.Buffer | None = None,
    kind: pa.DataType = BINARY,
) -> pa.Array:
    """A column of the server, with checks that cost nothing."""
    array = pa.Array.from_buffers(
        kind, rows, [valid if valid is not None and valid.size else None, offsets, data]
    )
    array.validate()
    return array


class IdColumns(NamedTuple):
    """The number of entries of a reply, and their IDs."""

    rows: int
    last: pa.Buffer
    halves: list[pa.Buffer] | None
    texts: list[pa.Buffer] | None


class ColumnPage:
    """The common part of both kinds: the IDs."""

    def __init__(self, ids: IdColumns, parts: list[pa.Buffer]) -> None:
        self.rows = ids.rows
        sent = (*(ids.halves or ()), *(ids.texts or ()), *parts)
        self.size = sum(part.size for part in sent)
        self._ids = ids

    @property
    def last_id(self) -> EntryId:
        """The ID of the last entry."""
        return parse(self._ids.last.to_pybytes())

    def ids(self) -> pa.Array:
        """IDs as text; made here if the reply has none, which only an error message needs."""
        if self._ids.texts is None:
            ms, seq = (half.cast(pa.string()) for half in self.halves)
            return pc.binary_join_element_wise(ms, seq, "-")
        offsets, data = self._ids.texts
        return texts(self.rows, offsets, data, kind=pa.string())

    @property
    def halves(self) -> tuple[pa.Array, pa.Array]:
        """Milliseconds and sequence numbers, unsigned."""
        assert self._ids.halves is not None, "the IDs were not asked for"
        ms, seq = (
            pa.Array.from_buffers(pa.uint64(), self.rows, [None, half]) for half in self._ids.halves
        )
        return ms, seq


class Kind(NamedTuple):
    """The form in which a field is requested; ``types``: those of numbers, by their size."""

    letter: str
    types: Mapping[int, pa.DataType] = MappingProxyType({})


TEXT, DOUBLE = Kind("t"), Kind("d", {8: pa.float64()})
WHOLE = Kind("i", {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()})


class FieldsPage(ColumnPage):
    """Entries with some fields, as requested.

    A field arrives as numbers if all its values are numbers, and then without offsets.
    """

    def __init__(self, ids: IdColumns, parts: list[pa.Buffer], kinds: Mapping[str, Kind]) -> None:
        super().__init__(ids, parts)
        self._columns = {name: parts[3 * i : 3 * i + 3] for i, name in enumerate(kinds)}
        self._kinds = kinds

    def column(self, name: str) -> pa.Array:
        """The values of one field as binary, null where an entry lacks it."""
        numbers = self.numbers(name)
        if numbers is not None:
            return numbers.cast(pa.string()).cast(BINARY)
        return texts(self.rows, *self._columns[name])

    def numbers(self, name: str) -> pa.Array | None:
        """The values of a field that arrived as numbers: whole ones, or doubles."""
        offsets, data, valid = self._columns[name]
        if offsets.size:
            return None
        kind = self._kinds[name].types[data.size // self.rows]
        return pa.Array.from_buffers(kind, self.rows, [valid if valid.size else None, data])

    def fields(self) -> pa.MapArray:
        """Not there: a caller that needs all fields asks for a map."""
        raise AssertionError("only some fields were asked for")

    def pairs(self) -> Pairs:
        """Not there either."""
        raise AssertionError("only some fields were asked for")


class MapPage(ColumnPage):
    """Entries with all their fields."""

    def __init__(self, ids: IdColumns, parts: list[pa.Buffer]) -> None:
        super().__init__(ids, parts)
        edges, key_offsets, keys, value_offsets, values = parts
        if not edges.size:
            # Names that were sent once are repeated here, for all entries.
            self.size = max(self.size, ids.rows * keys.size)
        keys_sent = texts(key_offsets.size // 4 - 1, key_offsets, keys)
        all_values = texts(value_offsets.size // 4 - 1, value_offsets, values)
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

    def numbers(self, name: str) -> None:
        """A map holds texts."""

    def fields(self) -> pa.MapArray:
        """All fields of each entry, as a map; of a field named twice the last one counts."""
        return self._pairs.without_repeats().as_map()

    def pairs(self) -> Pairs:
        """The same, exactly as they arrived."""
        return self._pairs


def _paired(rows: int, edges: pa.Buffer, keys: pa.Array, values: pa.Array) -> Pairs:
    """Without edges all entries have the same keys in the same order."""
    if edges.size:
        offsets = pa.Array.from_buffers(pa.int32(), rows + 1, [None, edges])
        return Pairs(offsets, keys, values)
    names = tuple(keys.to_pylist())
    common = names if len(set(names)) == len(names) else None
    return Pairs(even_edges(rows, len(names)), repeated(names, rows), values, common)
