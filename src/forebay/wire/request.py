"""Bytes in, commands out: the request half of the protocol, without a socket.

A request is an array of bulk strings, or one line of words typed by a person:

    *2 CRLF $4 CRLF XLEN CRLF $6 CRLF orders CRLF
    XLEN "orders" LF

How a caller uses it: put what was received behind what is left, ``load`` the
place of those bytes, then ``next`` until it answers 0; bytes before ``pos`` are
done with.  When more has come, or the bytes have moved, ``load`` again with the
new place of byte ``pos``.

    buf   [ done | a command that is not whole yet ........ | free ]
                pos            pos + reached              end

Rules
  1. Nothing is read twice: ``reached`` is the end of what was understood and
     ``scanned`` the end of what holds no line end.  Both count from ``pos``, so
     they stay right when the bytes move.
  2. How the bytes are cut into pieces never changes what comes out.
  3. Nothing is allocated because a length was announced; it is allocated when
     the bytes are there.  ``want`` tells the caller how many are known to miss.
  4. Garbage raises ProtocolError with the words of Redis and nothing else.  A
     parser that has raised is done: the connection is to be closed.
  5. As in Redis, only CR is looked at: the byte behind it, and the two bytes
     behind a bulk string, may be anything.
"""

from __future__ import annotations

from forebay import mem
from forebay.errors import ProtocolError
from forebay.wire.argv import Argv
from forebay.wire.inline import split_line

# What a client may send before it has given its password.
STRANGER_MAX_ARGS = 10
STRANGER_MAX_BULK = 16384
# Numbers up to this many digits are read on the fast path and cannot overflow.
FAST_DIGITS = 9

STAR, DOLLAR, CR, LF, QUOTE, APOSTROPHE = b"*$\r\n\"'"


class Limits:
    """How large a request may be."""

    def __init__(
        self,
        max_bulk_len: int = 512 << 20,
        max_args: int = (1 << 31) - 1,
        max_inline: int = 64 << 10,
        authenticated: bool = True,
    ) -> None:
        self.max_bulk_len = max_bulk_len
        self.max_args = max_args
        # Also the longest line that may announce a length.
        self.max_inline = max_inline
        self.authenticated = authenticated


class RequestParser:
    """Cuts one client's bytes into commands; each appears in ``argv`` in turn."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.argv = Argv()
        self.buf: bytes | bytearray = b""
        self.p: mem.Pointer = self.buf
        self.pos = 0
        self.end = 0
        self.want = 0
        self.reached = 0
        self.scanned = 0
        self.got = 0
        self.left = 0
        self.bulk_len = -1

    def load(self, buf: bytes | bytearray, start: int, end: int) -> int:
        """The bytes not yet consumed are buf[start:end]."""
        if start < 0 or end < start or end > len(buf):
            raise ValueError("a range that is not in the buffer")
        if self.got > 0 and start != self.pos:
            self.argv.rebase(self.got, start - self.pos)
        self.buf = buf
        self.p = buf
        self.pos = start
        self.end = end
        return 0

    def next(self) -> int:
        """1: ``argv`` holds the next command (perhaps an empty one); 0: more bytes are needed."""
        if self.left == 0:
            if self.pos >= self.end:
                self.want = 0
                return 0
            if self.argv.room != self.argv.few:
                self.argv.shrink()
            if self.p[self.pos] != STAR:
                return self.next_inline()
            if not self.open_array():
                return 0
            if self.left == 0:
                return self.finish(0)
        return self.next_bulks()

    def open_array(self) -> bool:
        """Read ``*n``; False if the line is not whole."""
        cr = self.find_cr(0, "too big mbulk count string")
        if cr < 0:
            return False
        at = self.pos + 1
        ok, n = mem.parse_int(self.p, at, cr - at)
        if not ok or n > self.limits.max_args:
            raise protocol_error("invalid multibulk length")
        if n > STRANGER_MAX_ARGS and not self.limits.authenticated:
            raise protocol_error("unauthenticated multibulk length")
        self.reached = cr + 2 - self.pos
        self.left = n if n > 0 else 0
        return True

    def next_bulks(self) -> int:
        """Go on with the bulk strings of an array."""
        argv = self.argv
        p = self.p
        end = self.end
        at = self.pos + self.reached
        n = self.bulk_len
        i = self.got
        while self.left > 0:
            if n < 0:
                at, n = self.bulk_header(at)
                if n < 0:
                    break
            if end - at < n + 2:
                break
            if i >= argv.room:
                argv.reserve(i + 1)
            argv.w[2 * i] = at
            argv.w[2 * i + 1] = n
            at += n + 2
            i += 1
            n = -1
            self.left -= 1
        self.reached = at - self.pos
        self.got = i
        self.bulk_len = n
        if self.left > 0:
            self.want = n + 2 - (end - at) if n >= 0 else 0
            return 0
        argv.use(self.buf)
        return self.finish(i)
