"""Lists and sets in the packed forms of Redis, built byte by byte: whole and damaged."""

from __future__ import annotations

from random import Random

import pytest

from forebay.core import listpack
from forebay.persistence.rdb.packed import read_intset, read_listpack, read_ziplist

NUMBERS = [0, 12, 13, -1, 127, -128, 128, 32767, -32769, 8388607, -8388609, 2**31, -(2**63)]
TEXTS = [b"", b"a", b"x" * 63, b"y" * 64, b"z" * 253, b"w" * 254, b"v" * 16383, b"u" * 16384]


def a_listpack(texts: list[bytes]) -> bytes:
    body = bytearray(sum(map(len, texts)) + 20 * len(texts))
    at = 0
    for text in texts:
        at = listpack.put_string(body, at, text, 0, len(text))
    packed = bytes(body[:at]) + b"\xff"
    return (len(packed) + 6).to_bytes(4, "little") + len(texts).to_bytes(2, "little") + packed


def ziplist_encoding(text: bytes) -> bytes:
    number = int(text) if text.lstrip(b"-").isdigit() else None
    if number is None:
        if len(text) < 64:
            return bytes([len(text)]) + text
        if len(text) < 16384:
            return bytes([0x40 | len(text) >> 8, len(text) & 255]) + text
        return b"\x80" + len(text).to_bytes(4, "big") + text
    if 0 <= number <= 12:
        return bytes([0xF1 + number])
    for head, width in ((0xFE, 1), (0xC0, 2), (0xF0, 3), (0xD0, 4), (0xE0, 8)):
        if -(1 << 8 * width - 1) <= number < 1 << 8 * width - 1:
            return bytes([head]) + number.to_bytes(width, "little", signed=True)
    raise AssertionError(text)


def a_ziplist(texts: list[bytes]) -> bytes:
    body, before, tail = b"", 0, 10
    for text in texts:
        tail = 10 + len(body)
        previous = bytes([before]) if before < 254 else b"\xfe" + before.to_bytes(4, "little")
        entry = previous + ziplist_encoding(text)
        before = len(entry)
        body += entry
    head = (len(body) + 11).to_bytes(4, "little") + tail.to_bytes(4, "little")
    return head + len(texts).to_bytes(2, "little") + body + b"\xff"


def an_intset(numbers: list[int], width: int) -> bytes:
    head = width.to_bytes(4, "little") + len(numbers).to_bytes(4, "little")
    return head + b"".join(n.to_bytes(width, "little", signed=True) for n in numbers)


ALL = [b"%d" % n for n in NUMBERS] + TEXTS


def test_every_element_of_a_listpack_is_read() -> None:
    assert read_listpack(a_listpack(ALL)) == ALL
    assert read_listpack(a_listpack([])) == []


def test_every_element_of_a_ziplist_is_read() -> None:
    assert read_ziplist(a_ziplist(ALL)) == ALL
    assert read_ziplist(a_ziplist([])) == []


def test_a_header_may_leave_the_count_open() -> None:
    packed = bytearray(a_listpack([b"a", b"b"]))
    packed[4:6] = b"\xff\xff"
    assert read_listpack(bytes(packed)) == [b"a", b"b"]


@pytest.mark.parametrize("width", [2, 4, 8])
def test_intsets_are_read_in_each_width(width: int) -> None:
    top = 1 << 8 * width - 1
    numbers = [-top, -5, 0, 7, top - 1]
    assert read_intset(an_intset(numbers, width)) == [b"%d" % n for n in numbers]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02\0\0\0",
        an_intset([1, 2], 2)[:-1],
        an_intset([1, 2], 2) + b"\0",
        an_intset([2, 1], 4),
        an_intset([1, 1], 8),
        b"\x03" + an_intset([], 2)[1:],
    ],
)
def test_an_intset_that_does_not_hold_together_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="an intset"):
        read_intset(data)


@pytest.mark.parametrize("kind", ["listpack", "ziplist"])
def test_damaged_lists_are_refused_or_read_to_their_end(kind: str) -> None:
    make = {"listpack": a_listpack, "ziplist": a_ziplist}[kind]
    read = {"listpack": read_listpack, "ziplist": read_ziplist}[kind]
    dice = Random(kind)
    whole = make([b"abc", b"12", b"-70000", b"x" * 300, b"", b"9"])
    refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 1, 2))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        cut = bytes(data[: dice.choice((len(data), len(data), dice.randrange(len(data))))])
        try:
            assert len(read(cut)) == 6
        except ValueError:
            refused += 1
    assert 400 < refused < 2000
