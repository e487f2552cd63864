"""Bytes of an RDB file on their way in: lengths, strings, numbers, a running checksum.

    read(n)  ->  window  ->  length, string, le64 ...
                 |   ^ at: the next byte              offset = base + at
                 ^ summed: the checksum covers everything before

A window of about a megabyte moves over the file.  fetch() does not copy a
string out of it: until the next call ``src``, ``src_at`` and ``src_len`` say
where it is, in the window or, if it was compressed, in ``scratch``.

Rules
  1. Nothing is trusted: an announced length is compared with the rest of the
     file before anything is allocated for it, and a compressed string with the
     largest size that its bytes could expand to.
  2. Every error is a CorruptDataError that names the offset.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay import mem
from forebay.core import listpack
from forebay.core.layout import PADDING
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import crc64, lzf
from forebay.persistence.rdb.format import INT8, INT32, LENGTH_32, LENGTH_64, LZF

Read = Callable[[int], bytes]

WINDOW = 1 << 20
#: Scratch space above this size is released when it is not needed.
SCRATCH_KEPT = 1 << 20


class RdbReader:
    """Reads the parts of an RDB file of ``size`` bytes."""

    def __init__(self, read: Read, size: int, window: bytes = b"") -> None:
        self.read = read
        self.size = size
        self.window = window
        self.p: mem.Source = self.window
        self.end = len(window)
        self.at = 0
        self.base = 0
        self.summed = 0
        self.crc = 0
        self.scratch = bytearray(mem.SLACK)
        self.room = 0
        self.src: mem.Source = self.window
        self.src_at = 0
        self.src_len = 0

    @property
    def offset(self) -> int:
        """The file offset of the next byte."""
        return self.base + self.at

    def left(self) -> int:
        """How many bytes of the file are left."""
        return self.size - self.base - self.at

    def fail(self, what: str) -> CorruptDataError:
        """The error to raise: what is wrong, and where."""
        return CorruptDataError(f"{what}, at offset {self.base + self.at}")

    def need(self, n: int) -> None:
        """Make sure that the next n bytes are in the window."""
        if n > self.end - self.at:
            self.slide(n)

    def slide(self, n: int) -> None:
        """Drop the bytes that were read, and fill the window up to at least n bytes."""
        if n > self.size - self.base - self.at:
            raise self.fail(f"the data ends at {self.size}, but {n} bytes are announced")
        self.sum_up()
        have = self.end - self.at
        wanted = (n if n > WINDOW else WINDOW) - have
        more = self.size - self.base - self.end
        if wanted > more:
            wanted = more
        data = self.read(wanted)
        while len(data) < wanted:
            piece = self.read(wanted - len(data))
            if not piece:
                raise self.fail(f"the file is shorter than its {self.size} bytes")
            data += piece
        self.window = self.window[self.at :] + data if have else data
        self.p = self.window
        self.base += self.at
        self.at = self.summed = 0
        self.end = have + wanted

    def sum_up(self) -> int:
        """The checksum of all bytes read so far."""
        self.crc = crc64.update(self.crc, self.p, self.summed, self.at)
        self.summed = self.at
        return self.crc

    # -- numbers ----------------------------------------------------------------

    def byte(self) -> int:
        """One byte: a type, an opcode."""
        self.need(1)
        self.at += 1
        value: int = self.p[self.at - 1]
        return value

    def le(self, size: int) -> int:
        """An unsigned number of ``size`` bytes, little-endian."""
        self.need(size)
        self.at += size
        return mem.get_le(self.p, self.at - size, size)

    def be64(self) -> int:
        """An unsigned number of eight bytes, big-endian: half of an ID."""
        self.need(8)
        self.at += 8
        return mem.get_be64(self.p, self.at - 8)

    def time_ms(self) -> int:
        """A time in milliseconds, which is not negative."""
        value = mem.signed(self.le(8))
        if value < 0:
            self.at -= 8
            raise self.fail("a time is negative")
        return value

    def length(self) -> int:
        """A length, or another number written like one."""
        self.need(1)
        head: int = self.p[self.at]
        if head < 64:
            self.at += 1
            return head
        if head < 128:
            self.need(2)
            self.at += 2
            low: int = self.p[self.at - 1]
            return (head & 63) << 8 | low
        if head == LENGTH_64:
            self.need(9)
            self.at += 9
            return mem.get_be64(self.p, self.at - 8)
        if head != LENGTH_32:
            raise self.fail(f"0x{head:02x} is not the first byte of a length")
        self.need(5)
        value = 0
        for i in range(1, 5):
            value = value << 8 | self.p[self.at + i]
        self.at += 5
        return value

    def count(self, each: int) -> int:
        """A number of items that follow, each at least ``each`` bytes long."""
        start = self.base + self.at
        value = self.length()
        if value > self.left() // each:
            raise CorruptDataError(f"{value} items cannot be in what is left, at offset {start}")
        return value

    # -- strings ----------------------------------------------------------------

    def fetch(self) -> None:
        """Find the next string and skip it: see the head of this file."""
        self.need(1)
        head: int = self.p[self.at]
        if head == LZF:
            self.unpack()
        elif head >= INT8:
            self.number(head)
        else:
            self.plain()

    def plain(self) -> None:
        """A string that is stored uncompressed."""
        size = self.length()
        if size > self.left():
            raise self.fail(f"the data ends at {self.size}, but {size} bytes are announced")
        self.need(size)
        self.src = self.p
        self.src_at = self.at
        self.src_len = size
        self.at += size

    def unpack(self) -> None:
        """A compressed string, into the scratch room."""
        start = self.base + self.at
        self.at += 1
        packed = self.length()
        size = self.length()
        if packed > self.left() or size > lzf.EXPANSION * packed:
            raise CorruptDataError(f"a compressed string is too long, at offset {start}")
        self.need(packed)
        self.make_room(size)
        if not lzf.expand_into(self.p, self.at, packed, self.scratch, size):
            raise CorruptDataError(f"a compressed string is damaged, at offset {start}")
        self.at += packed
        self.src = self.scratch
        self.src_at = 0
        self.src_len = size

    def make_room(self, size: int) -> None:
        """Scratch room for a string, not much more than needed."""
        if size > self.room or self.room > SCRATCH_KEPT:
            self.room = size
            self.scratch = bytearray(size + mem.SLACK)

    def number(self, head: int) -> None:
        """A string that is stored as an integer, into the scratch room."""
        if head > INT32:
            raise self.fail(f"0x{head:02x} is not an encoding of strings")
        self.at += 1
        size = 1 << (head - INT8)
        value = listpack.sign_extend(self.le(size), size)
        if size == 1 and value > 127:
            value -= 256
        text = b"%d" % value
        self.make_room(len(text))
        self.scratch[: len(text)] = text
        self.src = self.scratch
        self.src_at = 0
        self.src_len = len(text)

    def string(self) -> bytes:
        """The next string."""
        self.fetch()
        return mem.to_bytes(self.src, self.src_at, self.src_len)

    def padded_string(self) -> bytes:
        """The next string with SLACK more bytes after it, of any content."""
        self.fetch()
        if self.src_at + self.src_len + mem.SLACK <= self.readable():
            return mem.to_bytes(self.src, self.src_at, self.src_len + mem.SLACK)
        return mem.to_bytes(self.src, self.src_at, self.src_len) + PADDING

    def readable(self) -> int:
        """The end of the buffer that holds the last string."""
        return self.end if self.src == self.p else self.room + mem.SLACK

    def raw(self, n: int) -> bytes:
        """The next n bytes."""
        self.need(n)
        self.at += n
        return mem.to_bytes(self.p, self.at - n, n)

    def skip(self, n: int) -> None:
        """Skip n bytes."""
        if n > self.left():
            raise self.fail(f"the data ends at {self.size}, but {n} bytes are announced")
        while n > 0:
            step = n if n < WINDOW else WINDOW
            self.need(step)
            self.at += step
            n -= step

    def skip_string(self) -> None:
        """Skip a string without expanding it."""
        self.need(1)
        if self.p[self.at] == LZF:
            self.at += 1
            size = self.length()
            self.length()
            self.skip(size)
        elif self.p[self.at] >= INT8:
            self.fetch()
        else:
            self.skip(self.length())


def no_more(n: int) -> bytes:
    """The ``read`` of a file that is completely in the window: returns nothing."""
    del n
    return b""


def read_bytes(data: bytes, size: int) -> RdbReader:
    """A reader over the first ``size`` bytes of data."""
    return RdbReader(no_more, size, data[:size])
