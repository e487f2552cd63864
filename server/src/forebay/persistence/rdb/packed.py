"""Small collections that Redis stores as one string: listpack, ziplist, intset.

    listpack   size(4) count(2) element.. FF            since 5.0; elements as in core/listpack.py
    ziplist    size(4) tail(4) count(2) entry.. FF      before 7.0
    intset     width(4) count(4) integer..              sets of integers

All numbers are little-endian but for the lengths inside a ziplist entry:

    entry = size of the entry before (1 byte, or FE and 4 bytes), encoding, data
    00nnnnnn                string up to 63 bytes
    01nnnnnn nnnnnnnn       string up to 16383 bytes
    10______ + 4 bytes      longer string
    C0 D0 E0 F0 FE          integer of 16, 32, 64, 24, 8 bits
    F1 .. FD                the integers 0 .. 12

Each function returns the elements as bytes, or raises ValueError with a reason:
bytes from a file may be anything.
"""

from __future__ import annotations

from itertools import pairwise

from forebay.core import listpack
from forebay.core.layout import MANY, PADDING
from forebay.persistence.rdb.nodes import step

LISTPACK_HEAD = 6
ZIPLIST_HEAD = 10
INTSET_HEAD = 8
LAST = 255
LONG_PREVIOUS = 254
INT_WIDTHS = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}


def read_listpack(data: bytes) -> list[bytes]:
    """The elements of a listpack."""
    size = len(data)
    if size <= LISTPACK_HEAD or int.from_bytes(data[:4], "little") != size or data[-1] != LAST:
        raise ValueError("a listpack has a wrong size")
    padded = data + PADDING
    found = []
    at = LISTPACK_HEAD
    while at < size - 1:
        after = step(padded, at, size - 1)
        if after < 0:
            raise ValueError("an element of a listpack is broken")
        found.append(listpack.element(padded, at))
        at = after
    check_count(int.from_bytes(data[4:6], "little"), found)
    return found


def check_count(told: int, found: list[bytes]) -> None:
    """Check the count; a header may leave it open, but it must not be wrong."""
    if told not in (len(found), MANY):
        raise ValueError(f"{told} elements are announced, {len(found)} are there")


def read_ziplist(data: bytes) -> list[bytes]:
    """The elements of a ziplist."""
    size = len(data)
    if size <= ZIPLIST_HEAD or int.from_bytes(data[:4], "little") != size or data[-1] != LAST:
        raise ValueError("a ziplist has a wrong size")
    found = []
    at = ZIPLIST_HEAD
    last = ZIPLIST_HEAD
    before = 0
    while at < size - 1:
        if previous_size(data, at) != before:
            raise ValueError("the way back through a ziplist is broken")
        last = at
        element, at = ziplist_element(data, at + (5 if data[at] == LONG_PREVIOUS else 1))
        if at > size - 1:
            raise ValueError("an element of a ziplist is broken")
        found.append(element)
        before = at - last
    if int.from_bytes(data[4:8], "little") != last:
        raise ValueError("the tail of a ziplist is somewhere else")
    check_count(int.from_bytes(data[8:10], "little"), found)
    return found


def previous_size(data: bytes, at: int) -> int:
    """The size of the entry before, as an entry stores it."""
    return int.from_bytes(data[at + 1 : at + 5], "little") if data[at] == 254 else data[at]


def ziplist_element(data: bytes, at: int) -> tuple[bytes, int]:
    """The element whose encoding is at ``at``, and where it ends, perhaps beyond the data."""
    if at + 5 > len(data):
        # The end mark and four more bytes, so that no length is read beyond the data.
        data += PADDING
    head = data[at]
    kind = head >> 6
    if kind < 3:
        if kind == 0:
            size, at = head & 63, at + 1
        elif kind == 1:
            size, at = (head & 63) << 8 | data[at + 1], at + 2
        else:
            size, at = int.from_bytes(data[at + 1 : at + 5], "big"), at + 5
        return data[at : at + size], at + size
    if width := INT_WIDTHS.get(head):
        number = int.from_bytes(data[at + 1 : at + 1 + width], "little", signed=True)
        return b"%d" % number, at + 1 + width
    if 0xF1 <= head <= 0xFD:
        return b"%d" % ((head & 15) - 1), at + 1
    raise ValueError("an element of a ziplist has an unknown encoding")


def read_intset(data: bytes) -> list[bytes]:
    """The members of an intset, in rising order."""
    width = int.from_bytes(data[:4], "little")
    count = int.from_bytes(data[4:8], "little")
    if width not in (2, 4, 8) or len(data) != INTSET_HEAD + width * count:
        raise ValueError("an intset has a wrong size")
    numbers = [
        int.from_bytes(data[at : at + width], "little", signed=True)
        for at in range(INTSET_HEAD, len(data), width)
    ]
    if any(a >= b for a, b in pairwise(numbers)):
        raise ValueError("an intset is not in order")
    return [b"%d" % number for number in numbers]
