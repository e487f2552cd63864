"""Pages of entries as columns, by the quick way and by the slow way."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.read.pages import EntryPage

NAMES = st.sampled_from([b"a", b"b", b"c"])
PAIRS = st.lists(st.tuples(NAMES, st.binary(max_size=3)), min_size=1, max_size=4)


def page_of(rows: list[list[tuple[bytes, bytes]]]) -> EntryPage:
    return EntryPage(
        [[b"%d-0" % i, [part for pair in row for part in pair]] for i, row in enumerate(rows)]
    )


@given(st.lists(PAIRS, max_size=6))
def test_columns_and_maps_are_what_dictionaries_say(rows: list[list[tuple[bytes, bytes]]]) -> None:
    page = page_of(rows)
    dicts = [dict(row) for row in rows]
    for name in ("a", "b", "c", "z"):
        assert page.column(name).to_pylist() == [d.get(name.encode()) for d in dicts]
    maps = page.fields().cast(pa.map_(pa.binary(), pa.binary()))
    assert [dict(fields) for fields in maps.to_pylist()] == dicts
    assert page.rows == len(rows)


@given(st.lists(st.tuples(st.binary(max_size=3), st.binary(max_size=3)), min_size=1, max_size=9))
def test_entries_of_one_shape_take_the_quick_way(values: list[tuple[bytes, bytes]]) -> None:
    page = page_of([[(b"x", x), (b"y", y)] for x, y in values])
    assert page._names == [b"x", b"y"]
    assert page.column("y").to_pylist() == [y for _, y in values]


def test_the_halves_of_ids_are_unsigned_numbers() -> None:
    page = EntryPage([[b"1-2", [b"f", b"v"]], [b"18446744073709551615-18446744073709551615", []]])
    ms, seq = page.halves
    assert ms.to_pylist() == [1, 2**64 - 1]
    assert seq.to_pylist() == [2, 2**64 - 1]
    assert page.ids().to_pylist()[0] == "1-2"
