"""Fields of entries as they arrived: every name and value, in order, repeated names too.

    offsets   0        2           5        where the pairs of each entry begin
    names     a  b     a  b  a              binary, or text if all of them are
    values    1  2     3  4  5              binary

Everything else is made from pairs: columns, the map of an entry (of a repeated name the last pair
counts), and the columns that keep a row exact (exact.py).  Entries of one producer have the same
names in the same order and none twice; then these are ``common``, and names need not be compared.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.values.ready import positions

#: The pattern of UTF-8, byte by byte: no overlong forms, no surrogates.
_UTF8 = (
    r"\A(?:[\x00-\x7F]|[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]"
    r"|[\xE1-\xEC\xEE\xEF][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]|\xF0[\x90-\xBF][\x80-\xBF]{2}"
    r"|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2})*\z"
)


class Pairs(NamedTuple):
    """The fields of some entries."""

    offsets: pa.Array
    names: pa.Array
    values: pa.Array
    common: tuple[bytes, ...] | None = None

    @property
    def rows(self) -> int:
        """How many entries there are."""
        return len(self.offsets) - 1

    def entry_of_each(self) -> pa.Array:
        """The entry of each pair."""
        if self.common:
            return pc.divide(positions(len(self.names)), len(self.common))
        # With a list, not a map: with a map Arrow aborts the process.
        lists = pa.ListArray.from_arrays(self.offsets, self.names)
        return pc.list_parent_indices(lists).cast(pa.int64())

    def different_names(self) -> tuple[list[bytes], pa.Array]:
        """Each name once, and for each pair the index of its name."""
        if self.common:
            before = pc.multiply(self.entry_of_each(), len(self.common))
            return list(self.common), pc.subtract(positions(len(self.names)), before)
        codes = pc.dictionary_encode(self.names.cast(pa.binary()))
        return codes.dictionary.to_pylist(), codes.indices.cast(pa.int64())

    def last_of_each(self) -> pa.Array | None:
        """For each pair the last one of its entry with its name; None without repeated names."""
        if self.common:
            return None
        names, codes = self.different_names()
        keys = pc.add(pc.multiply(self.entry_of_each(), len(names)), codes)
        if len(pc.unique(keys)) == len(keys):
            return None
        last_first = keys.take(pc.subtract(len(keys) - 1, positions(len(keys))))
        return pc.subtract(len(keys) - 1, pc.index_in(keys, last_first)).cast(pa.int64())

    def chosen(self, mask: pa.Array) -> Pairs:
        """Some of the pairs; the number of entries stays the same."""
        if pc.all(mask).as_py():
            return self
        offsets = edges(self.counts(mask))
        return Pairs(offsets, self.names.filter(mask), self.values.filter(mask))

    def counts(self, mask: pa.Array) -> pa.Array:
        """How many chosen pairs each entry has."""
        upto = edges(mask.cast(pa.int32())).take(self.offsets)
        return pc.subtract(upto[1:], upto[:-1])

    def as_map(self) -> pa.MapArray:
        """A map of Arrow and Spark, for pairs without repeated names."""
        return pa.MapArray.from_arrays(self.offsets, self.names, self.values)

    def without_repeats(self) -> Pairs:
        """The pairs with only the last one of each repeated name."""
        last = self.last_of_each()
        return self if last is None else self.chosen(pc.equal(last, positions(len(last))))


def edges(lengths: pa.Array) -> pa.Array:
    """Where lists of these lengths begin and the last one ends."""
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])


def decoded(values: pa.Array) -> pa.Array:
    """Byte strings as text; ArrowInvalid if one is not UTF-8.

    Most are ASCII, which one check of all of them shows, in a tenth of the time of a cast.
    """
    if pa.types.is_string(values.type):
        return values
    data = values.buffers()[2]
    if data is not None and _is_ascii(data):
        return values.view(pa.string())
    return values.cast(pa.string())


def _is_ascii(data: pa.Buffer) -> bool:
    """Whether no byte is negative as a signed number."""
    smallest = pc.min(pa.Array.from_buffers(pa.int8(), data.size, [None, data])).as_py()
    return smallest is None or smallest >= 0


def is_text(values: pa.Array) -> pa.Array:
    """Which byte strings are UTF-8; none of them is null."""
    try:
        decoded(values)
    except pa.ArrowInvalid:
        return pc.match_substring_regex(values.cast(pa.binary()), _UTF8)
    return pa.repeat(pa.scalar(True), len(values))
