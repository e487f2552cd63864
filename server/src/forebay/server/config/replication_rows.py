"""The rows of replication: the primary to follow, what a replica shows, what a primary sends.

docs/operations.md says how to choose them.
"""

from __future__ import annotations

from forebay.server.config.kinds import LONG_MAX, Bool, Choice, Int, Memory, Primary, Text
from forebay.server.config.row import AT_ONCE, AT_START, Directive

REPLICATION = [
    Directive(
        "replicaof",
        "replicaof",
        Primary(),
        AT_START,
        "The primary to follow: host and port; 'no one' is none. REPLICAOF changes it.",
        alias="slaveof",
    ),
    Directive(
        "masterauth",
        "masterauth",
        Text(),
        AT_ONCE,
        "The password for the primary.",
        valkey="primaryauth",
    ),
    Directive(
        "masteruser",
        "masteruser",
        Text(),
        AT_ONCE,
        "The user name for the primary; empty is the default user.",
        valkey="primaryuser",
    ),
    Directive(
        "replica-read-only",
        "replica_read_only",
        Bool(),
        AT_ONCE,
        "A replica refuses writes of its clients with READONLY. With no, such writes exist only "
        "here, and only until the next full sync.",
        alias="slave-read-only",
    ),
    Directive(
        "replica-serve-stale-data",
        "replica_serve_stale_data",
        Bool(),
        AT_ONCE,
        "A replica that has lost its primary answers with the data it has; with no, MASTERDOWN.",
        alias="slave-serve-stale-data",
    ),
    Directive(
        "replica-priority",
        "replica_priority",
        Int(),
        AT_ONCE,
        "Sentinel promotes the replica with the lowest number; 0 is never promoted.",
        alias="slave-priority",
    ),
    Directive(
        "replica-announced",
        "replica_announced",
        Bool(),
        AT_ONCE,
        "Sentinel names this replica to its clients.",
    ),
    Directive(
        "replica-announce-ip",
        "replica_announce_ip",
        Text(),
        AT_ONCE,
        "The address that a replica reports to its primary; empty is the one it connects from.",
        alias="slave-announce-ip",
    ),
    Directive(
        "replica-announce-port",
        "replica_announce_port",
        Int(0, 65535),
        AT_ONCE,
        "The port that a replica reports to its primary; 0 is the one that it listens on.",
        alias="slave-announce-port",
    ),
    Directive(
        "repl-backlog-size",
        "repl_backlog_size",
        Memory(1),
        AT_ONCE,
        "How many bytes of the stream of changes are kept for replicas that reconnect.",
    ),
    Directive(
        "repl-backlog-ttl",
        "repl_backlog_ttl_s",
        Int(0, LONG_MAX),
        AT_ONCE,
        "For how many seconds the backlog is kept without replicas; 0 is for ever.",
    ),
    Directive(
        "repl-timeout",
        "repl_timeout_s",
        Int(1),
        AT_ONCE,
        "A link that is silent for this many seconds is closed, and so is a replica that takes "
        "nothing of its copy of all data for as long.",
    ),
    Directive(
        "repl-ping-replica-period",
        "repl_ping_period_s",
        Int(1),
        AT_ONCE,
        "How many seconds pass between two PINGs of a primary to its replicas.",
        alias="repl-ping-slave-period",
    ),
    Directive(
        "repl-diskless-sync",
        "repl_diskless_sync",
        Bool(),
        AT_ONCE,
        "A copy of all data goes to replicas straight from the child that writes it; with "
        "no, through a file.",
    ),
    Directive(
        "repl-diskless-sync-delay",
        "repl_diskless_sync_delay_s",
        Int(),
        AT_ONCE,
        "How many seconds such a copy waits for more replicas to share it.",
    ),
    Directive(
        "repl-diskless-sync-max-replicas",
        "repl_diskless_sync_max_replicas",
        Int(),
        AT_ONCE,
        "... but it starts at once when this many replicas wait for it; 0 turns that off.",
    ),
    Directive(
        "repl-diskless-load",
        "repl_diskless_load",
        Choice("disabled", "on-empty-db", "swapdb", "flushdb", "flush-before-load", "always"),
        AT_ONCE,
        "While a replica loads a copy of all data its clients get LOADING; with swapdb "
        "they go on with the old data. Without an AOF, every value but disabled keeps the "
        "copy in memory and not in a file.",
    ),
    Directive(
        "min-replicas-to-write",
        "min_replicas_to_write",
        Int(),
        AT_ONCE,
        "With fewer replicas than this, writes are refused with NOREPLICAS.",
        alias="min-slaves-to-write",
    ),
    Directive(
        "min-replicas-max-lag",
        "min_replicas_max_lag_s",
        Int(),
        AT_ONCE,
        "A replica that was silent for longer (seconds) does not count; 0 lets all writes pass.",
        alias="min-slaves-max-lag",
    ),
]
