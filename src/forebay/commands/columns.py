"""FB.COLUMNS: a range of entries as columns, in the form in which Arrow keeps them.

    entry    1-0  a=x b=12            ms        1    2    3        n words, little-endian
    entry    2-0  a=yy                seq       0    0    0
    entry    3-0  b=7                 a data    x y y              the texts, end to end
                                      a offsets 0  1  3  3         n + 1 numbers of 32 bits
                                      a valid   1  1  0            n bits, the first one lowest
                                      b data    1 2 7
                                      b offsets 0  2  2  3
                                      b valid   1  0  1

With FIELDS the reply is ``n, ms, seq`` and offsets, data and validity of each
field that was asked for; of a field that an entry holds twice, the last value.
Without, it is ``n, ms, seq`` and the parts of one map: offsets of the entries into
the pairs, then offsets and data of the keys, then of the values.  With IDS the IDs
come as text too, offsets and data, behind ``seq``.

Rules
  1. No object is made for an entry, a field or a value.
  2. An answer ends early when it is ANSWER_BYTES long, behind a whole entry; the
     caller asks again behind the last ID that it got.
  3. The fields of a node's master entry are compared with the wanted ones once
     per node: ``wanted[i]`` is the column of its i-th field, or NOWHERE.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.commands.context import Context
from forebay.commands.spec import READONLY, Command, Keys
from forebay.commands.stream_args import integer
from forebay.core import ids, listpack
from forebay.core.cursor import Cursor
from forebay.core.node import Node
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv
from forebay.wire.reply import Reply

#: No answer is much longer: the server has others to serve, and offsets have 32 bits.
ANSWER_BYTES = 32 << 20
NOWHERE = 0xFFFFFFFF
FIRST_ROOM = 4096
#: Decimal digits and sign of any 64-bit number, and what copy_short() may touch behind.
INTEGER_ROOM = 24
DASH = 45
SLACK = mem.SLACK


def widened(p: mem.Pointer, size: int, room: int) -> bytearray:
    """A larger buffer that begins with what this one holds."""
    wider = bytearray(room)
    mem.copy(wider, 0, p, 0, size)
    return wider


class Column:
    """Texts end to end, where each begins, and which rows have one."""

    def __init__(self) -> None:
        self.data = bytearray(FIRST_ROOM)
        self.p: mem.Pointer = self.data
        self.room = FIRST_ROOM
        self.size = 0
        self.offsets = bytearray(FIRST_ROOM)
        self.o: mem.Pointer = self.offsets
        self.offset_room = FIRST_ROOM
        #: Bits of whole bytes, and those of the byte that is not whole yet.
        self.valid = bytearray()
        self.bits = 0
        self.rows = 0
        #: Where the row that is being written begins, and whether it has a value.
        self.row_at = 0
        self.has_value = False
        mem.put_le(self.o, 0, 4, 0)

    def put(self, p: mem.Pointer, at: int) -> int:
        """Write a listpack element into the row, in place of what it had; the index behind it."""
        self.size = self.row_at
        self.has_value = True
        if listpack.is_int(p, at):
            value, behind = listpack.read_int(p, at)
            self.need(INTEGER_ROOM)
            if value < 0:
                self.p[self.size] = DASH
                self.size = mem.put_uint(self.p, self.size + 1, mem.wrap(0 - mem.wrap(value)))
            else:
                self.size = mem.put_uint(self.p, self.size, mem.wrap(value))
            return behind
        start, n = listpack.read_string(p, at)
        self.need(n + SLACK)
        mem.copy_short(self.p, self.size, p, start, n)
        self.size += n
        return listpack.skip(p, at)

    def put_id(self, ms: int, seq: int) -> int:
        """Write ``ms-seq`` into the row."""
        self.need(2 * INTEGER_ROOM)
        o = mem.put_uint(self.p, self.size, ms)
        self.p[o] = DASH
        self.size = mem.put_uint(self.p, o + 1, seq)
        return 0

    def need(self, n: int) -> int:
        """Make room for n more bytes."""
        if self.size + n > self.room:
            self.room = 2 * self.room + n
            self.data = widened(self.p, self.size, self.room)
            self.p = self.data
        return 0

    def end_row(self) -> int:
        """The row is done, the next one begins; how long the texts are by now."""
        if self.has_value:
            self.bits |= 1 << (self.rows & 7)
        self.has_value = False
        self.rows += 1
        if self.rows & 7 == 0:
            self.valid.append(self.bits)
            self.bits = 0
        self.row_at = self.size
        if 4 * self.rows + 4 > self.offset_room:
            self.offset_room *= 2
            self.offsets = widened(self.o, 4 * self.rows, self.offset_room)
            self.o = self.offsets
        mem.put_le(self.o, 4 * self.rows, 4, self.size)
        return self.size

    def write_offsets(self, out: Reply) -> int:
        """Where each text begins, and the last one ends."""
        return out.span(self.o, 0, 4 * self.rows + 4)

    def write_data(self, out: Reply) -> int:
        """The texts."""
        return out.span(self.p, 0, self.size)

    def write_valid(self, out: Reply) -> int:
        """Which rows have a text; bits of the last byte that have no row are 0."""
        if self.rows & 7:
            self.valid.append(self.bits)
        out.bulk(bytes(self.valid))
        return 0


class Numbers:
    """Words of 64 bits, end to end."""

    def __init__(self) -> None:
        self.data = bytearray(FIRST_ROOM)
        self.p: mem.Pointer = self.data
        self.room = FIRST_ROOM
        self.size = 0

    def put(self, value: int) -> int:
        """One more."""
        if self.size + 8 > self.room:
            self.room *= 2
            self.data = widened(self.p, self.size, self.room)
            self.p = self.data
        mem.put_le(self.p, self.size, 8, value)
        self.size += 8
        return 0

    def write(self, out: Reply) -> int:
        """All of them."""
        return out.span(self.p, 0, self.size)


class Sheet:
    """The columns of one answer: one for each wanted field, or the parts of a map."""

    def __init__(self, names: list[bytes], with_ids: bool) -> None:
        self.ms = Numbers()
        self.seq = Numbers()
        self.rows = 0
        #: How long the fields are by now, near enough to know when to stop.
        self.size = 0
        self.with_ids = with_ids
        self.ids = Column()
        self.names = names
        self.columns = [Column() for _ in names]
        #: Of the node whose fields were compared last: the column of each field.
        self.node: Node | None = None
        self.wanted = array("I")
        #: Of a map: keys and values have a row for each pair, ``pairs`` a row for each entry.
        self.keys = Column()
        self.values = Column()
        self.pairs = Column()

    def add(self, cursor: Cursor) -> int:
        """The entry under the cursor."""
        self.ms.put(cursor.ms)
        self.seq.put(cursor.seq)
        self.rows += 1
        if self.with_ids:
            self.ids.put_id(cursor.ms, cursor.seq)
            self.ids.end_row()
        if self.names:
            return self.pick(cursor)
        return self.spread(cursor)

    def pick(self, cursor: Cursor) -> int:
        """The wanted fields of an entry."""
        p = cursor.p
        at = cursor.values_at
        if cursor.same:
            if self.node is not cursor.node:
                self.learn(cursor)
            wanted = mem.cells(self.wanted)
            for i in range(cursor.pairs):
                at = self.take(wanted[i], p, at)
        else:
            for _ in range(cursor.pairs):
                place = self.place_of(p, at)
                at = self.take(place, p, listpack.skip(p, at))
        cursor.behind = listpack.skip(p, at)
        self.size = 0
        for i in range(len(self.columns)):
            column = self.columns[i]
            self.size += column.end_row()
        return 0

    def take(self, place: int, p: mem.Pointer, at: int) -> int:
        """Put the element into a column, or pass it by; the index behind it."""
        if place == NOWHERE:
            return listpack.skip(p, at)
        column = self.columns[place]
        return column.put(p, at)

    def learn(self, cursor: Cursor) -> int:
        """Compare the fields of the node's master entry with the wanted ones."""
        node = cursor.node
        assert node is not None
        self.node = node
        self.wanted = array("I", bytes(4 * node.nfields))
        wanted = mem.cells(self.wanted)
        at = node.fields_at
        for i in range(node.nfields):
            wanted[i] = self.place_of(cursor.p, at)
            at = listpack.skip(cursor.p, at)
        return 0

    def place_of(self, p: mem.Pointer, at: int) -> int:
        """The column of the field that stands at ``at``."""
        for i in range(len(self.names)):
            name = self.names[i]
            if listpack.same_string(p, at, name, 0, len(name)):
                return i
        return NOWHERE

    def spread(self, cursor: Cursor) -> int:
        """All fields of an entry, as pairs of a map."""
        node = cursor.node
        assert node is not None
        p = cursor.p
        at = cursor.values_at
        field = node.fields_at
        keys = self.keys
        values = self.values
        for _ in range(cursor.pairs):
            if cursor.same:
                field = keys.put(p, field)
            else:
                at = keys.put(p, at)
            keys.end_row()
            at = values.put(p, at)
            values.end_row()
        cursor.behind = listpack.skip(p, at)
        self.size = keys.size + values.size + 8 * keys.rows
        self.pairs.size = keys.rows
        return self.pairs.end_row()

    def write(self, out: Reply) -> int:
        """The answer; see the head of this file."""
        out.array((5 if self.with_ids else 3) + (3 * len(self.names) if self.names else 5))
        out.integer(self.rows)
        self.ms.write(out)
        self.seq.write(out)
        if self.with_ids:
            self.ids.write_offsets(out)
            self.ids.write_data(out)
        for i in range(len(self.columns)):
            column = self.columns[i]
            column.write_offsets(out)
            column.write_data(out)
            column.write_valid(out)
        if not self.names:
            self.pairs.write_offsets(out)
            self.keys.write_offsets(out)
            self.keys.write_data(out)
            self.values.write_offsets(out)
            self.values.write_data(out)
        return 0


def columns(ctx: Context, argv: Argv) -> None:
    """FB.COLUMNS key start end [COUNT count] [IDS] [FIELDS numfields field ...]."""
    w = argv.w
    start_ms, start_seq = ids.interval_start(argv.p, w[4], w[5])
    end_ms, end_seq = ids.interval_end(argv.p, w[6], w[7])
    wish = Wish(argv)
    sheet = Sheet(wish.names, wish.with_ids)
    stream = ctx.read_stream(argv, 1)
    if stream is not None:
        cursor = stream.cursor()
        cursor.open(start_ms, start_seq, end_ms, end_seq, False)
        fill(sheet, cursor, wish.count)
    sheet.write(ctx.out)


def fill(sheet: Sheet, cursor: Cursor, count: int) -> int:
    """Rows until the range, the count or the answer is full; -1 is no count."""
    while sheet.rows != count and sheet.size < ANSWER_BYTES and cursor.next():
        sheet.add(cursor)
    return 0


class Wish:
    """The options: COUNT (-1: none), IDS, and FIELDS (empty: all, as a map)."""

    def __init__(self, argv: Argv) -> None:
        self.count = -1
        self.with_ids = False
        self.names: list[bytes] = []
        at = 4
        while at < argv.n:
            at = self.read(argv, at)

    def read(self, argv: Argv, at: int) -> int:
        """One option; the index behind it."""
        if argv.word(at, b"IDS"):
            self.with_ids = True
            return at + 1
        if at + 1 >= argv.n:
            raise CommandError(SYNTAX)
        if argv.word(at, b"COUNT"):
            self.count = max(0, integer(argv, at + 1))
            return at + 2
        if argv.word(at, b"FIELDS"):
            number = integer(argv, at + 1)
            if number <= 0 or number > argv.n - at - 2:
                raise CommandError(b"ERR FIELDS needs a positive number and as many names")
            self.names = [argv[i] for i in range(at + 2, at + 2 + number)]
            return at + 2 + number
        raise CommandError(SYNTAX)


ROWS = [
    Command(
        "fb.columns",
        columns,
        -4,
        READONLY,
        "@read @stream @slow",
        Keys(1, 1, 1, "RO ACCESS"),
        "8.10.0",
        "Returns a range of entries as column buffers, in the layout of Apache Arrow.",
        "stream",
        "key start end [COUNT count] [IDS] [FIELDS numfields field [field ...]]",
    ),
]
