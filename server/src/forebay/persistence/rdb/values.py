"""Values of keys in and out of an RDB file.

    Python          written as     read from
    bytes           0              0
    Elements        1              1, 10 (ziplist), 14 and 18 (lists of packed lists)
    Members         2              2, 11 (intset), 20 (listpack)
    Stream          the chosen one 15, 19, 21, 26, 27 (streams.py)

Lists and sets are written in their plain forms, which every Redis loads.  Each
reader and writer is a generator that pauses from time to time; a reader's
result is the value, None for a collection without elements: such a key does not
exist.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from forebay.core.elements import Elements
from forebay.core.keyspace import Value
from forebay.core.members import Members
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import streams
from forebay.persistence.rdb.format import (
    LIST,
    LIST_QUICKLIST,
    LIST_QUICKLIST_2,
    LIST_ZIPLIST,
    SET,
    SET_INTSET,
    SET_LISTPACK,
    STREAM_TYPES,
    STRING,
)
from forebay.persistence.rdb.packed import read_intset, read_listpack, read_ziplist
from forebay.persistence.rdb.reader import RdbReader
from forebay.persistence.rdb.stream_extra import Extra, IdmpState
from forebay.persistence.rdb.writer import RdbWriter

#: Nodes of type 18 hold one plain element, or a listpack.
PLAIN = 1
PACKED = 2
ELEMENTS_A_STEP = 1000

Reading = Generator[None, None, Value | None]
Unpack = Callable[[bytes], list[bytes]]


# -- writing ----------------------------------------------------------------------


def type_of(value: Value, stream_type: int) -> int:
    """The number of the type in which a value is written."""
    if isinstance(value, (bytes, bytearray)):
        return STRING
    if isinstance(value, Elements):
        return LIST
    return stream_type if isinstance(value, Stream) else SET


def write_steps(writer: RdbWriter, value: Value, stream_type: int) -> Iterator[None]:
    """Write a value, without its type."""
    if isinstance(value, (bytes, bytearray)):
        writer.string(bytes(value))
    elif isinstance(value, Stream):
        yield from streams.write_steps(writer, value, stream_type)
    else:
        writer.length(len(value))
        for i, element in enumerate(value):
            writer.string(element)
            if i % ELEMENTS_A_STEP == 0:
                yield


# -- reading ----------------------------------------------------------------------


def can_read(kind: int) -> bool:
    """Whether this server supports values of this type."""
    return kind in READERS or kind in STREAM_TYPES


def read_steps(
    reader: RdbReader, kind: int, extra: Extra | None = None, defaults: IdmpState | None = None
) -> Reading:
    """Read a value of the given type."""
    if kind in STREAM_TYPES:
        return streams.read_steps(reader, kind, extra, defaults)
    return READERS[kind](reader)


def read_whole(steps: Reading) -> Value | None:
    """Read to the end without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value | None = end.value
            return value


def read_string(reader: RdbReader) -> Reading:
    """Type 0."""
    yield from ()
    return reader.string()


def read_list(reader: RdbReader) -> Reading:
    """Type 1: the elements."""
    found = Elements()
    for i in range(reader.count(1)):
        found.append(reader.string())
        if i % ELEMENTS_A_STEP == 0:
            yield
    return found or None


def read_set(reader: RdbReader) -> Reading:
    """Type 2: the members."""
    found = Members()
    count = reader.count(1)
    for i in range(count):
        found.add(reader.string())
        if i % ELEMENTS_A_STEP == 0:
            yield
    if len(found) != count:
        raise reader.fail("a member of a set is there twice")
    return found or None


def unpacked(reader: RdbReader, unpack: Unpack) -> list[bytes]:
    """The elements of the next string, which is a packed collection."""
    start = reader.offset
    try:
        return unpack(reader.string())
    except ValueError as problem:
        raise CorruptDataError(f"{problem}, at offset {start}") from None


def read_packed_list(reader: RdbReader) -> Reading:
    """Type 10: one ziplist."""
    yield from ()
    return Elements(unpacked(reader, read_ziplist)) or None


def read_packed_set(reader: RdbReader, unpack: Unpack) -> Reading:
    """Types 11 and 20: one intset or listpack."""
    yield from ()
    members = unpacked(reader, unpack)
    found = Members(members)
    if len(found) != len(members):
        raise reader.fail("a member of a set is there twice")
    return found or None


def read_quicklist(reader: RdbReader) -> Reading:
    """Type 14: ziplists."""
    found = Elements()
    for _ in range(reader.count(1)):
        found.extend(unpacked(reader, read_ziplist))
        yield
    return found or None


def read_quicklist_2(reader: RdbReader) -> Reading:
    """Type 18: listpacks, and long elements on their own."""
    found = Elements()
    for _ in range(reader.count(2)):
        container = reader.length()
        if container == PLAIN:
            found.append(reader.string())
        elif container == PACKED:
            found.extend(unpacked(reader, read_listpack))
        else:
            raise reader.fail("a part of a list is of an unknown kind")
        yield
    return found or None


READERS: dict[int, Callable[[RdbReader], Reading]] = {
    STRING: read_string,
    LIST: read_list,
    SET: read_set,
    LIST_ZIPLIST: read_packed_list,
    SET_INTSET: lambda reader: read_packed_set(reader, read_intset),
    LIST_QUICKLIST: read_quicklist,
    LIST_QUICKLIST_2: read_quicklist_2,
    SET_LISTPACK: lambda reader: read_packed_set(reader, read_listpack),
}
