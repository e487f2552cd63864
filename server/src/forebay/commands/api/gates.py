"""Reasons why a command needs more than the short path through the dispatcher.

A session and the engine each hold an integer of these bits.  As long as both
are zero the dispatcher checks nothing else; any bit sends the command through
``engine/admission.py``, which evaluates it.
"""

from __future__ import annotations

# Bits of a session.
UNAUTHENTICATED = 1 << 0
IN_MULTI = 1 << 1
SUBSCRIBED = 1 << 2  # RESP2 and at least one subscription
REPLY_OFF = 1 << 3
REPLY_SKIP_NEXT = 1 << 4  # this command was CLIENT REPLY SKIP
REPLY_SKIP = 1 << 5  # the command before was CLIENT REPLY SKIP
CLOSING = 1 << 6
MONITORING = 1 << 7
REPLICA = 1 << 8  # a replica that follows the stream of changes
TRACKING = 1 << 9  # client side caching: the keys that it reads are remembered
RESTRICTED = 1 << 10  # its user has restrictions: see engine/access.py
REPLIES = REPLY_OFF | REPLY_SKIP_NEXT | REPLY_SKIP

# Bits of the engine.
MONITORED = 1 << 16  # a client runs MONITOR
PAUSED = 1 << 17  # CLIENT PAUSE
MEMORY_LIMIT = 1 << 18  # maxmemory is set
LOADING = 1 << 19  # the data is being read from disk
MISCONF = 1 << 20  # a write would not be safe on disk
FEW_REPLICAS = 1 << 21  # fewer replicas than min-replicas-to-write asks for
READONLY_REPLICA = 1 << 22  # this server is a read-only replica
STALE_DATA = 1 << 23  # the primary is away, and replica-serve-stale-data is no
