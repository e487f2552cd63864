"""Values in, protocol bytes out: the replies of one client, or the records for the AOF.

    buf   [ sent already | waiting to be sent | free ]
          0           start                size    cap

    aside [ full | full | full ]     sent before buf: buffers of a client that does not read

    in RESP3            in RESP2            written by
    +OK  -ERR text      the same            ok, status, error
    :7                  the same            integer
    $3 abc  *2 ...      the same            bulk, span, stream_id, array
    _                   $-1 or *-1          null, null_array
    %2 ...              *4 ...              map
    ~2 ...  >2 ...      *2 ...              set, push
    ,1.5                $3 1.5              double
    #t                  :1                  boolean
    =7 txt:abc          $3 abc              verbatim

Rules
  1. Only ``need`` makes room.  It may change ``p``, so a writer calls it once for the whole
     piece, then stores without checking, then sets ``size``.  Nothing is written before the
     first ``need``.
  2. Bytes before ``size`` do not move until the next ``consume`` or ``clear``: a mark from
     ``open_array`` is a plain index.
  3. A client that waits for nothing owns no buffer.  Empty buffers go to the
     ``pool``, which all writers of an engine share, and the next writer takes the
     one used last: it has the right size and is still in the cache.
  4. Text from a user never ends a line: CR and LF in a status or an error
     become spaces.
  5. The output of a client that does not read is set aside, a nearly full buffer at a time, by
     the loop at the end of a turn, when no mark is in use.  Copying it to a larger buffer would
     delay others: a message to fifty such clients makes all their outputs grow at once.
"""

from __future__ import annotations

from typing import Any, Protocol

from forebay import mem
from forebay.wire.chars import COLON, DASH, DOLLAR, GREATER, PERCENT, STAR, TILDE

# Most replies of a pipeline fit; growth is by doubling.
FIRST_BUFFER = 4096
# Larger ones are rare and are returned to the system at once.  A page of columns is not: new memory
# for it would cost more than writing it.
LARGEST_SPARE = 2 << 20
# The maximum size of all unused buffers together.
SPARE_BYTES = 8 << 20
# A buffer of this size that has less than a fifth of it left is set aside (rule 5).
ASIDE_BYTES = 128 << 10
# From this size on the guard is asked each time before the output grows.
GUARDED_BYTES = 1 << 20
# The longest header: a type byte, twenty digits, CR and LF, rounded up.
HEADER = 24
# The longest stream_id: "$41", CRLF, two numbers and a dash, CRLF; and mem.SLACK.
STREAM_ID = 64

# Whole numbers below it are written without an exponent.
LARGEST_PLAIN = 1e17


# The buffer of a writer that has none; never written, since its length is 0.
NOTHING = bytearray()


class Guard(Protocol):
    """May stop a reply that becomes too large."""

    def check(self, writer: RespWriter, size: int) -> None:
        """``size`` bytes wait, or will; raises OverrunError if that is too much."""


class WriterPool:
    """Shared by the writers of one engine: unused buffers, and the text of a millisecond.

    The buffers are a stack, the last returned on top, in slots that stay: list.pop
    shrinks the list, which costs more than all the rest of a small reply.  The text is
    the first half of the last ID written: neighbours in a stream usually share it.
    """

    def __init__(self) -> None:
        self.slots: list[bytearray] = []
        self.top = 0
        self.held_bytes = 0
        self.guard: Guard | None = None
        self.text = bytearray(3 * mem.SLACK)
        self.t: mem.Pointer = self.text
        self.ms = 0
        self.n = mem.put_uint(self.t, 0, 0)

    def take(self) -> bytearray:
        """A buffer; its old content is still in it."""
        if self.top == 0:
            return bytearray(FIRST_BUFFER)
        self.top -= 1
        buf = self.slots[self.top]
        self.slots[self.top] = NOTHING
        self.held_bytes -= len(buf)
        return buf

    def give(self, buf: bytearray) -> None:
        """Keep a buffer for the next use, unless there are enough of them."""
        size = len(buf)
        if size <= LARGEST_SPARE and self.held_bytes + size <= SPARE_BYTES:
            if self.top == len(self.slots):
                self.slots.append(buf)
            else:
                self.slots[self.top] = buf
            self.top += 1
            self.held_bytes += size

    def put_id(self, d: mem.Pointer, at: int, ms: int, seq: int) -> int:
        """Write ``ms-seq`` as a bulk string at d[at]; the index after it.

        Needs STREAM_ID bytes.
        """
        if ms != self.ms:
            self.ms = ms
            self.n = mem.put_uint(self.t, 0, ms)
        # Written as if the length had two digits, which is true for all but tiny IDs.
        mem.copy_short(d, at + 5, self.t, 0, self.n)
        o = at + 5 + self.n
        d[o] = DASH
        o = mem.put_uint(d, o + 1, seq)
        n = o - at - 5
        d[at] = DOLLAR
        if n >= 10:
            mem.put_uint(d, at + 1, n)
        else:
            d[at + 1] = 48 + n
            mem.move(d, at + 4, at + 5, n)
            o -= 1
        d[o - n - 2] = 13
        d[o - n - 1] = 10
        d[o] = 13
        d[o + 1] = 10
        return o + 2


def put_bulk(d: mem.Pointer, o: int, src: mem.Source, at: int, n: int) -> int:
    """Write n bytes of src as a bulk string at ``o``; the index after it."""
    d[o] = DOLLAR
    o = mem.put_uint(d, o + 1, n)
    d[o] = 13
    d[o + 1] = 10
    mem.copy(d, o + 2, src, at, n)
    o += n + 2
    d[o] = 13
    d[o + 1] = 10
    return o + 2


class RespWriter:
    """The output of one client, or of the effects: one growing buffer.

    A writer that belongs to no engine has a pool of its own.
    """

    def __init__(self, resp: int = 2, pool: WriterPool | None = None) -> None:
        self.resp = resp
        self.pool = WriterPool() if pool is None else pool
        self.buf = NOTHING
        self.p: mem.Pointer = NOTHING
        self.start = 0
        self.size = 0
        self.cap = 0
        #: Full buffers, the oldest first, or None; the sent part of the first, the size of all.
        self.aside: list[bytearray] | None = None
        self.aside_start = 0
        self.aside_bytes = 0

    # The buffer

    def need(self, n: int) -> None:
        """Make sure that n bytes fit after ``size``."""
        if self.cap - self.size < n:
            self.grow(n)

    def grow(self, n: int) -> None:
        """Get a buffer, or a larger one with the same content."""
        buf = self.buf
        if self.cap == 0:
            buf = self.pool.take()
        if len(buf) - self.size < n:
            if self.size + n > GUARDED_BYTES and self.pool.guard is not None:
                self.pool.guard.check(self, self.pending() + n)
            mem.lengthen(buf, max(2 * len(buf), self.size + n))
        self.buf = buf
        self.p = buf
        self.cap = len(buf)

    def pending(self) -> int:
        """How many bytes wait to be sent."""
        return self.aside_bytes + self.size - self.start

    def room_bytes(self) -> int:
        """The size of the memory in which they wait."""
        return self.aside_bytes + self.cap

    def view(self) -> memoryview:
        """The waiting bytes, in place; release the view before anything is written."""
        return memoryview(self.buf)[self.start : self.size]

    def consume(self, n: int) -> None:
        """The first n bytes that wait in the buffer were sent; nothing is set aside.

        The rest moves to the front only if it is no longer than the part
        already sent, so that a slow reader costs each byte one move at most.
        """
        if n < 0 or n > self.size - self.start:
            raise ValueError("more consumed than was waiting")
        self.start += n
        rest = self.size - self.start
        if rest == 0:
            self.release()
        elif rest <= self.start:
            mem.copy(self.p, 0, self.p, self.start, rest)
            self.start = 0
            self.size = rest

    def set_aside(self) -> None:
        """Rule 5: begin another buffer, if this one is large and nearly full."""
        if self.size >= ASIDE_BYTES and self.cap - self.size <= self.cap // 5:
            del self.buf[self.size :]
            if self.aside is None:
                self.aside = []
                self.aside_start = self.start
            self.aside.append(self.buf)
            self.aside_bytes += self.size - self.start
            self.let_go()

    def consume_aside(self, n: int) -> None:
        """The first n of the bytes set aside were sent; they are in one buffer."""
        assert self.aside is not None
        self.aside_start += n
        self.aside_bytes -= n
        if self.aside_start == len(self.aside[0]):
            del self.aside[0]
            self.aside_start = 0
            if not self.aside:
                self.aside = None

    def clear(self) -> None:
        """Drop everything and return the buffer."""
        self.aside = None
        self.aside_bytes = 0
        self.release()

    def release(self) -> None:
        """Drop the bytes in the buffer, and return it."""
        if self.cap > 0:
            self.pool.give(self.buf)
        self.let_go()

    def let_go(self) -> None:
        """Have no buffer."""
        self.buf = NOTHING
        self.p = NOTHING
        self.start = self.size = self.cap = 0

    def take(self) -> bytes:
        """The waiting bytes as an object; nothing waits afterwards."""
        content = mem.to_bytes(self.p, self.start, self.size - self.start)
        self.clear()
        return content

    def rewind(self, mark: int) -> None:
        """Remove the bytes after an earlier ``size``."""
        if mark < self.start or mark > self.size:
            raise ValueError("a mark that is not in the waiting bytes")
        if mark == self.start:
            self.release()
        else:
            self.size = mark

    def insert(self, mark: int, data: bytes) -> None:
        """Insert bytes before those written since ``mark``: some values are known last."""
        n = len(data)
        self.need(n)
        mem.move(self.p, mark + n, mark, self.size - mark)
        mem.copy(self.p, mark, data, 0, n)
        self.size += n

    # Headers and lengths

    def header(self, kind: int, n: int) -> None:
        """A type byte and a count: ``*3``."""
        if n < 0:
            raise ValueError("a length below zero")
        self.need(HEADER)
        p = self.p
        o = self.size
        p[o] = kind
        o = mem.put_uint(p, o + 1, n)
        p[o] = 13
        p[o + 1] = 10
        self.size = o + 2

    def array(self, n: int) -> None:
        """The header of n elements."""
        self.header(STAR, n)

    def map(self, n: int) -> None:
        """The header of n pairs."""
        if self.resp == 2:
            self.header(STAR, 2 * n)
        else:
            self.header(PERCENT, n)

    def set(self, n: int) -> None:
        """The header of n different elements."""
        self.header(STAR if self.resp == 2 else TILDE, n)

    def push(self, n: int) -> None:
        """The header of a message that is not a reply."""
        self.header(STAR if self.resp == 2 else GREATER, n)

    def open_array(self, guess: int) -> int:
        """An array whose length is not known yet; close_array takes the returned mark."""
        mark = self.size
        self.array(guess)
        return mark

    def close_array(self, mark: int, n: int) -> None:
        """Write the true length; moves the elements only if the guess had another width."""
        at = mark + 1
        end = mem.find(self.p, at, self.size, 13)
        shift = mem.uint_len(n) - (end - at)
        if shift != 0:
            if shift > 0:
                self.need(shift)
            mem.move(self.p, end + shift, end, self.size - end)
            self.size += shift
        mem.put_uint(self.p, at, n)

    def open_map(self, guess: int) -> int:
        """A map whose length is not known yet."""
        mark = self.size
        self.map(guess)
        return mark

    def close_map(self, mark: int, n: int) -> None:
        """Write the true number of pairs."""
        self.close_array(mark, 2 * n if self.resp == 2 else n)

    # Scalars

    def span(self, src: mem.Source, at: int, n: int) -> None:
        """A bulk string of n bytes that lie at src[at]; src is not this buffer."""
        self.need(HEADER + n + 2)
        self.size = put_bulk(self.p, self.size, src, at, n)

    def bulk(self, data: bytes) -> None:
        """A string of any bytes."""
        self.span(data, 0, len(data))

    def stream_id(self, ms: int, seq: int) -> None:
        """An entry ID as the bulk string ``ms-seq``."""
        self.need(STREAM_ID)
        self.size = self.pool.put_id(self.p, self.size, ms, seq)

    def number(self, value: int) -> None:
        """A signed 64-bit number as a bulk string: an argument of a command."""
        assert mem.signed(mem.wrap(value)) == value, "more than 64 bits"
        self.need(2 * HEADER)
        p = self.p
        o = self.size
        size = mem.wrap(0 - mem.wrap(value)) if value < 0 else mem.wrap(value)
        p[o] = DOLLAR
        o = mem.put_uint(p, o + 1, mem.uint_len(size) + (value < 0))
        p[o] = 13
        p[o + 1] = 10
        o += 2
        if value < 0:
            p[o] = DASH
            o += 1
        o = mem.put_uint(p, o, size)
        p[o] = 13
        p[o + 1] = 10
        self.size = o + 2

    def integer(self, value: int) -> None:
        """A signed 64-bit number."""
        assert mem.signed(mem.wrap(value)) == value, "more than 64 bits"
        self.need(HEADER)
        p = self.p
        o = self.size
        p[o] = COLON
        o += 1
        if value < 0:
            p[o] = 45
            o = mem.put_uint(p, o + 1, mem.wrap(0 - mem.wrap(value)))
        else:
            o = mem.put_uint(p, o, value)
        p[o] = 13
        p[o + 1] = 10
        self.size = o + 2

    def raw(self, data: bytes) -> None:
        """Bytes that are already in the protocol."""
        n = len(data)
        self.need(n)
        mem.copy(self.p, self.size, data, 0, n)
        self.size += n

    def bytes_of(self, buf: bytearray, at: int, n: int) -> None:
        """Literal bytes buf[at:at+n]."""
        if at < 0 or n < 0 or at + n > len(buf):
            raise ValueError("a range that is not in the buffer")
        self.need(n)
        mem.copy(self.p, self.size, buf, at, n)
        self.size += n

    def ok(self) -> None:
        """The status OK."""
        self.raw(b"+OK\r\n")

    def null(self) -> None:
        """No value."""
        self.raw(b"$-1\r\n" if self.resp == 2 else b"_\r\n")

    def null_array(self) -> None:
        """No value, in place of an array."""
        self.raw(b"*-1\r\n" if self.resp == 2 else b"_\r\n")

    def status(self, text: bytes) -> None:
        """A short line."""
        self.raw(b"+%b\r\n" % one_line(text))

    def error(self, text: bytes) -> None:
        """A line that begins with a code, such as ERR or WRONGTYPE."""
        self.raw(b"-%b\r\n" % one_line(text))

    def double(self, value: float) -> None:
        """A floating-point number, in the shortest form that reads back the same."""
        text = double_text(value)
        if self.resp == 2:
            self.bulk(text)
        else:
            self.raw(b",%b\r\n" % text)

    def boolean(self, value: bool) -> None:
        """True or false; one or zero in RESP2."""
        if self.resp == 2:
            self.integer(1 if value else 0)
        else:
            self.raw(b"#t\r\n" if value else b"#f\r\n")

    def verbatim(self, form: bytes, text: bytes) -> None:
        """Text to be shown as it is; ``form`` is three letters, such as txt."""
        if self.resp == 2:
            self.bulk(text)
        else:
            self.raw(b"=%d\r\n%b:%b\r\n" % (len(text) + 4, form, text))

    def value(self, obj: Any) -> None:
        """Any value that a plain handler returns, nested to any depth."""
        if obj is None:
            self.null()
        elif isinstance(obj, bool):
            self.boolean(obj)
        elif isinstance(obj, int):
            self.integer(obj)
        elif isinstance(obj, bytes):
            self.bulk(obj)
        elif isinstance(obj, str):
            self.status(obj.encode())
        elif isinstance(obj, float):
            self.double(obj)
        else:
            self.collection(obj)

    def collection(self, obj: Any) -> None:
        """A list, tuple, dict or set, with all its items."""
        if isinstance(obj, dict):
            self.map(len(obj))
            obj = [each for pair in obj.items() for each in pair]
        elif isinstance(obj, (set, frozenset)):
            self.set(len(obj))
        elif isinstance(obj, (list, tuple)):
            self.array(len(obj))
        else:
            raise TypeError(f"no reply has the shape of {type(obj).__name__}")
        for item in obj:
            self.value(item)


def one_line(text: bytes) -> bytes:
    """The text without line ends: dropped at its ends, spaces inside."""
    return text.strip(b"\r\n").replace(b"\r", b" ").replace(b"\n", b" ")


def double_text(value: float) -> bytes:
    """inf, -inf, nan, a whole number without a point, or the shortest decimal."""
    if abs(value) < LARGEST_PLAIN and value == int(value):
        return b"%d" % int(value)
    return repr(value).encode()
