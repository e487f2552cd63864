"""FB.COLUMNS: a range of entries as columns, in the layout of Arrow.

    entry    1-0  a=x b=12            last ID   3-0
    entry    2-0  a=yy                ms        1    2    3        n words, little-endian
    entry    3-0  b=7                 seq       0    0    0
                                      a data    x y y              the texts, end to end
                                      a offsets 0  1  3  3         n + 1 numbers of 32 bits
                                      a valid   1  1  0            n bits, the first one lowest
                                      b data    1 2 7
                                      b offsets 0  2  2  3
                                      b valid   1  0  1

The reply is one string of all parts (block.py): the last ID; with TIMES ``ms`` and ``seq`` of
all; with IDS the IDs as text, offsets and data; and then, with FIELDS, offsets, data and
validity of each requested field.  If an entry has a field twice, the last value counts; the
validity is empty if every entry has the field.  KINDS has a letter for each field: ``t`` is
text; ``i`` is whole numbers, each with as many bytes as the longest one needs (1, 2, 4 or 8); ``d``
is doubles.  Numbers have no offsets; if one value is not such a number, the whole column is text.
Without FIELDS the rest are the parts of one map: offsets of the entries into the pairs, then
offsets and data of the keys, then of the values.  If all entries have the same fields in the same
order, as entries of one producer usually do, the offsets of the entries are empty and the keys are
sent once.

Rules
  1. No object is made for an entry, a field or a value.
  2. An answer ends early when it is ANSWER_BYTES long, after a whole entry; the
     caller asks again after the last ID that it got.
  3. The fields of a node's master entry are compared with the wanted ones once per node:
     ``wanted[i]`` is the column of its i-th field, or NOWHERE.  Entries with these fields are
     collected in groups (``Run``) and written a column at a time.
  4. Buffers that have grown are kept for the next answer (Context.spare_columns): new memory
     costs more than writing into it.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.streams import block
from forebay.commands.streams.block import Block
from forebay.commands.streams.column import STEM_ROOM, Column
from forebay.commands.streams.columns_options import TEXTS, ColumnsOptions, parse_columns
from forebay.core import ids, listpack
from forebay.core.cursor import Cursor
from forebay.core.node import Node
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

#: No answer is much longer: the server must serve other clients, and offsets have 32 bits.
ANSWER_BYTES = 32 << 20
NOWHERE = mem.U32_MAX
KEPT_COLUMNS = 32
KEPT_BYTES = 4 << 20
#: This many rows and values are collected before they are written, column by column.
RUN_ROWS, RUN_VALUES = 128, 8192
Bounds = tuple[int, int, int, int]


def borrow(spare: list[Column]) -> Column:
    """An empty column, with the buffers of an earlier one if there are any."""
    if not spare:
        return Column()
    column = spare.pop()
    column.clear()
    return column


def keep(spare: list[Column], column: Column) -> None:
    """Keep the buffers of a column, unless there are many, or they are large."""
    if len(spare) < KEPT_COLUMNS and column.room + 4 * column.row_room <= KEPT_BYTES:
        spare.append(column)


class Run:
    """Entries of one node with its master's fields: the places of their values, and their IDs."""

    def __init__(self) -> None:
        self.rows = 0
        self.pairs = 0
        self.p: mem.Source = b""
        self.values = array("I")
        self.spots = mem.cells(self.values)
        self.halves = array("Q", bytes(16 * RUN_ROWS))
        self.ids = mem.words(self.halves)

    def take(self, cursor: Cursor, most: int, most_bytes: int) -> None:
        """Collect the entry under the cursor and those after it, up to a maximum."""
        self.p = cursor.p
        self.pairs = cursor.pairs
        rows = max(1, min(RUN_ROWS, RUN_VALUES // max(1, self.pairs)))
        if len(self.values) < rows * self.pairs:
            self.values = array("I", bytes(4 * rows * self.pairs))
            self.spots = mem.cells(self.values)
        self.rows = cursor.gather(self.spots, self.ids, min(rows, most), most_bytes)


class Pairs:
    """All fields of each entry, as a map; the keys only once as long as they are the same."""

    def __init__(self, spare: list[Column]) -> None:
        self.rows = 0
        self.keys = borrow(spare)
        self.values = borrow(spare)
        #: Once entries differ: for each row the end of its pairs.
        self.edges = borrow(spare)
        self.alike = True
        self.width = 0
        #: The node whose master entry has the fields of all entries so far.
        self.node: Node | None = None

    def begin(self, cursor: Cursor) -> bool:
        """Add the keys of one more entry; False if the answer would become too long."""
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
        """Add the values of that entry, which has its own fields; the size of the map so far."""
        self.rows += 1
        p = cursor.p
        at = cursor.values_at
        for _ in range(cursor.pairs):
            at = self.values.put_all(p, listpack.skip(p, at), 1)
        cursor.after = listpack.skip(p, at)
        return self.size()

    def add_run(self, cursor: Cursor, run: Run) -> int:
        """Add the values of that entry and of all similar ones; the size of the map so far."""
        if not self.alike:
            for _ in range(1, run.rows):
                self.add_keys(cursor)
        self.rows += run.rows
        values = self.values
        values.put_run(run.p, values.rows, run.rows * run.pairs, run.spots, 0, 1)
        return self.size()

    def size(self) -> int:
        """The size of the map, roughly, to know when to stop."""
        return self.keys.size + self.values.size + 8 * self.values.rows

    def add_keys(self, cursor: Cursor) -> None:
        """Add the keys of an entry, and the end of its pairs."""
        at = first_key(cursor)
        for _ in range(cursor.pairs):
            self.keys.put(cursor.p, at, self.keys.rows)
            at = next_key(cursor, at)
        self.end_entry()

    def end_entry(self) -> None:
        """Note where the pairs of an entry end."""
        self.edges.end_at(self.keys.rows)

    def is_alike(self, cursor: Cursor) -> bool:
        """Whether an entry has the fields of all before it; compared once per node."""
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
        """The next entry differs: write the keys of all entries so far, one by one."""
        self.alike = False
        for _ in range(1, self.rows):
            for i in range(self.width):
                self.keys.repeat(i)
            self.end_entry()

    def has_edges(self) -> bool:
        """Whether the start of each entry's pairs must be sent."""
        return not self.alike or self.rows == 0

    def wire_bytes(self) -> int:
        """The space that the map takes in a block."""
        size = self.keys.text_bytes() + self.values.text_bytes()
        return size + (block.padded(4 * self.edges.rows + 4) if self.has_edges() else 0)

    def write(self, answer: Block) -> None:
        """The five parts of the map."""
        answer.add(self.edges.o, 4 * self.edges.rows + 4 if self.has_edges() else 0)
        self.keys.write_texts(answer)
        self.values.write_texts(answer)


def first_key(cursor: Cursor) -> int:
    """Where the first key of an entry is: in the master entry, or before its value."""
    node = cursor.node
    assert node is not None
    return node.fields_at if cursor.same else cursor.values_at


def next_key(cursor: Cursor, at: int) -> int:
    """Where the key after this one is."""
    after = listpack.skip(cursor.p, at)
    return after if cursor.same else listpack.skip(cursor.p, after)


class Ids:
    """The IDs of an answer: as two numbers, as text, or only the last one."""

    def __init__(self, spare: list[Column], as_numbers: bool, as_text: bool) -> None:
        self.as_numbers = as_numbers
        self.as_text = as_text
        self.ms = borrow(spare)
        self.seq = borrow(spare)
        self.texts = borrow(spare)
        self.one = array("Q", bytes(16))
        self.last_ms = 0
        self.last_seq = 0
        self.last = b""
        self.stem = bytearray(STEM_ROOM)

    def add(self, ms: int, seq: int) -> None:
        """Add one ID."""
        w = mem.words(self.one)
        w[0] = ms
        w[1] = seq
        self.add_run(w, 1)

    def add_run(self, w: mem.Words, n: int) -> None:
        """Add several IDs, two words each."""
        self.last_ms = w[2 * n - 2]
        self.last_seq = w[2 * n - 1]
        if self.as_numbers:
            self.ms.put_words(w, 0, n)
            self.seq.put_words(w, 1, n)
        if self.as_text:
            self.texts.put_ids(w, n, self.stem)

    def parts(self) -> int:
        """The number of parts that the IDs take in an answer."""
        return 1 + 2 * self.as_numbers + 2 * self.as_text

    def wire_bytes(self) -> int:
        """The space of these parts in a block."""
        size = (
            block.padded(len(self.last)) + block.padded(self.ms.size) + block.padded(self.seq.size)
        )
        return size + (self.texts.text_bytes() if self.as_text else 0)

    def end(self, rows: int) -> None:
        """All IDs are added."""
        if rows > 0:
            self.last = b"%d-%d" % (self.last_ms, self.last_seq)

    def write(self, answer: Block) -> None:
        """Write the parts."""
        answer.add(self.last, len(self.last))
        if self.as_numbers:
            answer.add(self.ms.p, self.ms.size)
            answer.add(self.seq.p, self.seq.size)
        if self.as_text:
            self.texts.write_texts(answer)


class Sheet:
    """One answer: the IDs, and a column for each wanted field or a map of all."""

    def __init__(self, spare: list[Column], wish: ColumnsOptions) -> None:
        self.spare = spare
        self.rows = 0
        #: The size of the fields so far, roughly, to know when to stop.
        self.size = 0
        self.ids = Ids(spare, wish.with_times, wish.with_ids)
        self.as_map = wish.as_map
        self.names = wish.names
        self.columns = [borrow(spare) for _ in wish.names]
        self.choose(wish.kinds)
        #: The column of numbers that met another kind of value; NOWHERE if there is none.
        self.misfit = NOWHERE
        #: For the node whose fields were compared last: the column of each field.
        self.node: Node | None = None
        self.wanted = array("I")
        self.run = Run()
        self.pairs = Pairs(spare)

    def choose(self, kinds: list[int]) -> None:
        """The kind of each column."""
        for i in range(len(kinds)):
            column = self.columns[i]
            column.take(kinds[i])

    def add(self, cursor: Cursor, most: int) -> bool:
        """Add the entry under the cursor, and similar entries after it, up to a maximum.

        False if the answer must end before this entry.
        """
        if self.as_map and not self.pairs.begin(cursor):
            return False
        if cursor.same:
            self.add_run(cursor, most)
            return True
        if self.as_map:
            self.size = self.pairs.add(cursor)
        else:
            self.size += self.pick(cursor)
        self.ids.add(cursor.ms, cursor.seq)
        self.rows += 1
        return True

    def add_run(self, cursor: Cursor, most: int) -> None:
        """Add entries with the fields of their node's master."""
        run = self.run
        start = cursor.values_at
        run.take(cursor, most, ANSWER_BYTES - self.size)
        if self.as_map:
            self.size = self.pairs.add_run(cursor, run)
        else:
            if self.node is not cursor.node:
                self.learn(cursor)
            self.put_run(run)
            self.size += cursor.after - start
        self.ids.add_run(run.ids, run.rows)
        self.rows += run.rows

    def put_run(self, run: Run) -> None:
        """Write them, a column at a time; if a field occurs twice, the last value wins."""
        wanted = mem.cells(self.wanted)
        for i in range(run.pairs):
            if wanted[i] != NOWHERE:
                column = self.columns[wanted[i]]
                column.put_run(run.p, self.rows, run.rows, run.spots, i, run.pairs)
                if not column.fits:
                    self.misfit = wanted[i]

    def pick(self, cursor: Cursor) -> int:
        """Add the wanted fields of an entry with its own fields; the size of the entry."""
        p = cursor.p
        at = cursor.values_at
        for _ in range(cursor.pairs):
            place = self.place_of(p, at)
            at = listpack.skip(p, at)
            if place == NOWHERE:
                at = listpack.skip(p, at)
            else:
                column = self.columns[place]
                at = column.put(p, at, self.rows)
                if not column.fits:
                    self.misfit = place
        cursor.after = listpack.skip(p, at)
        return at - cursor.values_at

    def learn(self, cursor: Cursor) -> None:
        """Compare the fields of the node's master entry with the wanted ones."""
        node = cursor.node
        assert node is not None
        self.node = node
        if len(self.wanted) != node.nfields:
            self.wanted = array("I", bytes(4 * node.nfields))
        wanted = mem.cells(self.wanted)
        at = node.fields_at
        for i in range(node.nfields):
            wanted[i] = self.place_of(cursor.p, at)
            at = listpack.skip(cursor.p, at)

    def place_of(self, p: mem.Source, at: int) -> int:
        """The column of the field at ``at``."""
        for i in range(len(self.names)):
            name = self.names[i]
            if listpack.same_string(p, at, name, 0, len(name)):
                return i
        return NOWHERE

    def write(self, out: RespWriter) -> None:
        """Write the answer; see the head of this file."""
        self.ids.end(self.rows)
        size = self.ids.wire_bytes() + (self.pairs.wire_bytes() if self.as_map else 0)
        for i in range(len(self.columns)):
            column = self.columns[i]
            size += column.field_bytes(self.rows)
        answer = Block(out)
        answer.open(self.rows, self.ids.parts() + (5 if self.as_map else 3 * len(self.names)), size)
        self.ids.write(answer)
        for i in range(len(self.columns)):
            column = self.columns[i]
            column.write_field(answer)
        if self.as_map:
            self.pairs.write(answer)
        answer.close()

    def give_back(self) -> None:
        """Keep the buffers for the next answer."""
        ids, pairs = self.ids, self.pairs
        for column in (ids.ms, ids.seq, ids.texts, pairs.keys, pairs.values, pairs.edges):
            keep(self.spare, column)
        for column in self.columns:
            keep(self.spare, column)


def columns(ctx: Context, argv: Argv) -> None:
    """FB.COLUMNS key start end [COUNT n] [IDS] [TIMES] [FIELDS n field ... [KINDS kinds]]."""
    apply_columns(ctx, argv, parse_bounds(argv), parse_columns(argv))


def parse_bounds(argv: Argv) -> Bounds:
    """The first and the last ID."""
    w = argv.w
    start_ms, start_seq = ids.interval_start(argv.p, w[4], w[5])
    end_ms, end_seq = ids.interval_end(argv.p, w[6], w[7])
    return start_ms, start_seq, end_ms, end_seq


def apply_columns(ctx: Context, argv: Argv, bounds: Bounds, wish: ColumnsOptions) -> None:
    """Look the range up and answer with its columns; nothing changes, so nothing is recorded."""
    start_ms, start_seq, end_ms, end_seq = bounds
    stream = ctx.read_stream(argv, 1).stream
    while True:
        sheet = Sheet(ctx.spare_columns, wish)
        if stream is not None:
            cursor = stream.cursor()
            cursor.open(start_ms, start_seq, end_ms, end_seq, False)
            fill(sheet, cursor, wish.count)
        if sheet.misfit == NOWHERE:
            break
        wish.kinds[sheet.misfit] = TEXTS
        sheet.give_back()
    sheet.write(ctx.reply)
    sheet.give_back()


def fill(sheet: Sheet, cursor: Cursor, count: int) -> None:
    """Add rows until the range, the count or the answer ends, or a value misfits; -1: no count."""
    while sheet.rows != count and sheet.size < ANSWER_BYTES and cursor.next():
        most = count - sheet.rows if count >= 0 else RUN_ROWS
        if not sheet.add(cursor, most) or sheet.misfit != NOWHERE:
            break


ROWS = [
    Command(
        name="fb.columns",
        handler=columns,
        arity=-4,
        flags=READONLY,
        categories="@read @stream @slow",
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="8.10.0",
        summary="Returns a range of entries as column buffers, in the layout of Apache Arrow.",
        group="stream",
        syntax="key start end [COUNT count] [IDS] [TIMES] "
        "[FIELDS numfields field [field ...] [KINDS kinds]]",
    ),
]
