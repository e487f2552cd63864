"""An answer of many parts in one string; a reader can use each part without a copy.

    word 0              n, the number of rows
    word 1              k, the number of parts
    words 2 to k + 1    the size of each part in bytes
    then                the parts, each followed by zeros up to a multiple of eight bytes

Words have 64 bits, little-endian.  A client can receive the string in one piece, into memory
that begins at a multiple of eight; its parts then begin at such addresses too, as Arrow wants
of its buffers.

The code that opens a block gives the total size of all parts (``padded`` of each).
"""

from __future__ import annotations

from forebay import mem
from forebay.wire.chars import DOLLAR
from forebay.wire.resp_writer import RespWriter

WORD_BYTES = 8
#: A type byte, the digits of any length, and two ends of a line.
HEAD_ROOM = 32


def padded(n: int) -> int:
    """The space that a part of n bytes takes."""
    return (n + WORD_BYTES - 1) // WORD_BYTES * WORD_BYTES


class Block:
    """The string, written part by part."""

    def __init__(self, out: RespWriter) -> None:
        self.out = out
        #: Where the length of the next part goes, and the part itself.
        self.length_at = 0
        self.at = 0
        self.first_at = 0
        self.stop = 0

    def open(self, rows: int, parts: int, size: int) -> None:
        """Begin with the number of rows, the number of parts, and the total size of the parts."""
        out = self.out
        whole = (2 + parts) * WORD_BYTES + size
        out.need(HEAD_ROOM + whole)
        p = out.p
        o = out.size
        p[o] = DOLLAR
        o = mem.put_uint(p, o + 1, whole)
        p[o] = 13
        p[o + 1] = 10
        o += 2
        mem.put_le(p, o, 8, rows)
        mem.put_le(p, o + WORD_BYTES, 8, parts)
        self.length_at = o + 2 * WORD_BYTES
        self.at = o + (2 + parts) * WORD_BYTES
        self.first_at = self.at
        self.stop = o + whole

    def add(self, p: mem.Source, n: int) -> None:
        """The next part: the first n bytes of p."""
        d = self.out.p
        o = self.at
        mem.put_le(d, self.length_at, 8, n)
        self.length_at += WORD_BYTES
        self.at += padded(n)
        assert self.at <= self.stop, "parts are longer than was said"
        if n > 0:
            mem.put_le(d, self.at - WORD_BYTES, 8, 0)
            mem.copy(d, o, p, 0, n)

    def close(self) -> None:
        """All parts are written."""
        assert self.at == self.stop and self.length_at == self.first_at, "parts are missing"
        self.out.p[self.at] = 13
        self.out.p[self.at + 1] = 10
        self.out.size = self.at + 2
