"""Entries from a node straight into a reply: the one bridge between core and wire.

    listpack   flags ms seq | value value ... lp-count       master: field field ...
                               |     |                                |
    reply      *2  $ID  *4  $field $value $field $value  ------------'

No Python object is made for an entry, a field or a value.  Room for an entry is
reserved once, from an upper bound; inside it bytes are stored unchecked:
an element of n stored bytes takes at most n + ELEMENT_ROOM bytes on the wire
(the longest growth is a 64-bit integer, 10 bytes stored, 29 sent).
"""

from __future__ import annotations

from forebay import mem
from forebay.core import listpack
from forebay.core.cursor import Cursor
from forebay.core.stream import Stream
from forebay.wire.reply import Reply

ELEMENT_ROOM = 24
ENTRY_ROOM = 96
DOLLAR = 36
STAR = 42


def put_integer(d: mem.Pointer, o: int, value: int) -> int:
    """A stored integer as the bulk string that a client sees."""
    minus = value < 0
    size = mem.wrap(-value) if minus else mem.wrap(value)
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


def put_element(d: mem.Pointer, o: int, p: mem.Pointer, at: int) -> tuple[int, int]:
    """One element as a bulk string: the index behind it in d, and in p."""
    is_int, value, start, n, behind = listpack.read(p, at)
    if is_int:
        return put_integer(d, o, value), behind
    d[o] = DOLLAR
    o = mem.put_uint(d, o + 1, n)
    d[o] = 13
    d[o + 1] = 10
    mem.copy(d, o + 2, p, start, n)
    o += n + 2
    d[o] = 13
    d[o + 1] = 10
    return o + 2, behind


def put_id(d: mem.Pointer, o: int, ms: int, seq: int) -> int:
    """An ID as a bulk string."""
    d[o] = DOLLAR
    o = mem.put_uint(d, o + 1, mem.uint_len(ms) + 1 + mem.uint_len(seq))
    d[o] = 13
    d[o + 1] = 10
    o = mem.put_uint(d, o + 2, ms)
    d[o] = 45
    o = mem.put_uint(d, o + 1, seq)
    d[o] = 13
    d[o + 1] = 10
    return o + 2


def id_and_fields(out: Reply, cursor: Cursor) -> int:
    """The ID and the flat field array of the entry under the cursor: two elements."""
    node = cursor.node
    pairs = cursor.pairs
    # What the entry takes is at most what is left of the node, and the master's fields.
    out.need(
        node.size - cursor.values_at
        + (node.entries_at - node.fields_at)
        + 2 * pairs * ELEMENT_ROOM
        + ENTRY_ROOM
    )
    d = out.p
    p = cursor.p
    o = put_id(d, out.size, cursor.ms, cursor.seq)
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
    cursor.behind = listpack.skip(p, at)
    return 0


def entry(out: Reply, cursor: Cursor) -> int:
    """The entry under the cursor, as [id, [field, value, ...]]."""
    out.array(2)
    return id_and_fields(out, cursor)


def entry_at(out: Reply, stream: Stream, ms: int, seq: int) -> bool:
    """The entry with this ID; false, and nothing written, if there is none."""
    cursor = stream.find(ms, seq)
    if cursor is None:
        return False
    entry(out, cursor)
    return True


def entries(out: Reply, cursor: Cursor, limit: int, guess: int) -> int:
    """An array of the entries that the cursor walks, at most ``limit`` (-1: all); how many.

    ``guess`` is the number of entries to expect; a good one saves a move of the bytes.
    """
    mark = out.open_array(guess)
    n = 0
    while n != limit and cursor.next():
        out.array(2)
        id_and_fields(out, cursor)
        n += 1
    out.close_array(mark, n)
    return n
