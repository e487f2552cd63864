r"""The lines that turn an AOF of commands into an AOF that can be checked.

    *5 $4 XADD ... $5 hello CRLF      a unit: one command, or MULTI ... EXEC
    #CRC:1f00ab42 CRLF                its seal
    #SYNC:18734 CRLF                  a mark, when a sync has been done meanwhile
    #TURN:<n> CRLF                    n units follow that share one seal
    *5 $4 XADD ...
    #REPL:<replid>:<offset>:<db> CRLF a comment at the end of units: the offset in the stream of
                                      changes that they lead to (replication/history.py)
    #CRC:99c0d1e5 CRLF

Redis skips lines that begin with '#', so it loads such a file like any other.

Rules
  1. A seal is the CRC-32 of all bytes since the seal before it (or the start of the file), that
     line itself left out, begun with that seal's value (or 0).  So it is the checksum of the
     whole file except the seals: not only a changed stretch breaks the chain, but also a lost,
     doubled or moved one.
  2. A mark says that everything in this file before that offset was synced.  It is sealed like
     any other byte.  There is one before the first unit that is written to a file, and before
     every unit that begins with SELECT: a Redis that continues our file begins with SELECT too,
     and its units must not look like ours. #TURN serves the same purpose.
  3. If the bytes before our part have no seal (a new file, a file that a Redis wrote to), our
     part begins with a seal: #CRC:00000000 is the first line of each of our increments.
  4. ``Sealer`` puts all units of a turn into one buffer, so that one write stores them.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.persistence.aof import crc32
from forebay.wire.resp_writer import RespWriter

#: A seal: "#CRC:", eight digits, CR, LF.
SEAL = 15
# Constants to spread a number over the bytes of a word, four bits each.
HALVES = 0x0000FFFF0000FFFF
QUARTERS = 0x00FF00FF00FF00FF
NIBBLES = 0x0F0F0F0F0F0F0F0F
SIXES = 0x0606060606060606
ONES = 0x0101010101010101
ZEROS = 0x3030303030303030
LETTER_GAP = 39
# "*1", "$5", "MULTI", each with CR LF; SELECT is longer.
MULTI_SIZE = 15
SELECT_WORD = b"SELECT"
FIRST_BUFFER = 1 << 14
# A larger buffer was for one large unit; it is released.
LARGEST_KEPT = 1 << 20


def put_seal(p: mem.Pointer, at: int, crc: int) -> int:
    """Write the seal for a checksum; the index after it."""
    p[at] = 35
    p[at + 1] = 67
    p[at + 2] = 82
    p[at + 3] = 67
    p[at + 4] = 58
    # Eight digits at once, one in each byte of a word; digits above nine are letters.
    digits = crc
    digits = (digits | (digits << 16)) & HALVES
    digits = (digits | (digits << 8)) & QUARTERS
    digits = (digits | (digits << 4)) & NIBBLES
    letters = ((digits + SIXES) >> 4) & ONES
    mem.put_be64(p, at + 5, digits + ZEROS + letters * LETTER_GAP)
    p[at + 13] = 13
    p[at + 14] = 10
    return at + SEAL


def begins_with_select(p: mem.Source, at: int, end: int) -> bool:
    """Whether the first command of a unit is SELECT; in a transaction, the one after MULTI."""
    if end - at > MULTI_SIZE and p[at + 1] == 49 and p[at + 5] == 53:
        at += MULTI_SIZE
    return (
        end - at > MULTI_SIZE
        and p[at + 1] == 50
        and p[at + 5] == 54
        and mem.same_word(p, at + 8, 6, SELECT_WORD, 6)
    )


def seal_line(crc: int) -> bytes:
    """The seal for a checksum."""
    line = bytearray(SEAL)
    put_seal(line, 0, crc)
    return bytes(line)


#: The line before units that share one seal; effects.py writes it.
TURN_HEAD = b"#TURN:"
#: For code that searches for seals.
SEAL_HEAD = seal_line(0)[:5]
SEAL_SIZE = len(seal_line(0))


def mark_line(offset: int) -> bytes:
    """The line that says how far the file was synced."""
    return b"#SYNC:%d\r\n" % offset


class Sealer:
    """Units in, sealed units out; ``crc`` is the value of the last seal written."""

    def __init__(self, crc: int = 0, is_sealed: bool = False) -> None:
        self.crc = crc
        #: Whether the file ends with a seal.
        self.is_sealed = is_sealed
        #: The value of crc after the sealed bytes are in the file.
        self.next_crc = crc
        self.size = 0
        self.buf = bytearray(FIRST_BUFFER)
        self.p: mem.Pointer = self.buf

    def seal(self, units: RespWriter, ends: array[int], mark: bytes, is_due: bool) -> int:
        """Put all units with their seals in ``buf``; how many bytes that is.

        The mark is written before the first unit if it ``is_due``, and where rule 2
        requires it.
        """
        n = len(ends)
        source = units.p
        w = mem.words(ends)
        at = units.start
        crc = self.crc
        o = 0
        self.need(units.size - at + SEAL + n * (SEAL + len(mark)))
        p = self.p
        if not self.is_sealed:
            o = put_seal(p, 0, crc)
        for i in range(n):
            end = w[i]
            if end < at or end > units.size:
                raise ValueError("a unit that ends outside of the buffer")
            if is_due or begins_with_select(source, at, end):
                crc = crc32.update(crc, mark, 0, len(mark))
                mem.copy(p, o, mark, 0, len(mark))
                o += len(mark)
                is_due = False
            crc = crc32.update(crc, source, at, end)
            mem.copy(p, o, source, at, end - at)
            o = put_seal(p, o + end - at, crc)
            at = end
        self.size = o
        self.next_crc = crc
        return o

    def need(self, n: int) -> None:
        """Make room for n bytes."""
        if n > len(self.buf):
            self.buf = bytearray(max(n, 2 * len(self.buf)))
            self.p = self.buf

    def accept(self) -> None:
        """The sealed bytes are in the file: the next ones follow them."""
        self.crc = self.next_crc
        self.is_sealed = True
        self.size = 0
        if len(self.buf) > LARGEST_KEPT:
            self.buf = bytearray(FIRST_BUFFER)
            self.p = self.buf

    def view(self) -> memoryview:
        """The sealed bytes, in place; release the view before the next seal."""
        return memoryview(self.buf)[: self.size]
