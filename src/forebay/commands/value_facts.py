"""What there is to say of a value beside its content: encoding and size.

Encodings
    type     encoding, named as Redis would have stored it
    string   int (a 64-bit number), embstr (up to 44 bytes), raw
    list     listpack (up to 8 KiB), quicklist
    set      intset (numbers, up to 512), listpack (up to 128 short members), hashtable
    stream   stream
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice

from forebay import mem
from forebay.core.group import Group
from forebay.core.keyspace import Value
from forebay.core.stream import Stream

EMBEDDED_STRING_MAX = 44
LIST_PACKED_BYTES = 8192
#: What one short element costs in a listpack beside its own bytes.
LISTPACK_ELEMENT_OVERHEAD = 2
INTSET_MAX = 512
SET_PACKED_MAX = 128
SET_PACKED_MEMBER_BYTES = 64
#: Group and Consumer: the object, its view and its place in a tree.
GROUP_BYTES = 1024
CONSUMER_BYTES = 512
#: A record of 32 bytes and a slot of 4 in each of three views.
PENDING_BYTES = 44
#: A value with more pieces is left to a thread by Redis.
LAZY_EFFORT = 64


def encoding(value: Value) -> bytes:
    """The name of the encoding; see the table at the head of this file."""
    if isinstance(value, bytes):
        if is_number(value):
            return b"int"
        return b"embstr" if len(value) <= EMBEDDED_STRING_MAX else b"raw"
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
    if isinstance(value, bytes):
        return sys.getsizeof(value)
    looked_at = list(islice(value, samples or len(value)))
    members = sum(map(sys.getsizeof, looked_at)) * len(value) // max(1, len(looked_at))
    return sys.getsizeof(value) + members


def stream_bytes(stream: Stream) -> int:
    """Entries, groups, consumers and pending entries of a stream."""
    total = stream.used_bytes()
    for name, group in stream.groups.items():
        total += GROUP_BYTES + len(name) + PENDING_BYTES * group.pending.count
        for consumer in group.consumers.values():
            total += CONSUMER_BYTES + len(consumer.name)
    return total


def free_effort(value: Value) -> int:
    """How many pieces of memory Redis would free one by one."""
    if isinstance(value, Stream):
        groups: list[Group] = value.groups.values()
        of_groups = len(groups) * (1 + groups[0].pending.count) if groups else 0
        return value.nodes.node_count + of_groups
    if isinstance(value, set):
        return len(value) if _set_encoding(value) == b"hashtable" else 1
    return _list_nodes(value) if isinstance(value, deque) else 1


def _list_nodes(items: deque[bytes]) -> int:
    """About how many nodes a list has, counted no further than anybody asks."""
    nodes, room = 1, LIST_PACKED_BYTES
    for item in items:
        size = len(item) + LISTPACK_ELEMENT_OVERHEAD
        if size > room and room < LIST_PACKED_BYTES:
            nodes, room = nodes + 1, LIST_PACKED_BYTES
            if nodes > LAZY_EFFORT:
                break
        room -= size
    return nodes
