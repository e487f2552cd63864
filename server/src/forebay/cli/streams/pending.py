"""``forebay pending``: entries that a group was given and did not acknowledge.

    list     pending entries, with consumer, age and delivery count
    claim    give them to another consumer
    ack      they are done: no consumer is given them again
    nack     they are free: the next consumer that claims gets them

All but ``list`` take IDs, or choose with --idle, --consumer and --all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from forebay.cli.asking import Yes, agree
from forebay.cli.moments import length_ms
from forebay.cli.output import are, complain, counted, json_of, text_of, write_json
from forebay.cli.remote.link import Refusal, Word
from forebay.cli.remote.option import Url
from forebay.cli.remote.refusals import refused
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Count, Group, Json, Stream, parameter
from forebay.cli.tables import show_table
from forebay.cli.usage import LineError
from forebay.cli.words import held_for

EPILOG = """\
examples:
  forebay pending list orders billing
  forebay pending list orders billing --idle 5m --consumer worker-3
  forebay pending claim orders billing --to worker-4 --idle 5m
  forebay pending ack orders billing 1794900000000-0
  forebay pending nack orders billing --consumer worker-3
"""

app = App(name="pending", help="Entries that a group did not acknowledge.", help_epilogue=EPILOG)

PAGE = 1000


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which pending entries."""

    idle: Annotated[
        int,
        Parameter(
            metavar="TIME",
            converter=length_ms,
            help="those that are pending for this long at least, as 5m",
        ),
    ] = 0
    consumer: Annotated[bytes | None, parameter("--consumer", "those of this consumer")] = None
    count: Count = None


ALL = Choice()
Ids = Annotated[str, Parameter(name="ID", help="pending entries, by their IDs")]
Every = Annotated[bool, Parameter(name="--all", help="all of them")]


def chosen_rows(
    server: Server, stream: bytes, group: bytes, choice: Choice
) -> Iterator[Sequence[Any]]:
    """The answers of XPENDING about the chosen entries, a page at a time."""
    start = "-"
    owner: list[Word] = [] if choice.consumer is None else [choice.consumer]
    while True:
        command = ("XPENDING", stream, group, "IDLE", choice.idle, start, "+", PAGE, *owner)
        page = server.ask(*command)
        yield from page
        if len(page) < PAGE:
            return
        start = f"({page[-1][0].decode()}"


def chosen_ids(
    server: Server,
    stream: bytes,
    group: bytes,
    ids: Sequence[str],
    choice: Choice,
    *,
    every: bool,
) -> list[bytes]:
    """The entries that the line chooses; it must choose some."""
    is_choosing = every or choice.idle or choice.consumer is not None
    if bool(ids) == bool(is_choosing):
        raise LineError("choose entries: IDs, or --idle TIME, --consumer NAME, or --all")
    server.ask("XPENDING", stream, group)  # the group must exist
    if ids:
        return [entry_id.encode() for entry_id in ids]
    rows = islice(chosen_rows(server, stream, group, choice), choice.count)
    return [row[0] for row in rows]


def in_pages(ids: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """As many IDs as fit one command, a page at a time."""
    for at in range(0, len(ids), PAGE):
        yield ids[at : at + PAGE]


# List

LIST_EXAMPLES = """\
examples:
  forebay pending list orders billing
  forebay pending list orders billing --idle 5m
  forebay pending list orders billing --json | jq 'select(.deliveries > 3) | .id'
"""


@app.command(name="list", help_epilogue=LIST_EXAMPLES)
def list_pending(
    stream: Stream, group: Group, /, *, choice: Choice = ALL, json: Json = False, url: Url = None
) -> int:
    """List pending entries, the oldest first."""
    with connected(url) as server:
        found = list(islice(chosen_rows(server, stream, group, choice), choice.count))
    if json:
        for entry_id, consumer, idle_ms, deliveries in found:
            head = {"id": entry_id.decode(), "consumer": json_of(consumer)}
            write_json(head | {"idle_ms": idle_ms, "deliveries": deliveries})
    elif found:
        rows = [
            [
                entry_id.decode(),
                text_of(consumer) if consumer else None,
                held_for(idle_ms),
                deliveries,
            ]
            for entry_id, consumer, idle_ms, deliveries in found
        ]
        show_table(("id", "consumer", "held", "deliveries"), rows)
    else:
        sys.stdout.write("nothing is pending\n")
    return 0


# Claim

CLAIM_EXAMPLES = """\
examples:
  forebay pending claim orders billing --to worker-4 1794900000000-0
  forebay pending claim orders billing --to worker-4 --idle 5m
  forebay pending claim orders billing --to worker-4 --consumer worker-3

The consumer is not notified: it gets them when it reads its backlog (XREADGROUP with an ID).
"""

To = Annotated[bytes, parameter("--to", "the consumer that gets them; made if missing")]


@app.command(help_epilogue=CLAIM_EXAMPLES)
def claim(
    stream: Stream,
    group: Group,
    /,
    *ids: Ids,
    to: To,
    every: Every = False,
    choice: Choice = ALL,
    url: Url = None,
) -> int:
    """Make a consumer the owner of pending entries; delivery counts stay."""
    with connected(url) as server:
        wanted = chosen_ids(server, stream, group, ids, choice, every=every)
        moved = 0
        for page in in_pages(wanted):
            moved += len(server.ask("XCLAIM", stream, group, to, choice.idle, *page, "JUSTID"))
    return tell(moved, wanted, f"went to {text_of(to)}", is_by_id=bool(ids))


def tell(done: int, wanted: Sequence[bytes], action: str, *, is_by_id: bool) -> int:
    """Print how many; 1 if the user named entries that are not pending."""
    sys.stdout.write(f"{counted(done, 'entry')} {action}\n")
    missing = len(wanted) - done
    if is_by_id and missing:
        complain(f"{counted(missing, 'entry')} of these {are(missing)} not pending")
        return 1
    return 0


# Ack

ACK_EXAMPLES = """\
examples:
  forebay pending ack orders billing 1794900000000-0
  forebay pending ack orders billing --consumer worker-3 --idle 1d
  forebay pending ack orders billing --all --yes

No consumer of this group is given them again; the stream keeps them.
"""


@app.command(help_epilogue=ACK_EXAMPLES)
def ack(
    stream: Stream,
    group: Group,
    /,
    *ids: Ids,
    every: Every = False,
    choice: Choice = ALL,
    yes: Yes = False,
    url: Url = None,
) -> int:
    """Acknowledge pending entries on behalf of their consumers."""
    with connected(url) as server:
        wanted = chosen_ids(server, stream, group, ids, choice, every=every)
        if not ids and wanted:
            whose = f"{text_of(group)} of {text_of(stream)}"
            agree(f"acknowledge {counted(len(wanted), 'entry')} of {whose}", yes=yes)
        done = sum(server.ask("XACK", stream, group, *page) for page in in_pages(wanted))
    return tell(done, wanted, "acknowledged", is_by_id=bool(ids))


# Nack

NACK_EXAMPLES = """\
examples:
  forebay pending nack orders billing 1794900000000-0
  forebay pending nack orders billing --consumer worker-3 --mode silent

A server with XNACK leaves them without a consumer, before all others; modes: fail counts
the delivery, silent takes it back, fatal marks it as given too often.  Elsewhere they stay
with their consumer and look very old: the next claim of idle entries gets them.
"""

Mode = Annotated[
    Literal["fail", "silent", "fatal"],
    Parameter(show_default=True, help="how the delivery is counted"),
]


@app.command(help_epilogue=NACK_EXAMPLES)
def nack(
    stream: Stream,
    group: Group,
    /,
    *ids: Ids,
    every: Every = False,
    choice: Choice = ALL,
    mode: Mode = "fail",
    url: Url = None,
) -> int:
    """Release pending entries, so that any consumer can claim them."""
    with connected(url) as server:
        wanted = chosen_ids(server, stream, group, ids, choice, every=every)
        done = sum(released(server, stream, group, page, mode) for page in in_pages(wanted))
    return tell(done, wanted, "released", is_by_id=bool(ids))


def released(server: Server, stream: bytes, group: bytes, ids: Sequence[bytes], mode: str) -> int:
    """Let any consumer claim pending entries, with XNACK or without; how many."""
    words: tuple[Word, ...] = ("XNACK", stream, group, mode.upper(), "IDS", len(ids), *ids)
    reply = server.link.ask(*words)
    if not isinstance(reply, Refusal):
        return int(reply)
    if not reply.startswith("ERR unknown command"):
        raise refused(server.link, words, reply)
    return age(server, stream, group, ids, mode)


#: The greatest delivery count, which XNACK FATAL sets.
FATAL_COUNT = (1 << 63) - 1


def counted_anew(mode: str, deliveries: int) -> int:
    """The delivery count of a released entry."""
    if mode == "fatal":
        return FATAL_COUNT
    return max(0, deliveries - 1) if mode == "silent" else deliveries


def age(server: Server, stream: bytes, group: bytes, ids: Sequence[bytes], mode: str) -> int:
    """Without XNACK: make entries look very old, with the same owner; how many."""
    asked = [("XPENDING", stream, group, entry_id, entry_id, 1) for entry_id in ids]
    rows = [row for reply in server.ask_all(asked) for row in reply]
    server.ask_all(
        [
            (
                *("XCLAIM", stream, group, owner, 0, entry_id),
                *("TIME", 1, "RETRYCOUNT", counted_anew(mode, deliveries), "JUSTID"),
            )
            for entry_id, owner, _, deliveries in rows
        ]
    )
    return len(rows)
