"""Listpack: a packed list of strings and integers, byte for byte as Redis stores it.

    total bytes | elements |  element  |  element  | ... | 0xFF
      4, LE     |  2, LE   |

    element  =  encoding, data, backlen
    backlen  =  size of encoding and data, 7 bits a byte, readable from its end

    0xxxxxxx             integer 0..127
    10nnnnnn  data       string up to 63 bytes
    110xxxxx x           integer of 13 bits, two's complement
    1110nnnn n  data     string up to 4095 bytes
    F0 nnnn  data        string of up to 2^32-1 bytes, length little-endian
    F1 F2 F3 F4          integer of 16, 24, 32, 64 bits, little-endian

These are functions over a buffer and an index, not a class: a stream node owns
the bytes and knows where its elements are.  Rules
  1. A string that is a canonical 64-bit decimal is stored as that integer.
  2. The caller makes room for writers: at most HEAD_MAX + BACK_MAX bytes beyond
     the string itself.
  3. Readers trust their bytes; bytes from outside are checked before they get
     here.
"""

from __future__ import annotations

from forebay import mem

HEADER = 6
HEAD_MAX = 9  # an encoding byte and eight of an integer
BACK_MAX = 5
OVERHEAD_MAX = 14
BIT63 = 1 << 63
BIT24 = 1 << 24
BIT32 = 1 << 32


def put_int(p: mem.Pointer, at: int, value: int) -> int:
    """Write an integer element; the index after it."""
    if 0 <= value <= 127:
        p[at] = value
        p[at + 1] = 1
        return at + 2
    bits = mem.wrap(value)
    if -4096 <= value <= 4095:
        p[at] = 0xC0 | ((bits >> 8) & 0x1F)
        p[at + 1] = bits & 255
        p[at + 2] = 2
        return at + 3
    size = 8
    if -32768 <= value <= 32767:
        p[at] = 0xF1
        size = 2
    elif -8388608 <= value <= 8388607:
        p[at] = 0xF2
        size = 3
    elif mem.I32_MIN <= value <= mem.I32_MAX:
        p[at] = 0xF3
        size = 4
    else:
        p[at] = 0xF4
    mem.put_le(p, at + 1, size, bits)
    p[at + 1 + size] = size + 1
    return at + size + 2


def int_size(value: int) -> int:
    """Bytes that put_int writes."""
    if 0 <= value <= 127:
        return 2
    if -4096 <= value <= 4095:
        return 3
    if -32768 <= value <= 32767:
        return 4
    if -8388608 <= value <= 8388607:
        return 5
    if mem.I32_MIN <= value <= mem.I32_MAX:
        return 6
    return 10


def put_backlen(p: mem.Pointer, at: int, size: int) -> int:
    """Write the length of the element before, so that it can be read backwards."""
    if size <= 127:
        p[at] = size
        return at + 1
    count = backlen_size(size)
    step = count - 1
    p[at] = (size >> (7 * step)) & 127
    at += 1
    while step > 0:
        step -= 1
        p[at] = ((size >> (7 * step)) & 127) | 128
        at += 1
    return at


def backlen_size(size: int) -> int:
    """The size of the backlen of an element of ``size`` bytes."""
    if size <= 127:
        return 1
    if size < 16383:
        return 2
    if size < 2097151:
        return 3
    if size < 268435455:
        return 4
    return 5


def put_string(p: mem.Pointer, at: int, src: mem.Source, src_at: int, n: int) -> int:
    """Write a string element, as an integer where it reads like one; the index after it."""
    if n <= 20:
        ok, value = mem.parse_int(src, src_at, n)
        if ok:
            return put_int(p, at, value)
    if n <= 63:
        p[at] = 0x80 | n
        mem.copy(p, at + 1, src, src_at, n)
        p[at + 1 + n] = n + 1
        return at + n + 2
    if n <= 4095:
        p[at] = 0xE0 | (n >> 8)
        p[at + 1] = n & 255
        mem.copy(p, at + 2, src, src_at, n)
        return put_backlen(p, at + 2 + n, n + 2)
    p[at] = 0xF0
    mem.put_le(p, at + 1, 4, n)
    mem.copy(p, at + 5, src, src_at, n)
    return put_backlen(p, at + 5 + n, n + 5)


def is_int(p: mem.Source, at: int) -> bool:
    """Whether the element at ``at`` is an integer."""
    head: int = p[at]
    return head < 128 or 192 <= head < 224 or head > 240


def read_int(p: mem.Source, at: int) -> tuple[int, int]:
    """An integer element: its value, and the index after it."""
    head: int = p[at]
    if head < 128:
        return head, at + 2
    if head < 224:
        value = ((head & 31) << 8) | p[at + 1]
        return value if value < 4096 else value - 8192, at + 3
    size = head - 0xEF if head != 0xF4 else 8
    return sign_extend(mem.get_le(p, at + 1, size), size), at + size + 2


def read_string(p: mem.Source, at: int) -> tuple[int, int]:
    """A string element: where its bytes begin, and how many there are."""
    head: int = p[at]
    if head < 192:
        return at + 1, head & 63
    if head < 240:
        return at + 2, ((head & 15) << 8) | p[at + 1]
    return at + 5, mem.get_le(p, at + 1, 4)


def sign_extend(bits: int, size: int) -> int:
    """``size`` little-endian bytes read as a signed number."""
    if size == 2 and bits >= 32768:
        return mem.signed(bits) - 65536
    if size == 3 and bits >= 8388608:
        return mem.signed(bits) - BIT24
    if size == 4 and bits >= 2147483648:
        return mem.signed(bits) - BIT32
    return mem.signed(bits)


def skip(p: mem.Source, at: int) -> int:
    """The index of the next element."""
    head: int = p[at]
    if head < 128:
        return at + 2
    if head < 192:
        return at + (head & 63) + 2
    if is_int(p, at):
        _, at = read_int(p, at)
        return at
    start, n = read_string(p, at)
    return start + n + backlen_size(start - at + n)


def back(p: mem.Source, at: int) -> int:
    """The index of the element that ends just before ``at``."""
    at -= 1
    size: int = p[at] & 127
    if p[at] < 128:
        return at - size
    shift = 7
    while p[at] >= 128:
        at -= 1
        part = p[at] & 127
        size |= part << shift
        shift += 7
    return at - size


def same_string(p: mem.Source, at: int, src: mem.Source, src_at: int, n: int) -> bool:
    """Whether the element at ``at`` is the string src[src_at:src_at+n]."""
    if is_int(p, at):
        ok, given = mem.parse_int(src, src_at, n)
        value, _ = read_int(p, at)
        return ok and given == value
    start, size = read_string(p, at)
    return size == n and mem.equal(p, start, src, src_at, n)


def element(p: mem.Source, at: int) -> bytes:
    """The element at ``at`` as the bytes a client sees."""
    if is_int(p, at):
        value, _ = read_int(p, at)
        return b"%d" % value
    start, size = read_string(p, at)
    return mem.to_bytes(p, start, size)
