"""Looking on while a group works: the entries delivered to it, and which consumer has each.

    the stream   1-0   2-0   3-0 | 4-0   5-0        | is the group's last delivered ID
    shown        done  alice bob | not delivered yet

Only XINFO, XRANGE and XPENDING are sent, so the group does not notice: nothing is delivered,
claimed or acknowledged, and no consumer is made.  An entry is printed once, after its delivery,
with the consumer that has it at that moment, or as acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from forebay.cli.output import json_of, text_of
from forebay.cli.remote.facts import every_group, id_key
from forebay.cli.remote.refusals import RefusedError, no_group
from forebay.cli.remote.server import Server
from forebay.cli.streams.entries import Entry, EntryWriter, pages
from forebay.cli.words import held_for

#: The group is asked this often how far it is.
TURN_S = 0.25
#: One XPENDING returns this many entries, unless they were given to many consumers.
PAGE = 200

Reach = dict[bytes, str]


def look_on(
    server: Server,
    names: Sequence[bytes],
    group: bytes,
    writer: EntryWriter,
    lines: int,
    start_ms: int | None,
    *,
    is_following: bool,
) -> None:
    """Print past deliveries to a group, and new ones as they happen."""
    reached = reaches(server, names, group)
    if not reached:
        raise RefusedError(no_group(server.link, names[0], group), "NOGROUP")
    shown: Reach = {}
    for name, last_id in reached.items():
        after = f"({before(server, name, last_id, lines)}" if start_ms is None else str(start_ms)
        tell(server, name, group, after, last_id, writer)
        shown[name] = last_id
    writer.flush()
    while is_following:
        time.sleep(TURN_S)
        for name, last_id in reaches(server, names, group).items():
            if id_key(last_id) > id_key(shown.get(name, "0-0")):
                tell(server, name, group, f"({shown.get(name, '0-0')}", last_id, writer)
            shown[name] = last_id
        writer.flush()


def reaches(server: Server, names: Sequence[bytes], group: bytes) -> Reach:
    """How far the group is in each stream that has it."""
    return {
        facts.stream: facts.last_id for facts in every_group(server, names) if facts.name == group
    }


def before(server: Server, name: bytes, last_id: str, lines: int) -> str:
    """The ID before the last ``lines`` delivered entries."""
    if not lines:
        return last_id
    reply = server.ask("XREVRANGE", name, last_id, "-", "COUNT", lines + 1)
    return reply[-1][0].decode() if len(reply) > lines else "0-0"


def tell(
    server: Server, name: bytes, group: bytes, start: str, end: str, writer: EntryWriter
) -> None:
    """Print the entries between two bounds, each with its consumer."""
    for page in pages(server, name, start, end, longest=PAGE):
        owners = owners_of(server, name, group, page)
        for entry in page:
            note, more = state_of(owners.get(entry[0]))
            writer.write(name, entry, note, more)


def owners_of(
    server: Server, name: bytes, group: bytes, page: Sequence[Entry]
) -> dict[bytes, Sequence[Any]]:
    """The answers of XPENDING about the entries of a page, by ID."""
    first, last = page[0][0], page[-1][0]
    found: dict[bytes, Sequence[Any]] = {}
    while True:
        reply = server.ask("XPENDING", name, group, first, last, 10 * PAGE)
        found.update({each[0]: each for each in reply})
        if len(reply) < 10 * PAGE:
            return found
        first = b"(" + reply[-1][0]


def state_of(pending: Sequence[Any] | None) -> tuple[str, Mapping[str, Any]]:
    """The state of a delivered entry, for people and for programs."""
    if pending is None:
        return "acknowledged", {"state": "acknowledged"}
    _, consumer, idle_ms, deliveries = pending
    again = f", delivery {deliveries}" if deliveries != 1 else ""
    held = held_for(idle_ms)
    whom = f"with {text_of(consumer)} {held}" if consumer and held != "released" else "released"
    more = {
        "state": "pending",
        "consumer": json_of(consumer),
        "idle_ms": idle_ms,
        "deliveries": deliveries,
    }
    return f"{whom}{again}", more
