"""Bytes in, commands out: the request half of the protocol, without a socket.

A request is an array of bulk strings, or one line of words typed by a person:

    *2 CRLF $4 CRLF XLEN CRLF $6 CRLF orders CRLF
    XLEN "orders" LF

How to use it: append the received bytes to the rest, ``load`` the place of those
bytes, then call ``next`` until it answers 0; bytes before ``pos`` are consumed.
After more bytes have arrived, or the bytes have moved, ``load`` again with the new
place of byte ``pos``.

    buf   [ done | a command that is not complete yet ..... | free ]
                pos            pos + reached              end

Rules
  1. Nothing is read twice: ``reached`` is the end of the parsed bytes and ``scanned``
     the end of the bytes without a line end.  Both count from ``pos``, so they stay
     right when the bytes move.
  2. The size of the received pieces never changes the result.
  3. Memory is allocated when the bytes have arrived, not when a length is announced.
     ``want`` tells the caller how many bytes are known to be missing.
  4. Garbage raises only ProtocolError, with the words of Redis.  After an exception
     the parser is unusable: close the connection.
  5. As in Redis, only CR is looked at: the byte after it, and the two bytes
     after a bulk string, may be anything.
"""

from __future__ import annotations

from forebay import mem
from forebay.errors import ProtocolError, WrongPortError
from forebay.wire.argv import Argv
from forebay.wire.chars import CR, DOLLAR, LF, STAR
from forebay.wire.inline import split_line

# Limits for a client that has not given its password yet.
STRANGER_MAX_ARGS = 10
STRANGER_MAX_BULK = 16384
# The first byte of a client that speaks TLS, which no line of words begins with.
TLS_HELLO = 0x16
SPEAKS_TLS = "ERR Protocol error: it speaks TLS, and this port speaks plain text"
# Larger than any memory, and small enough that no sum of offsets overflows.
BULK_CEILING = 1 << 62


class Limits:
    """How large a request may be.

    Numbers of one or two digits are not compared with anything: a maximum
    below 99 acts like 99.
    """

    def __init__(
        self,
        max_bulk_len: int = 512 << 20,
        max_args: int = mem.I32_MAX,
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
        self.p: mem.Source = self.buf
        self.pos = 0
        self.end = 0
        self.want = 0
        self.reached = 0
        self.scanned = 0
        self.got = 0
        self.left = 0
        self.bulk_len = -1

    def load(self, buf: bytes | bytearray, start: int, end: int) -> None:
        """The bytes not yet consumed are buf[start:end]."""
        if start < 0 or end < start or end > len(buf):
            raise ValueError("a range that is not in the buffer")
        if self.got > 0 and start != self.pos:
            self.argv.rebase(self.got, start - self.pos)
        self.buf = buf
        self.p = buf
        self.argv.use(buf)
        self.pos = start
        self.end = end

    def next(self) -> bool:
        """True if ``argv`` holds the next command (perhaps empty), False if bytes are missing."""
        if self.left == 0:
            if self.pos >= self.end:
                self.rest()
                return False
            if self.p[self.pos] != STAR:
                return self.next_line()
            if not self.open_array():
                return False
        return self.next_bulks()

    def rest(self) -> None:
        """All bytes are consumed: release everything that an idle client does not need."""
        self.buf = b""
        self.p = self.buf
        self.argv.use(self.buf)
        self.argv.n = 0
        self.argv.shrink()
        self.end = self.pos
        self.want = 0

    def finish(self, n: int, at: int) -> None:
        """A command of n arguments is complete and ends at ``at``."""
        self.argv.n = n
        self.pos = at
        self.reached = 0
        self.scanned = 0
        self.got = 0
        self.bulk_len = -1
        self.want = 0

    def next_line(self) -> bool:
        """A command that is a line of words."""
        if self.p[self.pos] == TLS_HELLO:
            raise WrongPortError(SPEAKS_TLS)
        lf = self.find_in_line(self.pos, LF, "too big inline request")
        if lf < 0:
            return False
        stop = lf
        if lf > self.pos and self.p[lf - 1] == CR:
            stop -= 1
        line = bytearray(mem.to_bytes(self.p, self.pos, stop - self.pos))
        if not split_line(self.argv, line):
            raise protocol_error("unbalanced quotes in request")
        self.argv.is_request = False
        self.finish(self.argv.n, lf + 1)
        return True

    def open_array(self) -> bool:
        """Read ``*n``; False if the line is incomplete.  An empty array is consumed."""
        at = self.pos + 1
        n = mem.short_line(self.p, at, self.end)
        if n >= 0:
            cr = at + 1 if n < 10 else at + 2
        else:
            cr = self.find_line_end(self.pos, "too big mbulk count string")
            if cr < 0:
                return False
            ok, n = mem.parse_int(self.p, at, cr - at)
            if not ok or n > self.limits.max_args:
                raise protocol_error("invalid multibulk length")
        if n > STRANGER_MAX_ARGS and not self.limits.authenticated:
            raise protocol_error("unauthenticated multibulk length")
        self.reached = cr + 2 - self.pos
        self.left = max(n, 0)
        return True

    def next_bulks(self) -> bool:
        """Continue with the bulk strings of an array."""
        argv = self.argv
        p = self.p
        w = argv.w
        end = self.end
        at = self.pos + self.reached
        n = self.bulk_len
        i = self.got
        last = i + self.left
        while i < last:
            if n < 0:
                n = mem.short_line(p, at + 1, end)
                if n >= 0 and p[at] == 36:
                    at += 4 if n < 10 else 5
                else:
                    n = self.bulk_header(at)
                    if n < 0:
                        break
                    at = self.pos + self.reached
            if end - at - 2 < n:
                break
            if i >= argv.room:
                argv.reserve(i + 1)
                w = argv.w
            w[2 * i] = at
            w[2 * i + 1] = n
            at += n + 2
            i += 1
            n = -1
        self.left = last - i
        if i < last:
            self.pause(i, at, n)
            return False
        if argv.buf is not self.buf:
            argv.use(self.buf)
        argv.is_request = True
        self.finish(i, at)
        return True

    def pause(self, i: int, at: int, n: int) -> None:
        """Remember where the bytes ended: i arguments, at a header or in a bulk of n bytes."""
        self.got = i
        self.reached = at - self.pos
        self.bulk_len = n
        self.want = n + 2 - (self.end - at) if n >= 0 else 0

    def bulk_header(self, at: int) -> int:
        """Read ``$n`` with all checks: n, and ``reached`` after it; -1 if it is incomplete."""
        cr = self.find_line_end(at, "too big bulk count string")
        if cr < 0:
            return -1
        if self.p[at] != DOLLAR:
            got = mem.to_bytes(self.p, at, 1)
            raise ProtocolError(b"ERR Protocol error: expected '$', got '%b'" % got)
        ok, n = mem.parse_int(self.p, at + 1, cr - at - 1)
        if not ok or n < 0 or n > min(self.limits.max_bulk_len, BULK_CEILING):
            raise protocol_error("invalid bulk length")
        if n > STRANGER_MAX_BULK and not self.limits.authenticated:
            raise protocol_error("unauthenticated bulk length")
        self.reached = cr + 2 - self.pos
        return n

    def find_line_end(self, at: int, too_big: str) -> int:
        """Index of the CR that ends the line at ``at``; -1 if it or the next byte is missing."""
        cr = self.find_in_line(at, CR, too_big)
        if cr >= 0 and cr + 1 >= self.end:
            return -1
        return cr

    def find_in_line(self, at: int, byte: int, too_big: str) -> int:
        """Index of the first such byte in the line at ``at``, or -1 if it has not arrived yet."""
        self.want = 0
        hit = mem.find(self.p, max(at, self.pos + self.scanned), self.end, byte)
        seen = self.end if hit < 0 else hit
        self.scanned = seen - self.pos
        if seen - at > self.limits.max_inline:
            raise protocol_error(too_big)
        return hit


def protocol_error(text: str) -> ProtocolError:
    """The error of a request that cannot be understood."""
    return ProtocolError("ERR Protocol error: " + text)
