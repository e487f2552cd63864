"""LZF: the quick compression of long strings in RDB files.

    000nnnnn  data                 n+1 literal bytes, 1..32
    lllooooo oooooooo              copy l+2 bytes (3..8) from o+1 bytes back
    111ooooo llllllll oooooooo     copy l+9 bytes (9..264) from o+1 bytes back

A copy may overlap its own output: from one byte back it repeats a byte.

Compressing looks for the last place where the same three bytes began, in a table
of positions by hash.  The table of a Compressor is never cleared: positions
increase from call to call, so the entries of an earlier call are below ``floor``
and known to be stale.

Rules
  1. Results are at least four bytes shorter than the input; otherwise there is
     no result, and the string is stored uncompressed.
  2. expand() trusts nothing: every length is checked against input and output.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.errors import CorruptDataError

LITERAL_MAX = 32
OFFSET_MAX = 8192
MATCH_MAX = 264
SHORT_MATCH = 9
MATCH_MIN = 3
HASH_BITS = 13
HASH_SHIFT = 32 - HASH_BITS
HASH_FACTOR = 2654435761
LOW_24 = 0xFFFFFF
#: The bytes that compression must save; otherwise the string is stored uncompressed.
GAIN = 4
#: The longest result that n bytes of input can give: 3 bytes make at most 264.
EXPANSION = 88
#: Positions beyond this would not fit the table's cells.
FLOOR_MAX = 1 << 31


class Compressor:
    """The table of positions and the room for results."""

    def __init__(self) -> None:
        self.places = array("I", bytes(4 << HASH_BITS))
        self.cells = mem.cells(self.places)
        self.floor = 1
        self.buf = bytearray(mem.SLACK)
        self.p: mem.Pointer = self.buf
        self.cap = 0

    def need(self, room: int) -> None:
        """Make sure that a result of ``room`` bytes fits."""
        if room > self.cap:
            self.buf = bytearray(room + mem.SLACK)
            self.p = self.buf
            self.cap = room

    def prepare(self, n: int) -> None:
        """Make the positions of earlier calls stale; n bytes follow."""
        if self.floor > FLOOR_MAX - n - 1:
            self.places = array("I", bytes(4 << HASH_BITS))
            self.cells = mem.cells(self.places)
            self.floor = 1

    def swap(self, word: int, place: int) -> int:
        """Where these three bytes were last seen; now they are at ``place``."""
        slot = ((word * HASH_FACTOR) & mem.U32_MAX) >> HASH_SHIFT
        before: int = self.cells[slot]
        self.cells[slot] = place
        return before

    def squeeze(self, src: mem.Source, start: int, n: int) -> int:
        """Compress src[start:start+n] into ``p``; the size, or 0 if it does not save enough."""
        if n <= GAIN or n >= FLOOR_MAX - 2:
            return 0
        room = n - GAIN
        self.need(room + LITERAL_MAX)
        self.prepare(n)
        # The place of src[at] is base + at.
        floor = self.floor
        base = floor - start
        end = start + n
        o = 1  # after the head of the literal run
        run = 0
        at = start
        # Four bytes are read where three count: a load of three bytes costs three times as much.
        while at + 4 <= end and o + 4 <= room:
            word = mem.get_le(src, at, 4) & LOW_24
            found = self.swap(word, base + at)
            ref = found - base
            if (
                found >= floor
                and at - ref <= OFFSET_MAX
                and mem.get_le(src, ref, 4) & LOW_24 == word
            ):
                limit = (end - at if end - at < MATCH_MAX else MATCH_MAX) - MATCH_MIN
                size = MATCH_MIN + mem.common(src, ref + MATCH_MIN, at + MATCH_MIN, limit)
                o = self.put_copy(o, run, at - ref - 1, size)
                run = 0
                at += size
                # One position inside the match helps the next search; all would cost too much.
                if at + 2 <= end:
                    self.swap(mem.get_le(src, at - 2, 4) & LOW_24, base + at - 2)
            else:
                o, run = self.put_literal(o, run, src[at])
                at += 1
        self.floor += n + 1
        return self.finish(src, at, end, o, run, room)

    def put_literal(self, o: int, run: int, byte: int) -> tuple[int, int]:
        """Add a literal byte: the place of the next one, the length of the run; a full run ends."""
        d = self.p
        d[o] = byte
        run += 1
        if run < LITERAL_MAX:
            return o + 1, run
        d[o - run] = run - 1
        return o + 2, 0

    def put_copy(self, o: int, run: int, back: int, size: int) -> int:
        """End the literal run and write a copy; the place of the next run's bytes."""
        d = self.p
        if run > 0:
            d[o - run - 1] = run - 1
        else:
            o -= 1
        if size < SHORT_MATCH:
            d[o] = (size - 2) << 5 | back >> 8
            o += 1
        else:
            d[o] = 224 | back >> 8
            d[o + 1] = size - SHORT_MATCH
            o += 2
        d[o] = back & 255
        return o + 2

    def finish(self, src: mem.Source, at: int, end: int, o: int, run: int, room: int) -> int:
        """Write the last bytes as literals; the size of the result, 0 if it is too long."""
        d = self.p
        while at < end:
            if o >= room:
                return 0
            o, run = self.put_literal(o, run, src[at])
            at += 1
        if run > 0:
            d[o - run - 1] = run - 1
        else:
            o -= 1
        return o if o <= room else 0


def expand_into(src: mem.Source, at: int, n: int, dst: mem.Pointer, size: int) -> bool:
    """Expand src[at:at+n] to exactly ``size`` bytes at dst, which has SLACK more bytes after them.

    False if the bytes are not LZF of that size.
    """
    end = at + n
    o = 0
    while at < end:
        head: int = src[at]
        at += 1
        if head < LITERAL_MAX:
            count = head + 1
            if count > end - at or count > size - o:
                return False
            if count + mem.SLACK <= end - at:
                mem.copy_short(dst, o, src, at, count)
            else:
                mem.copy(dst, o, src, at, count)
            at += count
        else:
            count = (head >> 5) + 2
            if count == SHORT_MATCH:
                if at >= end:
                    return False
                count += src[at]
                at += 1
            if at >= end:
                return False
            back = ((head & 31) << 8 | src[at]) + 1
            at += 1
            if back > o or count > size - o:
                return False
            mem.repeat(dst, o, back, count)
        o += count
    return o == size


def compress(data: bytes) -> bytes | None:
    """The data compressed, or None if that would not save four bytes."""
    compressor = Compressor()
    size = compressor.squeeze(data, 0, len(data))
    return None if size == 0 else mem.to_bytes(compressor.p, 0, size)


def expand(data: bytes, at: int, n: int, size: int) -> bytes:
    """The ``size`` bytes that data[at:at+n] expand to."""
    if not 0 <= at <= len(data) - n or not 0 <= size <= EXPANSION * n:
        raise CorruptDataError("a compressed string has an impossible length")
    room = bytearray(size + mem.SLACK)
    if not expand_into(data, at, n, room, size):
        raise CorruptDataError("a compressed string does not expand to its announced length")
    return mem.to_bytes(room, 0, size)
