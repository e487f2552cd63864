"""CRC-32 against zlib."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from forebay.persistence.aof.crc32 import checksum


def test_the_checksum_of_nothing_is_zero() -> None:
    assert checksum(b"") == 0


def test_every_length_around_the_steps_of_eight_and_sixteen_is_as_zlib_has_it() -> None:
    data = bytes((7 * i + i // 3) & 255 for i in range(100))
    for n in range(len(data)):
        assert checksum(data[:n]) == zlib.crc32(data[:n]), n


@given(st.binary(max_size=300), st.integers(0, 0xFFFFFFFF))
def test_any_bytes_behind_any_checksum_are_as_zlib_has_them(data: bytes, seed: int) -> None:
    assert checksum(data, seed) == zlib.crc32(data, seed)


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_the_checksum_of_two_pieces_is_that_of_both_as_one(first: bytes, second: bytes) -> None:
    assert checksum(second, checksum(first)) == checksum(first + second)
