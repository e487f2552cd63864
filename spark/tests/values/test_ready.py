"""Columns that are made once are those that would be made for each page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.values import ready

#: Around the sizes at which a longer column is made.
ROWS = st.one_of(st.integers(0, 40), st.sampled_from([1023, 1024, 1025, 2047, 2048, 2049]))
NAMES = st.lists(st.sampled_from([b"a", b"rider", b"", b"caf\xc3\xa9", b"\xff"]), max_size=4)


@given(ROWS, NAMES.map(tuple))
def test_they_have_what_a_list_would_have(rows: int, names: tuple[bytes, ...]) -> None:
    width = len(names)
    assert ready.positions(rows).to_pylist() == list(range(rows))
    assert ready.even_edges(rows, width).to_pylist() == [width * at for at in range(rows + 1)]
    assert ready.same("s", rows).to_pylist() == ["s"] * rows
    found = ready.repeated(names, rows).to_pylist()
    assert [item.encode() if isinstance(item, str) else item for item in found] == [*names] * rows


def test_pages_of_about_the_same_size_share_them() -> None:
    for make in (
        ready.positions,
        lambda rows: ready.even_edges(rows, 4),
        lambda rows: ready.repeated((b"a", b"b"), rows),
        lambda rows: ready.same("s", rows),
    ):
        longer, shorter = make(16_131), make(15_987)
        assert [buffer and buffer.address for buffer in longer.buffers()] == [
            buffer and buffer.address for buffer in shorter.buffers()
        ]


def test_a_row_with_many_names_is_not_made_a_thousand_times() -> None:
    names = tuple(b"field-%d" % number for number in range(300_000))
    assert ready.repeated(names, 1).to_pylist() == [name.decode() for name in names]
    assert ready.repeated(names, 1).buffers()[2].size < 2 * len(b"".join(names))
    assert ready.same("s" * ready.LEAST_BYTES, 1).buffers()[2].size <= 2 * ready.LEAST_BYTES
