"""The data of a server, read through XINFO STREAM FULL into plain values for the judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reliability.ledger import Id, read_id, token_of
from testkit.resp import RawClient


@dataclass
class FoundGroup:
    """One group: pending records as (consumer, delivery time, delivery count) by ID."""

    last_id: Id
    consumers: set[str]
    pending: dict[Id, tuple[str, int, int]]
    faults: list[str] = field(default_factory=list)


@dataclass
class FoundStream:
    """One stream: tokens by ID in the order of the reply, counters, groups."""

    entries: dict[Id, str]
    order: list[Id]
    last_id: Id
    max_deleted: Id
    added: int
    length: int
    groups: dict[str, FoundGroup]


@dataclass
class Found:
    """The whole state that the loop checks."""

    streams: dict[str, FoundStream]
    counters: dict[str, int]


def _fields(reply: list[Any]) -> dict[str, Any]:
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


def read_group(facts: dict[str, Any]) -> FoundGroup:
    """A group, with the differences between its own list and the lists of its consumers."""
    pending = {
        read_id(entry): (consumer.decode(), time, count)
        for entry, consumer, time, count in facts["pending"]
    }
    faults: list[str] = []
    if len(pending) != facts["pel-count"] or len(pending) != len(facts["pending"]):
        faults.append(f"pel-count {facts['pel-count']} beside {len(pending)} pending entries")
    by_consumer: dict[Id, tuple[str, int, int]] = {}
    names = set()
    for consumer in map(_fields, facts["consumers"]):
        name = consumer["name"].decode()
        names.add(name)
        by_consumer |= {read_id(e): (name, time, count) for e, time, count in consumer["pending"]}
    if by_consumer != pending:
        faults.append("the consumers' pending lists are not the group's")
    return FoundGroup(read_id(facts["last-delivered-id"]), names, pending, faults)


def read_stream(reply: list[Any]) -> FoundStream:
    """The reply of XINFO STREAM key FULL COUNT 0."""
    facts = _fields(reply)
    order = [read_id(entry) for entry, _ in facts["entries"]]
    groups = [_fields(group) for group in facts["groups"]]
    return FoundStream(
        entries={read_id(entry): token_of(fields) for entry, fields in facts["entries"]},
        order=order,
        last_id=read_id(facts["last-generated-id"]),
        max_deleted=read_id(facts["max-deleted-entry-id"]),
        added=facts["entries-added"],
        length=facts["length"],
        groups={group["name"].decode(): read_group(group) for group in groups},
    )


def read_state(client: RawClient, keys: list[str], counters: list[str]) -> Found:
    """Ask a server for all of it; a missing stream is missing in the answer."""
    streams = {}
    for key in keys:
        reply = client("XINFO", "STREAM", key, "FULL", "COUNT", 0)
        if not isinstance(reply, Exception):
            streams[key] = read_stream(reply)
    values = {name: int(client("GET", name) or 0) for name in counters}
    return Found(streams, values)
