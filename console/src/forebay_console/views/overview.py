"""All streams, as a table: searched, sorted and cut here, so that the page gets a screenful."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forebay.cli.remote.facts import ms_of
from forebay_console.asking.asked import Asked
from forebay_console.asking.permits import ON_SCREEN_S, Sight
from forebay_console.servers.shown import key_of, name
from forebay_console.watch.board import Watched

PAGE, MOST = 50, 500
#: Our own streams; they are shown only if the search names them.
INTERNAL = b"forebay:"
#: How exactly we know the server's clock.
CLOCK_MS = 1_000


@dataclass(frozen=True)
class Listed:
    """The streams found, in order, and sums over them; made once a round for equal questions.

    ``dim`` are streams of which the viewer may see only the length.  They come last, by name: any
    other order would reveal something.
    """

    streams: list[Watched]
    dim: set[bytes]
    entries: int
    in_rate: float
    pending: int


def overview(asked: Asked) -> dict[str, Any]:
    """A page of the table, and the sums over all of it."""
    words = asked.word("search"), asked.one_of("sort", tuple(SORTS)), asked.one_of("order", ORDERS)
    start, count = asked.number("start", 0, 10**9), asked.number("count", PAGE, MOST)
    found, shown = page_of(asked, words, start, count)
    asked.poller.look_at(one.facts.name for one in shown)
    return {
        "total": len(found.streams),
        "start": start,
        "is_whole": asked.board.is_whole,
        "entries": found.entries,
        "in_rate": found.in_rate,
        "pending": found.pending,
        "streams": [dim_row(o) if o.facts.name in found.dim else row(o) for o in shown],
    }


def page_of(
    asked: Asked, words: tuple[str, str, str], start: int, count: int
) -> tuple[Listed, list[Watched]]:
    """The list and a page of it; made again if the viewer's rights have just changed."""
    while True:
        lists = asked.permits.lists
        found = lists.of(asked.board.rounds, words, lambda: listed(asked, *words))
        shown = found.streams[start : start + count]
        asked.sights([one.facts.name for one in shown], ON_SCREEN_S)
        if lists is asked.permits.lists:
            return found, shown


def listed(asked: Asked, search: str, sort: str, order: str) -> Listed:
    """All streams that match the search and may be seen, in order."""
    found = [one for one in list(asked.board.streams.values()) if is_wanted(one, search)]
    sights = asked.sights([one.facts.name for one in found])
    clear = [one for one in found if sights[one.facts.name] is Sight.ALL]
    clear.sort(key=SORTS[sort], reverse=order == "down")
    dim = [one for one in found if sights[one.facts.name] is Sight.LENGTH]
    dim.sort(key=SORTS["name"])
    return Listed(
        streams=clear + dim,
        dim={one.facts.name for one in dim},
        entries=sum(one.facts.length for one in clear + dim),
        in_rate=sum(one.in_rate or 0 for one in clear),
        pending=sum(one.pending for one in clear),
    )


def dim_row(watched: Watched) -> dict[str, Any]:
    """A stream of which the viewer may see only the length."""
    known = ("key", "name", "length", "is_dead_letters")
    line = row(watched)
    return {name: line[name] if name in known else None for name in line} | {"curve": []}


def is_wanted(watched: Watched, search: str) -> bool:
    """Whether a stream matches the search: a part of its name, or a pattern."""
    stream = watched.facts.name
    if not search:
        return not stream.startswith(INTERNAL)
    text = name(stream)
    if any(char in search for char in "*?["):
        return fnmatch.fnmatchcase(text, search)
    return search.lower() in text.lower()


def row(watched: Watched) -> dict[str, Any]:
    """One row of the table; made once for each change of the stream, for all viewers."""
    version, made = watched.line
    if version != watched.version:
        version = watched.version
        made = made_row(watched, watched.now_ms)
        watched.line = version, made
    return made


def made_row(watched: Watched, now_ms: int) -> dict[str, Any]:
    """The row itself."""
    facts, worst = watched.facts, watched.worst
    return {
        "key": key_of(facts.name),
        "name": name(facts.name),
        "length": facts.length,
        "bytes": watched.memory_bytes,
        "in_rate": watched.in_rate,
        "out_rate": out_rate(watched),
        "curve": watched.curve.values(),
        "newest_age_ms": age_ms(facts.newest_id, now_ms),
        "oldest_age_ms": age_ms(facts.first_id, now_ms),
        "groups": facts.groups,
        "pending": watched.pending,
        "worst_group": name(worst.facts.name) if worst else None,
        "lag": worst.facts.lag if worst else None,
        "behind_ms": max((g.behind_ms or 0 for g in watched.groups.values()), default=None),
        "is_dead_letters": facts.name.endswith(b":dead"),
    }


def out_rate(watched: Watched) -> float | None:
    """Entries a second that are delivered to all groups together."""
    known = [one.out_rate for one in watched.groups.values() if one.out_rate is not None]
    return sum(known) if known else None


def age_ms(entry_id: str | None, now_ms: int) -> int | None:
    """The age of an entry, by its ID; an ID that a client chose may be any number."""
    if entry_id is None:
        return None
    age = now_ms - ms_of(entry_id)
    return 0 if -CLOCK_MS < age < 0 else age


def _behind(watched: Watched) -> int:
    return max((one.behind_ms or 0 for one in watched.groups.values()), default=-1)


ORDERS = ("up", "down")
SORTS: dict[str, Callable[[Watched], Any]] = {
    "name": lambda one: one.facts.name,
    "length": lambda one: one.facts.length,
    "bytes": lambda one: one.memory_bytes or -1,
    "in": lambda one: one.in_rate or -1.0,
    "out": lambda one: out_rate(one) or -1.0,
    "newest": lambda one: ms_of(one.facts.newest_id or "0-0"),
    "groups": lambda one: one.facts.groups,
    "pending": lambda one: one.pending,
    "lag": lambda one: (one.worst.facts.lag or 0) if one.worst else -1,
    "behind": _behind,
}
