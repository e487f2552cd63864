"""Bytes that are not the protocol: the error texts, and the limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.errors import ProtocolError
from forebay.wire.request import Limits
from server.tests.wire.feeding import (
    byte_by_byte,
    commands_of,
    encode,
    error_of,
    in_pieces,
    parse_all,
    whole,
)

STRANGER = Limits(authenticated=False)
NOT_A_LENGTH = [b"", b"a", b"1a", b"01", b"00", b"+1", b"-0", b" 1", b"1 ", b"1\0", b"--1", b"0x1"]
#: Around every power where a careless parser would overflow; none is an allowed length.
HUGE = [
    b"%d" % (2**power + more) for power in (31, 32, 63, 64, 127, 128) for more in (0, 1, 2, 4, 100)
] + [b"9" * 30, b"1" * 1000, b"18446744073709551620"]
BELOW_ZERO = [b"-1", b"-2", b"-2147483649", b"-9223372036854775808", b"-9223372036854775809"]


@pytest.mark.parametrize("text", [*NOT_A_LENGTH, *HUGE, b"-9223372036854775809"])
def test_a_count_that_is_no_number_or_too_large(text: bytes) -> None:
    assert error_of(b"*%b\r\n" % text) == b"invalid multibulk length"


@pytest.mark.parametrize("text", [*NOT_A_LENGTH, *HUGE, *BELOW_ZERO, b"536870913", b"2147483647"])
def test_a_length_that_is_no_number_or_too_large(text: bytes) -> None:
    assert error_of(b"*2\r\n$4\r\nECHO\r\n$%b\r\n" % text) == b"invalid bulk length"


@pytest.mark.parametrize("text", [b"2147483646", b"2147483647"])
def test_the_largest_count_is_accepted(text: bytes) -> None:
    data = b"*%b\r\n" % text
    assert parse_all(data) == ([], b"", len(data))


def test_the_largest_length_is_accepted() -> None:
    data = b"*1\r\n$536870912\r\nabc"
    assert parse_all(data) == ([], b"", len(data))


@pytest.mark.parametrize("size", [2**62, 2**63 - 1])
def test_no_limit_makes_an_offset_overflow(size: int) -> None:
    limits = Limits(max_bulk_len=size)
    for length in (2**62, 2**62 + 1, 2**63 - 2, 2**63 - 1):
        data = b"*1\r\n$%d\r\nabc" % length
        if length <= 2**62:
            assert parse_all(data, limits) == ([], b"", len(data))
        else:
            assert error_of(data, limits) == b"invalid bulk length"


def test_the_limit_of_a_bulk_string_can_be_set() -> None:
    limits = Limits(max_bulk_len=1000)
    args = [b"x" * 1000]
    assert commands_of(encode(*args), limits) == [args]
    assert error_of(encode(b"x" * 1001), limits) == b"invalid bulk length"


@pytest.mark.parametrize("byte", [bytes([b]) for b in range(256) if b not in b"$\r"])
def test_an_element_that_is_not_a_bulk_string_is_named(byte: bytes) -> None:
    error = error_of(b"*1\r\n%b\r\n" % byte)
    assert error == b"expected '$', got '%b'" % byte


def test_an_empty_line_in_the_place_of_a_bulk_string() -> None:
    assert error_of(b"*1\r\n\r\n") == b"expected '$', got '\r'"


def test_commands_before_the_error_are_still_run() -> None:
    commands, error, _ = parse_all(encode(b"PING") + b"*x\r\n")
    assert commands == [[b"PING"]]
    assert error == b"ERR Protocol error: invalid multibulk length"


@pytest.mark.parametrize(
    ("head", "text"),
    [
        (b"*", b"too big mbulk count string"),
        (b"*1\r\n$", b"too big bulk count string"),
        (b"", b"too big inline request"),
    ],
)
def test_a_line_that_never_ends(head: bytes, text: bytes) -> None:
    limits = Limits(max_inline=200)
    line = head.rpartition(b"\n")[2]
    fits = head + b"1" * (200 - len(line))
    assert parse_all(fits, limits) == ([], b"", len(fits))
    assert error_of(fits + b"1", limits) == text
    # Nor does it help to end it later, all at once.
    assert error_of(fits + b"1\r\n", limits) == text


def test_a_line_just_short_enough() -> None:
    word = b"a" * 200
    assert commands_of(word + b"\n", Limits(max_inline=200)) == [[word]]


def test_the_limit_of_a_line_is_that_of_redis() -> None:
    limits = Limits()
    assert in_pieces([b"a" * 65536, b"\n"], limits) == ([[b"a" * 65536]], b"", 0)
    _, error, _ = in_pieces([b"a" * 65537], limits)
    assert error == b"ERR Protocol error: too big inline request"


def test_a_stranger_may_send_little() -> None:
    assert commands_of(encode(*[b"x"] * 10), STRANGER) == [[b"x"] * 10]
    assert error_of(b"*11\r\n", STRANGER) == b"unauthenticated multibulk length"
    assert error_of(b"*100\r\n", STRANGER) == b"unauthenticated multibulk length"
    assert error_of(b"*2147483648\r\n", STRANGER) == b"invalid multibulk length"
    data = encode(b"x" * 16384)
    assert whole(data, STRANGER) == ([[b"x" * 16384]], b"", 0)
    assert error_of(b"*1\r\n$16385\r\n", STRANGER) == b"unauthenticated bulk length"
    assert error_of(b"*1\r\n$536870913\r\n", STRANGER) == b"invalid bulk length"


TOKENS = [
    *[b"*", b"$", b"\r\n", b"\r", b"\n", b"0", b"1", b"2", b"-", b"4", b"PING", b'"', b"'", b"\\"],
    *[b" ", b"\0", b"*1\r\n", b"$4\r\n", b"\\x4", b"9999999999999999999", b"\xff"],
]
tokens = st.sampled_from(TOKENS)
garbage = st.one_of(st.binary(max_size=60), st.lists(tokens, max_size=30).map(b"".join))


@settings(max_examples=400)
@given(garbage)
def test_garbage_is_parsed_or_refused_the_same_however_it_is_cut(data: bytes) -> None:
    limits = Limits(max_inline=40)
    first = whole(data, limits)
    assert byte_by_byte(data, limits) == first
    assert in_pieces([data[:7], data[7:9], data[9:]], limits, shift=4) == first


def test_the_error_is_one_of_the_family_and_says_it_all() -> None:
    error = ProtocolError("ERR Protocol error: invalid bulk length")
    assert error.text == b"ERR Protocol error: invalid bulk length"
