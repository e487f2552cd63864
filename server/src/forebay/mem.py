"""Bytes and words at the lowest level: the one place where Python meets C.

This module has two forms.  Interpreted, it is this file: plain Python over bytearrays,
with an assertion on every range.  Compiled callers never import it at run time:
``mem.pxd`` gives the same names as inlined C functions.  So a caller writes ``from
forebay import mem`` in its ``.py`` and ``from forebay cimport mem`` in its ``.pxd``
and means the same thing twice.

Rules
  1. A *pointer* is the buffer itself here and an ``unsigned char*`` there; it
     is always used as base and index, never moved.
  2. Code that may resize a buffer fetches the pointer again afterwards.
  3. Sixty-four-bit arithmetic that can wrap goes through ``wrap``.
  4. Nothing here allocates, except ``to_bytes``, ``widened``, ``grown``, ``lengthen``,
     ``extend`` and ``push``.
"""

from __future__ import annotations

import struct
from array import array
from typing import TypeAlias

#: Memory that is read and written, and memory that is only read.
Pointer: TypeAlias = bytearray
Source: TypeAlias = bytes | bytearray
Words: TypeAlias = "array[int]"

U64_MAX = (1 << 64) - 1
I64_MAX = (1 << 63) - 1
I64_MIN = -(1 << 63)
U32_MAX = (1 << 32) - 1
I32_MAX = (1 << 31) - 1
I32_MIN = -(1 << 31)
MAX_UINT_DIGITS = 20
DECIMAL_DIGITS = 15
#: The bytes that copy_short() may touch after the end of a copy.
SLACK = 16


def copy(dst: Pointer, dst_at: int, src: Source, src_at: int, n: int) -> None:
    """Copy n bytes between two buffers that do not overlap."""
    assert 0 <= dst_at and dst_at + n <= len(dst), "copy past the end of the target"
    assert 0 <= src_at and src_at + n <= len(src), "copy past the end of the source"
    dst[dst_at : dst_at + n] = src[src_at : src_at + n]


def copy_short(dst: Pointer, dst_at: int, src: Source, src_at: int, n: int) -> None:
    """Copy n bytes, usually few; both buffers have SLACK more bytes after them.

    Compiled, it moves whole blocks of SLACK bytes and may overwrite up to SLACK bytes
    after the target.
    """
    assert 0 <= dst_at and dst_at + n + SLACK <= len(dst), "no slack after the target"
    assert 0 <= src_at and src_at + n + SLACK <= len(src), "no slack after the source"
    dst[dst_at : dst_at + n] = src[src_at : src_at + n]


def move(buf: Pointer, dst_at: int, src_at: int, n: int) -> None:
    """Move n bytes inside one buffer; the two ranges may overlap."""
    assert 0 <= dst_at and dst_at + n <= len(buf), "move past the end"
    assert 0 <= src_at and src_at + n <= len(buf), "move from past the end"
    buf[dst_at : dst_at + n] = bytes(buf[src_at : src_at + n])


def equal(a: Source, a_at: int, b: Source, b_at: int, n: int) -> bool:
    """Whether n bytes are the same in both places."""
    assert a_at + n <= len(a) and b_at + n <= len(b), "compare past the end"
    return bytes(a[a_at : a_at + n]) == bytes(b[b_at : b_at + n])


def same_word(p: Source, at: int, n: int, word: Source, word_len: int) -> bool:
    """Whether p[at:at+n] is ``word`` in any letter case; word itself is upper case."""
    assert at + n <= len(p), "word past the end"
    return n == word_len and bytes(p[at : at + n]).upper() == word[:word_len]


def find(p: Source, at: int, end: int, byte: int) -> int:
    """Index of the first ``byte`` in p[at:end], or -1."""
    assert end <= len(p), "search past the end"
    found: int = p.find(byte, at, end)
    return found


def common(p: Source, a_at: int, b_at: int, limit: int) -> int:
    """How many bytes from a_at and from b_at on are the same, ``limit`` at most."""
    assert a_at + limit <= len(p) and b_at + limit <= len(p), "compare past the end"
    for i in range(limit):
        if p[a_at + i] != p[b_at + i]:
            return i
    return limit


def repeat(p: Pointer, at: int, back: int, n: int) -> None:
    """Write n bytes at ``at``, each a copy of the one ``back`` before; may overwrite SLACK more.

    If n is greater than ``back``, the same bytes repeat.
    """
    assert 0 < back <= at and at + n + SLACK <= len(p), "no slack after the target"
    pattern = bytes(p[at - back : at])
    p[at : at + n] = (pattern * (n // back + 1))[:n]


def to_bytes(p: Source, at: int, n: int) -> bytes:
    """A new bytes object with n bytes from ``at``."""
    assert 0 <= at and at + n <= len(p), "read past the end"
    return bytes(p[at : at + n])


def widened(p: Source, at: int, n: int, room: int) -> bytearray:
    """A new buffer of ``room`` bytes that begins with n bytes from ``at``."""
    assert n <= room, "more bytes than room"
    wider = bytearray(room)
    copy(wider, 0, p, at, n)
    return wider


def grown(p: Source, n: int, cap: int, wanted: int) -> bytearray:
    """The first n bytes in a new buffer of ``wanted`` bytes, or twice ``cap`` if that is more."""
    return widened(p, 0, n, max(wanted, 2 * cap))


def lengthen(buf: bytearray, room: int) -> None:
    """Make a buffer at least ``room`` bytes long; the content of the new part is undefined.

    A large one is not copied: the kernel moves its pages, and adds new ones when they are used.
    From 32 MB on they are huge pages, if the kernel can (compiled only): single pages would cost
    more to get and to return than to fill.
    """
    assert room >= len(buf), "no shorter than before"
    buf += bytes(room - len(buf))


def extend(buf: bytearray, src: Source, at: int, n: int) -> None:
    """Add n bytes of src at the end of a buffer."""
    assert 0 <= at and at + n <= len(src), "read past the end"
    buf += src[at : at + n]


def words(store: array[int]) -> Words:
    """The 64-bit words of an array('Q'); never resize it while they are held."""
    return store


def push(store: array[int], word: int) -> None:
    """Add a word at the end of an array('Q'); fetch its words again afterwards."""
    store.append(word)


def cells(store: array[int]) -> Words:
    """The 32-bit cells of an array('I'); never resize it while they are held."""
    return store


def before(a_ms: int, a_seq: int, b_ms: int, b_seq: int) -> bool:
    """Whether the ID a is below the ID b."""
    return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)


def word_arrays(arrays: list[array[int]], addresses: array[int]) -> list[Words]:
    """Several array('Q') as table[number][word].  Call it again after the last one was
    replaced, or some were added or dropped at the end; ``addresses`` is its memory."""
    del addresses
    return arrays


def move_cells(store: Words, dst_at: int, src_at: int, n: int) -> None:
    """Move n 32-bit cells inside one array; the two ranges may overlap."""
    assert 0 <= dst_at and dst_at + n <= len(store), "move past the end"
    assert 0 <= src_at and src_at + n <= len(store), "move from past the end"
    store[dst_at : dst_at + n] = store[src_at : src_at + n]


def copy_cells(dst: Words, dst_at: int, src: Words, src_at: int, n: int) -> None:
    """Copy n 32-bit cells between two arrays."""
    assert 0 <= dst_at and dst_at + n <= len(dst), "copy past the end of the target"
    assert 0 <= src_at and src_at + n <= len(src), "copy past the end of the source"
    dst[dst_at : dst_at + n] = src[src_at : src_at + n]


def wrap(value: int) -> int:
    """The value as an unsigned 64-bit number (C does this by itself)."""
    return value & U64_MAX


def signed(value: int) -> int:
    """An unsigned 64-bit number read again as signed."""
    return value - (1 << 64) if value > I64_MAX else value


def get_le(p: Source, at: int, n: int) -> int:
    """n little-endian bytes as an unsigned number; n is at most 8."""
    assert at + n <= len(p), "read past the end"
    return int.from_bytes(p[at : at + n], "little")


def put_le(p: Pointer, at: int, n: int, value: int) -> None:
    """Store the low n bytes of an unsigned number, little-endian."""
    assert at + n <= len(p), "write past the end"
    p[at : at + n] = (value & ((1 << (8 * n)) - 1)).to_bytes(n, "little")


def put_number(p: Pointer, i: int, size: int, value: int) -> None:
    """Store element i of an array of signed numbers of 1, 2, 4 or 8 bytes, little-endian."""
    assert (i + 1) * size <= len(p), "write past the end"
    p[i * size : (i + 1) * size] = value.to_bytes(size, "little", signed=True)


def get_number(p: Source, i: int, size: int) -> int:
    """Element i of such an array."""
    assert (i + 1) * size <= len(p), "read past the end"
    return int.from_bytes(p[i * size : (i + 1) * size], "little", signed=True)


def get_be64(p: Source, at: int) -> int:
    """Eight big-endian bytes as an unsigned number."""
    assert at + 8 <= len(p), "read past the end"
    return int.from_bytes(p[at : at + 8], "big")


def put_be64(p: Pointer, at: int, value: int) -> None:
    """Store an unsigned number as eight big-endian bytes."""
    assert at + 8 <= len(p), "write past the end"
    p[at : at + 8] = value.to_bytes(8, "big")


def uint_len(value: int) -> int:
    """How many decimal digits ``value`` has."""
    return len(str(value))


def put_uint(p: Pointer, at: int, value: int) -> int:
    """Write ``value`` in decimal at ``at``; the index after the last digit."""
    text = b"%d" % value
    assert at + len(text) <= len(p), "write past the end"
    p[at : at + len(text)] = text
    return at + len(text)


def digits(value: int) -> int:
    """How many digits ``value`` has in decimal."""
    return len(b"%d" % value)


def put_double(p: Pointer, at: int, value: float) -> None:
    """Write a number as eight bytes of IEEE 754, little-endian."""
    assert at + 8 <= len(p), "write past the end"
    p[at : at + 8] = struct.pack("<d", value)


def parse_decimal(p: Source, at: int, n: int) -> tuple[bool, float]:
    """A short decimal number, ``-12.50``: digits, and perhaps a point with digits around it.

    The buffer has SLACK more bytes after them: compiled, eight characters are read at once.
    Up to 15 digits are a whole number below 2**53, and so is the power of ten by which it is
    divided: one division of the two gives the double nearest to the decimal.
    """
    text = bytes(p[at : at + n])
    assert len(text) == n, "read past the end"
    whole, point, rest = text.removeprefix(b"-").partition(b".")
    if len(whole + rest) > DECIMAL_DIGITS or not whole or (point and not rest):
        return False, 0.0
    if not (whole + rest).isdigit():
        return False, 0.0
    value = int(whole + rest) / 10 ** len(rest)
    return True, -value if text[:1] == b"-" else value


def parse_int(p: Source, at: int, n: int) -> tuple[bool, int]:
    """A canonical signed 64-bit decimal: no '+', no leading zero, no '-0', no blanks."""
    text = bytes(p[at : at + n])
    assert len(text) == n, "read past the end"
    digits = text[1:] if text[:1] == b"-" else text
    if not digits or len(digits) > MAX_UINT_DIGITS or not digits.isdigit():
        return False, 0
    if digits[:1] == b"0" and text != b"0":
        return False, 0
    value = int(text)
    return (True, value) if I64_MIN <= value <= I64_MAX else (False, 0)


def parse_uint(p: Source, at: int, n: int) -> tuple[bool, int]:
    """Plain decimal digits up to 2**64-1; leading zeros are fine, nothing else is."""
    text = bytes(p[at : at + n])
    assert len(text) == n, "read past the end"
    if not text or not text.isdigit():
        return False, 0
    value = int(text)
    return (True, value) if value <= U64_MAX else (False, 0)


def short_line(p: Source, at: int, end: int) -> int:
    """The number in p[at:end] if it is one or two digits, CR and one more byte, else -1."""
    if end - at < 4:
        return -1
    first: int = p[at] - 48
    second: int = p[at + 1] - 48
    if p[at + 1] == 13:
        return first if 0 <= first <= 9 else -1
    if p[at + 2] == 13 and 1 <= first <= 9 and 0 <= second <= 9:
        return 10 * first + second
    return -1
