"""THE table of directives: everything that this server acts on, one row each.

    Directive(name, attribute, kind, when, what it does)      row.py says what these are

docs/configuration.md is generated from these rows.  Directives of Redis that
are accepted without effect are in inert.py, and the few that would be
dangerous to ignore are in refused.py, with the reason for refusal.
"""

from __future__ import annotations

from forebay.server.config.access_rows import ACCESS
from forebay.server.config.client_rows import CLIENT_LIMITS
from forebay.server.config.kinds import (
    INT_MAX,
    LONG_MAX,
    Bool,
    Choice,
    Events,
    FileName,
    Flags,
    Folder,
    Int,
    Memory,
    Octal,
    Percentiles,
    PreloadFile,
    SavePoints,
    Text,
    Words,
)
from forebay.server.config.replication_rows import REPLICATION
from forebay.server.config.row import AT_ONCE, AT_START, Directive
from forebay.server.config.tls_rows import TLS

_ONE_MIB = 1 << 20
_SHUTDOWN = Flags("save", "nosave", "now", "force")
_ALLOWED = Choice("no", "yes", "local")
_POLICIES = Choice(
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
)

_STREAMS = [
    Directive(
        "stream-node-max-bytes",
        "stream_node_max_bytes",
        Memory(),
        AT_ONCE,
        "A node of a stream takes no more entries once it holds this many bytes; 0 is no limit.",
    ),
    Directive(
        "stream-node-max-entries",
        "stream_node_max_entries",
        Int(0, LONG_MAX),
        AT_ONCE,
        "A node of a stream takes no more entries once it holds this many; 0 is no limit. "
        "Approximate trimming removes whole nodes, at most 100 times this many entries a call.",
    ),
    Directive(
        "stream-idmp-duration",
        "stream_idmp_duration_s",
        Int(1, 86400),
        AT_ONCE,
        "For how many seconds a new stream remembers the ids of idempotent producers.",
    ),
    Directive(
        "stream-idmp-maxsize",
        "stream_idmp_maxsize",
        Int(1, 10000),
        AT_ONCE,
        "How many ids of each idempotent producer a new stream remembers.",
    ),
]

_LISTS_AND_SETS = [
    Directive("list-max-listpack-size", "list_max_listpack_size", Int(-INT_MAX - 1), AT_ONCE,
              "Up to this many elements (below 0: bytes, 4 to 64 KiB) OBJECT ENCODING reports a"
              " list as listpack.", "list-max-ziplist-size"),
    Directive("set-max-intset-entries", "set_max_intset_entries", Int(0, LONG_MAX), AT_ONCE,
              "Up to this many numbers OBJECT ENCODING reports a set as intset."),
    Directive("set-max-listpack-entries", "set_max_listpack_entries", Int(0, LONG_MAX), AT_ONCE,
              "Up to this many members OBJECT ENCODING reports a set as listpack."),
    Directive("set-max-listpack-value", "set_max_listpack_value", Memory(), AT_ONCE,
              "Up to this length of its members OBJECT ENCODING reports a set as listpack."),
]  # fmt: skip

_KEYSPACE = [
    Directive("databases", "databases", Int(1), AT_START, "How many numbered databases there are."),
    Directive(
        "notify-keyspace-events",
        "notify_flags",
        Events(),
        AT_ONCE,
        "Which changes are published: K and E choose the channels, the other letters the classes "
        "(t is stream, A those of all types; m, n, o and c must be named).",
    ),
    Directive(
        "maxmemory",
        "maxmemory",
        Memory(),
        AT_ONCE,
        "Above this use of memory, commands that need more are refused with OOM; 0 is no limit.",
    ),
    Directive(
        "maxmemory-policy",
        "maxmemory_policy",
        _POLICIES,
        AT_ONCE,
        "Reported only: no choice evicts anything; at the limit, writes are refused. "
        "If maxmemory is set, any but noeviction causes a warning.",
    ),
    Directive(
        "active-expire-effort",
        "active_expire_effort",
        Int(1, 10),
        AT_ONCE,
        "How hard the server looks for expired keys that no client asks for.",
    ),
]

_CLIENTS = [
    Directive(
        "enable-debug-command",
        "enable_debug_command",
        _ALLOWED,
        AT_START,
        "Which clients may use DEBUG: none, all, or those on this machine.",
    ),
    Directive(
        "enable-protected-configs",
        "enable_protected_configs",
        _ALLOWED,
        AT_START,
        "Which clients may CONFIG SET the directives that name files.",
    ),
    *CLIENT_LIMITS,
]

_WATCHING = [
    Directive(
        "slowlog-log-slower-than",
        "slowlog_slower_than_us",
        Int(-1, LONG_MAX),
        AT_ONCE,
        "Commands that run for this many microseconds or more enter the slow log; -1 is none.",
        valkey="commandlog-execution-slower-than",
    ),
    Directive(
        "slowlog-max-len",
        "slowlog_max_len",
        Int(0, LONG_MAX),
        AT_ONCE,
        "How many entries the slow log keeps.",
        valkey="commandlog-slow-execution-max-len",
    ),
    Directive(
        "slowlog-entry-max-argc",
        "slowlog_entry_max_argc",
        Int(2),
        AT_ONCE,
        "How many arguments of a command an entry of the slow log keeps.",
    ),
    Directive(
        "slowlog-entry-max-string-len",
        "slowlog_entry_max_bytes",
        Int(1, LONG_MAX),
        AT_ONCE,
        "How many bytes of each of them.",
    ),
    Directive(
        "latency-monitor-threshold",
        "latency_threshold_ms",
        Int(0, LONG_MAX),
        AT_ONCE,
        "Events that take this many milliseconds or more are kept for LATENCY; 0 is off.",
    ),
    Directive(
        "latency-tracking",
        "latency_tracking",
        Bool(),
        AT_ONCE,
        "Keep a histogram of running times for each command.",
    ),
    Directive(
        "latency-tracking-info-percentiles",
        "latency_percentiles",
        Percentiles(),
        AT_ONCE,
        "Which percentiles INFO latencystats prints.",
    ),
]

_DISK = [
    Directive(
        "dir",
        "data_dir",
        Folder(),
        AT_ONCE,
        "The directory of all files, made if missing. It cannot be changed while the AOF is on.",
        protected=True,
    ),
    Directive(
        "appendonly",
        "appendonly",
        Bool(),
        AT_ONCE,
        "Keep an append-only file (AOF): acknowledged writes survive the end of the process.",
    ),
    Directive(
        "appendfsync",
        "appendfsync",
        Choice("everysec", "always", "no"),
        AT_ONCE,
        "When the AOF is forced onto the disk: before each reply (always), once a second in the "
        "background, or when the system decides. It is always written before each reply.",
    ),
    Directive(
        "appendfilename",
        "appendfilename",
        FileName("appendfilename"),
        AT_START,
        "The beginning of the names of the AOF's files.",
    ),
    Directive(
        "appenddirname",
        "appenddirname",
        FileName("appenddirname"),
        AT_START,
        "The directory of the AOF, inside dir.",
    ),
    Directive(
        "backupdirname",
        "backupdirname",
        FileName("backupdirname"),
        AT_START,
        "The directory of the files of BACKUP, inside dir; must be empty when a backup starts.",
    ),
    Directive(
        "preload-file",
        "preload_file",
        PreloadFile(),
        AT_START,
        "Load this at the start in place of our own files, which it replaces: rdb:PATH for "
        "a snapshot, aof:PATH for the manifest of a sealed backup. Remove it after that start.",
    ),
    Directive(
        "backup-sealed-ttl",
        "backup_sealed_ttl_s",
        Int(0, LONG_MAX),
        AT_ONCE,
        "Remove a sealed backup after this many seconds; 0 keeps it until BACKUP CLEANUP.",
    ),
    Directive(
        "no-appendfsync-on-rewrite",
        "no_appendfsync_on_rewrite",
        Bool(),
        AT_ONCE,
        "Skip the sync of every second while a child writes files; no effect on always.",
    ),
    Directive(
        "auto-aof-rewrite-percentage",
        "auto_aof_rewrite_percentage",
        Int(),
        AT_ONCE,
        "Rewrite the AOF when it has grown by this many percent since the last time; 0 is never.",
    ),
    Directive(
        "auto-aof-rewrite-min-size",
        "auto_aof_rewrite_min_size",
        Memory(),
        AT_ONCE,
        "... but not while it is smaller than this.",
    ),
    Directive(
        "aof-load-truncated",
        "aof_load_truncated",
        Bool(),
        AT_ONCE,
        "Start even if the last command of the AOF is incomplete; the cut-off bytes are kept.",
    ),
    Directive(
        "aof-use-rdb-preamble",
        "aof_use_rdb_preamble",
        Bool(),
        AT_ONCE,
        "A rewritten AOF begins with a snapshot; otherwise with commands, which is slower.",
    ),
    Directive(
        "save",
        "save_points",
        SavePoints(),
        AT_ONCE,
        "Save a snapshot after this many seconds and this many changes; empty is never. "
        "With appendonly no and no save directive, the defaults of Redis apply: "
        "3600 1 300 100 60 10000.",
    ),
    Directive(
        "dbfilename",
        "dbfilename",
        FileName("dbfilename"),
        AT_ONCE,
        "The file of the snapshot, inside dir.",
        protected=True,
    ),
    Directive(
        "rdb-format",
        "rdb_format",
        Choice("7.0", "7.2", "7.4", "8.6", "8.8"),
        AT_ONCE,
        "The oldest Redis that can read the snapshots written here. An old format loses nothing: "
        "data that it has no place for is in fields that Redis ignores.",
    ),
    Directive(
        "rdbcompression", "rdbcompression", Bool(), AT_ONCE, "Compress long strings in snapshots."
    ),
    Directive(
        "rdbchecksum",
        "rdbchecksum",
        Bool(),
        AT_START,
        "Write a checksum at the end of a snapshot, and verify it when loading.",
    ),
    Directive(
        "stop-writes-on-bgsave-error",
        "stop_writes_on_bgsave_error",
        Bool(),
        AT_ONCE,
        "Refuse writes with MISCONF after a snapshot for a save point has failed.",
    ),
    Directive(
        "lazyfree-lazy-user-del",
        "lazyfree_lazy_user_del",
        Bool(),
        AT_ONCE,
        "DEL counts large values in lazyfreed_objects, as UNLINK does; both free them at once.",
    ),
    Directive(
        "skip-foreign-types",
        "skip_foreign_types",
        Bool(),
        AT_ONCE,
        "Leave out keys of types that this server does not have (hashes, sorted sets, module "
        "values) when loading; otherwise such a file is refused.",
    ),
]

_PROCESS = [
    Directive(
        "bind",
        "bind",
        Words(16),
        AT_ONCE,
        "Addresses to listen on; one that starts with - may be missing on this machine.",
    ),
    Directive("port", "port", Int(0, 65535), AT_ONCE, "The TCP port; 0 listens on none."),
    Directive(
        "unixsocket", "unixsocket", Text(), AT_START, "The path of a Unix socket to listen on."
    ),
    Directive(
        "unixsocketperm",
        "unixsocketperm",
        Octal(0, 0o777),
        AT_START,
        "Permissions of the Unix socket; 0 leaves what the umask gives.",
    ),
    Directive("tcp-backlog", "tcp_backlog", Int(), AT_START, "Length of the accept queue."),
    Directive(
        "tcp-keepalive",
        "tcp_keepalive_s",
        Int(),
        AT_ONCE,
        "Seconds of silence after which the peer is probed; 0 is off. For new connections.",
    ),
    Directive("hz", "hz", Int(0, INT_MAX), AT_ONCE, "How often periodic work runs, per second."),
    Directive(
        "daemonize",
        "daemonize",
        Bool(),
        AT_START,
        "Run in the background: the command ends when the data is loaded, or says why it is not.",
    ),
    Directive(
        "supervised",
        "supervised",
        Choice("upstart", "systemd", "auto", "no"),
        AT_START,
        "Tell the service manager when the server is ready.",
    ),
    Directive(
        "pidfile", "pidfile", Text(), AT_START, "Where to write the process id, if anywhere."
    ),
    Directive(
        "logfile", "logfile", Text(), AT_START, "Where to write the log; empty is standard output."
    ),
    Directive(
        "loglevel",
        "loglevel",
        Choice("debug", "verbose", "notice", "warning"),
        AT_ONCE,
        "How much is logged.",
    ),
    Directive(
        "set-proc-title", "set_proc_title", Bool(), AT_START, "Show the address in process lists."
    ),
    Directive(
        "shutdown-timeout",
        "shutdown_timeout_s",
        Int(),
        AT_ONCE,
        "How many seconds a shutdown waits for replicas to catch up; writes wait meanwhile.",
    ),
    Directive(
        "shutdown-on-sigint",
        "shutdown_on_sigint",
        _SHUTDOWN,
        AT_ONCE,
        "How SIGINT ends the server: the options of SHUTDOWN.",
    ),
    Directive(
        "shutdown-on-sigterm",
        "shutdown_on_sigterm",
        _SHUTDOWN,
        AT_ONCE,
        "How SIGTERM ends the server: the options of SHUTDOWN.",
    ),
    Directive(
        "always-show-logo", "always_show_logo", Bool(), AT_START, "Print the banner at start."
    ),
]

#: Heading of each part of the documentation, and its rows.
SECTIONS = [
    ("Streams", _STREAMS),
    ("Lists and sets", _LISTS_AND_SETS),
    ("Keyspace", _KEYSPACE),
    ("Files", _DISK),
    ("Users", ACCESS),
    ("Clients", _CLIENTS),
    ("Watching", _WATCHING),
    ("TLS", TLS),
    ("Replication", REPLICATION),
    ("Process and sockets", _PROCESS),
]

HONOURED = [row for _, rows in SECTIONS for row in rows]
