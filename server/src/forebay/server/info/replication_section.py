"""INFO replication: which server follows which, and how far each one is.

Sentinel reads role, master_*, slave_* and the slaveN lines.  Besides the fields of Redis:

    forebay_link         what the link to the primary does, in plain words
    forebay_link_error   why the last attempt failed; empty if it did not
"""

from __future__ import annotations

from forebay.commands.api.settings import Settings
from forebay.replication.history import NOWHERE
from forebay.replication.link_record import seconds_since
from forebay.replication.peers import SHOWN, Peer
from forebay.server.info.memory_section import Fields
from forebay.server.net.timers import Clock
from forebay.server.replication.replica import CONNECTED, SYNC, ReplicaSide
from forebay.server.replication.replication import Replication


def replication(both: Replication, settings: Settings, clock: Clock) -> Fields:
    """The whole section."""
    now_ms = clock.monotonic_ms()
    fields: Fields = [("role", "slave" if both.is_replica else "master")]
    if both.is_replica:
        fields += _primary(both, settings, now_ms)
    return fields + _replicas(both, settings, now_ms) + _stream(both, settings)


def _primary(both: Replication, settings: Settings, now_ms: int) -> Fields:
    """The server that we follow."""
    replica = both.replica
    assert replica.address is not None
    is_up = replica.state == CONNECTED
    offset = both.side.history.offset
    fields: Fields = [
        ("master_host", replica.address[0]),
        ("master_port", replica.address[1]),
        ("master_link_status", "up" if is_up else "down"),
        ("master_last_io_seconds_ago", (now_ms - replica.heard_ms) // 1000 if is_up else -1),
        ("master_sync_in_progress", int(replica.state == SYNC)),
        ("slave_read_repl_offset", offset),
        ("slave_repl_offset", offset),
    ]
    record = replica.record
    fields += [
        ("master_current_sync_attempts", record.attempts),
        ("master_total_sync_attempts", record.all_attempts),
    ]
    if replica.state == SYNC:
        fields += _transfer(replica, now_ms)
    word, since_ms = ("up", record.up_since_ms) if is_up else ("down", record.down_since_ms)
    return [
        *fields,
        (f"master_link_{word}_since_seconds", seconds_since(since_ms, now_ms)),
        ("total_disconnect_time_sec", record.away_ms(now_ms) // 1000),
        ("slave_priority", settings.replica_priority),
        ("slave_read_only", int(settings.replica_read_only)),
        ("replica_announced", int(settings.replica_announced)),
        ("forebay_link", replica.story),
        ("forebay_link_error", replica.last_error),
    ]


def _transfer(replica: ReplicaSide, now_ms: int) -> Fields:
    """The progress of a copy of all data."""
    copy = replica.link.copy if replica.link is not None else None
    total = copy.size if copy is not None else -1
    received = copy.received if copy is not None else 0
    return [
        ("master_sync_total_bytes", max(0, total)),
        ("master_sync_read_bytes", received),
        ("master_sync_left_bytes", total - received if total >= 0 else -1),
        ("master_sync_perc", f"{100 * received / total if total > 0 else 0:.2f}"),
        ("master_sync_last_io_seconds_ago", (now_ms - replica.heard_ms) // 1000),
    ]


def _replicas(both: Replication, settings: Settings, now_ms: int) -> Fields:
    """The servers that follow us."""
    peers = list(both.side.peers)
    fields: Fields = [("connected_slaves", len(peers))]
    if settings.min_replicas_to_write and settings.min_replicas_max_lag_s:
        fields.append(("min_slaves_good_slaves", both.engine.good_replicas))
    for number, peer in enumerate(peers):
        fields.append((f"slave{number}", _line(peer, now_ms)))
    return fields


def _line(peer: Peer, now_ms: int) -> str:
    host, port = peer.address
    lag_s = peer.lag_s(now_ms) if peer.is_online() else 0
    return f"ip={host},port={port},state={SHOWN[peer.state]},offset={peer.offset},lag={lag_s}"


def _stream(both: Replication, settings: Settings) -> Fields:
    """The stream of changes, and the part of it that is kept."""
    history, backlog = both.side.history, both.side.backlog
    second = history.second_offset
    return [
        ("master_failover_state", both.handover.state),
        ("master_replid", history.replid),
        ("master_replid2", history.replid2),
        ("master_repl_offset", history.offset),
        ("second_repl_offset", second + 1 if second != NOWHERE else -1),
        ("repl_backlog_active", int(backlog is not None)),
        ("repl_backlog_size", settings.repl_backlog_size),
        ("repl_backlog_first_byte_offset", backlog.first + 1 if backlog else 0),
        ("repl_backlog_histlen", backlog.end - backlog.first if backlog else 0),
    ]
