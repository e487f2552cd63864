"""Listpack elements: every encoding at its edges, forward and backward."""

from __future__ import annotations

import pytest

from forebay.core import listpack

ROOM = 64


def put_int(value: int) -> bytes:
    """An integer element as it is stored."""
    buffer = bytearray(ROOM)
    after = listpack.put_int(buffer, 3, value)
    assert listpack.int_size(value) == after - 3
    assert not any(buffer[:3]) and not any(buffer[after:]), "bytes outside the element"
    return bytes(buffer[3:after])


def put_string(text: bytes) -> bytes:
    """A string element as it is stored; as an integer if it reads like one."""
    buffer = bytearray(len(text) + ROOM)
    after = listpack.put_string(buffer, 3, b"??" + text + b"?", 2, len(text))
    assert not any(buffer[:3]) and not any(buffer[after:]), "bytes outside the element"
    return bytes(buffer[3:after])


def put_backlen(size: int) -> bytes:
    buffer = bytearray(8)
    return bytes(buffer[: listpack.put_backlen(buffer, 0, size)])


#: The limits of every width, with the first byte and the size.
WIDTHS = [
    (0, 0x00, 2),
    (1, 0x01, 2),
    (127, 0x7F, 2),
    (128, 0xC0, 3),
    (-1, 0xDF, 3),
    (4095, 0xCF, 3),
    (-4096, 0xD0, 3),
    (4096, 0xF1, 4),
    (-4097, 0xF1, 4),
    (32767, 0xF1, 4),
    (-32768, 0xF1, 4),
    (32768, 0xF2, 5),
    (-32769, 0xF2, 5),
    (8388607, 0xF2, 5),
    (-8388608, 0xF2, 5),
    (8388608, 0xF3, 6),
    (-8388609, 0xF3, 6),
    (2147483647, 0xF3, 6),
    (-2147483648, 0xF3, 6),
    (2147483648, 0xF4, 10),
    (-2147483649, 0xF4, 10),
    (2**63 - 1, 0xF4, 10),
    (-(2**63), 0xF4, 10),
]


@pytest.mark.parametrize(("value", "head", "size"), WIDTHS)
def test_an_integer_takes_the_smallest_width(value: int, head: int, size: int) -> None:
    stored = put_int(value)
    assert (stored[0], len(stored)) == (head, size)
    assert tuple(listpack.read_int(stored, 0)) == (value, size)
    assert listpack.is_int(stored, 0)
    assert listpack.element(stored, 0) == b"%d" % value


@pytest.mark.parametrize(("value", "head", "size"), WIDTHS)
def test_a_decimal_number_is_stored_as_an_integer(value: int, head: int, size: int) -> None:
    assert put_string(b"%d" % value) == put_int(value)


@pytest.mark.parametrize(("value", "head", "size"), WIDTHS)
def test_an_integer_is_found_from_behind(value: int, head: int, size: int) -> None:
    stored = b"??" + put_int(value) + b"?"
    assert listpack.skip(stored, 2) == 2 + size
    assert listpack.back(stored, 2 + size) == 2


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (5, "05 01"),
        (127, "7f 01"),
        (128, "c0 80 02"),
        (-1, "df ff 02"),
        (4096, "f1 00 10 03"),
        (-32769, "f2 ff 7f ff 04"),
        (-8388609, "f3 ff ff 7f ff 05"),
        (2**63 - 1, "f4 ff ff ff ff ff ff ff 7f 09"),
    ],
)
def test_integers_are_these_bytes(value: int, stored: str) -> None:
    assert put_int(value) == bytes.fromhex(stored)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"-", b"+1", b"-0", b"00", b"007", b"-007", b" 1", b"1 ", b"1.0", b"1e3", b"0x1"),
        *(b"9223372036854775808", b"-9223372036854775809", b"18446744073709551615"),
        *(b"99999999999999999999", b"-99999999999999999999", b"100000000000000000000", b"1\x00"),
    ],
)
def test_what_only_looks_like_a_number_stays_text(text: bytes) -> None:
    stored = put_string(text)
    assert stored == bytes([0x80 | len(text)]) + text + bytes([len(text) + 1])
    assert not listpack.is_int(stored, 0)
    assert listpack.element(stored, 0) == text


#: Lengths around every change of encoding and of the backlen.
LENGTHS = [0, 1, 62, 63, 64, 65, 125, 126, 127, 128, 4094, 4095, 4096, 4097]
LENGTHS += [16377, 16378, 16379, 16380, 16383, 16384, 65535, 65536, 2097145, 2097146, 2097151]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_string_of_any_length_is_read_back(length: int) -> None:
    text = b"x" * length
    stored = put_string(text)
    start, size = listpack.read_string(stored, 0)
    assert (stored[start : start + size], size) == (text, length)
    assert listpack.element(stored, 0) == text
    assert listpack.skip(stored + b"?", 0) == len(stored)
    assert listpack.back(b"??" + stored, 2 + len(stored)) == 2


@pytest.mark.parametrize(
    ("length", "head"),
    [
        (63, "bf"),
        (64, "e0 40"),
        (4095, "ef ff"),
        (4096, "f0 00 10 00 00"),
        (65536, "f0 00 00 01 00"),
    ],
)
def test_the_head_of_a_string_says_how_long_it_is(length: int, head: str) -> None:
    expected = bytes.fromhex(head)
    assert put_string(b"x" * length)[: len(expected) + 1] == expected + b"x"


@pytest.mark.parametrize(
    ("size", "stored"),
    [
        (1, "01"),
        (127, "7f"),
        (128, "01 80"),
        (16382, "7f fe"),
        (16383, "00 ff ff"),
        (16384, "01 80 80"),
        (2097150, "7f ff fe"),
        (2097151, "00 ff ff ff"),
        (268435454, "7f ff ff fe"),
        (268435455, "00 ff ff ff ff"),
        (1 << 30, "04 80 80 80 80"),
    ],
)
def test_a_backlen_is_read_from_behind(size: int, stored: str) -> None:
    expected = bytes.fromhex(stored)
    assert put_backlen(size) == expected
    assert listpack.backlen_size(size) == len(expected)
    at = len(expected) - 1
    found = shift = 0
    while True:
        found |= (expected[at] & 127) << shift
        if expected[at] < 128:
            break
        shift += 7
        at -= 1
    assert found == size


@pytest.mark.parametrize("text", [b"5", b"-7", b"70000", b"", b"field", b"x" * 64, b"y" * 5000])
def test_an_element_is_the_same_as_the_text_it_came_from(text: bytes) -> None:
    stored = put_string(text)
    for other in (b"5", b"-7", b"70000", b"", b"field", b"fielt", b"x" * 64, b"05", b"y" * 5000):
        same = listpack.same_string(stored, 0, b"?" + other, 1, len(other))
        assert same == (other == text)


def test_a_number_is_not_the_same_as_its_look_alikes() -> None:
    stored = put_string(b"7")
    for other in (b"07", b"+7", b"7 ", b"-7", b"77", b""):
        assert not listpack.same_string(stored, 0, other, 0, len(other))
