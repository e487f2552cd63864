"""Moving a group: the new place, the consequences, and the move.

    the stream   1-0   2-0   3-0   4-0   5-0
    the group                  |                 last delivered 3-0
    --to-id 1-0    |  2-0 and 3-0 are given again
    --to-id 5-0                            |     4-0 and 5-0 are never given

The position of a group is after an entry.  The position before a moment is after the greatest ID
of the millisecond before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.cli.moments import parse_place
from forebay.cli.output import are, counted, json_of, number, text_of
from forebay.cli.remote.facts import GroupFacts, id_key, stream_of
from forebay.cli.remote.server import Server
from forebay.cli.usage import LineError

GREATEST_SEQ = (1 << 64) - 1
#: More entries than this are not counted one by one.
MOST_COUNTED = 100_000
PAGE = 5000


def before_ms(ms: int) -> str:
    """The position from which the entries of a millisecond come next."""
    return f"{ms - 1}-{GREATEST_SEQ}" if ms else "0-0"


def target_of(server: Server, stream: bytes, place: str) -> str:
    """The ID that a word means: start, end, $, an ID, a moment."""
    if place in ("end", "$"):
        reply = server.ask("XREVRANGE", stream, "+", "-", "COUNT", 1)
        return "$" if not reply else stream_of(server, stream).last_id
    if place == "start":
        return "0-0"
    try:
        found = parse_place(place)
    except ValueError as error:
        raise LineError(str(error)) from None
    if found.moment is not None:
        return before_ms(found.moment.at_ms(server.now_ms))
    if not found.words[0].isdecimal():
        raise LineError(f"{place!r} is no ID; write it as 1794900000000-0, or $ for the end")
    return found.words if "-" in found.words else f"{found.words}-0"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reset does; ``again`` entries are given again, or ``skipped`` ones never."""

    group: GroupFacts
    target: str
    again: int
    skipped: int

    def carry_out(self, server: Server) -> None:
        """Move the group."""
        server.ask("XGROUP", "SETID", self.group.stream, self.group.name, self.target)

    def told(self) -> list[str]:
        """For people."""
        group = self.group
        lines = [
            f"{text_of(group.name)} of {text_of(group.stream)}: from {group.last_id} to "
            f"{self.target}"
        ]
        if self.again:
            lines.append(f"{many(self.again)} {are(self.again)} given again")
        if self.skipped:
            lines.append(f"{many(self.skipped)} {are(self.skipped)} never given")
        if not self.again and not self.skipped:
            lines.append("no entry lies between: nothing is given again, and nothing is left out")
        if group.pending:
            lines.append(f"{counted(group.pending, 'entry')} {are(group.pending)} still pending")
        return lines

    def action(self) -> str:
        """What the user must agree to."""
        group = f"{text_of(self.group.name)} of {text_of(self.group.stream)}"
        if self.again:
            return f"give {many(self.again)} to {group} again"
        return f"make {group} skip {many(self.skipped)}"

    def facts(self) -> dict[str, Any]:
        """For programs; counts stop at a hundred thousand."""
        return {
            "stream": json_of(self.group.stream),
            "group": json_of(self.group.name),
            "from": self.group.last_id,
            "to": self.target,
            "again": self.again,
            "skipped": self.skipped,
            "pending": self.group.pending,
        }


def many(count: int) -> str:
    """A number of entries, or that there are too many to count."""
    if count >= MOST_COUNTED:
        return f"{number(MOST_COUNTED)} entries or more"
    return counted(count, "entry")


def plan(server: Server, group: GroupFacts, target: str) -> Plan:
    """Count the entries between the old and the new place of the group."""
    if target == "$":
        target = stream_of(server, group.stream).last_id
    is_back = id_key(target) < id_key(group.last_id)
    low, high = (target, group.last_id) if is_back else (group.last_id, target)
    between = count_between(server, group.stream, low, high)
    return Plan(group, target, between if is_back else 0, 0 if is_back else between)


def count_between(server: Server, stream: bytes, after: str, last: str) -> int:
    """How many entries are after one ID, up to and including another; stops at MOST_COUNTED."""
    start, count = f"({after}", 0
    while count < MOST_COUNTED:
        page = server.ask("XRANGE", stream, start, last, "COUNT", PAGE)
        count += len(page)
        if len(page) < PAGE:
            return count
        start = f"({page[-1][0].decode()}"
    return MOST_COUNTED
