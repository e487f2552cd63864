"""The record of a call for the AOF and the replicas: deterministic commands, in RESP.

    unit     one command, or MULTI command command ... EXEC
    buffer   unit unit SELECT 3 unit unit ...            all units of one turn
    ends     the offset after each unit, so that an AOF may add a note after it
    place    units --annotate--> #TURN:3 unit unit unit #REPL:...        one end for all of them

A handler tests ``enabled`` (or lets these methods do it) and records the commands that lead
to the same state elsewhere: its own call with ``*`` replaced by the real ID, or other
commands altogether.  The engine opens a unit before the handler and closes it afterwards; a
whole EXEC is one unit.

Rules
  1. Nothing recorded, nothing written: no empty MULTI, no SELECT alone.
  2. More than one command in a unit: MULTI is put in front and EXEC at the end.
  3. SELECT is written when a command is for another database than the last one.
  4. ``changes`` grows as it does in Redis, also while recording is off: by one for a call, or
     by as many entries, elements or keys as the handler says.  INFO and the save points read
     it.  An expired key is not a change.
  5. ``base`` is the offset of the buffer's first byte in the stream that replicas get; so
     each client's last change has an offset there (WAIT).  The first ``handed`` bytes of the
     buffer were given to replicas; units that the disk refused stay in it after that.
  6. Units that share a comment are one piece for the AOF: it loads all of them, or none.

One way to record each thing:
    record_call           the call as received
    record_call_with_id   the call, with an ID in the place of one argument
    record_command        another command
    begin_command         another command whose arguments compiled code writes into ``out``
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from forebay import mem
from forebay.wire import resp_writer
from forebay.wire.argv import Argv
from forebay.wire.chars import EXEC, MULTI
from forebay.wire.resp_writer import RespWriter, WriterPool

NO_DATABASE = -1
# The most that a bulk string takes in addition to its bytes.
BULK_ROOM = 32


class Effects:
    """The recorder; one for the whole engine."""

    def __init__(self, pool: WriterPool) -> None:
        self.enabled = False
        #: Commands recorded in the open unit, SELECT not counted.
        self.count = 0
        #: Commands recorded since the start; comparing two values shows whether something changed.
        self.total = 0
        #: How much the data has changed since the start: rule 4.
        self.changes = 0
        #: The database that the commands are for; set by the engine.
        self.db_index = 0
        self.selected = NO_DATABASE
        self.out = RespWriter(2, pool)
        self.mark = 0
        self.is_open = False
        self.ends: array[int] = array("Q")
        self.base = 0
        self.handed = 0
        #: The buffer's size after its last comment.
        self.noted = 0

    def begin(self) -> None:
        """Open a unit."""
        self.is_open = True
        self.count = 0
        self.mark = self.out.size

    def end(self) -> bool:
        """Close the unit; several commands become one transaction.  False if it is empty."""
        self.is_open = False
        if self.count == 0:
            return False
        if self.count > 1:
            self.out.insert(self.mark, MULTI)
            self.out.raw(EXEC)
        mem.push(self.ends, self.out.size)
        self.count = 0
        return True

    def place(self) -> int:
        """The offset in the stream of changes after everything recorded so far."""
        return self.base + self.out.size

    def record_call(self, argv: Argv, changes: int = 1) -> None:
        """Record the call as received; it made ``changes`` changes."""
        self.changes += changes
        if self.enabled:
            self.begin_command(argv.n)
            self.copy(argv, 0, argv.n)

    def record_call_with_id(self, argv: Argv, at: int, ms: int, seq: int, changes: int) -> None:
        """Record the call with this ID in place of argument ``at``."""
        self.changes += changes
        if self.enabled:
            self.begin_command(argv.n)
            self.copy(argv, 0, at)
            self.out.stream_id(ms, seq)
            self.copy(argv, at + 1, argv.n)

    def copy(self, argv: Argv, first: int, end: int) -> None:
        """The arguments as received, from ``first`` up to ``end``."""
        start = argv.plain_start(first, end)
        if start < 0:
            self.frame(argv, first, end)
        else:
            w = argv.w
            n = w[2 * end - 2] + w[2 * end - 1] + 2 - start
            self.out.need(n)
            mem.copy(self.out.p, self.out.size, argv.p, start, n)
            self.out.size += n

    def frame(self, argv: Argv, first: int, end: int) -> None:
        """The same, one bulk string after the other."""
        out = self.out
        src = argv.p
        w = argv.w
        room = 0
        for i in range(first, end):
            room += w[2 * i + 1] + BULK_ROOM
        out.need(room)
        p = out.p
        o = out.size
        for i in range(first, end):
            o = resp_writer.put_bulk(p, o, src, w[2 * i], w[2 * i + 1])
        out.size = o

    def record_command(self, words: Sequence[bytes], changes: int = 1) -> None:
        """Record another command; outside a call it is a unit of its own."""
        self.changes += changes
        if self.enabled:
            self.begin_command(len(words))
            for word in words:
                self.out.bulk(word)
            if not self.is_open:
                self.end()

    def begin_command(self, n: int) -> None:
        """Begin a record of n words, after SELECT if the database changes.

        The caller has tested ``enabled``, and writes the words into ``out``.
        """
        if self.db_index != self.selected:
            self.select()
        self.count += 1
        self.total += 1
        self.out.array(n)

    def select(self) -> None:
        """Say which database the next commands are for."""
        self.selected = self.db_index
        self.out.array(2)
        self.out.bulk(b"SELECT")
        self.out.bulk(b"%d" % self.db_index)

    def take(self) -> bytes:
        """All units since the last time; also empties ``ends``."""
        units = self.out.take()
        self.clear()
        return units

    def annotate(self, line: bytes) -> None:
        """Add a comment to the units since the last comment; only the AOF gets it.

        Everything before it was already given to the replicas.
        """
        out = self.out
        size = out.size
        first = bisect_right(self.ends, self.noted)
        count = len(self.ends) - first
        if count > 1:
            out.insert(self.noted, b"#TURN:%d\r\n" % count)
        out.raw(line)
        self.base -= out.size - size
        self.handed = self.noted = out.size
        del self.ends[first:]
        mem.push(self.ends, out.size)

    def clear(self) -> None:
        """Forget all units, since the AOF has them."""
        self.base += self.out.size
        self.handed = self.noted = 0
        del self.ends[:]
        self.mark = 0
        self.out.clear()

    def forget_database(self) -> None:
        """A new reader begins: write SELECT again before the next command."""
        self.selected = NO_DATABASE
