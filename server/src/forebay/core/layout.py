"""Numbers that several modules must agree on: how nodes, records and counters are laid out.

Compiled modules take them as C integers: a plain import here, a ``cdef`` in their .pxd.
"""

from __future__ import annotations

from forebay import mem

# A listpack (core/listpack.py).
END = 255
#: First bytes of elements: below are small integers, from here short strings, then longer heads.
SHORT_STRING, WIDE = 128, 192
MANY = 65535  # from here on the element count means "not counted"

# A node (core/node.py): flags of an entry, and the position of the count element.
DELETED = 1
SAME = 2
COUNT_AT = 6

#: The bytes that must follow a listpack for copy_short().
PADDING = bytes(mem.SLACK)

# An ID as a key.
ID_SIZE = 16

# Pending entries (core/slab.py): words of a record, and of its key; the owner of a released
# one; a full counter.
RECORD_WORDS = 4
KEY_WORDS = 3
NOBODY = 0
DELIVERIES_MAX = mem.I64_MAX

# Groups (core/group.py): a consumer that was never served, an unknown counter.
NEVER = -1
UNKNOWN = -1
