"""The sections of INFO, one function each: context and facts in, pairs out."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import forebay
from forebay.commands.admin.histogram import percentile
from forebay.commands.api.context import Context
from forebay.commands.api.settings import Settings
from forebay.commands.api.spec import Command
from forebay.commands.api.version import REDIS_VERSION
from forebay.server.config.config import Config
from forebay.server.durability.durability import Durability
from forebay.server.info import memory_section, persistence_section, replication_section, usage
from forebay.server.info.memory_section import Fields, zeros
from forebay.server.net.timers import Clock
from forebay.server.replication.replication import Replication


@dataclass(slots=True)
class Facts:
    """What the sections need besides the context."""

    config: Config
    durability: Durability
    replication: Replication
    clock: Clock
    run_id: str
    started_ms: int
    now_ms: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    commands_per_second: int = 0
    input_kbps: float = 0.0
    output_kbps: float = 0.0
    turns_per_second: int = 0
    turn_us: int = 0
    build: str = field(default_factory=forebay.build)


def server(ctx: Context, facts: Facts) -> Fields:
    """Version, process, uptime."""
    settings = ctx.settings
    system = platform.uname()
    uptime_s = max(0, facts.now_ms - facts.started_ms) // 1000
    return [
        ("redis_version", REDIS_VERSION),
        ("redis_git_sha1", "00000000"),
        ("redis_git_dirty", 0),
        ("redis_build_id", "0"),
        ("redis_mode", "standalone"),
        ("os", f"{system.system} {system.release} {system.machine}"),
        ("arch_bits", 64),
        ("monotonic_clock", "POSIX clock_gettime"),
        ("multiplexing_api", "epoll"),
        ("atomicvar_api", "none"),
        ("gcc_version", "0.0.0"),
        ("process_id", os.getpid()),
        ("process_supervised", settings.supervised),
        ("run_id", facts.run_id),
        ("tcp_port", settings.shown_port()),
        ("server_time_usec", facts.now_ms * 1000),
        ("uptime_in_seconds", uptime_s),
        ("uptime_in_days", uptime_s // 86400),
        ("hz", settings.hz),
        ("configured_hz", settings.hz),
        ("lru_clock", facts.now_ms // 1000 & 0xFFFFFF),
        ("executable", sys.executable),
        ("config_file", facts.config.path),
        ("io_threads_active", 0),
        *_ending(ctx),
        *_listeners(settings),
        ("forebay_version", forebay.__version__),
        ("forebay_build", facts.build),
        ("python_version", platform.python_version()),
    ]


def _ending(ctx: Context) -> Fields:
    """How long replicas have to catch up, if a shutdown waits for them."""
    left_ms = ctx.services.ending.left_ms
    return [("shutdown_in_milliseconds", left_ms)] if left_ms >= 0 else []


def _listeners(settings: Settings) -> Fields:
    """Where clients can connect, as configured."""
    places = []
    if settings.port:
        binds = "".join(f"bind={address}," for address in settings.bind)
        places.append(f"name=tcp,{binds}port={settings.port}")
    if settings.unixsocket:
        places.append(f"name=unix,bind={settings.unixsocket}")
    if settings.tls_port:
        binds = "".join(f"bind={address}," for address in settings.bind)
        places.append(f"name=tls,{binds}port={settings.tls_port}")
    return [(f"listener{number}", place) for number, place in enumerate(places)]


def clients(ctx: Context, facts: Facts) -> Fields:
    """Connected clients, waiting clients, and the keys that they wait for."""
    sessions, blocking = ctx.services.sessions, ctx.services.blocking
    input_max = max((session.query_room for session in sessions), default=0)
    output_max = max((session.out.pending() for session in sessions), default=0)
    watching = [session for session in sessions if session.watched]
    return [
        ("connected_clients", len(sessions) - len(facts.replication.side.peers)),
        ("cluster_connections", 0),
        ("maxclients", ctx.settings.maxclients),
        ("client_recent_max_input_buffer", input_max),
        ("client_recent_max_output_buffer", output_max),
        ("blocked_clients", blocking.blocked_clients),
        ("tracking_clients", len(ctx.services.tracking.clients)),
        ("pubsub_clients", sum(1 for session in sessions if session.subscriptions())),
        ("watching_clients", len(watching)),
        ("clients_in_timeout_table", 0),
        ("total_watched_keys", sum(len(session.watched) for session in watching)),
        ("total_blocking_keys", blocking.blocking_keys),
        ("total_blocking_keys_on_nokey", blocking.blocking_keys_on_missing),
    ]


def memory(ctx: Context, facts: Facts) -> Fields:
    """Memory in use, and memory that the process holds."""
    return memory_section.memory(ctx)


def persistence(ctx: Context, facts: Facts) -> Fields:
    """What is on disk, and how safe it is."""
    reads_copy = facts.replication.replica.incoming.is_loading
    return persistence_section.persistence(facts.durability, reads_copy)


def threads(ctx: Context, facts: Facts) -> Fields:
    """There is one thread."""
    counted = ctx.services.stats
    clients = len(ctx.services.sessions)
    return [("io_thread_0", f"clients={clients},reads={counted.reads},writes={counted.writes}")]


def stats(ctx: Context, facts: Facts) -> Fields:
    """Counters since the start or CONFIG RESETSTAT."""
    counted, pubsub = ctx.services.stats, ctx.services.pubsub
    children = facts.durability.children
    return [
        ("total_connections_received", counted.connections),
        ("total_commands_processed", counted.commands),
        ("instantaneous_ops_per_sec", facts.commands_per_second),
        ("total_net_input_bytes", facts.bytes_in),
        ("total_net_output_bytes", facts.bytes_out),
        *zeros("total_net_repl_input_bytes total_net_repl_output_bytes"),
        ("instantaneous_input_kbps", f"{facts.input_kbps:.2f}"),
        ("instantaneous_output_kbps", f"{facts.output_kbps:.2f}"),
        ("instantaneous_input_repl_kbps", "0.00"),
        ("instantaneous_output_repl_kbps", "0.00"),
        ("rejected_connections", counted.rejected_connections),
        ("sync_full", counted.full_syncs),
        ("sync_partial_ok", counted.partial_syncs),
        ("sync_partial_err", counted.refused_partial_syncs),
        ("expired_subkeys", 0),
        *zeros("expired_subkeys_active"),
        ("expired_keys", counted.expired_keys),
        ("expired_keys_active", counted.expired_unasked),
        ("expired_stale_perc", "0.00"),
        *zeros("expired_time_cap_reached_count"),
        ("expire_cycle_cpu_milliseconds", counted.expire_us // 1000),
        ("evicted_keys", counted.evicted_keys),
        ("evicted_clients", ctx.services.stats.evicted_clients),
        *zeros("evicted_scripts total_eviction_exceeded_time"),
        *zeros("current_eviction_exceeded_time"),
        ("keyspace_hits", counted.keyspace_hits),
        ("keyspace_misses", counted.keyspace_misses),
        ("pubsub_channels", len(pubsub.channel_names(None))),
        ("pubsub_patterns", pubsub.pattern_count()),
        ("pubsubshard_channels", len(pubsub.channel_names(None, shard=True))),
        ("latest_fork_usec", children.last_fork_us),
        ("total_forks", children.forks),
        ("migrate_cached_sockets", 0),
        *zeros("slave_expires_tracked_keys active_defrag_hits active_defrag_misses"),
        *zeros("active_defrag_key_hits active_defrag_key_misses total_active_defrag_time"),
        *zeros("current_active_defrag_time"),
        ("tracking_total_keys", len(ctx.services.tracking.table)),
        ("tracking_total_items", ctx.services.tracking.items),
        ("tracking_total_prefixes", len(ctx.services.tracking.prefixes)),
        *zeros("unexpected_error_replies"),
        ("total_error_replies", counted.error_replies),
        *zeros("dump_payload_sanitizations"),
        ("total_reads_processed", counted.reads),
        ("total_writes_processed", counted.writes),
        *zeros("io_threaded_reads_processed io_threaded_writes_processed"),
        *zeros("io_threaded_total_prefetch_batches io_threaded_total_prefetch_entries"),
        ("client_query_buffer_limit_disconnections", counted.query_limit_disconnections),
        ("client_output_buffer_limit_disconnections", counted.output_limit_disconnections),
        *zeros("reply_buffer_shrinks reply_buffer_expands"),
        ("eventloop_cycles", counted.turns),
        ("eventloop_duration_sum", counted.turns_us),
        ("eventloop_duration_cmd_sum", _commands_us(ctx)),
        ("instantaneous_eventloop_cycles_per_sec", facts.turns_per_second),
        ("instantaneous_eventloop_duration_usec", facts.turn_us),
        ("acl_access_denied_auth", counted.denied.get(b"auth", 0)),
        ("acl_access_denied_cmd", counted.denied.get(b"command", 0)),
        ("acl_access_denied_key", counted.denied.get(b"key", 0)),
        ("acl_access_denied_channel", counted.denied.get(b"channel", 0)),
        ("acl_access_denied_tls_cert", counted.denied.get(b"tls-cert", 0)),
        ("forebay_clients_unblocked", counted.unblocked),
    ]


def replication(ctx: Context, facts: Facts) -> Fields:
    """Which server follows which."""
    return replication_section.replication(facts.replication, ctx.settings, facts.clock)


def cpu(ctx: Context, facts: Facts) -> Fields:
    """Processor time."""
    return [(name, f"{seconds:.6f}") for name, seconds in usage.cpu_seconds()]


def nothing(ctx: Context, facts: Facts) -> Fields:
    """A section without fields."""
    return []


def _rows(ctx: Context) -> Iterator[Command]:
    for row in ctx.services.executor.commands.values():
        yield row
        yield from row.subcommands.values()


def _commands_us(ctx: Context) -> int:
    """How long all commands ran; those inside EXEC are counted, so EXEC itself is not."""
    counts = ctx.services.call_counts
    return sum(counts.of(row).usec for row in _rows(ctx) if row.name != b"exec")


def commandstats(ctx: Context, facts: Facts) -> Fields:
    """Calls and times of each command that was tried."""
    found: Fields = []
    for row in _rows(ctx):
        calls, usec, rejected, failed, _ = ctx.services.call_counts.of(row)
        if calls or rejected or failed:
            each = usec / calls if calls else 0.0
            text = (
                f"calls={calls},usec={usec},usec_per_call={each:.2f},"
                f"rejected_calls={rejected},failed_calls={failed}"
            )
            found.append((f"cmdstat_{row.full_name.decode()}", text))
    return found


def errorstats(ctx: Context, facts: Facts) -> Fields:
    """Error replies by their first word."""
    errors = sorted(ctx.services.stats.errors.items())
    return [(f"errorstat_{code.decode('utf-8', 'replace')}", f"count={n}") for code, n in errors]


def latencystats(ctx: Context, facts: Facts) -> Fields:
    """Percentiles of the running times of each command."""
    found: Fields = []
    for row in _rows(ctx):
        buckets = ctx.services.call_counts.of(row).buckets
        if buckets and ctx.settings.latency_tracking:
            text = ",".join(
                f"p{percent:g}={percentile(buckets, percent):.3f}"
                for percent in ctx.settings.latency_percentiles
            )
            found.append((f"latency_percentiles_usec_{row.full_name.decode()}", text))
    return found


def cluster(ctx: Context, facts: Facts) -> Fields:
    """There is no cluster."""
    return [("cluster_enabled", 0)]


def keyspace(ctx: Context, facts: Facts) -> Fields:
    """Keys of each database that has any."""
    found: Fields = []
    for db in ctx.keyspace.databases:
        if db.values:
            left_ms = [when_ms - ctx.now_ms for when_ms in db.expires.values()]
            mean_ms = max(0, sum(left_ms) // len(left_ms)) if left_ms else 0
            text = f"keys={len(db.values)},expires={len(db.expires)},avg_ttl={mean_ms},subexpiry=0"
            found.append((f"db{db.index}", text))
    return found
