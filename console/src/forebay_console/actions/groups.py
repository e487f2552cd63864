"""Groups: create, reset, delete; pending entries: claim, acknowledge, release."""

from __future__ import annotations

from typing import Any

from forebay.cli.remote.facts import group_of
from forebay.cli.streams.pending import released
from forebay.cli.streams.reset import Plan, plan, target_of
from forebay_console.asking.asked import Asked, BadRequestError
from forebay_console.servers.shown import name
from forebay_console.views.entries import checked

MOST_IDS = 1_000


def create(asked: Asked) -> dict[str, Any]:
    """A new group: {"name": ..., "from": "start" | "end" | ID}."""
    group, place = asked.given("name", str), str(asked.body.get("from") or "end")
    words = {"start": "0", "end": "$"}
    at = words.get(place) or checked(place)
    asked.server.ask("XGROUP", "CREATE", asked.stream, group, at)
    return {"created": group}


def reset_preview(asked: Asked) -> dict[str, Any]:
    """How many entries would be delivered again, or never."""
    return planned(asked).facts()


def reset(asked: Asked) -> dict[str, Any]:
    """Move a group: {"to": "start" | "end" | ID | time}."""
    found = planned(asked)
    found.carry_out(asked.server)
    return found.facts()


def planned(asked: Asked) -> Plan:
    """The move that is asked for."""
    facts = group_of(asked.server, asked.stream, asked.group)
    target = target_of(asked.server, asked.stream, asked.given("to", str))
    return plan(asked.server, facts, target)


def delete_preview(asked: Asked) -> dict[str, Any]:
    """What a delete would lose: pending entries, consumers, entries not delivered yet."""
    facts = group_of(asked.server, asked.stream, asked.group)
    return {
        "group": name(facts.name),
        "consumers": facts.consumers,
        "pending": facts.pending,
        "lag": facts.lag,
        "last_id": facts.last_id,
    }


def delete(asked: Asked) -> dict[str, Any]:
    """Delete a group."""
    group_of(asked.server, asked.stream, asked.group)
    return {"deleted": asked.server.ask("XGROUP", "DESTROY", asked.stream, asked.group)}


def claim(asked: Asked) -> dict[str, Any]:
    """Give pending entries to another consumer: {"ids": [...], "to": name}."""
    to = asked.given("to", str)
    words = ("XCLAIM", asked.stream, asked.group, to, 0, *ids_of(asked), "JUSTID")
    return {"claimed": len(asked.server.ask(*words))}


def acknowledge(asked: Asked) -> dict[str, Any]:
    """Acknowledge pending entries: {"ids": [...]}."""
    return {"acknowledged": asked.server.ask("XACK", asked.stream, asked.group, *ids_of(asked))}


def release(asked: Asked) -> dict[str, Any]:
    """Any consumer may claim these pending entries at once: {"ids": [...]}."""
    ids = [one.encode() for one in ids_of(asked)]
    return {"released": released(asked.server, asked.stream, asked.group, ids, "silent")}


def ids_of(asked: Asked) -> list[str]:
    """The IDs of the entries to act on."""
    ids = [checked(str(one)) for one in asked.given("ids", list)]
    if not 0 < len(ids) <= MOST_IDS:
        raise BadRequestError(f"give 1 to {MOST_IDS} IDs")
    return ids
