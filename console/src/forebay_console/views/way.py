"""One entry followed through all groups, and into lakes: where it is, or where it ended.

not_given     not delivered to the group yet
pending       delivered to a consumer, and not acknowledged
released      pending, and any consumer may claim it
done          acknowledged, or skipped: a group does not remember which
dead          buried by a worker of this group; the letter says why

views/lakes.py finds it in lakes.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from forebay.cli.remote.facts import GroupFacts, groups_of, id_key
from forebay.cli.remote.refusals import RefusedError
from forebay_console.asking.asked import Asked, NotThereError
from forebay_console.servers.shown import key_of, name
from forebay_console.views.entries import exact
from forebay_console.views.lakes import lakes
from forebay_console.views.letters import SUFFIX, first_line, letters
from forebay_workers.settle.letters import Letter

#: The letter of an entry is searched among this many newest letters.
MOST_LETTERS = 2_000
MOST_GROUPS = 200


def way(asked: Asked) -> dict[str, Any]:
    """Where an entry is in each group of its stream, and in its lakes."""
    entry_id = exact(asked.path["id"])
    groups = groups_of(asked.server, asked.stream)[:MOST_GROUPS]
    is_there = bool(asked.server.ask("XRANGE", asked.stream, entry_id, entry_id))
    given = [one for one in groups if id_key(one.last_id) >= id_key(entry_id)]
    ask = [("XPENDING", asked.stream, one.name, entry_id, entry_id, 1) for one in given]
    pending = dict(zip((one.name for one in given), asked.server.ask_all(ask), strict=True))
    buried = letters_of(asked, entry_id)
    stored = lakes(asked, entry_id)
    is_kept = any(one["state"] == "archived" for one in stored or ())
    if not is_there and not any(pending.values()) and not buried and not is_kept:
        raise NotThereError(f"there is no entry {entry_id}; it was deleted or trimmed")
    return {
        "id": entry_id,
        "is_there": is_there,
        "groups": [step(one, pending.get(one.name), buried.get(name(one.name))) for one in groups],
        "lakes": stored,
    }


def step(group: GroupFacts, pending: list[Any] | None, letter: Letter | None) -> dict[str, Any]:
    """What became of the entry in one group."""
    found: dict[str, Any] = {
        "group": name(group.name),
        "key": key_of(group.name),
        "state": "not_given" if pending is None else "done",
        **dict.fromkeys(("consumer", "idle_ms", "deliveries", "letter", "letter_stream", "error")),
    }
    if pending:
        _, consumer, idle_ms, deliveries = pending[0]
        found |= {"consumer": name(consumer), "idle_ms": idle_ms, "deliveries": deliveries}
        found["state"] = "pending" if consumer else "released"
    elif letter is not None:
        found |= {"state": "dead", "deliveries": letter.deliveries, "letter": letter.id}
        found |= {"letter_stream": key_of(group.stream + SUFFIX), "error": first_line(letter.error)}
    return found


def letters_of(asked: Asked, entry_id: str) -> dict[str, Letter]:
    """The dead letters of the entry, by group; none if the user may not read them."""
    newest = letters(asked.server, asked.stream + SUFFIX, "+")
    stream = name(asked.stream)
    try:
        return {
            one.group: one
            for one in islice(newest, MOST_LETTERS)
            if one.origin_id == entry_id and one.stream == stream
        }
    except RefusedError:
        return {}
