"""Entries from a node straight into a reply: the one bridge between core and wire.

    listpack   flags ms seq | value value ... lp-count       master: field field ...
                               |     |                                |
    reply      *2  $ID  *4  $field $value $field $value  ------------'

No Python object is made for an entry, a field or a value.  Room for an entry is
reserved once, from an upper bound; within it bytes are stored without checks:
an element of n stored bytes takes at most n + ELEMENT_ROOM bytes on the wire (a
64-bit integer grows most: 10 bytes stored, 29 sent).
"""

from __future__ import annotations

from forebay import mem
from forebay.core import listpack
from forebay.core.cursor import Cursor
from forebay.wire import resp_writer
from forebay.wire.chars import DOLLAR, STAR
from forebay.wire.resp_writer import RespWriter

ELEMENT_ROOM = 24
# The ID, three headers, and the bytes that copy_short() may touch after the last one.
ENTRY_ROOM = 112


def put_integer(d: mem.Pointer, o: int, value: int) -> int:
    """A stored integer as the bulk string that a client sees."""
    if 0 <= value < 10:
        d[o] = DOLLAR
        d[o + 1] = 49
        d[o + 2] = 13
        d[o + 3] = 10
        d[o + 4] = 48 + value
        d[o + 5] = 13
        d[o + 6] = 10
        return o + 7
    minus = value < 0
    size = mem.wrap(0 - mem.wrap(value)) if minus else mem.wrap(value)
    n = mem.uint_len(size) + (1 if minus else 0)
    d[o] = DOLLAR
    o = mem.put_uint(d, o + 1, n)
    d[o] = 13
    d[o + 1] = 10
    o += 2
    if minus:
        d[o] = 45
        o += 1
    o = mem.put_uint(d, o, size)
    d[o] = 13
    d[o + 1] = 10
    return o + 2


def put_element(d: mem.Pointer, o: int, p: mem.Source, at: int) -> tuple[int, int]:
    """One element as a bulk string: the index after it in d, and in p."""
    head = p[at]
    if head >= 192:
        return put_wide(d, o, p, at)
    if head < 128:
        return put_integer(d, o, head), at + 2
    n = head & 63
    d[o] = DOLLAR
    if n < 10:
        d[o + 1] = 48 + n
        o += 2
    else:
        d[o + 1] = 48 + n // 10
        d[o + 2] = 48 + n % 10
        o += 3
    d[o] = 13
    d[o + 1] = 10
    mem.copy_short(d, o + 2, p, at + 1, n)
    o += n + 2
    d[o] = 13
    d[o + 1] = 10
    return o + 2, at + n + 2


def put_wide(d: mem.Pointer, o: int, p: mem.Source, at: int) -> tuple[int, int]:
    """Like put_element(), for larger integers and longer strings."""
    if listpack.is_int(p, at):
        value, at = listpack.read_int(p, at)
        return put_integer(d, o, value), at
    start, n = listpack.read_string(p, at)
    return resp_writer.put_bulk(d, o, p, start, n), listpack.skip(p, at)


def entry(out: RespWriter, cursor: Cursor, size: int) -> None:
    """The entry under the cursor: [id, [field, value, ...]].

    ``size`` is the length of the outer array: 2, or 4 if the caller adds two elements.
    """
    node = cursor.node
    assert node is not None
    pairs = cursor.pairs
    # The entry takes at most the rest of the node, plus the master's fields.
    out.need(
        node.size
        - cursor.values_at
        + (node.entries_at - node.fields_at)
        + 2 * pairs * ELEMENT_ROOM
        + ENTRY_ROOM
    )
    d = out.p
    p = cursor.p
    o = out.size
    d[o] = STAR
    d[o + 1] = 48 + size
    d[o + 2] = 13
    d[o + 3] = 10
    o = out.pool.put_id(d, o + 4, cursor.ms, cursor.seq)
    d[o] = STAR
    o = mem.put_uint(d, o + 1, 2 * pairs)
    d[o] = 13
    d[o + 1] = 10
    o += 2
    at = cursor.values_at
    if cursor.same:
        f = node.fields_at
        for _ in range(pairs):
            o, f = put_element(d, o, p, f)
            o, at = put_element(d, o, p, at)
    else:
        for _ in range(2 * pairs):
            o, at = put_element(d, o, p, at)
    out.size = o
    cursor.after = listpack.skip(p, at)


def entries(out: RespWriter, cursor: Cursor, limit: int, guess: int) -> int:
    """An array of the entries that the cursor walks, at most ``limit`` (-1: all); how many.

    ``guess`` is the expected number of entries; a good guess avoids moving the bytes.
    """
    mark = out.open_array(guess)
    n = 0
    while n != limit and cursor.next():
        entry(out, cursor, 2)
        n += 1
    out.close_array(mark, n)
    return n
