"""The backlog against a plain string of bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.replication.backlog import BLOCK_BYTES, Backlog


def read(backlog: Backlog, offset: int, limit: int = 1 << 30) -> bytes:
    """The bytes that a replica would get."""
    data = b""
    while len(data) < limit and offset + len(data) < backlog.end:
        block = backlog.block_at(offset + len(data))
        data += block.data[offset + len(data) - block.start :]
    return data[:limit]


pieces = st.lists(st.binary(min_size=1, max_size=200), max_size=60)


@given(pieces, st.integers(1, 500), st.integers(0, 1000), st.data())
def test_a_backlog_is_the_end_of_a_string(
    written: list[bytes], size: int, start: int, data: st.DataObject
) -> None:
    backlog, whole = Backlog(size, start), b""
    for piece in written:
        backlog.append(piece, 0, len(piece))
        whole += piece
        backlog.release(backlog.end)
    assert backlog.end == start + len(whole)
    assert backlog.first == max(start, backlog.end - size)
    offset = data.draw(st.integers(start - 5, backlog.end + 5))
    assert backlog.has(offset) == (backlog.first <= offset <= backlog.end)
    if backlog.has(offset):
        limit = data.draw(st.integers(1, 400))
        assert read(backlog, offset, limit) == whole[offset - start :][:limit]


def test_a_slow_replica_keeps_what_it_has_not_had() -> None:
    backlog = Backlog(100, 0)
    whole = b"".join(b"%08d" % i for i in range(100_000))
    for at in range(0, len(whole), 1000):
        backlog.append(whole, at, min(1000, len(whole) - at))
        backlog.release(7)
    assert read(backlog, 7) == whole[7:]
    assert backlog.has(7), "others may ask for it too"
    assert not backlog.has(6)
    backlog.release(backlog.end)
    assert not backlog.has(7)
    assert backlog.held_bytes <= 100 + 2 * BLOCK_BYTES


def test_a_smaller_backlog_promises_less_at_once() -> None:
    backlog = Backlog(1000, 0)
    backlog.append(bytes(500), 0, 500)
    assert backlog.has(0)
    resize(backlog, 100)
    assert not backlog.has(0)
    assert backlog.has(400)
    resize(backlog, 1000)
    assert not backlog.has(0), "what was let go does not come back"


def resize(backlog: Backlog, size: int) -> None:
    """As CONFIG SET repl-backlog-size does it."""
    backlog.size = size
    backlog.release(backlog.end)
