"""Judges the promises of workers by the data of the server when all is quiet (R26).

    lost        every Order and Long was handled to its end, at least once
    effects     every Order has its effect exactly once
    poison      every Poison has exactly one dead letter, written after its attempts, and nothing
                else has one
    stolen      no Long was begun again while the worker that had it lived
    left over   nothing is pending, and nothing is left unread

*Stolen* uses the server's clock.  The IDs of the notes are its time, and the judge asked it for
the time before each strike: until then the struck worker lived.  While the server was away, no
lease could be renewed, so a Long that was begun before and again after that proves nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import redis

from forebay_workers.settle.letters import dead_stream
from reliability.worker_program import BEGUN, EFFECTS, GROUP, HANDLED, POISON_ATTEMPTS, STREAM

SHOWN = 5
#: Later than every note.
NEVER_MS = 1 << 62


@dataclass(frozen=True)
class Note:
    """A note of a worker."""

    at_ms: int
    kind: str
    n: int
    attempt: int
    pid: int


@dataclass
class Book:
    """The published messages, and the strikes at workers and server."""

    published: dict[str, list[int]] = field(
        default_factory=lambda: {"Order": [], "Poison": [], "Long": []}
    )
    #: Until when a worker surely lived, by pid; all others still live.
    alive_until_ms: dict[int, int] = field(default_factory=dict)
    #: When the server was away: from, until.
    outages_ms: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Found:
    """The data of the server."""

    begun: list[Note]
    handled: list[Note]
    effects: list[int]
    #: Number and deliveries of each dead letter.
    letters: list[tuple[int, int]]
    pending: int
    unread: int


def notes(client: redis.Redis, stream: str, after: str = "-") -> list[Note]:
    """All notes of one kind."""
    rows: Any = client.xrange(stream, after)
    return [
        Note(
            *(int(entry_id.partition("-")[0]), fields["kind"], int(fields["n"])),
            *(int(fields["attempt"]), int(fields["pid"])),
        )
        for entry_id, fields in rows
    ]


def open_work(client: redis.Redis) -> tuple[int, int]:
    """How many entries are pending, and how many unread."""
    summary: Any = client.xpending(STREAM, GROUP)
    groups: Any = client.xinfo_groups(STREAM)
    (last,) = [row["last-delivered-id"] for row in groups if row["name"] == GROUP]
    unread: Any = client.xrange(STREAM, f"({last}", "+")
    return int(summary["pending"]), len(unread)


def read(client: redis.Redis) -> Found:
    """Read the data of the server."""
    effects: Any = client.lrange(EFFECTS, 0, -1)
    letters: Any = client.xrange(dead_stream(STREAM))
    pending, unread = open_work(client)
    return Found(
        begun=notes(client, BEGUN),
        handled=notes(client, HANDLED),
        effects=[int(n) for n in effects],
        letters=[(int(fields["n"]), int(fields["@deliveries"])) for _, fields in letters],
        pending=pending,
        unread=unread,
    )


def judge(book: Book, found: Found) -> list[str]:
    """Each broken promise as a sentence."""
    faults = []
    if found.pending or found.unread:
        faults.append(f"{found.pending} entries are pending and {found.unread} unread")
    return [
        *faults,
        *_lost(book, found),
        *_effects(book, found),
        *_poison(book, found),
        *_stolen(book, found),
    ]


def _several(what: str, numbers: list[Any]) -> list[str]:
    return [f"{len(numbers)} {what}: {numbers[:SHOWN]}"] if numbers else []


def _lost(book: Book, found: Found) -> list[str]:
    handled = {note.n for note in found.handled}
    wanted = book.published["Order"] + book.published["Long"]
    return _several("messages were never handled", [n for n in wanted if n not in handled])


def _effects(book: Book, found: Found) -> list[str]:
    times = Counter(found.effects)
    orders = book.published["Order"]
    strange = sorted(set(times) - set(orders))
    return [
        *_several("effects are missing", [n for n in orders if not times[n]]),
        *_several("effects came twice or more", [n for n in orders if times[n] > 1]),
        *_several("effects are of no order", strange),
    ]


def _poison(book: Book, found: Found) -> list[str]:
    poison = book.published["Poison"]
    letters = Counter(n for n, _ in found.letters)
    begun = {n: [(one.attempt, one.pid) for one in found.begun if one.n == n] for n in poison}
    often = [(n, tries) for n, tries in begun.items() if len(tries) > POISON_ATTEMPTS]
    wrong = [(n, count) for n, count in found.letters if n in poison and count != POISON_ATTEMPTS]
    return [
        *_several("poisonous messages have no dead letter", [n for n in poison if not letters[n]]),
        *_several("poisonous messages have several letters", [n for n in poison if letters[n] > 1]),
        *_several("messages without a fault are dead", sorted(set(letters) - set(poison))),
        *_several("letters were not written after all attempts (n, attempts)", wrong),
        *_several("were begun too often (n, attempts and workers)", often),
    ]


def _stolen(book: Book, found: Found) -> list[str]:
    by_number: dict[int, list[Note]] = {}
    for note in found.begun:
        if note.kind == "Long":
            by_number.setdefault(note.n, []).append(note)
    stolen = [
        f"{later.n} of {former.pid} by {later.pid} after {later.at_ms - former.at_ms} ms"
        for several in by_number.values()
        for former, later in pairwise(several)
        if later.at_ms < book.alive_until_ms.get(former.pid, NEVER_MS)
        and not any(former.at_ms <= end and later.at_ms >= start for start, end in book.outages_ms)
    ]
    return _several("long messages were begun again while their worker lived", stolen)
