"""``forebay groups``: the consumer groups of streams, made, moved and deleted."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay.cli.asking import Yes, agree
from forebay.cli.moments import Moment, iso
from forebay.cli.output import counted, text_of, write_json
from forebay.cli.remote.facts import (
    GroupFacts,
    consumers_of,
    every_group,
    group_of,
    ms_of,
)
from forebay.cli.remote.option import Url
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams import reset as moving
from forebay.cli.streams.arguments import Group, Json, Patterns, Stream, time_option
from forebay.cli.streams.consumers import CONSUMER_COLUMNS, consumer_json, consumer_row
from forebay.cli.streams.info import group_json, group_row
from forebay.cli.tables import show_table
from forebay.cli.usage import LineError
from forebay.cli.words import held_for, span

EPILOG = """\
examples:
  forebay groups list
  forebay groups describe orders billing
  forebay groups create orders billing --from start
  forebay groups reset orders billing --to-time 2h --dry-run
  forebay groups delete orders billing
"""

app = App(name="groups", help="Consumer groups of streams.", help_epilogue=EPILOG)


# List and describe

LIST_EXAMPLES = """\
examples:
  forebay groups list
  forebay groups list orders 'payments:*'
  forebay groups list --json | jq 'select(.lag > 1000)'

lag: entries that the group was not given yet; - if the server cannot count them.
pending: entries that it was given and did not acknowledge.
"""


@app.command(name="list", help_epilogue=LIST_EXAMPLES)
def list_groups(*streams: Patterns, json: Json = False, url: Url = None) -> int:
    """List groups, of all streams or of some."""
    with connected(url) as server:
        names = server.chosen(streams) if streams else server.streams()
        if len(streams) == 1:
            server.ask("XINFO", "GROUPS", names[0])
        found = every_group(server, names)
    if json:
        for facts in found:
            write_json(group_json(facts))
    elif found:
        columns = ("stream", "group", "consumers", "pending", "lag", "last delivered")
        show_table(columns, [group_row(facts) for facts in found])
    else:
        sys.stdout.write("no groups\n")
    return 0


DESCRIBE_EXAMPLES = """\
examples:
  forebay groups describe orders billing
  forebay groups describe orders billing --json | jq .consumers
"""


@app.command(help_epilogue=DESCRIBE_EXAMPLES)
def describe(stream: Stream, group: Group, /, *, json: Json = False, url: Url = None) -> int:
    """Show how far a group is, what waits, and its consumers."""
    with connected(url) as server:
        facts = group_of(server, stream, group)
        consumers = consumers_of(server, stream, group)
        oldest = server.ask("XPENDING", stream, group, "-", "+", 1)
        behind_ms = behind_by_ms(server, facts)
    if json:
        more = {
            "behind_ms": behind_ms,
            "oldest_pending_id": oldest[0][0].decode() if oldest else None,
            "consumers": [consumer_json(each) for each in consumers],
        }
        write_json(group_json(facts) | more)
        return 0
    sys.stdout.write("".join(f"{line}\n" for line in group_lines(facts, oldest, behind_ms)))
    if consumers:
        sys.stdout.write("\n")
        show_table(CONSUMER_COLUMNS, [consumer_row(each) for each in consumers])
    return 0


def group_lines(facts: GroupFacts, oldest: list[Any], behind_ms: int | None) -> list[str]:
    """One group for people."""
    lag = "unknown" if facts.lag is None else counted(facts.lag, "entry")
    behind = f", the next is {span(behind_ms / 1000)} old" if behind_ms is not None else ""
    lines = [
        f"{text_of(facts.name)} of {text_of(facts.stream)}: {counted(facts.consumers, 'consumer')}",
        f"last delivered  {facts.last_id}  {iso(ms_of(facts.last_id))}",
        f"not delivered   {lag}{behind}",
        f"pending         {counted(facts.pending, 'entry')}",
    ]
    if oldest:
        entry_id, owner, idle_ms, deliveries = oldest[0]
        whom = f" with {text_of(owner)}" if owner else ""
        lines[-1] += (
            f", the oldest is {entry_id.decode()}{whom} {held_for(idle_ms)}, "
            f"{counted(deliveries, 'delivery')}"
        )
    return lines


def behind_by_ms(server: Server, facts: GroupFacts) -> int | None:
    """The age of the next entry for the group; None if there is none."""
    reply = server.ask("XRANGE", facts.stream, f"({facts.last_id}", "+", "COUNT", 1)
    return max(0, server.now_ms() - ms_of(reply[0][0].decode())) if reply else None


# Create, reset, delete

CREATE_EXAMPLES = """\
examples:
  forebay groups create orders billing                     only new entries from now on
  forebay groups create orders billing --from start        all entries that are there
  forebay groups create orders billing --from 2h
  forebay groups create later billing --make-stream
"""

From = Annotated[
    str,
    Parameter(
        name="--from",
        metavar="PLACE",
        show_default=True,
        help="begin at start, end, a time (as 2h, 2026-11-17T09:30:00Z) or after an ID",
    ),
]
MakeStream = Annotated[bool, Parameter(help="make the stream, empty, if it does not exist")]


@app.command(help_epilogue=CREATE_EXAMPLES)
def create(
    stream: Stream,
    group: Group,
    /,
    *,
    begin: From = "end",
    make_stream: MakeStream = False,
    url: Url = None,
) -> int:
    """Make a group that begins at a place of the stream."""
    with connected(url) as server:
        target = moving.target_of(server, stream, begin)
        more = ["MKSTREAM"] if make_stream else []
        server.ask("XGROUP", "CREATE", stream, group, target, *more)
    sys.stdout.write(f"{text_of(group)} of {text_of(stream)} begins after {target}\n")
    return 0


RESET_EXAMPLES = """\
examples:
  forebay groups reset orders billing --to-time 2h --dry-run
  forebay groups reset orders billing --to-time 2026-11-17T09:00:00Z
  forebay groups reset orders billing --to-id 1794900000000-0      after this one
  forebay groups reset orders billing --to-id 0                    from the start
  forebay groups reset orders billing --to-id '$' --yes            skip all entries

Moved back, the group is given entries again; moved forward, it never gets those between.
The command says how many and asks, unless --yes is given.  Pending entries stay pending:
see forebay pending list.
"""

ToTime = Annotated[Moment | None, time_option("go on with the first entry from this time on")]
ToId = Annotated[
    str | None, Parameter(metavar="ID", help="go on with the entry after this ID; $ is the end")
]
DryRun = Annotated[bool, Parameter(help="only say what would be done")]


@app.command(help_epilogue=RESET_EXAMPLES)
def reset(
    stream: Stream,
    group: Group,
    /,
    *,
    to_time: ToTime = None,
    to_id: ToId = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
    url: Url = None,
) -> int:
    """Move a group to another place of its stream."""
    if (to_time is None) == (to_id is None):
        raise LineError("give the new place: --to-time TIME or --to-id ID")
    with connected(url) as server:
        facts = group_of(server, stream, group)
        if to_time is not None:
            target = moving.before_ms(to_time.at_ms(server.now_ms))
        else:
            target = moving.target_of(server, stream, to_id or "")
        plan = moving.plan(server, facts, target)
        if not json:
            sys.stdout.write("".join(f"{line}\n" for line in plan.told()))
            sys.stdout.flush()
        if not dry_run:
            if plan.again or plan.skipped:
                agree(plan.action(), yes=yes)
            plan.carry_out(server)
    if json:
        write_json(plan.facts() | {"done": not dry_run})
    else:
        sys.stdout.write("nothing was done (--dry-run)\n" if dry_run else "done\n")
    return 0


DELETE_EXAMPLES = """\
examples:
  forebay groups delete orders billing
  forebay groups delete orders billing --yes

The entries of the stream stay.  The consumers of the group, its pending entries and its
place in the stream are lost.
"""


@app.command(help_epilogue=DELETE_EXAMPLES)
def delete(stream: Stream, group: Group, /, *, yes: Yes = False, url: Url = None) -> int:
    """Delete a group."""
    with connected(url) as server:
        facts = group_of(server, stream, group)
        whole = (
            f"delete the group {text_of(group)} of {text_of(stream)} with "
            f"{counted(facts.consumers, 'consumer')} and "
            f"{counted(facts.pending, 'pending entry')}"
        )
        agree(whole, yes=yes)
        server.ask("XGROUP", "DESTROY", stream, group)
    sys.stdout.write(f"{text_of(group)} of {text_of(stream)} is deleted\n")
    return 0
