"""The arguments of one command: places in a buffer, not objects.

    buf    *2\\r\\n$4\\r\\nXLEN\\r\\n$6\\r\\norders\\r\\n
                    ^8 (4)         ^18 (6)
    spans  [8, 4, 18, 6, ...]        two words an argument: offset, length

Making a bytes object of every argument costs more than executing a small
command, so the parser only notes where each one is.  Hot handlers read
``p[w[2*i]]``; the others ask for ``argv[i]`` and get a new bytes object.

Rules
  1. An Argv is valid only during one call: its buffer is reused and may move.
     Code that must remember the arguments keeps ``argv.list()``, or
     ``argv.kept()`` to run them again.
  2. Only ``reserve`` grows ``spans``; code that holds ``w`` fetches it again.
  3. Methods refuse an index outside ``0 <= i < n``; ``p`` and ``w`` do not.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.wire.chars import CR, DOLLAR, LF

# Sixteen arguments are enough for an XADD of six fields; the table grows by doubling.
FEW_ARGS = 16
# The table of a command with more arguments than this must not be kept for ever.
MANY_ARGS = 1024
# Copying this is quicker than making an array of zeros.
NO_SPANS = array("Q", bytes(16 * FEW_ARGS))

Arguments = list[bytes]


class Argv:
    """One command's arguments as spans of ``buf``."""

    def __init__(self) -> None:
        self.n = 0
        self.buf: bytes | bytearray = b""
        self.p: mem.Source = self.buf
        self.spans: array[int] = NO_SPANS[:]
        self.w: mem.Words = mem.words(self.spans)
        self.room = FEW_ARGS
        #: Whether no other code writes to ``buf``, so that the arguments outlive the call.
        self.is_own = False
        #: Whether they are in ``buf`` as the bulk strings of a request.
        self.is_request = False

    @staticmethod
    def of(args: Arguments) -> Argv:
        """An Argv with a private copy of the given arguments."""
        return argv_of(args)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> bytes:
        return self.at(i)

    def at(self, i: int) -> bytes:
        """Argument i as a new bytes object."""
        self.check(i)
        return mem.to_bytes(self.p, self.w[2 * i], self.w[2 * i + 1])

    def size(self, i: int) -> int:
        """Length of argument i in bytes."""
        self.check(i)
        length: int = self.w[2 * i + 1]
        return length

    def list(self) -> Arguments:
        """All arguments as objects that outlive the call."""
        args = []
        for i in range(self.n):
            args.append(mem.to_bytes(self.p, self.w[2 * i], self.w[2 * i + 1]))  # noqa: PERF401
        return args

    def copy(self) -> Argv:
        """The same arguments in a buffer of their own, to outlive the call."""
        twin = Argv()
        if self.n:
            first = self.w[0]
            end = self.w[2 * self.n - 2] + self.w[2 * self.n - 1]
            twin.reserve(self.n)
            twin.use(mem.to_bytes(self.p, first, end - first))
            for i in range(self.n):
                twin.w[2 * i] = self.w[2 * i] - first
                twin.w[2 * i + 1] = self.w[2 * i + 1]
            twin.n = self.n
        twin.is_own = True
        return twin

    def kept(self) -> Argv:
        """The same arguments for later: this object, if it owns its buffer, or a copy."""
        return self if self.is_own else self.copy()

    def is_same(self, other: Argv) -> bool:
        """Whether the other one holds the same arguments."""
        if other is self:
            return True
        if other.n != self.n:
            return False
        w = self.w
        v = other.w
        for i in range(self.n):
            n = w[2 * i + 1]
            if v[2 * i + 1] != n or not mem.equal(self.p, w[2 * i], other.p, v[2 * i], n):
                return False
        return True

    def plain_start(self, first: int, end: int) -> int:
        """Where arguments ``first`` up to ``end`` begin if they are in ``buf`` as we would write
        them; else -1.  A client may send zeros before a length, and any byte after a CR.
        """
        if not self.is_request or first >= end:
            return -1
        p = self.p
        w = self.w
        start = w[2 * first] - 3 - mem.digits(w[2 * first + 1])
        if p[start] != DOLLAR:
            return -1
        at = start
        for i in range(first, end):
            o = w[2 * i]
            if o != at + 3 + mem.digits(w[2 * i + 1]) or p[o - 1] != LF:
                return -1
            at = o + w[2 * i + 1]
            if p[at] != CR or p[at + 1] != LF:
                return -1
            at += 2
        return start

    def word(self, i: int, word: bytes) -> bool:
        """Whether argument i is ``word``, which is upper case, in any letter case."""
        self.check(i)
        return mem.same_word(self.p, self.w[2 * i], self.w[2 * i + 1], word, len(word))

    def same(self, i: int, text: bytes) -> bool:
        """Whether argument i is exactly ``text``."""
        self.check(i)
        n = self.w[2 * i + 1]
        return n == len(text) and mem.equal(self.p, self.w[2 * i], text, 0, n)

    def integer(self, i: int) -> tuple[bool, int]:
        """Argument i as a canonical signed 64-bit number: (whether it is one, value)."""
        self.check(i)
        return mem.parse_int(self.p, self.w[2 * i], self.w[2 * i + 1])

    def check(self, i: int) -> None:
        """Refuse an index that is not an argument."""
        if i < 0 or i >= self.n:
            raise IndexError("no such argument")

    def use(self, buf: bytes | bytearray) -> None:
        """Use this buffer for the spans."""
        self.buf = buf
        self.p = buf

    def reserve(self, n: int) -> None:
        """Make room for n arguments in total; those already noted stay."""
        if n > self.room:
            room = max(n, 2 * self.room)
            wider = array("Q", bytes(16 * room))
            wider[: 2 * self.room] = self.spans
            self.lay(wider, room)

    def shrink(self) -> None:
        """Replace a table that one huge command made large; no argument may be in use."""
        if self.room > MANY_ARGS:
            self.n = 0
            self.lay(NO_SPANS[:], FEW_ARGS)

    def lay(self, spans: array[int], room: int) -> None:
        """Change to another table of spans."""
        self.spans = spans
        self.w = mem.words(spans)
        self.room = room

    def rebase(self, n: int, shift: int) -> None:
        """The bytes moved by ``shift``: move the first n spans, too."""
        w = self.w
        for i in range(n):
            w[2 * i] = mem.wrap(w[2 * i] + mem.wrap(shift))

    def fill(self, args: Arguments) -> None:
        """Hold a private copy of the given arguments."""
        self.reserve(len(args))
        self.use(b"".join(args))
        at = 0
        for i in range(len(args)):
            self.w[2 * i] = at
            self.w[2 * i + 1] = len(args[i])
            at += len(args[i])
        self.n = len(args)
        self.is_own = True


def argv_of(args: Arguments) -> Argv:
    """An Argv with a private copy of the given arguments."""
    argv = Argv()
    argv.fill(args)
    return argv
