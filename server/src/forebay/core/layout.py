"""Numbers that several modules must agree on: how nodes, records and counters are laid out.

Compiled modules take them as C integers: a plain import here, a ``cdef`` in their .pxd.
"""

from __future__ import annotations

from forebay import mem

# A listpack (core/listpack.py).
END = 255
#: First bytes of elements: below are small integers, from here short strings, then longer heads.
SHORT_STRING, WIDE = 128, 192
MANY = 65535  # the element count says "not counted" from here on

# A node (core/node.py): flags of an entry, and where the count element stands.
DELETED = 1
SAME = 2
COUNT_AT = 6

#: Stands after a listpack that is read by copy_short().
PADDING = bytes(mem.SLACK)

# An ID as a key.
ID_SIZE = 16

# Pending entries (core/slab.py): words of a record, and of its key; the owner of a released
# one; a full counter.
RECORD_WORDS = 4
KEY_WORDS = 3
NOBODY = 0
DELIVERIES_MAX = mem.I64_MAX

# Groups (core/group.py): a consumer that was never served, a counter that cannot be known.
NEVER = -1
UNKNOWN = -1
