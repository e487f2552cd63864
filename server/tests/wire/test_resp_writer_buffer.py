"""The buffer of replies: growth, marks, sending in parts, and giving it back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.wire.resp_writer import RespWriter, WriterPool


def numbers(count: int) -> bytes:
    return b"".join(b":%d\r\n" % i for i in range(count))


def test_a_new_reply_is_empty_and_owns_nothing() -> None:
    reply = RespWriter()
    assert (reply.size, reply.cap, reply.pending()) == (0, 0, 0)
    assert reply.take() == b""
    assert bytes(reply.view()) == b""


def test_it_grows_as_it_must() -> None:
    reply = RespWriter()
    for i in range(50_000):
        reply.integer(i)
    assert reply.pending() == reply.size == len(numbers(50_000))
    assert reply.take() == numbers(50_000)


def test_one_piece_larger_than_any_doubling() -> None:
    reply = RespWriter()
    reply.ok()
    reply.bulk(b"x" * 1_000_000)
    assert reply.take() == b"+OK\r\n$1000000\r\n" + b"x" * 1_000_000 + b"\r\n"


@pytest.mark.parametrize("size", range(4060, 4100))
def test_pieces_that_end_near_the_end_of_the_first_buffer(size: int) -> None:
    reply = RespWriter()
    reply.raw(b"x" * size)
    reply.integer(-(2**63))
    reply.stream_id(2**64 - 1, 2**64 - 1)
    reply.bulk(b"")
    reply.array(7)
    content = reply.take()
    assert content[:size] == b"x" * size
    assert content[size:] == (
        b":-9223372036854775808\r\n$41\r\n18446744073709551615-18446744073709551615\r\n$0\r\n\r\n*7\r\n"
    )


def test_taking_empties_it() -> None:
    reply = RespWriter()
    reply.ok()
    assert reply.take() == b"+OK\r\n"
    assert (reply.size, reply.cap) == (0, 0)
    reply.integer(1)
    assert reply.take() == b":1\r\n"


def test_a_view_shows_what_waits_and_is_not_a_copy() -> None:
    reply = RespWriter()
    reply.raw(b"abcdef")
    reply.consume(2)
    with reply.view() as view:
        assert bytes(view) == b"cdef"
    assert reply.pending() == 4


@given(st.lists(st.integers(1, 5000), max_size=30), st.lists(st.integers(1, 9000), max_size=30))
def test_sending_in_parts_sends_every_byte_once(writes: list[int], sends: list[int]) -> None:
    reply = RespWriter()
    written = sent = b""
    for i in range(max(len(writes), len(sends))):
        if i < len(writes):
            piece = bytes([65 + i]) * writes[i]
            reply.raw(piece)
            written += piece
        if i < len(sends):
            n = min(sends[i], reply.pending())
            with reply.view() as view:
                sent += bytes(view[:n])
            reply.consume(n)
        assert reply.pending() == len(written) - len(sent)
        assert (reply.size == 0) == (reply.pending() == 0)
    assert sent + reply.take() == written


def test_a_slow_reader_does_not_make_the_buffer_grow() -> None:
    reply = RespWriter()
    reply.raw(b"x" * 5000)
    cap = reply.cap
    for _ in range(1000):
        reply.raw(b"x" * 3000)
        reply.consume(3000)
    assert reply.cap <= max(cap, 16384)


@pytest.mark.parametrize("n", [-1, 6, 100])
def test_more_than_waits_cannot_be_consumed(n: int) -> None:
    reply = RespWriter()
    reply.ok()
    with pytest.raises(ValueError, match="more consumed"):
        reply.consume(n)
    assert reply.take() == b"+OK\r\n"


def test_all_consumed_means_that_nothing_is_owned() -> None:
    reply = RespWriter()
    reply.ok()
    reply.consume(5)
    assert (reply.start, reply.size, reply.cap) == (0, 0, 0)


def test_a_cleared_buffer_is_used_again_by_another() -> None:
    pool = WriterPool()
    first, second = RespWriter(2, pool), RespWriter(2, pool)
    first.raw(b"x" * 100_000)
    cap = first.cap
    first.clear()
    second.ok()
    assert second.cap == cap
    assert second.take() == b"+OK\r\n"


def test_a_very_large_buffer_goes_back_to_the_system() -> None:
    reply = RespWriter()
    reply.raw(b"x" * 3_000_000)
    reply.clear()
    reply.ok()
    assert reply.cap < 3_000_000


def test_unused_buffers_are_kept_within_a_bound() -> None:
    pool = WriterPool()
    replies = [RespWriter(2, pool) for _ in range(40)]
    for reply in replies:
        reply.raw(b"x" * 600_000)
    for reply in replies:
        reply.clear()
    caps = 0
    for reply in replies:
        reply.ok()
        caps += reply.cap
    assert caps < 12 << 20
    assert [reply.take() for reply in replies] == [b"+OK\r\n"] * 40


def test_rewinding_unwrites() -> None:
    reply = RespWriter()
    reply.ok()
    mark = reply.size
    reply.array(2)
    reply.integer(1)
    reply.rewind(mark)
    reply.null_array()
    assert reply.take() == b"+OK\r\n*-1\r\n"


def test_rewinding_to_the_beginning_owns_nothing() -> None:
    reply = RespWriter()
    reply.ok()
    reply.rewind(0)
    assert (reply.size, reply.cap) == (0, 0)


@pytest.mark.parametrize("mark", [-1, 0, 1, 11])
def test_a_mark_outside_of_what_waits_is_refused(mark: int) -> None:
    reply = RespWriter()
    reply.raw(b"0123456789")
    reply.consume(2)
    with pytest.raises(ValueError, match="mark"):
        reply.rewind(mark)


WIDTHS = [0, 1, 9, 10, 11, 99, 100, 12345]


@pytest.mark.parametrize("guess", WIDTHS)
@pytest.mark.parametrize("n", WIDTHS)
def test_an_array_may_learn_its_length_at_its_end(guess: int, n: int) -> None:
    reply = RespWriter()
    reply.ok()
    mark = reply.open_array(guess)
    reply.raw(numbers(20))
    reply.close_array(mark, n)
    reply.ok()
    assert reply.take() == b"+OK\r\n*%d\r\n%b+OK\r\n" % (n, numbers(20))


@pytest.mark.parametrize("resp", [2, 3])
@pytest.mark.parametrize(("guess", "n"), [(1, 5), (5, 1), (4, 500), (500, 4)])
def test_a_map_may_learn_its_length_at_its_end(resp: int, guess: int, n: int) -> None:
    reply = RespWriter(resp)
    mark = reply.open_map(guess)
    reply.raw(b"...")
    reply.close_map(mark, n)
    assert reply.take() == (b"*%d\r\n..." % (2 * n) if resp == 2 else b"%%%d\r\n..." % n)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 9000))
def test_open_arrays_may_be_nested(outer: int, inner: int, guess: int, size: int) -> None:
    reply = RespWriter()
    first = reply.open_array(guess)
    reply.integer(1)
    second = reply.open_array(guess)
    reply.raw(b"x" * size)
    reply.close_array(second, inner)
    reply.integer(2)
    reply.close_array(first, outer)
    assert reply.take() == b"*%d\r\n:1\r\n*%d\r\n%b:2\r\n" % (outer, inner, b"x" * size)


@pytest.mark.parametrize("fill", range(4070, 4097))
def test_a_header_that_widens_at_the_end_of_the_buffer(fill: int) -> None:
    reply = RespWriter()
    mark = reply.open_array(1)
    reply.raw(b"x" * (fill - reply.size))
    reply.close_array(mark, 10**9)
    assert reply.take() == b"*1000000000\r\n" + b"x" * (fill - 4)


# Setting aside


def sent(reply: RespWriter, n: int) -> bytes:
    """Send up to n bytes, as a connection does."""
    if reply.aside is None:
        piece = bytes(reply.view()[:n])
        reply.consume(len(piece))
    else:
        piece = bytes(reply.aside[0][reply.aside_start :][:n])
        reply.consume_aside(len(piece))
    return piece


@given(
    st.lists(st.tuples(st.integers(0, 400_000), st.booleans(), st.integers(0, 300_000))),
)
def test_what_is_set_aside_is_sent_first_and_once(steps: list[tuple[int, bool, int]]) -> None:
    reply = RespWriter()
    written, got = bytearray(), bytearray()
    for number, (size, is_set_aside, n) in enumerate(steps):
        reply.raw(b"%c" % (number % 256) * size)
        written += b"%c" % (number % 256) * size
        if is_set_aside:
            reply.set_aside()
        got += sent(reply, n)
        assert reply.pending() == len(written) - len(got)
    while reply.pending() > 0:
        got += sent(reply, 1 << 20)
    assert got == written
    assert (reply.aside, reply.aside_bytes, reply.room_bytes()) == (None, 0, 0)


def test_a_nearly_full_buffer_is_set_aside_and_not_copied_again() -> None:
    reply = RespWriter()
    for _ in range(64):
        reply.raw(b"x" * 65_536)
        reply.set_aside()
    assert reply.pending() == 64 * 65_536
    assert reply.cap <= 256 << 10
    assert reply.room_bytes() <= reply.pending() * 1.1


def test_a_small_or_half_empty_buffer_stays() -> None:
    reply = RespWriter()
    reply.raw(b"x" * 4096)
    reply.set_aside()
    assert reply.aside is None
    reply.raw(b"x" * 300_000)
    reply.raw(b"x")
    reply.set_aside()
    assert (reply.aside, reply.pending()) == (None, 304_097)


def test_rewinding_and_clearing_mind_what_is_set_aside() -> None:
    reply = RespWriter()
    reply.raw(b"x" * 131_072)
    reply.set_aside()
    reply.ok()
    reply.rewind(0)
    assert (reply.size, reply.pending()) == (0, 131_072)
    reply.clear()
    assert (reply.aside, reply.pending(), reply.room_bytes()) == (None, 0, 0)


def test_the_guard_is_told_of_what_is_set_aside() -> None:
    class Note:
        told = 0

        def check(self, writer: RespWriter, size: int) -> None:
            self.told = size

    pool, note = WriterPool(), Note()
    pool.guard = note
    reply = RespWriter(2, pool)
    reply.raw(b"x" * (1 << 20))
    reply.set_aside()
    reply.raw(b"x" * (2 << 20))
    assert note.told == 3 << 20
