"""What there is to say of a value beside its content: encoding and size.

Encodings
    type     encoding, named as Redis would have stored it
    string   int (a 64-bit number), embstr (short), raw (long, or changed in place)
    list     listpack (up to 8 KiB), quicklist
    set      intset (numbers, up to 512), listpack (up to 128 short members), hashtable
    stream   stream
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice

from forebay import mem
from forebay.core.idmp import Idmp
from forebay.core.keyspace import Value
from forebay.core.stream import Stream

#: Key and string together: what Redis 8 has room for in the object of the key.
EMBEDDED_BYTES = 41
LIST_PACKED_BYTES = 8192
#: What one short element costs in a listpack beside its own bytes.
LISTPACK_ELEMENT_OVERHEAD = 2
INTSET_MAX = 512
SET_PACKED_MAX = 128
SET_PACKED_MEMBER_BYTES = 64
#: The entry that a message of an idempotent producer became: a tuple and two numbers.
MESSAGE_BYTES = 120


def encoding(key: bytes, value: Value) -> bytes:
    """The name of the encoding; see the table at the head of this file."""
    if isinstance(value, bytes):
        if is_number(value):
            return b"int"
        return b"embstr" if len(key) + len(value) <= EMBEDDED_BYTES else b"raw"
    if isinstance(value, bytearray):
        return b"raw"
    if isinstance(value, deque):
        size = sum(len(item) + LISTPACK_ELEMENT_OVERHEAD for item in value)
        return b"listpack" if size <= LIST_PACKED_BYTES else b"quicklist"
    if isinstance(value, set):
        return _set_encoding(value)
    return b"stream"


def _set_encoding(members: set[bytes]) -> bytes:
    if len(members) <= INTSET_MAX and all(is_number(member) for member in members):
        return b"intset"
    if len(members) <= SET_PACKED_MAX and max(map(len, members)) <= SET_PACKED_MEMBER_BYTES:
        return b"listpack"
    return b"hashtable"


def is_number(text: bytes) -> bool:
    is_number, _ = mem.parse_int(text, 0, len(text))
    return bool(is_number)


def value_bytes(value: Value, samples: int) -> int:
    """About how much memory a value takes; ``samples`` 0 looks at every member."""
    if isinstance(value, Stream):
        return stream_bytes(value)
    if isinstance(value, (bytes, bytearray)):
        return sys.getsizeof(value)
    looked_at = list(islice(value, samples or len(value)))
    members = sum(map(sys.getsizeof, looked_at)) * len(value) // max(1, len(looked_at))
    return sys.getsizeof(value) + members


def stream_bytes(stream: Stream) -> int:
    """Entries, groups, consumers and pending entries of a stream."""
    total = stream.used_bytes()
    for group in stream.groups.values():
        total += group.used_bytes()
    if stream.idmp is not None:
        total += idmp_bytes(stream.idmp)
    return total


def idmp_bytes(idmp: Idmp) -> int:
    """What is remembered of idempotent producers."""
    total = sys.getsizeof(idmp.producers)
    for pid, iids in idmp.producers.items():
        total += sys.getsizeof(pid) + sys.getsizeof(iids)
        total += sum(map(sys.getsizeof, iids)) + MESSAGE_BYTES * len(iids)
    return total
