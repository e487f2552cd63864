"""One stream: its facts, its groups, why entries cannot be trimmed, the cost of keeping them."""

from __future__ import annotations

from typing import Any

from forebay.cli.remote.facts import GroupFacts, StreamFacts, id_key, ms_of
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.server import Server
from forebay_console.asking.asked import Asked, NotThereError
from forebay_console.asking.permits import ON_SCREEN_S, Sight
from forebay_console.servers.shown import key_of, name
from forebay_console.views.overview import row
from forebay_console.watch.board import Watched, WatchedGroup

#: How long to wait until the poller knows a new stream.
NEW_S = 2.0
DAY_MS = 86_400_000
DAYS = (1, 7, 30)


def watched_of(asked: Asked) -> Watched:
    """The known facts of a stream; the poller asks about it each second from now on."""
    if asked.sights([asked.stream], ON_SCREEN_S)[asked.stream] is not Sight.ALL:
        asked.server.ask("XINFO", "GROUPS", asked.stream)  # raises if it is not permitted
    asked.poller.look_at([asked.stream])
    found = asked.board.streams.get(asked.stream)
    if found is None:
        asked.server.ask("XINFO", "GROUPS", asked.stream)  # raises if there is no such stream
        found = asked.board.wait_for(asked.stream, NEW_S)
    if found is None:
        raise NotThereError("the console does not know this stream yet; try again in a moment")
    return found


def stream(asked: Asked) -> dict[str, Any]:
    """Everything on the page above the entries."""
    found = watched_of(asked)
    facts = found.facts
    return {
        **row(found),
        "first_id": facts.first_id,
        "newest_id": facts.newest_id,
        "last_id": facts.last_id,
        "added": facts.added,
        "group_list": [group_row(one) for one in found.groups.values()],
    }


def group_row(group: WatchedGroup) -> dict[str, Any]:
    """One group as a row, with its curves of the last hour."""
    facts = group.facts
    return {
        "key": key_of(facts.name),
        "name": name(facts.name),
        "consumers": facts.consumers,
        "pending": facts.pending,
        "last_id": facts.last_id,
        "read": facts.read,
        "lag": facts.lag,
        "behind_ms": group.behind_ms,
        "out_rate": group.out_rate,
        "lag_curve": group.lag_curve.values(),
        "behind_curve": group.behind_curve.values(),
    }


def pins(asked: Asked) -> dict[str, Any]:
    """Which entries each group still needs and why, and what retention would cost."""
    found = watched_of(asked)
    groups = [one.facts for one in found.groups.values()]
    oldest = oldest_pending(asked.server, groups)
    pinned = [pin(facts, oldest.get(facts.name), found.facts) for facts in groups]
    pinned.sort(key=lambda one: id_key(one["holds_from"] or found.facts.last_id))
    return {
        "first_id": found.facts.first_id,
        "pins": pinned,
        "free_until": pinned[0]["holds_from"] if pinned else None,
        "costs": costs(found, asked.board.server.now_ms),
    }


def oldest_pending(server: Server, groups: list[GroupFacts]) -> dict[bytes, str]:
    """The oldest pending entry of each group that has one."""
    with_some = [facts for facts in groups if facts.pending]
    replies = server.link.ask_all([("XPENDING", one.stream, one.name) for one in with_some])
    return {
        facts.name: reply[1].decode()
        for facts, reply in zip(with_some, replies, strict=True)
        if not isinstance(reply, Refusal) and reply[1]
    }


def pin(facts: GroupFacts, oldest: str | None, stream: StreamFacts) -> dict[str, Any]:
    """From which entry on a group needs the stream, and why."""
    newest = stream.newest_id or "0-0"
    is_waiting = id_key(facts.last_id) < id_key(newest)
    why = "pending" if oldest else "not_given" if is_waiting else "nothing"
    return {
        "group": name(facts.name),
        "key": key_of(facts.name),
        "why": why,
        "pending": facts.pending,
        "lag": facts.lag,
        "holds_from": oldest or (facts.last_id if is_waiting else None),
    }


def costs(watched: Watched, now_ms: int) -> list[dict[str, Any]]:
    """The memory for some numbers of days, by the entries added since the oldest one."""
    facts = watched.facts
    if not facts.length or facts.first_id is None or watched.memory_bytes is None:
        return []
    spanned_ms = max(1, now_ms - ms_of(facts.first_id))
    a_day = facts.length * DAY_MS / spanned_ms
    each = watched.memory_bytes / facts.length
    return [{"days": days, "entries": a_day * days, "bytes": a_day * days * each} for days in DAYS]
