"""Bytes of an RDB file on their way out: lengths, strings, numbers, a running checksum.

    length, string, le64 ...  ->  buf  --at 1 MiB-->  checksum  ->  sink(bytes)

The sink is any function that takes bytes: a file's write, a list's append.
Strings are written as Redis writes them: short integers as integers, long strings
through LZF if that is shorter, all others unchanged.

Rules
  1. Call ``need(n)`` before writing n bytes; it may change ``p``.
  2. The checksum covers everything that reaches the sink, except itself.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay import mem
from forebay.persistence.rdb import crc64
from forebay.persistence.rdb.format import INT8, INT16, INT32, LENGTH_32, LENGTH_64, LZF
from forebay.persistence.rdb.lzf import Compressor

Sink = Callable[[bytes], object]

#: How much is collected before the sink gets it.
PIECE = 1 << 20
#: The largest size of the small items: a length, an encoded integer, an ID.
SMALL = 32
#: Longer strings may be compressed, shorter ones may be integers; both as in Redis.
PLAIN_MAX = 20
INTEGER_MAX = 11


class RdbWriter:
    """Writes the parts of an RDB file into a sink.

    Making a compressor costs more than writing a small value: DUMP lends its own.
    """

    def __init__(
        self,
        sink: Sink,
        compress: bool = True,
        checksum: bool = True,
        compressor: Compressor | None = None,
    ) -> None:
        self.sink = sink
        self.compress = compress
        self.compressor = compressor
        self.checksum = checksum
        self.crc = 0
        #: The number of bytes given to the sink.
        self.flushed = 0
        self.buf = bytearray(4096)
        self.p: mem.Pointer = self.buf
        self.cap = 4096
        self.size = 0

    @property
    def written(self) -> int:
        """Bytes written so far, including those not yet in the sink."""
        return self.flushed + self.size

    def need(self, room: int) -> None:
        """Make sure that ``room`` more bytes fit."""
        if self.size + room > self.cap and self.cap >= PIECE:
            self.flush()
        if self.size + room > self.cap:
            self.grow(self.size + room)

    def grow(self, wanted: int) -> None:
        """A buffer of ``wanted`` bytes, or twice the size it has."""
        self.buf = mem.grown(self.p, self.size, self.cap, wanted)
        self.p = self.buf
        self.cap = len(self.buf)

    def flush(self) -> None:
        """Give the collected bytes to the sink."""
        if self.size > 0:
            if self.checksum:
                self.crc = crc64.update(self.crc, self.p, 0, self.size)
            data = mem.to_bytes(self.p, 0, self.size)
            self.flushed += self.size
            self.size = 0
            self.sink(data)

    def finish(self) -> None:
        """Write the checksum, zero if it is switched off, and give everything to the sink."""
        self.flush()
        crc = self.crc if self.checksum else 0
        self.checksum = False
        self.le64(crc)
        self.flush()

    # -- numbers ----------------------------------------------------------------

    def byte(self, value: int) -> None:
        """One byte: a type, an opcode."""
        self.need(SMALL)
        self.p[self.size] = value
        self.size += 1

    def le32(self, value: int) -> None:
        """Four bytes, little-endian."""
        self.need(SMALL)
        mem.put_le(self.p, self.size, 4, value)
        self.size += 4

    def le64(self, value: int) -> None:
        """Eight bytes, little-endian: a time in milliseconds."""
        self.need(SMALL)
        mem.put_le(self.p, self.size, 8, value)
        self.size += 8

    def entry_id(self, ms: int, seq: int) -> None:
        """Sixteen bytes, big-endian: the ID of an entry."""
        self.need(SMALL)
        mem.put_be64(self.p, self.size, ms)
        mem.put_be64(self.p, self.size + 8, seq)
        self.size += 16

    def length(self, value: int) -> None:
        """A length, or any number that is usually small."""
        self.need(SMALL)
        p = self.p
        o = self.size
        if value < 64:
            p[o] = value
            self.size = o + 1
        elif value < 16384:
            p[o] = 64 | value >> 8
            p[o + 1] = value & 255
            self.size = o + 2
        elif value <= mem.U32_MAX:
            p[o] = LENGTH_32
            for i in range(4):
                p[o + 1 + i] = value >> (24 - 8 * i) & 255
            self.size = o + 5
        else:
            p[o] = LENGTH_64
            mem.put_be64(p, o + 1, value)
            self.size = o + 9

    # -- strings ----------------------------------------------------------------

    def raw(self, data: bytes) -> None:
        """Literal bytes."""
        n = len(data)
        self.need(n)
        mem.copy(self.p, self.size, data, 0, n)
        self.size += n

    def string(self, data: bytes) -> None:
        """A string in its shortest form."""
        n = len(data)
        self.span(data, 0, n)

    def span(self, src: mem.Source, at: int, n: int) -> None:
        """The string src[at:at+n] in its shortest form."""
        if n <= INTEGER_MAX:
            is_short = self.integer(src, at, n)
        else:
            is_short = n > PLAIN_MAX and self.compress and self.packed(src, at, n)
        if not is_short:
            self.plain(src, at, n)

    def plain(self, src: mem.Source, at: int, n: int) -> None:
        """The string, uncompressed."""
        self.length(n)
        self.need(n)
        mem.copy(self.p, self.size, src, at, n)
        self.size += n

    def packed(self, src: mem.Source, at: int, n: int) -> bool:
        """Write the string compressed; false if that would not make it shorter."""
        compressor = self.compressor
        if compressor is None:
            compressor = self.compressor = Compressor()
        size = compressor.squeeze(src, at, n)
        if size <= 0:
            return False
        self.byte(LZF)
        self.length(size)
        self.length(n)
        self.need(size)
        mem.copy(self.p, self.size, compressor.p, 0, size)
        self.size += size
        return True

    def integer(self, src: mem.Source, at: int, n: int) -> bool:
        """Write the string as an integer of up to 32 bits; false if it is not one."""
        ok, value = mem.parse_int(src, at, n)
        if not ok:
            return False
        self.need(SMALL)
        p = self.p
        o = self.size
        bits = mem.wrap(value)
        if -128 <= value <= 127:
            p[o] = INT8
            mem.put_le(p, o + 1, 1, bits)
            self.size = o + 2
        elif -32768 <= value <= 32767:
            p[o] = INT16
            mem.put_le(p, o + 1, 2, bits)
            self.size = o + 3
        elif mem.I32_MIN <= value <= mem.I32_MAX:
            p[o] = INT32
            mem.put_le(p, o + 1, 4, bits)
            self.size = o + 5
        else:
            return False
        return True
