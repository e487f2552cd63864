"""Facts about a value apart from its content: encoding and size.

Encodings
    type     encoding, named as Redis would have stored it
    string   int (a 64-bit number), embstr (short), raw (long, or changed in place)
    list     listpack, quicklist                 the list itself knows it: core/elements.py
    set      intset, listpack, hashtable         the set itself knows it: core/members.py
    stream   stream
"""

from __future__ import annotations

import sys
from itertools import islice

from forebay.commands.api.settings import Settings
from forebay.core.elements import Elements, entry_bytes, limits
from forebay.core.group import Group
from forebay.core.idmp import Idmp
from forebay.core.keyspace import Value
from forebay.core.members import HASHTABLE, INTSET, LISTPACK, Members
from forebay.core.members import is_number as is_number
from forebay.core.stream import Stream

#: The size of key and string together up to which Redis 8 puts both into one object.
EMBEDDED_BYTES = 41
SET_ENCODINGS = {INTSET: b"intset", LISTPACK: b"listpack", HASHTABLE: b"hashtable"}
#: The entry of a message of an idempotent producer: a tuple and two numbers.
MESSAGE_BYTES = 120
#: Redis frees a value with more pieces in a thread.
LAZY_EFFORT = 64


def encoding(key: bytes, value: Value, settings: Settings) -> bytes:
    """The name of the encoding; see the table at the head of this file."""
    if isinstance(value, bytes):
        if is_number(value):
            return b"int"
        return b"embstr" if len(key) + len(value) <= EMBEDDED_BYTES else b"raw"
    if isinstance(value, bytearray):
        return b"raw"
    if isinstance(value, Elements):
        packed = value.is_packed(settings.list_max_listpack_size)
        return b"listpack" if packed else b"quicklist"
    if isinstance(value, Members):
        return SET_ENCODINGS[value.form_of(settings)]
    return b"stream"


def value_bytes(value: Value, samples: int) -> int:
    """About how much memory a value takes; ``samples`` 0 looks at every member."""
    if isinstance(value, Stream):
        return stream_bytes(value)
    if isinstance(value, (bytes, bytearray)):
        return sys.getsizeof(value)
    looked_at = list(islice(value, samples or len(value)))
    members = sum(map(sys.getsizeof, looked_at)) * len(value) // max(1, len(looked_at))
    if isinstance(value, Members) and value.order is not None:
        members += sys.getsizeof(value.order) + sys.getsizeof(value.place)
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
    """The idempotency data of a stream."""
    total = sys.getsizeof(idmp.producers)
    for pid, iids in idmp.producers.items():
        total += sys.getsizeof(pid) + sys.getsizeof(iids)
        total += sum(map(sys.getsizeof, iids)) + MESSAGE_BYTES * len(iids)
    return total


def free_effort(value: Value, settings: Settings) -> int:
    """How many pieces of memory Redis would free one by one."""
    if isinstance(value, Stream):
        groups: list[Group] = value.groups.values()
        of_groups = len(groups) * (1 + groups[0].pending.count) if groups else 0
        return value.nodes.node_count + of_groups
    if isinstance(value, Members):
        return len(value) if value.form_of(settings) == HASHTABLE else 1
    if isinstance(value, Elements):
        return _list_nodes(value, settings.list_max_listpack_size)
    return 1


def _list_nodes(items: Elements, fill: int) -> int:
    """About how many nodes a list has; counting stops where the answer no longer matters."""
    max_bytes, max_count = limits(fill)
    nodes, size, count = 1, 0, 0
    for item in items:
        item_bytes = entry_bytes(item)
        if count and (size + item_bytes > max_bytes or count == max_count):
            nodes, size, count = nodes + 1, 0, 0
            if nodes > LAZY_EFFORT:
                break
        size += item_bytes
        count += 1
    return nodes
