"""Directives of Redis 7 and 8, and of Valkey, that are accepted but change nothing here.

An existing redis.conf must start this server, and CONFIG GET must answer the
tools that ask; but no user should believe that a setting works when it does
not.  So each of these is checked as in Redis, kept, printed by CONFIG GET,
and, if it was set to something other than its default, named in one warning
at start.

The rows are short on purpose: name, kind, default; the area says what is
missing.  A name with a colon carries its old alias: ``replica-priority:slave-priority``.
Names that only Valkey has are accepted too, so that a valkey.conf starts this server; CONFIG
GET answers them if asked by name, but lists only the names of Redis.
"""

from __future__ import annotations

from typing import Any

from forebay.server.config.kinds import (
    LONG_MAX,
    Bool,
    Choice,
    Flags,
    Int,
    Kind,
    Memory,
    Text,
    Words,
)
from forebay.server.config.row import AT_ONCE, AT_START, Directive

_YES_NO = Bool()
_TEXT = Text()
_NUMBER = Int()
_LONG = Int(0, LONG_MAX)
_SIZE = Memory()
_PORT = Int(0, 65535)
_PERCENT = Int(0, 1000)
_SLOT_STATS = Flags("yes", "cpu", "net", "mem", none="no")

Row = tuple[str, Kind[Any], str]

_PERSISTENCE: list[Row] = [
    ("aof-load-corrupt-tail-max-size", _SIZE, "0"),
    ("aof-timestamp-enabled", _YES_NO, "no"),
    ("aof-disable-auto-gc", _YES_NO, "no"),
    ("aof-rewrite-incremental-fsync", _YES_NO, "yes"),
    ("rdb-save-incremental-fsync", _YES_NO, "yes"),
    ("rdb-del-sync-files", _YES_NO, "no"),
    ("sanitize-dump-payload", Choice("no", "yes", "clients"), "no"),
]

_REPLICATION: list[Row] = [
    ("replica-ignore-maxmemory:slave-ignore-maxmemory", _YES_NO, "yes"),
    ("replica-ignore-disk-write-errors", _YES_NO, "no"),
    ("replica-lazy-flush:slave-lazy-flush", _YES_NO, "no"),
    ("replica-full-sync-buffer-limit", _SIZE, "0"),
    ("repl-disable-tcp-nodelay", _YES_NO, "no"),
    ("repl-rdb-channel", _YES_NO, "no"),
    ("propagation-error-behavior", Choice("ignore", "panic", "panic-on-replicas"), "ignore"),
]

_TLS: list[Row] = [
    ("tls-cluster", _YES_NO, "no"),
    # OpenSSL's own size and time apply: Python's ssl cannot change them.
    ("tls-session-cache-size", _NUMBER, "20480"),
    ("tls-session-cache-timeout", _NUMBER, "300"),
]

_CLUSTER: list[Row] = [
    ("cluster-node-timeout", _LONG, "15000"),
    ("cluster-announce-ip", _TEXT, ""),
    ("cluster-announce-hostname", _TEXT, ""),
    ("cluster-announce-human-nodename", _TEXT, ""),
    ("cluster-announce-port", _PORT, "0"),
    ("cluster-announce-bus-port", _PORT, "0"),
    ("cluster-announce-tls-port", _PORT, "0"),
    ("cluster-migration-barrier", _NUMBER, "1"),
    ("cluster-replica-validity-factor:cluster-slave-validity-factor", _NUMBER, "10"),
    ("cluster-replica-no-failover:cluster-slave-no-failover", _YES_NO, "no"),
    ("cluster-require-full-coverage", _YES_NO, "yes"),
    ("cluster-allow-reads-when-down", _YES_NO, "no"),
    ("cluster-allow-pubsubshard-when-down", _YES_NO, "yes"),
    ("cluster-allow-replica-migration", _YES_NO, "yes"),
    ("cluster-link-sendbuf-limit", _SIZE, "0"),
    (
        "cluster-preferred-endpoint-type",
        Choice("ip", "hostname", "unknown-endpoint"),
        "ip",
    ),
    ("cluster-compatibility-sample-ratio", Int(0, 100), "0"),
    ("cluster-slot-migration-handoff-max-lag-bytes", _SIZE, "1mb"),
    ("cluster-slot-migration-write-pause-timeout", _LONG, "10000"),
    ("cluster-slot-stats-enabled", _SLOT_STATS, "no"),
]
_CLUSTER_FIXED: list[Row] = [
    ("cluster-enabled", _YES_NO, "no"),
    ("cluster-config-file", _TEXT, "nodes.conf"),
    ("cluster-port", _PORT, "0"),
]

_ACCESS: list[Row] = [
    ("enable-module-command", Choice("no", "yes", "local"), "no"),
]

_MEMORY: list[Row] = [
    ("maxmemory-samples", Int(1), "5"),
    ("maxmemory-eviction-tenacity", Int(0, 100), "10"),
    ("lfu-log-factor", _NUMBER, "10"),
    ("lfu-decay-time", _NUMBER, "1"),
    ("activedefrag", _YES_NO, "no"),
    ("active-defrag-ignore-bytes", Memory(1), "100mb"),
    ("active-defrag-threshold-lower", _PERCENT, "10"),
    ("active-defrag-threshold-upper", _PERCENT, "100"),
    ("active-defrag-cycle-min", Int(1, 99), "1"),
    ("active-defrag-cycle-max", Int(1, 99), "25"),
    ("active-defrag-max-scan-fields", Int(1, LONG_MAX), "1000"),
    ("lazyfree-lazy-eviction", _YES_NO, "no"),
    ("lazyfree-lazy-expire", _YES_NO, "no"),
    ("lazyfree-lazy-server-del", _YES_NO, "no"),
    ("lazyfree-lazy-user-flush", _YES_NO, "no"),
    ("jemalloc-bg-thread", _YES_NO, "yes"),
    ("key-memory-histograms", _YES_NO, "no"),
    ("activerehashing", _YES_NO, "yes"),
]

_TYPES: list[Row] = [
    ("hash-max-listpack-entries:hash-max-ziplist-entries", _LONG, "512"),
    ("hash-max-listpack-value:hash-max-ziplist-value", _SIZE, "64"),
    ("list-compress-depth", _NUMBER, "0"),
    ("zset-max-listpack-entries:zset-max-ziplist-entries", _LONG, "128"),
    ("zset-max-listpack-value:zset-max-ziplist-value", _SIZE, "64"),
    ("hll-sparse-max-bytes", _SIZE, "3000"),
    ("busy-reply-threshold:lua-time-limit", _LONG, "5000"),
    ("vset-force-single-threaded-execution", _YES_NO, "no"),
]

_PROCESS: list[Row] = [
    ("dynamic-hz", _YES_NO, "yes"),
    ("crash-log-enabled", _YES_NO, "yes"),
    ("crash-memcheck-enabled", _YES_NO, "yes"),
    ("hide-user-data-from-log", _YES_NO, "no"),
    ("ignore-warnings", _TEXT, ""),
    ("oom-score-adj", Choice("no", "yes", "relative", "absolute"), "no"),
    ("oom-score-adj-values", Words(3), "0 200 800"),
    ("proc-title-template", _TEXT, "{title} {listen-addr} {server-mode}"),
    ("bind-source-addr", _TEXT, ""),
    ("max-new-connections-per-cycle", Int(1, 1000), "10"),
    ("locale-collate", _TEXT, ""),
    ("lookahead", Int(1), "16"),
]
_PROCESS_FIXED: list[Row] = [
    ("io-threads", Int(1, 128), "1"),
    ("io-threads-do-reads", _YES_NO, "no"),
    ("socket-mark-id", _LONG, "0"),
    ("disable-thp", _YES_NO, "yes"),
    ("syslog-enabled", _YES_NO, "no"),
    ("syslog-ident", _TEXT, "redis"),
    ("syslog-facility", _TEXT, "local0"),
    ("server-cpulist:server_cpulist", _TEXT, ""),
    ("bio-cpulist:bio_cpulist", _TEXT, ""),
    ("aof-rewrite-cpulist:aof_rewrite_cpulist", _TEXT, ""),
    ("bgsave-cpulist:bgsave_cpulist", _TEXT, ""),
]

_VALKEY: list[Row] = [
    ("active-defrag-cycle-us", Int(0, 100000), "500"),
    ("availability-zone", _TEXT, ""),
    ("cluster-announce-client-ipv4", _TEXT, ""),
    ("cluster-announce-client-ipv6", _TEXT, ""),
    ("cluster-announce-client-port", _PORT, "0"),
    ("cluster-announce-client-tls-port", _PORT, "0"),
    ("cluster-blacklist-ttl", _LONG, "60"),
    ("cluster-config-save-behavior", Choice("sync", "best-effort"), "sync"),
    ("cluster-manual-failover-timeout", Int(1), "5000"),
    ("cluster-slot-migration-log-max-len", _LONG, "1000"),
    ("commandlog-large-reply-max-len", _LONG, "128"),
    ("commandlog-large-request-max-len", _LONG, "128"),
    ("commandlog-reply-larger-than", Int(-1, LONG_MAX), "1048576"),
    ("commandlog-request-larger-than", Int(-1, LONG_MAX), "1048576"),
    ("dual-channel-replication-enabled", _YES_NO, "no"),
    ("extended-redis-compatibility", _YES_NO, "no"),
    ("import-mode", _YES_NO, "no"),
    ("log-format", Choice("legacy", "logfmt", "json"), "legacy"),
    ("log-timestamp-format", Choice("legacy", "iso8601", "milliseconds"), "legacy"),
    ("lua-enable-insecure-api:lua-enable-deprecated-api", _YES_NO, "no"),
    ("prefetch-batch-max-size", Int(0, 128), "16"),
    ("rdb-version-check", Choice("strict", "relaxed"), "strict"),
    ("rdma-bind", Words(), ""),
    ("rdma-port", _PORT, "0"),
    ("slot-migration-max-failover-repl-bytes", _TEXT, "0"),
    ("tls-auto-reload-interval", _NUMBER, "0"),
]
_VALKEY_FIXED: list[Row] = [
    ("cluster-databases", Int(1), "1"),
    ("hash-seed", _TEXT, ""),
    ("mptcp", _YES_NO, "no"),
    ("rdma-completion-vector", Int(-1, 1024), "-1"),
    ("rdma-rx-size", Int(64 << 10, 16 << 20), "1048576"),
    ("repl-mptcp", _YES_NO, "no"),
    ("unixsocketgroup", _TEXT, ""),
]
#: The part whose names CONFIG GET does not list.
_OF_VALKEY = "words of Valkey"

_PARTS: list[tuple[str, bool, list[Row]]] = [
    ("persistence", AT_ONCE, _PERSISTENCE),
    ("replication", AT_ONCE, _REPLICATION),
    ("TLS", AT_ONCE, _TLS),
    ("cluster mode", AT_ONCE, _CLUSTER),
    ("cluster mode", AT_START, _CLUSTER_FIXED),
    ("access control", AT_START, _ACCESS),
    ("eviction and defragmentation", AT_ONCE, _MEMORY),
    ("other data types and scripts", AT_ONCE, _TYPES),
    ("process", AT_ONCE, _PROCESS),
    ("process", AT_START, _PROCESS_FIXED),
    (_OF_VALKEY, AT_ONCE, _VALKEY),
    (_OF_VALKEY, AT_START, _VALKEY_FIXED),
]


def _directive(area: str, mutable: bool, row: Row) -> Directive:
    name, _, alias = row[0].partition(":")
    return Directive(
        name,
        "",
        row[1],
        mutable,
        f"Accepted without effect ({area}).",
        alias=alias,
        default=row[2],
        area=area,
        hidden=area == _OF_VALKEY,
    )


INERT = [_directive(area, mutable, row) for area, mutable, rows in _PARTS for row in rows]
