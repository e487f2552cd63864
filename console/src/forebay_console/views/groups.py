"""One group: its consumers, and its pending entries by age and by number of deliveries.

A million pending entries are not counted for each request: the histograms count the SAMPLED oldest
ones, and ``is_whole`` says whether these are all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from forebay.cli.remote.facts import consumers_of, group_of
from forebay.cli.remote.link import Word
from forebay_console.asking.asked import Asked
from forebay_console.servers.shown import key_of, name
from forebay_console.views.entries import bound

PAGE, MOST = 50, 500
SAMPLED = 5_000
#: The ends of the bars: ages in seconds, and delivery counts.
AGES_S = (1, 10, 60, 600, 3_600, 86_400)
DELIVERIES = (1, 2, 3, 5, 10)


def consumers(asked: Asked) -> dict[str, Any]:
    """The consumers of a group."""
    found = consumers_of(asked.server, asked.stream, asked.group)
    found.sort(key=lambda one: (-one.pending, one.idle_ms))
    return {
        "consumers": [
            {
                "key": key_of(one.name),
                "name": name(one.name),
                "pending": one.pending,
                "idle_ms": one.idle_ms,
                "inactive_ms": one.inactive_ms,
            }
            for one in found[:MOST]
        ],
        "total": len(found),
    }


def pending(asked: Asked) -> dict[str, Any]:
    """A page of pending entries, oldest first."""
    start = bound(asked, "from", "-")
    count = asked.page(PAGE, MOST)
    owner = [asked.word("consumer")] if asked.word("consumer") else []
    words: list[Word] = ["IDLE", asked.number("idle_ms", 0, 10**15), start, "+", count, *owner]
    rows = asked.server.ask("XPENDING", asked.stream, asked.group, *words)
    return {
        "pending": [told(row) for row in rows],
        "next": f"({rows[-1][0].decode()}" if len(rows) == count else None,
    }


def told(row: Sequence[Any]) -> dict[str, Any]:
    """One pending entry; a released one has no consumer."""
    entry_id, consumer, idle_ms, deliveries = row
    return {
        "id": entry_id.decode(),
        "consumer": name(consumer),
        "idle_ms": idle_ms,
        "deliveries": deliveries,
    }


def pending_bars(asked: Asked) -> dict[str, Any]:
    """Pending entries by age and by deliveries."""
    facts = group_of(asked.server, asked.stream, asked.group)
    rows = asked.server.ask("XPENDING", asked.stream, asked.group, "-", "+", SAMPLED)
    ages = Counter(rung(row[2] / 1000, AGES_S) for row in rows)
    deliveries = Counter(rung(row[3], DELIVERIES) for row in rows)
    return {
        "total": facts.pending,
        "counted": len(rows),
        "is_whole": len(rows) < SAMPLED,
        "ages_s": list(AGES_S),
        "by_age": [ages[at] for at in range(len(AGES_S) + 1)],
        "deliveries": list(DELIVERIES),
        "by_deliveries": [deliveries[at] for at in range(len(DELIVERIES) + 1)],
    }


def rung(value: float, steps: Sequence[int]) -> int:
    """The index of the first step that is not below a value; past the end if all are below."""
    return next((at for at, step in enumerate(steps) if value <= step), len(steps))
