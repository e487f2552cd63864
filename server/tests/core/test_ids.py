"""Entry IDs: valid ones, how they are written, ordered and stepped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.core import ids
from forebay.errors import CommandError

TOP = 2**64 - 1
INVALID = b"ERR Invalid stream ID specified as stream command argument"

u64 = st.integers(0, TOP)


def parse(text: bytes, default_seq: int = 0) -> tuple[int, int] | None:
    """The ID in a text; other bytes around it check that the parser respects its ends."""
    ok, ms, seq = ids.parse(b"9" + text + b"9", 1, len(text), default_seq)
    return (ms, seq) if ok else None


def start(text: bytes) -> tuple[int, int] | bytes:
    return bound(ids.interval_start, text)


def end(text: bytes) -> tuple[int, int] | bytes:
    return bound(ids.interval_end, text)


def bound(
    read: Callable[[bytes, int, int], tuple[int, int]], text: bytes
) -> tuple[int, int] | bytes:
    """The bound of an interval, or the error text."""
    try:
        ms, seq = read(text, 0, len(text))
    except CommandError as error:
        return error.text
    return ms, seq


@given(u64, u64)
def test_what_is_written_is_read_back(ms: int, seq: int) -> None:
    text = ids.text(ms, seq)
    assert text == b"%d-%d" % (ms, seq)
    assert parse(text) == (ms, seq)
    assert ids.from_key(ids.key(ms, seq)) == (ms, seq)


@given(st.tuples(u64, u64), st.tuples(u64, u64))
def test_keys_sort_as_ids_do(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert ids.before(*a, *b) == (a < b) == (ids.key(*a) < ids.key(*b))


def test_a_key_is_sixteen_big_endian_bytes() -> None:
    assert ids.key(1, 258) == bytes(7) + b"\x01" + bytes(6) + b"\x01\x02"


@pytest.mark.parametrize("seq", [0, 7, TOP])
def test_a_missing_sequence_is_what_the_place_says(seq: int) -> None:
    assert parse(b"5", seq) == (5, seq)
    assert parse(b"5-3", seq) == (5, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"0", (0, 0)),
        (b"18446744073709551615", (TOP, 0)),
        (b"18446744073709551615-18446744073709551615", (TOP, TOP)),
        (b"9223372036854775808-9223372036854775807", (2**63, 2**63 - 1)),
        (b"007-0001", (7, 1)),
        (b"0" * 127, (0, 0)),
        (b"0" * 125 + b"-5", (0, 5)),
    ],
)
def test_digits_up_to_64_bits_are_an_id(text: bytes, expected: tuple[int, int]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"+5", (5, 0)),
        (b"5-+1", (5, 1)),
        (b" 5-\t1", (5, 1)),
        (b"5--0", (5, 0)),
        (b"5- -1", (5, TOP)),
        (b"5\0junk", (5, 0)),
        (b"5-1\0junk", (5, 1)),
    ],
)
def test_oddities_that_redis_accepts_are_accepted(text: bytes, expected: tuple[int, int]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"-", b"+", b"--", b"-1", b"1-", b"-1-1", b"x", b"1x", b"1-x", b"1-1-1", b"1--1"),
        *(b"5 ", b"5-1 ", b" ", b"1-+", b"1.5", b"1e3", b"0x10", b"$", b">", b"*", b"1-*", b"(1"),
        *(b"18446744073709551616", b"1-18446744073709551616", b"99999999999999999999999"),
        *(b"0" * 128, b"0" * 126 + b"-5", b"\0", b"\x005", b"1\xff"),
    ],
)
def test_anything_else_is_no_id(text: bytes) -> None:
    assert parse(text) is None


@given(u64, u64)
def test_successor_and_predecessor_undo_each_other(ms: int, seq: int) -> None:
    ok, *following = ids.successor(ms, seq)
    if (ms, seq) == (TOP, TOP):
        assert not ok
    else:
        assert ok and ids.before(ms, seq, *following)
        assert tuple(ids.predecessor(*following)) == (True, ms, seq)


def test_steps_carry_over_into_the_milliseconds() -> None:
    assert tuple(ids.successor(5, TOP)) == (True, 6, 0)
    assert tuple(ids.predecessor(6, 0)) == (True, 5, TOP)


def test_there_is_nothing_above_the_largest_and_nothing_below_the_smallest() -> None:
    assert not ids.successor(TOP, TOP)[0]
    assert not ids.predecessor(0, 0)[0]


def test_a_bound_may_be_minus_or_plus() -> None:
    assert tuple(ids.parse_bound(b"-", 0, 1, 0)) == (True, 0, 0)
    assert tuple(ids.parse_bound(b"+", 0, 1, 0)) == (True, TOP, TOP)
    assert tuple(ids.parse_bound(b"7", 0, 1, 3)) == (True, 7, 3)
    assert not ids.parse_bound(b"++", 0, 2, 0)[0]


def test_an_interval_starts_and_ends_where_its_bounds_say() -> None:
    assert (start(b"-"), end(b"+")) == ((0, 0), (TOP, TOP))
    assert (start(b"+"), end(b"-")) == ((TOP, TOP), (0, 0))
    assert (start(b"5"), end(b"5")) == ((5, 0), (5, TOP))
    assert (start(b"5-1"), end(b"5-1")) == ((5, 1), (5, 1))


def test_a_parenthesis_leaves_its_id_out() -> None:
    assert (start(b"(5-1"), end(b"(5-1")) == ((5, 2), (5, 0))
    assert (start(b"(5"), end(b"(5")) == ((5, 1), (5, TOP - 1))
    assert start(b"(5-%d" % TOP) == (6, 0)
    assert end(b"(5-0") == (4, TOP)


def test_an_interval_cannot_start_behind_everything_or_end_before_it() -> None:
    assert start(b"(%d-%d" % (TOP, TOP)) == b"ERR invalid start ID for the interval"
    assert end(b"(0-0") == b"ERR invalid end ID for the interval"
    assert start(b"(0-0") == (0, 1)
    assert end(b"(%d-%d" % (TOP, TOP)) == (TOP, TOP - 1)


@pytest.mark.parametrize("text", [b"(", b"(-", b"(+", b"((1", b"", b"x", b"(1-1-1", b"( "])
def test_a_bad_bound_is_a_bad_id(text: bytes) -> None:
    assert start(text) == end(text) == INVALID


@given(st.binary(max_size=12))
def test_no_text_upsets_the_parser(text: bytes) -> None:
    found = parse(text)
    if found is not None:
        assert parse(ids.text(*found)) == found
