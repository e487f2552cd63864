"""Why a command may need more than the short way through the dispatcher.

A session and the engine each hold an integer of these bits.  As long as both
are zero the dispatcher looks at nothing else; any bit sends the command through
``engine/admission.py``, which finds out what it means.
"""

from __future__ import annotations

# Of a session.
UNAUTHENTICATED = 1 << 0
IN_MULTI = 1 << 1
SUBSCRIBED = 1 << 2  # RESP2 and at least one subscription
REPLY_OFF = 1 << 3
REPLY_SKIP_NEXT = 1 << 4  # CLIENT REPLY SKIP was this command
REPLY_SKIP = 1 << 5  # ... was the one before
CLOSING = 1 << 6
MONITORING = 1 << 7
REPLICA = 1 << 8  # a replica that follows the stream of changes
TRACKING = 1 << 9  # client side caching: what it reads is remembered
RESTRICTED = 1 << 10  # its user may not do everything: see engine/access.py
REPLIES = REPLY_OFF | REPLY_SKIP_NEXT | REPLY_SKIP

# Of the engine.
MONITORED = 1 << 16  # somebody runs MONITOR
PAUSED = 1 << 17  # CLIENT PAUSE
MEMORY_LIMIT = 1 << 18  # maxmemory is set
LOADING = 1 << 19  # the data is being read from disk
MISCONF = 1 << 20  # what is written would not be safe on disk
FEW_REPLICAS = 1 << 21  # min-replicas-to-write asks for more replicas than there are
READONLY_REPLICA = 1 << 22  # a primary decides what the data is
STALE_DATA = 1 << 23  # the primary is away, and replica-serve-stale-data is no
