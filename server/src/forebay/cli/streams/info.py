"""``forebay info``: a server in short, one stream in full, or a line for each of many."""

from __future__ import annotations

import sys
from typing import Any

from cyclopts import App

from forebay.cli.moments import iso
from forebay.cli.output import counted, json_of, number, text_of, write_json
from forebay.cli.remote.facts import (
    GroupFacts,
    StreamFacts,
    every_stream,
    groups_of,
    ms_of,
    program,
    stream_of,
)
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.names import is_pattern, name_of
from forebay.cli.remote.option import Url
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json, Patterns
from forebay.cli.tables import show_table
from forebay.cli.words import size, span, whole

HELP = """\
Print a summary of a server, or of a stream.

For one stream: entries, first and last ID, groups and how far each is behind.  Several
names, or a pattern, give a table.
"""

EPILOG = """\
examples:
  forebay info                              the server
  forebay info orders                       one stream, with its groups
  forebay info '*'                          every stream
  forebay info 'orders:*' --json | jq 'select(.length > 1000) | .stream'

To see what is wrong with a server, and what to do: forebay doctor
"""

app = App(name="info", help=HELP, help_epilogue=EPILOG)


@app.default
def info(*streams: Patterns, json: Json = False, url: Url = None) -> int:
    """Ask, and print."""
    with connected(url) as server:
        if not streams:
            tell_server(server, is_json=json)
        elif len(streams) == 1 and not is_pattern(streams[0]):
            tell_stream(server, name_of(streams[0]), is_json=json)
        else:
            tell_streams(server, server.chosen(streams), is_json=json)
    return 0


# The server


def tell_server(server: Server, *, is_json: bool) -> None:
    """Print a few lines about a server."""
    facts = server_facts(server)
    if is_json:
        write_json(facts)
        return
    limit = f" of {size(facts['maxmemory_bytes'])}" if facts["maxmemory_bytes"] else ""
    role = "a replica" if facts["role"] == "slave" else "a primary"
    replicas = counted(facts["replicas"], "replica")
    others = counted(facts["keys"] - facts["streams"], "other key")
    sys.stdout.write(
        f"{facts['program']} at {server.address}, {role} with {replicas}\n"
        f"up for {span(facts['uptime_s'])}, {counted(facts['clients'], 'client')}, "
        f"{facts['commands_per_s']:,} commands a second\n"
        f"{size(facts['memory_bytes'])}{limit} in use\n"
        f"{counted(facts['streams'], 'stream')} with {counted(facts['entries'], 'entry')}, "
        f"{others}\n"
    )


def server_facts(server: Server) -> dict[str, Any]:
    """The server for programs."""
    said = server.info()
    names = server.streams()
    lengths = server.link.ask_all([("XLEN", name) for name in names])
    return {
        "url": str(server.address),
        "program": program(said),
        "role": said.get("role", ""),
        "replicas": whole(said.get("connected_slaves")) or 0,
        "uptime_s": whole(said.get("uptime_in_seconds")) or 0,
        "clients": whole(said.get("connected_clients")) or 0,
        "commands_per_s": whole(said.get("instantaneous_ops_per_sec")) or 0,
        "memory_bytes": whole(said.get("used_memory")) or 0,
        "maxmemory_bytes": whole(said.get("maxmemory")) or 0,
        "keys": server.ask("DBSIZE"),
        "streams": len(names),
        "entries": sum(length for length in lengths if isinstance(length, int)),
    }


# One stream


def tell_stream(server: Server, name: bytes, *, is_json: bool) -> None:
    """Print all facts about a stream."""
    facts, groups = stream_of(server, name), groups_of(server, name)
    memory = server.link.ask("MEMORY", "USAGE", name)
    memory_bytes = None if isinstance(memory, Refusal) else memory
    if is_json:
        more = {"memory_bytes": memory_bytes, "groups": [group_json(g) for g in groups]}
        write_json(stream_json(facts) | more)
        return
    sys.stdout.write("".join(f"{line}\n" for line in stream_lines(facts, memory_bytes)))
    if groups:
        sys.stdout.write("\n")
        show_table(GROUP_COLUMNS, [group_row(group)[1:] for group in groups])


GROUP_COLUMNS = ("group", "consumers", "pending", "lag", "last delivered")


def stream_lines(facts: StreamFacts, memory_bytes: int | None) -> list[str]:
    """One stream for people."""
    lines = [f"{text_of(facts.name)}: {counted(facts.length, 'entry')}"]
    if memory_bytes:
        lines[0] += f", {size(memory_bytes)}"
    if facts.first_id and facts.newest_id:
        lines.append(f"oldest   {facts.first_id}  {iso(ms_of(facts.first_id))}")
        lines.append(f"newest   {facts.newest_id}  {iso(ms_of(facts.newest_id))}")
    lines.append(f"last ID  {facts.last_id}")
    if facts.added is not None:
        gone = facts.added - facts.length
        lines.append(f"added    {facts.added:,} ever, {number(gone) if gone else 'none'} gone")
    lines.append(counted(facts.groups, "group"))
    return lines


def stream_json(facts: StreamFacts) -> dict[str, Any]:
    """One stream for programs."""
    return {
        "stream": json_of(facts.name),
        "length": facts.length,
        "first_id": facts.first_id,
        "newest_id": facts.newest_id,
        "last_id": facts.last_id,
        "added": facts.added,
        "max_deleted_id": facts.max_deleted_id,
        "groups": facts.groups,
    }


def group_json(facts: GroupFacts) -> dict[str, Any]:
    """One group for programs."""
    return {
        "stream": json_of(facts.stream),
        "group": json_of(facts.name),
        "consumers": facts.consumers,
        "pending": facts.pending,
        "lag": facts.lag,
        "last_id": facts.last_id,
        "read": facts.read,
    }


def group_row(facts: GroupFacts) -> list[str | int | None]:
    """One group for people, after its stream."""
    name = text_of(facts.name)
    counts = [facts.consumers, facts.pending, facts.lag]
    return [text_of(facts.stream), name, *counts, facts.last_id]


# Many streams


def tell_streams(server: Server, names: list[bytes], *, is_json: bool) -> None:
    """Print a line for each stream."""
    found = every_stream(server, names)
    if len(found) < len(names):  # one was just deleted, or never existed
        missing = next(name for name in names if name not in {facts.name for facts in found})
        stream_of(server, missing)
    if is_json:
        for facts in found:
            write_json(stream_json(facts))
        return
    rows = [
        [
            text_of(facts.name),
            facts.length,
            facts.groups,
            facts.first_id,
            facts.newest_id,
            iso(ms_of(facts.newest_id)) if facts.newest_id else None,
        ]
        for facts in found
    ]
    show_table(("stream", "entries", "groups", "oldest", "newest", "added at"), rows)
