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
the pairs, then offsets and data of the keys, then of the values.  If all entries have
the same fields in the same order, as those of one producer have, the offsets of the
entries are empty and the keys are sent once.  With IDS the IDs come as text too,
offsets and data, after ``seq``.

Rules
  1. No object is made for an entry, a field or a value.
  2. An answer ends early when it is ANSWER_BYTES long, after a whole entry; the
     caller asks again after the last ID that it got.
  3. The fields of a node's master entry are compared with the wanted ones once
     per node: ``wanted[i]`` is the column of its i-th field, or NOWHERE.
  4. Buffers that have grown are kept for the next answer: fresh memory costs
     more than all that is written into it.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.streams.column_options import ColumnOptions
from forebay.core import ids, listpack
from forebay.core.cursor import Cursor
from forebay.core.node import Node
from forebay.wire.argv import Argv
from forebay.wire.chars import DASH
from forebay.wire.resp_writer import RespWriter

#: No answer is much longer: the server has others to serve, and offsets have 32 bits.
ANSWER_BYTES = 32 << 20
NOWHERE = mem.U32_MAX
FIRST_ROOM = 4096
#: Heads of three bulk strings, an array and an integer.
PART_ROOM = 160
KEPT_COLUMNS = 32
KEPT_BYTES = 4 << 20
#: Decimal digits and sign of any 64-bit number, and what copy_short() may touch past it.
INTEGER_ROOM = 24
#: First bytes of listpack elements: below, a small integer; from here, what has a longer head.
SHORT_STRING, WIDE = 128, 192


def widened(p: mem.Pointer, size: int, room: int) -> bytearray:
    """A larger buffer that begins with what this one holds."""
    wider = bytearray(room)
    mem.copy(wider, 0, p, 0, size)
    return wider


class Column:
    """Texts end to end, where each begins, and which rows have one.

    Rows are written in rising order.  One that is passed over has no text; one that
    is written again keeps the later text.
    """

    def __init__(self) -> None:
        self.data = bytearray(FIRST_ROOM)
        self.p: mem.Pointer = self.data
        self.room = FIRST_ROOM
        self.offsets = bytearray(FIRST_ROOM)
        self.o: mem.Pointer = self.offsets
        self.clear()

    def clear(self) -> None:
        """No rows; the large buffers stay."""
        self.size = 0
        self.rows = 0
        self.row_room = len(self.offsets) // 4 - 1
        self.valid = bytearray(self.row_room // 8 + 1)
        self.v: mem.Pointer = self.valid
        mem.put_le(self.o, 0, 4, 0)

    def put(self, p: mem.Pointer, at: int, row: int) -> int:
        """Write a listpack element as the text of a row; the index after it."""
        if row != self.rows:
            self.turn_to(row)
        head = p[at]
        if head >= WIDE:
            behind = self.put_wide(p, at)
        elif head >= SHORT_STRING:
            n = head & 63
            self.need(n + mem.SLACK)
            mem.copy_short(self.p, self.size, p, at + 1, n)
            self.size += n
            behind = at + n + 2
        else:
            self.need(INTEGER_ROOM)
            self.size = mem.put_uint(self.p, self.size, head)
            behind = at + 2
        self.end(row)
        return behind

    def put_wide(self, p: mem.Pointer, at: int) -> int:
        """A longer string or a larger integer; the index after it."""
        if not listpack.is_int(p, at):
            start, n = listpack.read_string(p, at)
            self.need(n + mem.SLACK)
            mem.copy_short(self.p, self.size, p, start, n)
            self.size += n
            return listpack.skip(p, at)
        value, behind = listpack.read_int(p, at)
        self.need(INTEGER_ROOM)
        if value < 0:
            self.p[self.size] = DASH
            self.size = mem.put_uint(self.p, self.size + 1, mem.wrap(0 - mem.wrap(value)))
        else:
            self.size = mem.put_uint(self.p, self.size, mem.wrap(value))
        return behind

    def put_id(self, ms: int, seq: int, row: int) -> None:
        """Write ``ms-seq`` as the text of the next row."""
        self.need(2 * INTEGER_ROOM)
        o = mem.put_uint(self.p, self.size, ms)
        self.p[o] = DASH
        self.size = mem.put_uint(self.p, o + 1, seq)
        self.end(row)

    def put_word(self, value: int) -> None:
        """Write a number of 64 bits; a column of these has no rows."""
        self.need(8)
        mem.put_le(self.p, self.size, 8, value)
        self.size += 8

    def repeat(self, row: int) -> None:
        """Write the text of an earlier row once more."""
        low = mem.get_le(self.o, 4 * row, 4)
        n = mem.get_le(self.o, 4 * row + 4, 4) - low
        self.need(n + mem.SLACK)
        mem.copy_short(self.p, self.size, self.p, low, n)
        self.size += n
        self.end(self.rows)

    def has(self, row: int, p: mem.Pointer, at: int) -> bool:
        """Whether a row holds the same text as a listpack element."""
        low = mem.get_le(self.o, 4 * row, 4)
        return listpack.same_string(p, at, self.p, low, mem.get_le(self.o, 4 * row + 4, 4) - low)

    def turn_to(self, row: int) -> None:
        """Make this the next row: those before it that were not written have no text."""
        if row < self.rows:
            self.size = mem.get_le(self.o, 4 * row, 4)
        else:
            while self.row_room < row:
                self.widen()
            for i in range(self.rows, row):
                mem.put_le(self.o, 4 * i + 4, 4, self.size)
        self.rows = row

    def end(self, row: int) -> None:
        """The text of a row is written."""
        if self.row_room <= row:
            self.widen()
        mem.put_le(self.o, 4 * row + 4, 4, self.size)
        self.v[row >> 3] |= 1 << (row & 7)
        self.rows = row + 1

    def need(self, n: int) -> None:
        """Make room for n more bytes."""
        if self.size + n > self.room:
            self.room = 2 * self.room + n
            self.data = widened(self.p, self.size, self.room)
            self.p = self.data

    def widen(self) -> None:
        """Make room for twice as many rows."""
        self.offsets = widened(self.o, 4 * self.row_room + 4, 2 * len(self.offsets))
        self.o = self.offsets
        had = len(self.valid)
        self.row_room = len(self.offsets) // 4 - 1
        self.valid = widened(self.v, had, self.row_room // 8 + 1)
        self.v = self.valid

    def wire_bytes(self) -> int:
        """No part of an answer made of this column is longer, all heads included."""
        return self.size + 5 * self.rows + PART_ROOM

    def write_offsets(self, out: RespWriter) -> None:
        """Where each text begins, and the last one ends."""
        out.span(self.o, 0, 4 * self.rows + 4)

    def write_data(self, out: RespWriter) -> None:
        """The texts."""
        out.span(self.p, 0, self.size)

    def write(self, out: RespWriter, rows: int) -> None:
        """So many rows: where they begin, their texts, which ones have one."""
        if self.rows < rows:
            self.turn_to(rows)
        self.write_offsets(out)
        self.write_data(out)
        out.span(self.v, 0, (rows + 7) // 8)


#: Columns of earlier answers.
SPARE: list[Column] = []


def borrow() -> Column:
    """An empty column, with the buffers of an earlier one if there are any."""
    if not SPARE:
        return Column()
    column = SPARE.pop()
    column.clear()
    return column


def keep(column: Column) -> None:
    """Keep the buffers of a column, unless they are many or large."""
    if len(SPARE) < KEPT_COLUMNS and column.room + 4 * column.row_room <= KEPT_BYTES:
        SPARE.append(column)


class Pairs:
    """All fields of each entry, as a map; the keys once as long as they are the same."""

    def __init__(self) -> None:
        self.rows = 0
        self.keys = borrow()
        self.values = borrow()
        #: Once entries differ, a row for each: where its pairs end.
        self.edges = borrow()
        self.alike = True
        self.width = 0
        #: The node whose master entry has the fields of all entries so far.
        self.node: Node | None = None

    def begin(self, cursor: Cursor) -> bool:
        """The keys of one more entry; False if the answer would become too long with them."""
        if self.rows == 0:
            self.width = cursor.pairs
            self.add_keys(cursor)
        elif not self.alike:
            self.add_keys(cursor)
        elif not self.is_alike(cursor):
            if self.rows * self.keys.size > ANSWER_BYTES:
                return False
            self.unfold()
            self.add_keys(cursor)
        return True

    def add(self, cursor: Cursor) -> int:
        """The values of that entry; how long the map is by now."""
        self.rows += 1
        p = cursor.p
        at = cursor.values_at
        values = self.values
        for _ in range(cursor.pairs):
            if not cursor.same:
                at = listpack.skip(p, at)
            at = values.put(p, at, values.rows)
        cursor.behind = listpack.skip(p, at)
        return self.keys.size + values.size + 8 * values.rows

    def add_keys(self, cursor: Cursor) -> None:
        """The keys of an entry, and where its pairs end."""
        at = first_key(cursor)
        for _ in range(cursor.pairs):
            self.keys.put(cursor.p, at, self.keys.rows)
            at = next_key(cursor, at)
        self.end_entry()

    def end_entry(self) -> None:
        """Note where the pairs of an entry end."""
        self.edges.size = self.keys.rows
        self.edges.end(self.edges.rows)

    def is_alike(self, cursor: Cursor) -> bool:
        """Whether an entry has the fields of all before it; looked at once per node."""
        if cursor.same and cursor.node is self.node:
            return True
        if cursor.pairs != self.width:
            return False
        at = first_key(cursor)
        for i in range(self.width):
            if not self.keys.has(i, cursor.p, at):
                return False
            at = next_key(cursor, at)
        if cursor.same:
            self.node = cursor.node
        return True

    def unfold(self) -> None:
        """The next entry differs: write the keys of the entries so far, each for itself."""
        self.alike = False
        for _ in range(1, self.rows):
            for i in range(self.width):
                self.keys.repeat(i)
            self.end_entry()

    def wire_bytes(self) -> int:
        """No answer with this map is longer."""
        return self.keys.wire_bytes() + self.values.wire_bytes() + self.edges.wire_bytes()

    def write(self, out: RespWriter) -> None:
        """The five parts of the map."""
        if self.alike and self.rows:
            out.bulk(b"")
        else:
            self.edges.write_offsets(out)
        self.keys.write_offsets(out)
        self.keys.write_data(out)
        self.values.write_offsets(out)
        self.values.write_data(out)


def first_key(cursor: Cursor) -> int:
    """Where the first key of an entry stands: in the master entry, or before its value."""
    node = cursor.node
    assert node is not None
    return node.fields_at if cursor.same else cursor.values_at


def next_key(cursor: Cursor, at: int) -> int:
    """Where the key after this one stands."""
    behind = listpack.skip(cursor.p, at)
    return behind if cursor.same else listpack.skip(cursor.p, behind)


class Sheet:
    """One answer: the IDs, and a column for each wanted field or a map of all."""

    def __init__(self, names: list[bytes], as_map: bool, with_ids: bool) -> None:
        self.ms = borrow()
        self.seq = borrow()
        self.rows = 0
        #: How long the fields are by now, near enough to know when to stop.
        self.size = 0
        self.with_ids = with_ids
        self.ids = borrow()
        self.as_map = as_map
        self.names = names
        self.columns = [borrow() for _ in names]
        #: Of the node whose fields were compared last: the column of each field.
        self.node: Node | None = None
        self.wanted = array("I")
        self.pairs = Pairs()

    def add(self, cursor: Cursor) -> bool:
        """The entry under the cursor; False if the answer must end before it."""
        if self.as_map and not self.pairs.begin(cursor):
            return False
        self.ms.put_word(cursor.ms)
        self.seq.put_word(cursor.seq)
        if self.with_ids:
            self.ids.put_id(cursor.ms, cursor.seq, self.rows)
        if self.as_map:
            self.size = self.pairs.add(cursor)
        else:
            self.size += self.pick(cursor)
        self.rows += 1
        return True

    def pick(self, cursor: Cursor) -> int:
        """The wanted fields of an entry; how many bytes it has."""
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
        return at - cursor.values_at

    def take(self, place: int, p: mem.Pointer, at: int) -> int:
        """Put the element into a column, or pass it by; the index after it."""
        if place == NOWHERE:
            return listpack.skip(p, at)
        column = self.columns[place]
        return column.put(p, at, self.rows)

    def learn(self, cursor: Cursor) -> None:
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

    def place_of(self, p: mem.Pointer, at: int) -> int:
        """The column of the field that stands at ``at``."""
        for i in range(len(self.names)):
            name = self.names[i]
            if listpack.same_string(p, at, name, 0, len(name)):
                return i
        return NOWHERE

    def write(self, out: RespWriter) -> None:
        """The answer; see the head of this file."""
        # Room for all of it at once: a reply that grows by doubling is copied again and again.
        room = self.ms.wire_bytes() + self.seq.wire_bytes() + self.ids.wire_bytes()
        room += self.pairs.wire_bytes()
        for i in range(len(self.columns)):
            column = self.columns[i]
            room += column.wire_bytes() + 5 * (self.rows - column.rows)
        out.need(room)
        out.array((5 if self.with_ids else 3) + (5 if self.as_map else 3 * len(self.names)))
        out.integer(self.rows)
        self.ms.write_data(out)
        self.seq.write_data(out)
        if self.with_ids:
            self.ids.write_offsets(out)
            self.ids.write_data(out)
        for i in range(len(self.columns)):
            column = self.columns[i]
            column.write(out, self.rows)
        if self.as_map:
            self.pairs.write(out)

    def give_back(self) -> None:
        """Keep the buffers for the next answer."""
        pairs = self.pairs
        for column in (self.ms, self.seq, self.ids, pairs.keys, pairs.values, pairs.edges):
            keep(column)
        for column in self.columns:
            keep(column)


def columns(ctx: Context, argv: Argv) -> None:
    """FB.COLUMNS key start end [COUNT count] [IDS] [FIELDS numfields field ...]."""
    w = argv.w
    start_ms, start_seq = ids.interval_start(argv.p, w[4], w[5])
    end_ms, end_seq = ids.interval_end(argv.p, w[6], w[7])
    wish = ColumnOptions(argv)
    sheet = Sheet(wish.names, wish.as_map, wish.with_ids)
    stream = ctx.read_stream(argv, 1)
    if stream is not None:
        cursor = stream.cursor()
        cursor.open(start_ms, start_seq, end_ms, end_seq, False)
        fill(sheet, cursor, wish.count)
    sheet.write(ctx.out)
    sheet.give_back()


def fill(sheet: Sheet, cursor: Cursor, count: int) -> None:
    """Rows until the range, the count or the answer is full; -1 is no count."""
    while sheet.rows != count and sheet.size < ANSWER_BYTES and cursor.next():
        if not sheet.add(cursor):
            break


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
