"""LZF: compressed data can be restored, and damaged data is refused."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.errors import CorruptDataError
from forebay.persistence.rdb import lzf


def there_and_back(data: bytes) -> int:
    """Compress and expand; returns the compressed size, 0 if compression gained nothing."""
    packed = lzf.compress(data)
    if packed is None:
        return 0
    assert len(packed) <= len(data) - 4
    assert lzf.expand(packed, 0, len(packed), len(data)) == data
    return len(packed)


@given(st.binary(max_size=300))
def test_any_bytes_come_back(data: bytes) -> None:
    there_and_back(data)


@given(st.lists(st.sampled_from([b"a", b"ab", b"xyz", b"\0", b"0123456789"]), max_size=200))
def test_repeated_words_come_back(words: list[bytes]) -> None:
    there_and_back(b"".join(words))


@pytest.mark.parametrize("size", [0, 1, 4, 5, 31, 32, 33, 264, 265, 8192, 8193, 20_000])
def test_one_byte_over_and_over_comes_back(size: int) -> None:
    packed = there_and_back(b"x" * size)
    assert (packed > 0) == (size > 12), "long runs are worth it, short ones are not"


def test_a_match_is_used_up_to_the_greatest_distance() -> None:
    word = Random(3).randbytes(200)
    near, far = (there_and_back(word + b"-" * (gap - 200) + word) for gap in (8192, 8193))
    assert near < far - 150


def test_random_bytes_are_left_alone() -> None:
    assert lzf.compress(Random(5).randbytes(4096)) is None


def test_the_table_of_positions_never_shows_an_earlier_string() -> None:
    dice = Random(6)
    for _ in range(200):
        there_and_back(bytes(dice.choices(b"abc", k=dice.randrange(200))))


def test_literals_and_copies_expand_as_the_format_says() -> None:
    assert lzf.expand(b"\x02abc", 0, 4, 3) == b"abc"
    assert lzf.expand(b"\x00a\x20\x00", 0, 4, 4) == b"aaaa"  # three bytes from one back
    assert lzf.expand(b"\x01ab\xe0\x03\x01", 0, 6, 14) == b"ab" * 7  # nine and three from two back


@pytest.mark.parametrize(
    ("packed", "size"),
    [
        (b"\x02ab", 3),  # a literal that runs out of input
        (b"\x02abc", 2),  # and out of room
        (b"\x02abc", 4),  # too little for the announced size
        (b"\x20\x00", 3),  # a copy from before the beginning
        (b"\x00a\x20\x01", 4),
        (b"\x00a\x20", 4),  # a copy without its distance
        (b"\x00a\xe0", 4),  # a long copy without its length
        (b"\x00a\xe0\x01", 4),
        (b"\x00a\x20\x00", 3),  # a copy out of room
        (b"", 1),
        (b"\x00a", -1),
        (b"\x00a", 1 << 40),
    ],
)
def test_what_does_not_hold_together_is_refused(packed: bytes, size: int) -> None:
    with pytest.raises(CorruptDataError):
        lzf.expand(packed, 0, len(packed), size)


def test_damaged_bytes_expand_to_the_announced_size_or_to_nothing() -> None:
    dice = Random(7)
    packed = bytearray(lzf.compress(b"hello hello hello wonderful wonderful world " * 5) or b"")
    for _ in range(3000):
        copy = bytearray(packed)
        copy[dice.randrange(len(copy))] = dice.randrange(256)
        try:
            assert len(lzf.expand(bytes(copy), 0, len(copy), 220)) == 220
        except CorruptDataError:
            continue
