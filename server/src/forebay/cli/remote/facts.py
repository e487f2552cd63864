"""The facts of a server about its streams, groups and consumers, as records.

Replies of XINFO are pairs of a name and a value, and newer servers add names: an unknown pair is
skipped, a missing one (Redis before 7.0 counts no entries) is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay.cli.remote.link import Refusal
from forebay.cli.remote.server import Server

NO_ID = "0-0"


def pairs(reply: Sequence[Any]) -> dict[str, Any]:
    """A reply of XINFO by name."""
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


def program(info: Mapping[str, str]) -> str:
    """The program and version of a server, from its INFO: ``Forebay 0.1.0``."""
    for name, field in (("Forebay", "forebay_version"), ("Valkey", "valkey_version")):
        if info.get(field):
            return f"{name} {info[field]}"
    return f"Redis {info.get('redis_version') or '(version unknown)'}"


def ms_of(entry_id: str) -> int:
    """When an ID was made."""
    return int(entry_id.partition("-")[0])


def id_key(entry_id: str | bytes) -> tuple[int, int]:
    """An ID that can be compared; ``5`` means 5-0."""
    text = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
    ms, _, seq = text.partition("-")
    return int(ms), int(seq or 0)


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One stream; ``first_id`` and ``newest_id`` are IDs of entries, None if it has no entries."""

    name: bytes
    length: int
    last_id: str
    first_id: str | None
    newest_id: str | None
    groups: int
    added: int | None
    max_deleted_id: str | None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """One group; ``lag`` is None where the server cannot count."""

    stream: bytes
    name: bytes
    consumers: int
    pending: int
    last_id: str
    read: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class ConsumerFacts:
    """One consumer; idle since its last try, inactive since its last entry (7.2)."""

    name: bytes
    pending: int
    idle_ms: int
    inactive_ms: int | None


def stream_facts(name: bytes, reply: Sequence[Any]) -> StreamFacts:
    """The answer to XINFO STREAM."""
    found = pairs(reply)
    first, newest = found["first-entry"], found["last-entry"]
    deleted = found.get("max-deleted-entry-id")
    return StreamFacts(
        name=name,
        length=found["length"],
        last_id=found["last-generated-id"].decode(),
        first_id=first[0].decode() if first else None,
        newest_id=newest[0].decode() if newest else None,
        groups=found["groups"],
        added=found.get("entries-added"),
        max_deleted_id=deleted.decode() if deleted else None,
    )


def group_facts(stream: bytes, reply: Sequence[Any]) -> GroupFacts:
    """One of the answers to XINFO GROUPS."""
    found = pairs(reply)
    return GroupFacts(
        stream=stream,
        name=found["name"],
        consumers=found["consumers"],
        pending=found["pending"],
        last_id=found["last-delivered-id"].decode(),
        read=found.get("entries-read"),
        lag=found.get("lag"),
    )


def consumer_facts(reply: Sequence[Any]) -> ConsumerFacts:
    """One of the answers to XINFO CONSUMERS."""
    found = pairs(reply)
    return ConsumerFacts(found["name"], found["pending"], found["idle"], found.get("inactive"))


def stream_of(server: Server, name: bytes) -> StreamFacts:
    """Ask about one stream."""
    return stream_facts(name, server.ask("XINFO", "STREAM", name))


def groups_of(server: Server, name: bytes) -> list[GroupFacts]:
    """Ask about the groups of one stream."""
    return [group_facts(name, each) for each in server.ask("XINFO", "GROUPS", name)]


def group_of(server: Server, name: bytes, group: bytes) -> GroupFacts:
    """Ask about one group; if it does not exist, the error names the others."""
    for facts in groups_of(server, name):
        if facts.name == group:
            return facts
    server.ask("XINFO", "CONSUMERS", name, group)  # which answers NOGROUP
    raise AssertionError("a group that has consumers is in the list of groups")


def consumers_of(server: Server, name: bytes, group: bytes) -> list[ConsumerFacts]:
    """Ask about the consumers of a group."""
    return [consumer_facts(each) for each in server.ask("XINFO", "CONSUMERS", name, group)]


def every_stream(server: Server, names: Iterable[bytes]) -> list[StreamFacts]:
    """Ask about many streams at once."""
    return [stream_facts(name, reply) for name, reply in told_of(server, "STREAM", names)]


def every_group(server: Server, names: Iterable[bytes]) -> list[GroupFacts]:
    """Ask about the groups of many streams at once."""
    found = told_of(server, "GROUPS", names)
    return [group_facts(name, each) for name, reply in found for each in reply]


def told_of(server: Server, what: str, names: Iterable[bytes]) -> list[tuple[bytes, Any]]:
    """The answers of XINFO about many streams; one that was deleted meanwhile is left out."""
    listed = list(names)
    replies = server.link.ask_all([("XINFO", what, name) for name in listed])
    pairs_of = zip(listed, replies, strict=True)
    return [(name, reply) for name, reply in pairs_of if not isinstance(reply, Refusal)]
