"""One column of an FB.COLUMNS answer, in the layout that Arrow uses for texts.

    rows      x   yy  (none)  7           A row without a text repeats the offset.
    data      x y y 7                     the texts, end to end
    offsets   0   1   3   3   4           one more than rows, 32 bits each
    valid     1   1   0   1               a bit for each row, only if some row has no text

A column of numbers has numbers instead of texts, and no offsets: doubles, or whole numbers with as
many bytes each as the longest one needs (``width``).  It is used as long as every value is stored
as a whole number, or reads as a short decimal.  Otherwise ``fits`` becomes False, and the caller
starts over with a column of texts.

Rows are written in rising order.  A skipped row has no text; a row that is written again keeps the
later text.

Rules
  1. One call writes many texts (``put_all``, ``put_run``) and works with local variables: a call
     and an access to the column for each text would cost more than the text.
  2. Such a call makes room for SHORT_ROOM bytes a text before it begins.  A text that
     may be longer makes room for itself, and for those after it again.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.commands.streams import block
from forebay.commands.streams.block import Block
from forebay.commands.streams.columns_options import DOUBLES, TEXTS, WHOLES
from forebay.core import listpack
from forebay.core.layout import SHORT_STRING, WIDE
from forebay.wire.chars import DASH

FIRST_ROOM = 4096
#: Decimal digits and sign of any 64-bit number, plus the bytes that copy_short() may touch after
#: it.
INTEGER_ROOM = 24
#: The space for any element with a head below WIDE, plus the bytes that copy_short() may touch.
SHORT_ROOM = 64 + mem.SLACK
#: The last digits of an ID's milliseconds, written for each ID: ten seconds share the others.
LOW_MS = 10_000
#: Doubles represent every whole number up to this one.
EXACT = 1 << 53
#: The other digits of any ID, plus the bytes that copy_short() may touch after them.
STEM_ROOM = 20 + mem.SLACK


def put_four(p: mem.Pointer, at: int, value: int) -> int:
    """Write a number below 10,000 with its leading zeros; the index after it.

    Its halves are in lanes of sixteen bits: one multiplication and a shift divide both by ten.
    """
    high = value // 100
    lanes = high | (value - 100 * high) << 16
    tens = (lanes * 103 >> 10) & 0x000F000F
    mem.put_le(p, at, 4, tens | (lanes - 10 * tens) << 8 | 0x30303030)
    return at + 4


def double_of(p: mem.Source, at: int) -> tuple[bool, float]:
    """A listpack element that is no short string as a double; False if it is not exact as one."""
    if not listpack.is_int(p, at):
        return False, 0.0
    whole, _ = listpack.read_int(p, at)
    return -EXACT <= whole <= EXACT, float(whole)


class Column:
    """Texts end to end, where each begins, and which rows have one; see the head of this file."""

    def __init__(self) -> None:
        self.data = bytearray(FIRST_ROOM)
        self.p: mem.Pointer = self.data
        self.room = FIRST_ROOM
        self.offsets = bytearray(FIRST_ROOM)
        self.o: mem.Pointer = self.offsets
        self.valid = bytearray()
        self.v: mem.Pointer = self.valid
        self.spot = array("I", bytes(4))
        self.clear()

    def clear(self) -> None:
        """Remove all rows; large buffers stay."""
        self.size = 0
        self.rows = 0
        self.row_room = len(self.offsets) // 4 - 1
        #: Whether a row has no text; ``valid`` is used from then on.
        self.gaps = False
        self.take(TEXTS)
        self.fits = True
        mem.put_le(self.o, 0, 4, 0)

    def take(self, kind: int) -> None:
        """What the empty column is for."""
        self.kind = kind
        #: The bytes of a number.
        self.width = 1 if kind == WHOLES else 8

    def put(self, p: mem.Source, at: int, row: int) -> int:
        """Write a listpack element as the text of a row; the index after it."""
        if row != self.rows:
            self.turn_to(row)
        if self.kind == TEXTS:
            return self.put_all(p, at, 1)
        spots = mem.cells(self.spot)
        spots[0] = at
        self.put_run(p, row, 1, spots, 0, 1)
        return listpack.skip(p, at)

    def put_all(self, p: mem.Source, at: int, n: int) -> int:
        """Write n consecutive listpack elements as the next n rows; the index after them."""
        row = self.rows
        self.make_room(row, n)
        d = self.p
        o = self.o
        size = self.size
        for i in range(n):
            head = p[at]
            if head >= WIDE:
                self.size = size
                at = self.put_wide(p, at)
                self.need(SHORT_ROOM * (n - i))
                size = self.size
                d = self.p
            elif head >= SHORT_STRING:
                head &= 63
                mem.copy_short(d, size, p, at + 1, head)
                size += head
                at += head + 2
            else:
                size = mem.put_uint(d, size, head)
                at += 2
            mem.put_le(o, 4 * (row + i) + 4, 4, size)
        self.size = size
        self.end(row, n)
        return at

    def put_run(
        self, p: mem.Source, row: int, n: int, spots: mem.Words, at: int, step: int
    ) -> None:
        """Write the elements at spots[at], spots[at + step] and so on as n rows from ``row`` on."""
        if row != self.rows:
            self.turn_to(row)
        self.make_room(row, n)
        if self.kind == TEXTS:
            self.put_texts(p, row, n, spots, at, step)
        elif self.kind == DOUBLES:
            self.put_doubles(p, row, n, spots, at, step)
        else:
            self.put_wholes(p, row, n, spots, at, step)

    def put_texts(
        self, p: mem.Source, row: int, n: int, spots: mem.Words, at: int, step: int
    ) -> None:
        """The same for a column of texts; there is room for short ones."""
        d = self.p
        o = self.o
        size = self.size
        for i in range(n):
            spot = spots[at]
            at += step
            head = p[spot]
            if head >= WIDE:
                self.size = size
                self.put_wide(p, spot)
                self.need(SHORT_ROOM * (n - i))
                size = self.size
                d = self.p
            elif head >= SHORT_STRING:
                head &= 63
                mem.copy_short(d, size, p, spot + 1, head)
                size += head
            else:
                size = mem.put_uint(d, size, head)
            mem.put_le(o, 4 * (row + i) + 4, 4, size)
        self.size = size
        self.end(row, n)

    def put_wholes(
        self, p: mem.Source, row: int, n: int, spots: mem.Words, at: int, step: int
    ) -> None:
        """The same for a column of whole numbers; there is room."""
        d = self.p
        width = self.width
        largest = mem.I64_MAX >> (64 - 8 * width)
        for i in range(row, row + n):
            spot = spots[at]
            at += step
            value: int = p[spot]
            if value >= SHORT_STRING:
                if not listpack.is_int(p, spot):
                    self.fits = False
                    break
                value, _ = listpack.read_int(p, spot)
                if value > largest or ~value > largest:
                    self.stretch(i, row + n, value)
                    d = self.p
                    width = self.width
                    largest = mem.I64_MAX >> (64 - 8 * width)
            mem.put_number(d, i, width, value)
        self.size = width * (row + n)
        self.end(row, n)

    def stretch(self, row: int, room_rows: int, value: int) -> None:
        """Give each number as many bytes as this one needs, which comes into ``row``."""
        was = self.width
        while max(value, ~value) > mem.I64_MAX >> (64 - 8 * self.width):
            self.width *= 2
        self.size = was * row
        self.need(8 * room_rows)
        d = self.p
        for i in range(row - 1, -1, -1):
            mem.put_number(d, i, self.width, mem.get_number(d, i, was))

    def put_doubles(
        self, p: mem.Source, row: int, n: int, spots: mem.Words, at: int, step: int
    ) -> None:
        """The same for a column of doubles."""
        d = self.p
        for i in range(row, row + n):
            spot = spots[at]
            at += step
            head = p[spot]
            if SHORT_STRING <= head < WIDE:
                ok, value = mem.parse_decimal(p, spot + 1, head & 63)
            else:
                ok, value = double_of(p, spot)
            if not ok:
                self.fits = False
                break
            mem.put_double(d, 8 * i, value)
        self.size = 8 * (row + n)
        self.end(row, n)

    def put_wide(self, p: mem.Source, at: int) -> int:
        """A longer string or a larger integer; the index after it."""
        if not listpack.is_int(p, at):
            start, n = listpack.read_string(p, at)
            self.need(n + mem.SLACK)
            mem.copy_short(self.p, self.size, p, start, n)
            self.size += n
            return listpack.skip(p, at)
        value, after = listpack.read_int(p, at)
        self.need(INTEGER_ROOM)
        if value < 0:
            self.p[self.size] = DASH
            self.size = mem.put_uint(self.p, self.size + 1, mem.wrap(0 - mem.wrap(value)))
        else:
            self.size = mem.put_uint(self.p, self.size, mem.wrap(value))
        return after

    def put_ids(self, w: mem.Words, n: int, stem: mem.Pointer) -> None:
        """Write n pairs of words as ``ms-seq`` into the next n rows; ``stem`` has STEM_ROOM bytes.

        Neighbours in a stream usually share all but the last digits of their
        milliseconds.
        """
        row = self.rows
        self.make_room(row, n)
        d = self.p
        o = self.o
        size = self.size
        stem_of, stem_n = 0, 0
        for i in range(n):
            ms = w[2 * i]
            high = ms // LOW_MS
            if high == 0:
                size = mem.put_uint(d, size, ms)
            else:
                if high != stem_of:
                    stem_of = high
                    stem_n = mem.put_uint(stem, 0, high)
                mem.copy_short(d, size, stem, 0, stem_n)
                size = put_four(d, size + stem_n, ms - high * LOW_MS)
            d[size] = DASH
            size = mem.put_uint(d, size + 1, w[2 * i + 1])
            mem.put_le(o, 4 * (row + i) + 4, 4, size)
        self.size = size
        self.end(row, n)

    def put_words(self, w: mem.Words, at: int, n: int) -> None:
        """Write w[at], w[at + 2] and so on, n words of 64 bits; such a column has no rows."""
        self.need(8 * n)
        d = self.p
        size = self.size
        for i in range(n):
            mem.put_le(d, size + 8 * i, 8, w[at + 2 * i])
        self.size += 8 * n

    def repeat(self, row: int) -> None:
        """Write the text of an earlier row again."""
        low = mem.get_le(self.o, 4 * row, 4)
        n = mem.get_le(self.o, 4 * row + 4, 4) - low
        self.need(n + mem.SLACK)
        mem.copy_short(self.p, self.size, self.p, low, n)
        self.size += n
        self.end_at(self.size)

    def end_at(self, place: int) -> None:
        """The next row ends at a place: of the bytes here, or of the rows of another column."""
        while self.row_room < self.rows + 1:
            self.widen()
        mem.put_le(self.o, 4 * self.rows + 4, 4, place)
        self.end(self.rows, 1)

    def has(self, row: int, p: mem.Source, at: int) -> bool:
        """Whether a row holds the same text as a listpack element."""
        low = mem.get_le(self.o, 4 * row, 4)
        return listpack.same_string(p, at, self.p, low, mem.get_le(self.o, 4 * row + 4, 4) - low)

    def turn_to(self, row: int) -> None:
        """Make this the next row: the skipped rows before it have no text."""
        if row < self.rows:
            is_text = self.kind == TEXTS
            self.size = mem.get_le(self.o, 4 * row, 4) if is_text else self.width * row
        else:
            self.make_room(row, 0)
            if not self.gaps:
                self.gaps = True
                self.valid = bytearray(self.row_room // 8 + 1)
                self.v = self.valid
                self.mark(0, self.rows)
            self.leave_out(row)
        self.rows = row

    def leave_out(self, row: int) -> None:
        """No text in the rows up to this one."""
        if self.kind == TEXTS:
            for i in range(self.rows, row):
                mem.put_le(self.o, 4 * i + 4, 4, self.size)
        else:
            self.need(8 * (row - self.rows))
            for i in range(self.rows, row):
                mem.put_number(self.p, i, self.width, 0)
            self.size = self.width * row

    def end(self, row: int, n: int) -> None:
        """The texts of n rows are written."""
        self.rows = row + n
        if self.gaps:
            self.mark(row, n)

    def mark(self, row: int, n: int) -> None:
        """Mark these rows as having a text."""
        for i in range(row, row + n):
            self.v[i >> 3] |= 1 << (i & 7)

    def make_room(self, row: int, n: int) -> None:
        """Make room for n rows from ``row`` on, and for short texts."""
        while self.row_room < row + n:
            self.widen()
        self.need(SHORT_ROOM * n)

    def need(self, n: int) -> None:
        """Make room for n more bytes."""
        if self.size + n > self.room:
            self.room = 2 * self.room + n
            self.data = mem.widened(self.p, 0, self.size, self.room)
            self.p = self.data

    def widen(self) -> None:
        """Make room for twice as many rows."""
        self.offsets = mem.widened(self.o, 0, 4 * self.row_room + 4, 2 * len(self.offsets))
        self.o = self.offsets
        self.row_room = len(self.offsets) // 4 - 1
        if self.gaps:
            self.valid = mem.widened(self.v, 0, len(self.valid), self.row_room // 8 + 1)
            self.v = self.valid

    def text_bytes(self) -> int:
        """The space that offsets and texts take in a block."""
        return block.padded(self.offset_bytes()) + block.padded(self.size)

    def offset_bytes(self) -> int:
        """The size of the offsets; numbers have none."""
        return 4 * self.rows + 4 if self.kind == TEXTS else 0

    def write_texts(self, answer: Block) -> None:
        """Write the offsets, and the texts."""
        answer.add(self.o, self.offset_bytes())
        answer.add(self.p, self.size)

    def field_bytes(self, rows: int) -> int:
        """The space it takes as a field of ``rows`` entries, the last of which may lack it."""
        if self.rows < rows:
            self.turn_to(rows)
        return self.text_bytes() + (block.padded((rows + 7) // 8) if self.gaps else 0)

    def write_field(self, answer: Block) -> None:
        """Write the texts, and which rows have one if not all have."""
        self.write_texts(answer)
        answer.add(self.v, (self.rows + 7) // 8 if self.gaps else 0)
