"""Listpack elements against an encoder written only from the description of the format."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forebay.core import listpack

CANONICAL = re.compile(rb"0|-?[1-9][0-9]{0,18}")
#: Signed integers by width: bytes of data, first byte.
WIDTHS = ((2, 0xF1), (3, 0xF2), (4, 0xF3), (8, 0xF4))

edges = [sign * 2**bits + off for bits in (0, 7, 12, 15, 23, 31, 63) for sign in (1, -1)
         for off in (-1, 0, 1)]  # fmt: skip
signed = st.integers(-(2**63), 2**63 - 1)
integers = st.one_of(signed, st.integers(-200, 200), st.sampled_from(edges))
look_alikes = st.sampled_from([b"-0", b"007", b"+1", b" 1", b"1 ", b"", b"-", b"1.0", b"--1"])
lengths = st.sampled_from([0, 1, 62, 63, 64, 126, 127, 128, 4094, 4095, 4096, 16380, 16384])
strings = st.one_of(
    st.binary(max_size=80),
    st.builds(lambda n, byte: bytes([byte]) * n, lengths, st.integers(0, 255)),
    integers.map(lambda n: b"%d" % n),
    look_alikes,
)


def backlen(size: int) -> bytes:
    """Seven bits a byte, the last first; all but the first byte have the high bit."""
    limits = (127, 16382, 2097150, 268435454)
    count = 1 + sum(size > limit for limit in limits)
    parts = [(size >> (7 * i)) & 127 | (128 if i < count - 1 else 0) for i in range(count)]
    return bytes(reversed(parts))


def encode_int(value: int) -> bytes:
    if 0 <= value < 128:
        body = bytes([value])
    elif -4096 <= value < 4096:
        bits = value & 0x1FFF
        body = bytes([0xC0 | bits >> 8, bits & 255])
    else:
        size, head = next(w for w in WIDTHS if -(1 << 8 * w[0] - 1) <= value < 1 << 8 * w[0] - 1)
        body = bytes([head]) + value.to_bytes(size, "little", signed=True)
    return body + backlen(len(body))


def encode(text: bytes) -> bytes:
    if CANONICAL.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return encode_int(int(text))
    if len(text) < 64:
        body = bytes([0x80 | len(text)]) + text
    elif len(text) < 4096:
        body = bytes([0xE0 | len(text) >> 8, len(text) & 255]) + text
    else:
        body = b"\xf0" + len(text).to_bytes(4, "little") + text
    return body + backlen(len(body))


def write(texts: list[bytes]) -> tuple[bytearray, list[int]]:
    """The elements one after the other, and the offset of each; the last offset is the end."""
    buffer = bytearray(sum(map(len, texts)) + 14 * len(texts) + 16)
    places = [0]
    for text in texts:
        places.append(listpack.put_string(buffer, places[-1], text, 0, len(text)))
    return buffer, places


@given(integers.filter(lambda n: -(2**63) <= n < 2**63))
@settings(max_examples=500)
def test_an_integer_is_encoded_as_described(value: int) -> None:
    expected = encode_int(value)
    buffer = bytearray(32)
    assert listpack.put_int(buffer, 0, value) == len(expected) == listpack.int_size(value)
    assert bytes(buffer[: len(expected)]) == expected
    assert listpack.read_int(expected, 0)[0] == value


@given(strings)
@settings(max_examples=300)
@example(b"9223372036854775807")
@example(b"9223372036854775808")
@example(b"-9223372036854775808")
@example(b"-9223372036854775809")
def test_a_string_is_encoded_as_described(text: bytes) -> None:
    buffer, (_, end) = write([text])
    assert bytes(buffer[:end]) == encode(text)


@given(st.lists(strings, max_size=30))
def test_elements_are_walked_from_both_ends(texts: list[bytes]) -> None:
    buffer, places = write(texts)
    blob = bytes(buffer)
    found = []
    at = 0
    for expected in places[1:]:
        found.append(listpack.element(blob, at))
        at = listpack.skip(blob, at)
        assert at == expected
    assert found == texts
    for expected in reversed(places[:-1]):
        at = listpack.back(blob, at)
        assert at == expected


@given(strings, strings)
def test_an_element_is_the_same_as_its_own_text_only(stored: bytes, asked: bytes) -> None:
    blob = bytes(write([stored])[0])
    assert listpack.same_string(blob, 0, stored, 0, len(stored))
    assert listpack.same_string(blob, 0, asked, 0, len(asked)) == (stored == asked)
