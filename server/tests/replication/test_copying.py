"""Finding the end of a copy of all data, however its bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.replication.copying import Copy, head_of_file, head_of_stream
from forebay.replication.handshake import Refused

MARK = b"0123456789abcdef0123456789abcdef01234567"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


@given(st.binary(max_size=300), st.binary(max_size=50), st.lists(st.integers(0, 400)))
def test_a_copy_of_known_size_ends_there_and_the_rest_is_the_stream(
    body: bytes, rest: bytes, places: list[int]
) -> None:
    copy = Copy(head_of_file(len(body)).strip())
    got, left = b"", b""
    for piece in cut(body + rest, places):
        if copy.is_done:
            left += piece
            continue
        mine, more = copy.take(piece)
        got += mine
        left += more
    assert copy.is_done
    assert (got, left) == (body, rest)


@given(st.binary(max_size=300), st.lists(st.integers(0, 400)))
def test_a_copy_of_unknown_size_ends_with_its_mark(body: bytes, places: list[int]) -> None:
    copy = Copy(head_of_stream(MARK).strip())
    got = b""
    for piece in cut(body + MARK, places):
        assert not copy.is_done
        mine, more = copy.take(piece)
        assert more == b""
        got += mine
    assert copy.is_done
    assert got == body
    assert copy.size == copy.received == len(body)


def test_a_mark_that_is_only_begun_is_data() -> None:
    copy = Copy(head_of_stream(MARK).strip())
    body = MARK[:20] + b"x" + MARK[:39]
    got = b"".join(copy.take(bytes([byte]))[0] for byte in body + MARK)
    assert got == body
    assert copy.is_done


@pytest.mark.parametrize("head", [b"+OK", b"$-1", b"$x", b"$EOF:short", b"*1"])
def test_a_line_that_begins_no_copy_is_refused(head: bytes) -> None:
    with pytest.raises(Refused, match="instead of a copy"):
        Copy(head)
