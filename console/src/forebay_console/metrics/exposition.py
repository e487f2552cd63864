"""The text that Prometheus scrapes: redis_exporter's names for streams and INFO, and ours.

    redis_stream_length{db="db0",stream="orders"} 3            as redis_exporter has it
    forebay_stream_group_lag_seconds{...} 0.2                  redis_exporter lacks it

Everything comes from the board.  So a scrape asks the server only what its user may see, and, with
``--consumer-metrics``, for the consumers, which may be many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from forebay.cli.remote.facts import consumer_facts, ms_of
from forebay.cli.remote.link import Refusal
from forebay_console.asking.permits import Permits, Sight
from forebay_console.servers.links import Links
from forebay_console.servers.shown import name
from forebay_console.views.server import number, replicas
from forebay_console.watch.board import Board, Watched, WatchedGroup

#: Fields of INFO -> the names that dashboards use.
INFO_NAMES = {
    "connected_clients": ("redis_connected_clients", "gauge"),
    "blocked_clients": ("redis_blocked_clients", "gauge"),
    "used_memory": ("redis_memory_used_bytes", "gauge"),
    "used_memory_rss": ("redis_memory_used_rss_bytes", "gauge"),
    "maxmemory": ("redis_memory_max_bytes", "gauge"),
    "uptime_in_seconds": ("redis_uptime_in_seconds", "gauge"),
    "total_connections_received": ("redis_connections_received_total", "counter"),
    "total_commands_processed": ("redis_commands_processed_total", "counter"),
    "rejected_connections": ("redis_rejected_connections_total", "counter"),
    "total_net_input_bytes": ("redis_net_input_bytes_total", "counter"),
    "total_net_output_bytes": ("redis_net_output_bytes_total", "counter"),
    "expired_keys": ("redis_expired_keys_total", "counter"),
    "connected_slaves": ("redis_connected_slaves", "gauge"),
    "master_repl_offset": ("redis_master_repl_offset", "gauge"),
    "aof_enabled": ("redis_aof_enabled", "gauge"),
    "rdb_changes_since_last_save": ("redis_rdb_changes_since_last_save", "gauge"),
    "rdb_last_save_time": ("redis_rdb_last_save_timestamp_seconds", "gauge"),
    "aof_unsynced_bytes": ("forebay_aof_unsynced_bytes", "gauge"),
    "aof_acked_offset": ("forebay_aof_acked_offset_bytes", "counter"),
    "aof_synced_offset": ("forebay_aof_synced_offset_bytes", "counter"),
}

Labels = Mapping[str, str]


class Sample(NamedTuple):
    """One line, and the kind of its family."""

    family: str
    kind: str
    labels: Labels
    value: float


class Viewer(Protocol):
    """The user who scrapes: connections, and what the user may see."""

    links: Links
    permits: Permits


def exposition(board: Board, viewer: Viewer, per_consumer: bool) -> str:
    """Everything that the viewer may see."""
    database = f"db{viewer.links.address.database}"
    streams = list(board.streams.values())
    with viewer.links.lent() as server:
        sights = viewer.permits.of(server, [one.facts.name for one in streams])
        info = {} if viewer.permits.why_no_info(server) else board.server.info
    samples = [Sample("redis_up", "gauge", {}, float(board.server.trouble is None))]
    samples += of_info(info)
    clear = [one for one in streams if sights[one.facts.name] is Sight.ALL]
    for watched in streams:
        if sights[watched.facts.name] is Sight.LENGTH:
            samples.append(length_of(watched, database))
    for watched in clear:
        samples += of_stream(watched, database)
    if per_consumer:
        samples += of_consumers(clear, viewer.links, database)
    return written(samples)


def length_of(watched: Watched, database: str) -> Sample:
    """The length of a stream."""
    labels = {"db": database, "stream": name(watched.facts.name)}
    return Sample("redis_stream_length", "gauge", labels, watched.facts.length)


def of_info(info: Mapping[str, str]) -> Iterator[Sample]:
    """Samples from INFO."""
    for field, (family, kind) in INFO_NAMES.items():
        value = number(info, field)
        if value is not None:
            yield Sample(family, kind, {}, value)
    for one in replicas(info):
        labels = {"slave_ip": one.get("ip", ""), "slave_port": one.get("port", "")}
        offset = number(one, "offset")
        if offset is not None:
            family = "redis_connected_slave_offset_bytes"
            yield Sample(family, "gauge", {**labels, "slave_state": one.get("state", "")}, offset)


def of_stream(watched: Watched, database: str) -> Iterator[Sample]:
    """A stream and its groups."""
    facts = watched.facts
    labels = {"db": database, "stream": name(facts.name)}
    yield length_of(watched, database)
    yield Sample("redis_stream_groups", "gauge", labels, facts.groups)
    for family, entry_id in (
        ("redis_stream_first_entry_id", facts.first_id),
        ("redis_stream_last_entry_id", facts.newest_id),
        ("redis_stream_last_generated_id", facts.last_id),
    ):
        if entry_id is not None:
            yield Sample(family, "gauge", labels, ms_of(entry_id))
    if facts.added is not None:
        yield Sample("forebay_stream_entries_added_total", "counter", labels, facts.added)
    for group in watched.groups.values():
        yield from of_group(group, labels)


def of_group(group: WatchedGroup, of: Labels) -> Iterator[Sample]:
    """One group."""
    facts = group.facts
    labels = {**of, "group": name(facts.name)}
    yield Sample("redis_stream_group_consumers", "gauge", labels, facts.consumers)
    yield Sample("redis_stream_group_messages_pending", "gauge", labels, facts.pending)
    family = "redis_stream_group_last_delivered_id"
    yield Sample(family, "gauge", labels, ms_of(facts.last_id))
    if facts.read is not None:
        yield Sample("redis_stream_group_entries_read", "gauge", labels, facts.read)
    if facts.lag is not None:
        yield Sample("redis_stream_group_lag", "gauge", labels, facts.lag)
    if group.behind_ms is not None:
        seconds = group.behind_ms / 1000
        yield Sample("forebay_stream_group_lag_seconds", "gauge", labels, seconds)


def of_consumers(streams: Iterable[Watched], links: Links, database: str) -> Iterator[Sample]:
    """The consumers of all groups, asked for now."""
    pairs = [(w.facts.name, group) for w in streams for group in w.groups]
    with links.lent() as server:
        replies = server.link.ask_all([("XINFO", "CONSUMERS", *pair) for pair in pairs])
    for (stream, group), reply in zip(pairs, replies, strict=True):
        for row in () if isinstance(reply, Refusal) else reply:
            facts = consumer_facts(row)
            labels = {
                "db": database,
                "stream": name(stream),
                "group": name(group),
                "consumer": name(facts.name),
            }
            family = "redis_stream_group_consumer_messages_pending"
            yield Sample(family, "gauge", labels, facts.pending)
            family = "redis_stream_group_consumer_idle_seconds"
            yield Sample(family, "gauge", labels, facts.idle_ms / 1000)


def written(samples: Iterable[Sample]) -> str:
    """Samples as text, grouped by family."""
    families: dict[str, list[Sample]] = {}
    for sample in samples:
        families.setdefault(sample.family, []).append(sample)
    lines = []
    for family, members in families.items():
        lines.append(f"# TYPE {family} {members[0].kind}")
        lines += [f"{family}{labelled(one.labels)} {one.value:.15g}" for one in members]
    return "\n".join(lines) + "\n"


def labelled(labels: Labels) -> str:
    """Labels in braces, escaped."""
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items()) + "}"


def escaped(value: str) -> str:
    """A value of a label."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
