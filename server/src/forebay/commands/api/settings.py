"""Everything that can be configured, as plain attributes with their defaults.

Code that needs a setting reads an attribute of the one Settings object that the
server was started with: no lookups by name, no parsing, no callbacks.

    redis.conf, --options, CONFIG SET  ->  server/config/config.py  ->  Settings  ->  all code

Rules
  1. Values are already in the unit that the name carries: ``_ms``, ``_s``, ``_us``, ``_bytes``.
     A bare count (``maxclients``) has no unit.
  2. Only server/config/config.py (and tests) assign to it; the rows of server/config/table.py
     say which directive fills which attribute.  The defaults are here and nowhere else.
  3. Tests below the server make their own: ``Settings(stream_node_max_entries=3)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DEBUG_NO = "no"
DEBUG_LOCAL = "local"
DEBUG_YES = "yes"


@dataclass(slots=True, frozen=True)
class OutputLimit:
    """When to close a client that does not read: at once, or after a time over the soft limit."""

    hard_bytes: int
    soft_bytes: int
    soft_seconds: int


def _default_output_limits() -> dict[str, OutputLimit]:
    return {
        # Redis has no limit here; unread replies must not fill the memory of the machine.
        "normal": OutputLimit(1 << 30, 0, 0),
        "replica": OutputLimit(256 << 20, 64 << 20, 60),
        "pubsub": OutputLimit(32 << 20, 8 << 20, 60),
    }


@dataclass(slots=True)
class Settings:
    """One server's settings; every attribute has the default of Redis, except for these:

    normal clients have an output limit; the AOF is on, and no save points are set, because
    the AOF is the durable form of the data.
    """

    # Streams.  0 means no limit for the two node limits.
    stream_node_max_bytes: int = 4096
    stream_node_max_entries: int = 100
    stream_idmp_duration_s: int = 100
    stream_idmp_maxsize: int = 100

    # How OBJECT ENCODING names lists and sets; negative: a size in bytes (core/elements.py).
    list_max_listpack_size: int = -2
    set_max_intset_entries: int = 512
    set_max_listpack_entries: int = 128
    set_max_listpack_value: int = 64

    # The keyspace.  notify_flags are the bits of commands/api/notify_flags.py.
    databases: int = 16
    notify_flags: int = 0
    maxmemory: int = 0
    maxmemory_policy: str = "noeviction"
    active_expire_effort: int = 1

    # Which clients may connect, and how much a client may send or leave unread.
    requirepass: bytes = b""
    # Users: the ACL file, the channels of a new user, the length of ACL LOG.
    aclfile: str = ""
    acl_pubsub_default: str = "resetchannels"
    acllog_max_len: int = 128
    protected_mode: bool = True
    enable_debug_command: str = DEBUG_NO
    enable_protected_configs: str = DEBUG_NO
    maxclients: int = 10000
    maxmemory_clients: int = 0
    tracking_table_max_keys: int = 1_000_000
    timeout_s: int = 0
    proto_max_bulk_len: int = 512 << 20
    client_query_buffer_limit: int = 1 << 30
    output_limits: dict[str, OutputLimit] = field(default_factory=_default_output_limits)

    # Monitoring.  A slowlog threshold below 0 is off; a latency threshold of 0 is off.
    slowlog_slower_than_us: int = 10000
    slowlog_max_len: int = 128
    slowlog_entry_max_argc: int = 32
    slowlog_entry_max_bytes: int = 128
    latency_threshold_ms: int = 0
    latency_tracking: bool = True
    latency_percentiles: tuple[float, ...] = (50.0, 99.0, 99.9)

    # Persistence.  A save point is a pair: seconds and changes.
    data_dir: str = "."
    appendonly: bool = True
    appendfsync: str = "everysec"
    appendfilename: str = "appendonly.aof"
    appenddirname: str = "appendonlydir"
    backupdirname: str = "backupdir"
    backup_sealed_ttl_s: int = 0
    preload_file: str = ""
    no_appendfsync_on_rewrite: bool = False
    auto_aof_rewrite_percentage: int = 100
    auto_aof_rewrite_min_size: int = 64 << 20
    aof_load_truncated: bool = True
    aof_use_rdb_preamble: bool = True
    save_points: tuple[tuple[int, int], ...] = ()
    dbfilename: str = "dump.rdb"
    rdb_format: str = "7.0"
    rdbcompression: bool = True
    rdbchecksum: bool = True
    stop_writes_on_bgsave_error: bool = True
    skip_foreign_types: bool = False
    lazyfree_lazy_user_del: bool = False

    # How many replicas a write needs, and how recent their last ACK is; 0 in either: no check.
    min_replicas_to_write: int = 0
    min_replicas_max_lag_s: int = 10

    # The primary that this server follows, host and port; empty if it is a primary itself.
    replicaof: tuple[str, ...] = ()
    masterauth: str = ""
    masteruser: str = ""
    # The behaviour of a replica, and how it presents itself to others (Sentinel).
    replica_read_only: bool = True
    replica_serve_stale_data: bool = True
    replica_priority: int = 100
    replica_announced: bool = True
    replica_announce_ip: str = ""
    replica_announce_port: int = 0
    repl_diskless_load: str = "disabled"
    # Settings of a primary.
    repl_backlog_size: int = 1 << 20
    repl_backlog_ttl_s: int = 3600
    repl_timeout_s: int = 60
    repl_ping_period_s: int = 10
    repl_diskless_sync: bool = True
    repl_diskless_sync_delay_s: int = 5
    repl_diskless_sync_max_replicas: int = 0

    # TLS: whether, with which files, for which clients (server/net/tls_contexts.py).
    tls_port: int = 0
    tls_cert_file: str = ""
    tls_key_file: str = ""
    tls_key_file_pass: str = ""
    tls_client_cert_file: str = ""
    tls_client_key_file: str = ""
    tls_client_key_file_pass: str = ""
    tls_dh_params_file: str = ""
    tls_ca_cert_file: str = ""
    tls_ca_cert_dir: str = ""
    tls_auth_clients: str = "yes"
    tls_auth_clients_user: str = "off"
    tls_replication: bool = False
    tls_protocols: str = ""
    tls_ciphers: str = ""
    tls_ciphersuites: str = ""
    tls_prefer_server_ciphers: bool = False
    tls_session_caching: bool = True
    max_new_tls_per_turn: int = 1

    # The process and its sockets; only server/ reads them.
    hz: int = 10
    bind: tuple[str, ...] = ("127.0.0.1", "-::1")
    port: int = 6379
    unixsocket: str = ""
    unixsocketperm: int = 0
    tcp_backlog: int = 511
    tcp_keepalive_s: int = 300
    daemonize: bool = False
    supervised: str = "no"
    pidfile: str = ""
    logfile: str = ""
    loglevel: str = "notice"
    set_proc_title: bool = True
    shutdown_timeout_s: int = 10
    shutdown_on_sigint: tuple[str, ...] = ()
    shutdown_on_sigterm: tuple[str, ...] = ()
    always_show_logo: bool = False

    def shown_port(self) -> int:
        """The port of this server where only one can be given."""
        return self.port or self.tls_port

    def needs_disk(self) -> bool:
        """Whether changes are kept in any file."""
        return self.appendonly or bool(self.save_points)
