"""The rows of limits of clients: how many there may be, and what they send, hold, leave unread.

docs/operations.md says how to choose them; SECURITY.md says what they protect from.
"""

from __future__ import annotations

from forebay.server.config.kinds import LONG_MAX, UINT_MAX, Int, Memory, OutputLimits
from forebay.server.config.row import AT_ONCE, Directive

ONE_MIB = 1 << 20

CLIENT_LIMITS = [
    Directive(
        "maxclients",
        "maxclients",
        Int(1, UINT_MAX),
        AT_ONCE,
        "How many clients are served at a time; the next one gets an error and is closed.",
    ),
    Directive(
        "maxmemory-clients",
        "maxmemory_clients",
        Memory(percent=True),
        AT_ONCE,
        "The memory that all clients together may use, in bytes or as a share of maxmemory; above "
        "it the largest are closed; 0 is no limit.",
    ),
    Directive(
        "tracking-table-max-keys",
        "tracking_table_max_keys",
        Int(0, LONG_MAX),
        AT_ONCE,
        "How many keys the server remembers for clients that cache; above it, the oldest are "
        "announced to them as changed; 0 is no limit.",
    ),
    Directive(
        "timeout",
        "timeout_s",
        Int(),
        AT_ONCE,
        "Close a client that was idle for this many seconds; 0 is never.",
    ),
    Directive(
        "proto-max-bulk-len",
        "proto_max_bulk_len",
        Memory(ONE_MIB),
        AT_ONCE,
        "The longest argument that a client may send.",
    ),
    Directive(
        "client-query-buffer-limit",
        "client_query_buffer_limit",
        Memory(ONE_MIB),
        AT_ONCE,
        "How much unparsed input of one client is held before it is closed.",
    ),
    Directive(
        "client-output-buffer-limit",
        "output_limits",
        OutputLimits(),
        AT_ONCE,
        "When a client that does not read its replies is closed: at the hard limit, or when over "
        "the soft one for this many seconds; 0 is no limit.",
    ),
]
