"""Columns that depend on a number of rows and little else, made once for many pages.

    made      repeated((b"a", b"b"), 1024 rows)     a b a b a b a b a b ...
    page 1    3 rows                                a b a b a b
    page 2    4 rows                                a b a b a b a b

Hardly two pages have the same number of rows: their entries differ in size.  So a column is made
for the next power of two, and each page gets its beginning, which costs nothing.  A column for a
few rows has room for a thousand if they are small: a row may have a hundred thousand names.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

LEAST_ROWS, LEAST_BYTES = 1024, 64 << 10


def _room(rows: int, row_bytes: int = 1) -> int:
    least = min(LEAST_ROWS, LEAST_BYTES // max(1, row_bytes))
    return max(least, 1 << (rows - 1).bit_length())


def positions(rows: int) -> pa.Array:
    """The numbers 0, 1, 2, ... of rows or pairs."""
    return _steps(1, pa.int64(), _room(rows)).slice(0, rows)


def even_edges(rows: int, width: int) -> pa.Array:
    """Offsets of entries that all have the same number of pairs."""
    return _steps(width, pa.int32(), _room(rows + 1)).slice(0, rows + 1)


def repeated(names: tuple[bytes, ...], rows: int) -> pa.Array:
    """The same names for every row, as text if they are text."""
    room = _room(rows, sum(map(len, names)))
    return _repeated(names, room).slice(0, rows * len(names))


def same(text: str, rows: int) -> pa.Array:
    """The same text for every row."""
    return _same(text, _room(rows, len(text))).slice(0, rows)


@lru_cache(maxsize=4)
def _steps(step: int, kind: pa.DataType, count: int) -> pa.Array:
    return pc.cumulative_sum(pa.repeat(pa.scalar(step, kind), count), start=-step)


@lru_cache(maxsize=4)
def _repeated(names: tuple[bytes, ...], rows: int) -> pa.Array:
    column = pa.array(names, pa.binary())
    try:
        column = column.cast(pa.string())
    except pa.ArrowInvalid:
        pass  # a name that is no text
    while 0 < len(column) < rows * len(names):
        column = pa.concat_arrays([column, column])
    return column


@lru_cache(maxsize=4)
def _same(text: str, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), rows)
