"""``forebay trim``: remove the oldest entries, after a report of which groups still need them.

    1-0  2-0  3-0  4-0 | 5-0  6-0       kept from here on: ``--maxlen 2``, ``--before``
         pend      |
         billing   last delivered to reports

Before anything is removed the report says three things: how many entries, which of them are
pending in a group, and which groups have not been given some of them yet.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import App, Parameter, Token

from forebay.cli.asking import Yes, agree
from forebay.cli.moments import Place
from forebay.cli.output import are, counted, json_of, number, text_of, write_json
from forebay.cli.remote.facts import GroupFacts, StreamFacts, groups_of, id_key, stream_of
from forebay.cli.remote.option import Url
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json, Stream, place_option
from forebay.cli.streams.entries import pages
from forebay.cli.streams.groups import DryRun
from forebay.cli.usage import LineError

HELP = """\
Remove the oldest entries of a stream: all but the newest N, or all before an ID or a time.

It first says what would be removed, how much of it is pending in a group, and which
groups were not given some of it yet; then it asks, unless --yes is given.
"""

EPILOG = """\
examples:
  forebay trim orders --before 7d --dry-run
  forebay trim orders --before 2026-11-01T00:00:00Z
  forebay trim orders --maxlen 100000 --yes
  forebay trim orders --maxlen 100000 --dry-run --json | jq .pending
"""

app = App(name="trim", help=HELP, help_epilogue=EPILOG)

PAGE = 1000


def whole_number(_: Any, tokens: Sequence[Token]) -> int:
    """How many entries stay."""
    text = tokens[0].value
    if not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{text!r} is no number of entries")
    return int(text)


MaxLen = Annotated[
    int | None,
    Parameter(name="--maxlen", metavar="N", converter=whole_number, help="keep the newest N"),
]
Before = Annotated[
    Place | None, place_option("remove entries older than this time or ID", metavar="PLACE")
]


@dataclass(frozen=True, slots=True)
class Needed:
    """What a group still needs of the entries to remove."""

    group: GroupFacts
    pending: int
    not_given: bool


@dataclass(frozen=True, slots=True)
class Loss:
    """What a trim removes: ``count`` entries, up to and including ``last_id``."""

    count: int
    first_id: str | None
    last_id: str | None
    kept_from: str


@app.default
def trim(
    stream: Stream,
    /,
    *,
    maxlen: MaxLen = None,
    before: Before = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
    url: Url = None,
) -> int:
    """Say what would be removed, ask, and remove it."""
    if (maxlen is None) == (before is None):
        raise LineError("give what stays: --maxlen N, or --before TIME or ID")
    with connected(url) as server:
        facts = stream_of(server, stream)
        if maxlen is not None:
            loss = beyond(server, facts, maxlen)
        else:
            loss = older(server, facts, (before or Place()).bound(server.now_ms))
        needed = [need_of(server, group, loss) for group in groups_of(server, stream)]
        if not json:
            sys.stdout.write("".join(f"{line}\n" for line in told(facts, loss, needed)))
            sys.stdout.flush()
        removed = 0
        if loss.count and not dry_run:
            agree(f"remove {counted(loss.count, 'entry')} of {text_of(stream)}", yes=yes)
            removed = server.ask("XTRIM", stream, "MINID", loss.kept_from)
    if json:
        write_json(facts_of(facts, loss, needed) | {"removed": removed})
    elif removed:
        sys.stdout.write(f"{counted(removed, 'entry')} removed\n")
    elif loss.count:
        sys.stdout.write("nothing was done (--dry-run)\n")
    return 0


# What to remove


def older(server: Server, facts: StreamFacts, place: str) -> Loss:
    """The entries before a place, counted one by one."""
    if not place[0].isdecimal():
        raise LineError(f"--before takes a time or an ID, not {place}")
    count, last = 0, None
    end = f"({place}" if "-" in place else f"({place}-0"
    if id_key(end[1:]) > (0, 0):
        for page in pages(server, facts.name, "-", end):
            count, last = count + len(page), page[-1][0].decode()
    return Loss(count, facts.first_id if count else None, last, end[1:])


def beyond(server: Server, facts: StreamFacts, maxlen: int) -> Loss:
    """All but the newest; the border is searched from the nearer end."""
    going = max(0, facts.length - maxlen)
    if not going:
        return Loss(0, None, None, "0-0")
    if maxlen < going:
        kept = nth(server, facts.name, maxlen, is_reverse=True) if maxlen else after(facts.last_id)
        before = server.ask("XREVRANGE", facts.name, f"({kept}", "-", "COUNT", 1)
        return Loss(going, facts.first_id, before[0][0].decode(), kept)
    last = nth(server, facts.name, going, is_reverse=False)
    return Loss(going, facts.first_id, last, after(last))


def nth(server: Server, name: bytes, count: int, *, is_reverse: bool) -> str:
    """The ID of the n-th entry from one end."""
    for page in pages(server, name, "-", "+", is_reverse=is_reverse):
        if count <= len(page):
            return page[count - 1][0].decode()
        count -= len(page)
    raise LineError("the stream became shorter meanwhile; try again")


def after(entry_id: str) -> str:
    """The next possible ID."""
    ms, seq = id_key(entry_id)
    return f"{ms}-{seq + 1}" if seq < (1 << 64) - 1 else f"{ms + 1}-0"


# Groups that need it


def need_of(server: Server, group: GroupFacts, loss: Loss) -> Needed:
    """What one group still needs."""
    if not loss.count or loss.last_id is None:
        return Needed(group, 0, False)
    not_given = id_key(group.last_id) < id_key(loss.last_id)
    pending, start = 0, "-"
    while group.pending:
        command = ("XPENDING", group.stream, group.name, start, loss.last_id, PAGE)
        page = server.ask(*command)
        pending += len(page)
        if len(page) < PAGE:
            break
        start = f"({page[-1][0].decode()}"
    return Needed(group, pending, not_given)


def told(facts: StreamFacts, loss: Loss, needed: Sequence[Needed]) -> list[str]:
    """For people."""
    name = text_of(facts.name)
    if not loss.count:
        return [f"{name} has {counted(facts.length, 'entry')}, and none is removed"]
    left = facts.length - loss.count
    goes, stays = "goes" if loss.count == 1 else "go", "stays" if left == 1 else "stay"
    lines = [
        f"{counted(loss.count, 'entry')} of {name} {goes}, {loss.first_id} to {loss.last_id}; "
        f"{number(left)} {stays}"
    ]
    for need in needed:
        group = text_of(need.group.name)
        if need.pending:
            lines.append(f"  {number(need.pending)} of them {are(need.pending)} pending in {group}")
        if need.not_given:
            lines.append(f"  {group} was not given all of them yet (last: {need.group.last_id})")
    return lines


def facts_of(facts: StreamFacts, loss: Loss, needed: Sequence[Needed]) -> dict[str, Any]:
    """For programs."""
    return {
        "stream": json_of(facts.name),
        "going": loss.count,
        "first_id": loss.first_id,
        "last_id": loss.last_id,
        "staying": facts.length - loss.count,
        "pending": sum(need.pending for need in needed),
        "groups": [
            {
                "group": json_of(need.group.name),
                "pending": need.pending,
                "not_given": need.not_given,
            }
            for need in needed
        ],
    }
