"""CRC-64: the standard check value, and slices that add up."""

from __future__ import annotations

from random import Random

from forebay.persistence.rdb import crc64


def bit_by_bit(crc: int, data: bytes) -> int:
    """The definition: slow and plain."""
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x95AC9329AC4BC9B5 if crc & 1 else crc >> 1
    return crc


def test_the_nine_digits_have_the_known_checksum() -> None:
    assert crc64.update(0, b"123456789", 0, 9) == 0xE9C6D914C4B8D9CA


def test_any_length_at_any_place_is_as_defined() -> None:
    data = Random(64).randbytes(80)
    for start in range(9):
        for end in range(start, len(data)):
            assert crc64.update(7, data, start, end) == bit_by_bit(7, data[start:end])


def test_pieces_give_the_checksum_of_the_whole() -> None:
    data = Random(1).randbytes(1000)
    whole = crc64.update(0, data, 0, 1000)
    for cut in (0, 1, 7, 8, 500, 999, 1000):
        assert crc64.update(crc64.update(0, data, 0, cut), data, cut, 1000) == whole
