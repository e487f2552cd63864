"""``forebay consumers``: the consumers of a group, and how to delete one without a loss.

    XPENDING, XCLAIM JUSTID    its pending entries go to another consumer, with their counts
    MULTI                      read entries that it was given meanwhile, and delete the consumer
    XCLAIM FORCE JUSTID        those entries, if any, go to the other consumer too

XGROUP DELCONSUMER alone drops its pending entries: no consumer would ever be given them again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay.cli.asking import Yes, agree
from forebay.cli.output import counted, json_of, text_of, write_json
from forebay.cli.remote.facts import ConsumerFacts, consumers_of
from forebay.cli.remote.option import Url
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Group, Json, Stream, parameter
from forebay.cli.tables import Cell, show_table
from forebay.cli.usage import LineError
from forebay.cli.words import span
from forebay.errors import ForebayError
from forebay.server.config.nearest import did_you_mean, nearest

EPILOG = """\
examples:
  forebay consumers list orders billing
  forebay consumers delete orders billing worker-3
  forebay consumers delete orders billing worker-3 --to worker-4 --yes
"""

app = App(name="consumers", help="Consumers of a group.", help_epilogue=EPILOG)

PAGE = 1000
CONSUMER_COLUMNS = ("consumer", "pending", "last seen", "last given")


class NoConsumerError(ForebayError):
    """The consumer does not exist, or no other can take over from it."""


@app.command(name="list", help_epilogue="examples:\n  forebay consumers list orders billing")
def list_consumers(stream: Stream, group: Group, /, *, json: Json = False, url: Url = None) -> int:
    """List the consumers of a group."""
    with connected(url) as server:
        found = consumers_of(server, stream, group)
    if json:
        for facts in found:
            write_json(consumer_json(facts))
    elif found:
        show_table(CONSUMER_COLUMNS, [consumer_row(facts) for facts in found])
    else:
        sys.stdout.write("no consumers\n")
    return 0


def consumer_json(facts: ConsumerFacts) -> dict[str, Any]:
    """One consumer for programs."""
    return {
        "consumer": json_of(facts.name),
        "pending": facts.pending,
        "idle_ms": facts.idle_ms,
        "inactive_ms": facts.inactive_ms,
    }


def consumer_row(facts: ConsumerFacts) -> list[Cell]:
    """One consumer for people."""
    given: str | None = None
    if facts.inactive_ms is not None:
        given = "never" if facts.inactive_ms < 0 else f"{span(facts.inactive_ms / 1000)} ago"
    return [text_of(facts.name), facts.pending, f"{span(facts.idle_ms / 1000)} ago", given]


DELETE_EXAMPLES = """\
examples:
  forebay consumers delete orders billing worker-3
  forebay consumers delete orders billing worker-3 --to worker-4 --yes
  forebay consumers delete orders billing worker-3 --drop --yes

Its pending entries go to another consumer first: the one that --to names, or else the one
that was seen last.  They keep their delivery counts and times.
"""

Consumer = Annotated[bytes, parameter("CONSUMER", "a consumer")]
To = Annotated[bytes | None, parameter("--to", "who gets the pending entries; made if missing")]
Drop = Annotated[bool, Parameter(help="drop the pending entries: no consumer gets them again")]


@app.command(help_epilogue=DELETE_EXAMPLES)
def delete(
    stream: Stream,
    group: Group,
    consumer: Consumer,
    /,
    *,
    to: To = None,
    drop: Drop = False,
    yes: Yes = False,
    url: Url = None,
) -> int:
    """Delete a consumer, after its pending entries were handed over."""
    if to is not None and drop:
        raise LineError("--to and --drop exclude each other: give one of them")
    with connected(url) as server:
        found = consumers_of(server, stream, group)
        pending = pending_of(found, group, consumer)
        heir = to if to is not None else None if drop else heir_of(found, consumer)
        if pending and heir is None and not drop:
            raise NoConsumerError(
                f"{text_of(consumer)} has {counted(pending, 'pending entry')} and is alone; name "
                "another consumer with --to NAME, or drop them with --drop"
            )
        if heir == consumer:
            raise LineError("--to names the consumer that would be deleted")
        agree(action(stream, group, consumer, pending, heir), yes=yes)
        moved = 0 if heir is None else hand_over(server, stream, group, consumer, heir)
        moved += leave(server, stream, group, consumer, heir)
    gone = f", {counted(moved, 'pending entry')} went to {text_of(heir)}" if heir and moved else ""
    sys.stdout.write(f"{text_of(consumer)} is deleted{gone}\n")
    return 0


def pending_of(found: Sequence[ConsumerFacts], group: bytes, consumer: bytes) -> int:
    """The number of pending entries of a consumer; it must exist."""
    for facts in found:
        if facts.name == consumer:
            return facts.pending
    names = [text_of(facts.name) for facts in found]
    meant = did_you_mean(nearest(text_of(consumer), names))
    listed = f"; its consumers are: {', '.join(names[:20])}" if names else ", nor any other"
    raise NoConsumerError(f"{text_of(group)} has no consumer {text_of(consumer)}{listed}{meant}")


def heir_of(found: Sequence[ConsumerFacts], consumer: bytes) -> bytes | None:
    """The other consumer that was seen last."""
    others = [facts for facts in found if facts.name != consumer]
    return min(others, key=lambda facts: facts.idle_ms).name if others else None


def action(stream: bytes, group: bytes, consumer: bytes, pending: int, heir: bytes | None) -> str:
    """What will be done, for the question."""
    told = f"delete the consumer {text_of(consumer)} of {text_of(group)} of {text_of(stream)}"
    if not pending:
        return told
    if heir is None:
        return f"{told} and drop {counted(pending, 'pending entry')}"
    return f"{told} after {counted(pending, 'pending entry')} went to {text_of(heir)}"


def hand_over(server: Server, stream: bytes, group: bytes, consumer: bytes, heir: bytes) -> int:
    """Give all pending entries of a consumer to another one; how many."""
    moved, start = 0, "-"
    while True:
        page = server.ask("XPENDING", stream, group, start, "+", PAGE, consumer)
        claim(server, stream, group, heir, page)
        moved += len(page)
        if len(page) < PAGE:
            return moved
        start = f"({page[-1][0].decode()}"


def leave(server: Server, stream: bytes, group: bytes, consumer: bytes, heir: bytes | None) -> int:
    """Delete a consumer; entries that it was given at the last moment go to the heir: how many."""
    if heir is None:
        server.ask("XGROUP", "DELCONSUMER", stream, group, consumer)
        return 0
    server.ask("MULTI")
    server.ask("XPENDING", stream, group, "-", "+", PAGE, consumer)
    server.ask("XGROUP", "DELCONSUMER", stream, group, consumer)
    late, _ = server.ask("EXEC")
    claim(server, stream, group, heir, late, "FORCE")
    return len(late)


def claim(
    server: Server,
    stream: bytes,
    group: bytes,
    heir: bytes,
    page: Sequence[Sequence[Any]],
    *force: str,
) -> None:
    """Make another consumer the owner of the entries of XPENDING, and keep times and counts.

    Entries that were acknowledged meanwhile stay so, unless they are claimed with FORCE.
    """
    now_ms = server.now_ms()
    server.ask_all(
        [
            (
                *("XCLAIM", stream, group, heir, 0, entry_id),
                *("TIME", now_ms - idle_ms, "RETRYCOUNT", deliveries, *force, "JUSTID"),
            )
            for entry_id, _, idle_ms, deliveries in page
        ]
    )
