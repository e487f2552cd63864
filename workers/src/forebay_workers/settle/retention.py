"""A stream with groups does not grow for ever: entries that all groups acknowledged are removed.

    group a   last delivered 9-0, pending 5-0 7-0      needs entries from 5-0 on
    group b   last delivered 8-0, nothing pending      needs entries after 8-0
                                                       XTRIM stream MINID ~ 5-0

``keep`` keeps more: a number of entries, or a time.  Trimming is approximate, so a part of a
node (about a hundred entries) stays longer.  A stream without groups is left alone.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from forebay_workers.clock import Clock
from forebay_workers.fetch.groups import id_key
from forebay_workers.servers.connect import Asks

Place = tuple[int, int]
#: Entries in one page, and pages in one call, to find the first entry that stays.
PAGE, MOST_PAGES = 1000, 10


def pairs(flat: list[Any]) -> dict[bytes, Any]:
    """A flat reply as a dict."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


async def first_needed(link: Asks, stream: str) -> Place | None:
    """The first ID that some group still needs; None if there is no group."""
    needed: list[Place] = []
    for row in map(pairs, await link.ask("XINFO", "GROUPS", stream)):
        ms, sequence = id_key(row[b"last-delivered-id"])
        place = (ms, sequence + 1) if (ms, sequence) != (0, 0) else (0, 0)
        if row[b"pending"]:
            summary = await link.ask("XPENDING", stream, row[b"name"])
            if summary[0]:
                place = min(place, id_key(summary[1]))
        needed.append(place)
    return min(needed, default=None)


async def trim(link: Asks, stream: str, keep: int | timedelta, clock: Clock) -> int:
    """Remove entries that no group needs any more; return how many."""
    place = await first_needed(link, stream)
    if place is None:
        return 0
    if isinstance(keep, timedelta):
        place = min(place, (clock.now_ms() - int(keep.total_seconds() * 1000), 0))
    elif keep:
        place = min(place, await _after_surplus(link, stream, keep))
    if place <= (0, 0):
        return 0
    removed: int = await link.ask("XTRIM", stream, "MINID", "~", f"{place[0]}-{place[1]}")
    return removed


async def _after_surplus(link: Asks, stream: str, keep: int) -> Place:
    """The first ID that stays if ``keep`` entries stay; a long way takes several calls."""
    surplus = await link.ask("XLEN", stream) - keep
    place: Place = (0, 0)
    after = "-"
    for _ in range(MOST_PAGES):
        if surplus <= 0:
            break
        page = await link.ask("XRANGE", stream, after, "+", "COUNT", min(surplus, PAGE))
        if not page:
            break
        last = page[-1][0]
        ms, sequence = id_key(last)
        place, after = (ms, sequence + 1), f"({last.decode()}"
        surplus -= len(page)
    return place
