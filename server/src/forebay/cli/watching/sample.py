r"""All streams and groups at one moment, and the rates between two such moments.

    sample 1 ... seconds ... sample 2      in:  entries added        out: entries given to a group
        \________ a row each ________/

A server before 7.0 does not count added or delivered entries: there the length of the stream is
used instead, and the deliveries to a group are unknown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forebay.cli.remote.facts import (
    NO_ID,
    GroupFacts,
    StreamFacts,
    every_group,
    every_stream,
    id_key,
    ms_of,
)
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.server import Server


@dataclass(frozen=True, slots=True)
class Sample:
    """All streams and groups at one moment of the monotonic clock."""

    at_s: float
    now_ms: int
    streams: dict[bytes, StreamFacts]
    groups: dict[tuple[bytes, bytes], GroupFacts]


@dataclass(frozen=True, slots=True)
class Row:
    """A stream and one of its groups; ``group`` is None for a stream that has none."""

    stream: StreamFacts
    group: GroupFacts | None
    in_rate: float | None
    out_rate: float | None
    behind_ms: int | None = None


def sample(server: Server, names: Sequence[bytes]) -> Sample:
    """Ask about all of them, pipelined."""
    streams = {facts.name: facts for facts in every_stream(server, names)}
    with_groups = [name for name, facts in streams.items() if facts.groups]
    groups = {(facts.stream, facts.name): facts for facts in every_group(server, with_groups)}
    return Sample(time.monotonic(), server.now_ms(), streams, groups)


def rows(before: Sample, after: Sample) -> list[Row]:
    """A row for each stream and group, the busiest first."""
    found: list[Row] = []
    by_stream: dict[bytes, list[GroupFacts | None]] = {}
    for (stream, _), facts in after.groups.items():
        by_stream.setdefault(stream, []).append(facts)
    for name, stream_facts in after.streams.items():
        in_rate = added_rate(before, after, name)
        found += [
            Row(stream_facts, group, in_rate, given_rate(before, after, group))
            for group in by_stream.get(name, [None])
        ]
    return sorted(found, key=busyness)


def busyness(row: Row) -> tuple[float, int, bytes]:
    """The key for sorting rows: by rates, by lag, by name."""
    lag = (row.group.lag or 0) if row.group else 0
    return -(row.in_rate or 0) - (row.out_rate or 0), -lag, row.stream.name


def added_rate(before: Sample, after: Sample, name: bytes) -> float | None:
    """Entries added per second."""
    old, new = before.streams.get(name), after.streams[name]
    if old is None:
        return None
    if new.added is None or old.added is None:
        return max(0, new.length - old.length) / (after.at_s - before.at_s)
    return max(0, new.added - old.added) / (after.at_s - before.at_s)


def given_rate(before: Sample, after: Sample, group: GroupFacts | None) -> float | None:
    """Entries given to a group per second."""
    old = before.groups.get((group.stream, group.name)) if group else None
    if group is None or old is None:
        return None
    if group.last_id == old.last_id:
        return 0.0
    # The server does not count for a group that was given nothing yet.
    old_read = 0 if old.last_id == NO_ID else old.read
    if group.read is None or old_read is None:
        return None
    return max(0, group.read - old_read) / (after.at_s - before.at_s)


def with_ages(server: Server, shown: Sequence[Row], now_ms: int) -> Iterator[Row]:
    """The rows with the age of the next entry for each group."""
    waiting = [row for row in shown if row.group and is_behind(row)]
    replies = server.link.ask_all(
        [
            ("XRANGE", row.stream.name, f"({row.group.last_id}", "+", "COUNT", 1)
            for row in waiting
            if row.group
        ]
    )
    ages = {}
    for row, reply in zip(waiting, replies, strict=True):
        if reply and not isinstance(reply, Refusal):
            ages[id(row)] = max(0, now_ms - ms_of(reply[0][0].decode()))
    for row in shown:
        age = ages.get(id(row), 0 if row.group else None)
        yield Row(row.stream, row.group, row.in_rate, row.out_rate, age)


def is_behind(row: Row) -> bool:
    """Whether a group may have entries to come."""
    newest = row.stream.newest_id
    return bool(row.group and newest and id_key(row.group.last_id) < id_key(newest))
