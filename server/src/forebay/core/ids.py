"""Entry IDs: parse, print, order, step.

An ID is two unsigned 64-bit numbers, written ``ms-seq`` and compared first by
``ms``, then by ``seq``.  Inside the server it is always two plain numbers side
by side; as a key of the radix tree it is sixteen big-endian bytes, so that the
order of the bytes is the order of the IDs.

    text    1526919030474-55      what clients send and read
    key     00 00 01 63 .. 37     16 bytes, big-endian, sortable
    number  (1526919030474, 55)   everywhere else

The forms of an ID depend on the command:
  strict    ms or ms-seq                     (XADD, XREAD, XACK ...)
  bound     strict, or '-' or '+'            (XGROUP SETID)
  interval  bound, or '(' before a strict ID (XRANGE, XPENDING ...)
"""

from __future__ import annotations

from forebay import mem
from forebay.errors import INVALID_ID, CommandError

MAX_TEXT = 127  # a longer argument is refused, as in Redis
BAD_START = b"ERR invalid start ID for the interval"
BAD_END = b"ERR invalid end ID for the interval"
_BLANKS = b" \t\n\v\f\r"


def text(ms: int, seq: int) -> bytes:
    """The ID as clients see it."""
    return b"%d-%d" % (ms, seq)


def key(ms: int, seq: int) -> bytes:
    """The ID as a sortable key of sixteen bytes."""
    return ms.to_bytes(8, "big") + seq.to_bytes(8, "big")


def from_key(raw: bytes) -> tuple[int, int]:
    """The ID in a sixteen-byte key."""
    return int.from_bytes(raw[:8], "big"), int.from_bytes(raw[8:16], "big")


def before(a_ms: int, a_seq: int, b_ms: int, b_seq: int) -> bool:
    """Whether ID a comes before ID b."""
    return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)


def successor(ms: int, seq: int) -> tuple[bool, int, int]:
    """The next possible ID; false if there is none."""
    if seq != mem.U64_MAX:
        return True, ms, seq + 1
    if ms != mem.U64_MAX:
        return True, ms + 1, 0
    return False, 0, 0


def predecessor(ms: int, seq: int) -> tuple[bool, int, int]:
    """The ID just before; false if there is none."""
    if seq != 0:
        return True, ms, seq - 1
    if ms != 0:
        return True, ms - 1, mem.U64_MAX
    return False, 0, 0


def parse(p: mem.Source, at: int, n: int, default_seq: int) -> tuple[bool, int, int]:
    """A strict ID; ``default_seq`` is used if only the ms part is given."""
    dash = mem.find(p, at, at + n, 45)
    if n > MAX_TEXT:
        return False, 0, 0
    if dash < 0:
        ok, ms = mem.parse_uint(p, at, n)
        if ok:
            return True, ms, default_seq
        return _parse_odd(mem.to_bytes(p, at, n), default_seq)
    ok, ms = mem.parse_uint(p, at, dash - at)
    if ok:
        ok, seq = mem.parse_uint(p, dash + 1, at + n - dash - 1)
        if ok:
            return True, ms, seq
    return _parse_odd(mem.to_bytes(p, at, n), default_seq)


def _parse_odd(raw: bytes, default_seq: int) -> tuple[bool, int, int]:
    """The forms that C's strtoull accepts: blanks, a sign, a NUL that ends the text."""
    head, dash, tail = raw.split(b"\0", 1)[0].partition(b"-")
    ms = _parse_odd_part(head)
    seq = _parse_odd_part(tail) if dash else default_seq
    if ms is None or seq is None:
        return False, 0, 0
    return True, ms, seq


def _parse_odd_part(raw: bytes) -> int | None:
    ok, value = mem.parse_int(raw, 0, len(raw))
    if ok:
        return value if value >= 0 else None
    digits = raw.lstrip(_BLANKS)
    minus = digits[:1] == b"-"
    if digits[:1] in (b"+", b"-"):
        digits = digits[1:]
    ok, value = mem.parse_uint(digits, 0, len(digits))
    if not ok:
        return None
    # C's unsigned numbers wrap; the compiled mem.wrap() takes no negative object.
    return -value % (1 << 64) if minus else value


def parse_bound(p: mem.Source, at: int, n: int, default_seq: int) -> tuple[bool, int, int]:
    """A strict ID, or '-' for the smallest and '+' for the largest."""
    if n == 1 and p[at] == 45:
        return True, 0, 0
    if n == 1 and p[at] == 43:
        return True, mem.U64_MAX, mem.U64_MAX
    return parse(p, at, n, default_seq)


def interval_start(p: mem.Source, at: int, n: int) -> tuple[int, int]:
    """The first ID of an interval; '(' excludes the given ID."""
    if n > 0 and p[at] == 40:
        ok, ms, seq = parse(p, at + 1, n - 1, 0)
        if not ok:
            raise CommandError(INVALID_ID)
        ok, ms, seq = successor(ms, seq)
        if not ok:
            raise CommandError(BAD_START)
        return ms, seq
    ok, ms, seq = parse_bound(p, at, n, 0)
    if not ok:
        raise CommandError(INVALID_ID)
    return ms, seq


def interval_end(p: mem.Source, at: int, n: int) -> tuple[int, int]:
    """The last ID of an interval; an ID without a sequence includes all of that millisecond."""
    if n > 0 and p[at] == 40:
        ok, ms, seq = parse(p, at + 1, n - 1, mem.U64_MAX)
        if not ok:
            raise CommandError(INVALID_ID)
        ok, ms, seq = predecessor(ms, seq)
        if not ok:
            raise CommandError(BAD_END)
        return ms, seq
    ok, ms, seq = parse_bound(p, at, n, mem.U64_MAX)
    if not ok:
        raise CommandError(INVALID_ID)
    return ms, seq
