"""``forebay bench``: the same work at one server or two, in turns, and the ratio.

    round 1   XADD P1 at A, at B   XADD P16 at A, at B   ...
    round 2   ...                                              the median of the rounds counts

Servers are measured in turns and not one after the other, because the speed of a machine changes
from minute to minute: trust the ratio.  The command makes its own streams, and deletes them.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import Annotated, Any

from cyclopts import App, Parameter, Token

from forebay.cli.moments import seconds_up_to
from forebay.cli.output import write_json
from forebay.cli.remote.address import DEFAULT_URL, Address, parse_url
from forebay.cli.remote.facts import program
from forebay.cli.remote.link import Link
from forebay.cli.remote.option import URL_VARIABLE
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json, at_least_one
from forebay.cli.tables import Cell, show_table
from forebay.cli.usage import LineError
from forebay.cli.watching.crowd import Crowd
from forebay.cli.watching.works import WORKS, Load, Work, load_of

HELP = """\
Measure how many stream commands a server does in a second.

The commands are XADD one by one and in pipelines of 16, XRANGE of 100 entries, and
XREADGROUP with XACK.  Two servers are measured in turns, and the ratio is printed.

It writes to streams of its own and deletes them.  Other clients wait meanwhile: do not run
it against a server that has work to do.
"""

EPILOG = """\
examples:
  forebay bench
  forebay bench --url redis://127.0.0.1:6379 --url redis://127.0.0.1:6380
  forebay bench --only XADD --seconds 5 --rounds 5
  forebay bench --json | jq '{work, ratio}'

This command is written in Python and shares the machine with the server: it can keep a
server busy with pipelines, but not with single commands.  The ratio of two servers counts.
"""

app = App(name="bench", help=HELP, help_epilogue=EPILOG)

PATIENCE_S = 60.0
LONGEST_S = 3600.0


def addresses_of(_: Any, tokens: Sequence[Token]) -> tuple[Address, ...]:
    """One server or two."""
    return tuple(parse_url(token.value) for token in tokens if token.value)


Urls = Annotated[
    tuple[Address, ...],
    Parameter(
        name="--url",
        metavar="URL",
        converter=addresses_of,
        accepts_keys=False,
        n_tokens=1,
        env_var=URL_VARIABLE,
        show_env_var=False,
        help=f"the server ({URL_VARIABLE}, or else {DEFAULT_URL}); twice for two",
    ),
]
Seconds = Annotated[
    float,
    Parameter(
        metavar="N",
        converter=seconds_up_to(LONGEST_S),
        show_default=True,
        help="how long a run takes",
    ),
]
Rounds = Annotated[
    int, Parameter(metavar="N", converter=at_least_one, show_default=True, help="how many rounds")
]
Only = Annotated[str, Parameter(metavar="WORD", help="only rows that have this word in them")]


@app.default
def bench(
    *,
    url: Urls = (),
    seconds: Seconds = 1.0,
    rounds: Rounds = 3,
    only: Only = "",
    json: Json = False,
) -> int:
    """Measure, and report."""
    works = [work for work in WORKS if only.lower() in work.name.lower()]
    if not works:
        raise LineError(f"no row has {only!r} in it; rows: {', '.join(w.name for w in WORKS)}")
    if len(url) > 2:
        raise LineError("one server or two can be measured")
    with ExitStack() as stack:
        named = url or (parse_url(DEFAULT_URL),)
        if any(address.is_tls for address in named):
            raise LineError("bench measures plain connections, without TLS")
        servers = [stack.enter_context(connected(each, PATIENCE_S)) for each in named]
        names = [f"{program(server.info())} at {server.address}" for server in servers]
        rates = {
            work.name: [
                [measured(work, server, seconds) for server in servers] for _ in range(rounds)
            ]
            for work in works
        }
    tell(works, names, rates, is_json=json)
    return 0


def measured(work: Work, server: Server, seconds: float) -> float:
    """One run of one row at one server: operations per second."""
    key = b"forebay:bench:%d:%b" % (os.getpid(), work.name.encode().replace(b" ", b""))
    try:
        load = load_of(work, server, key)
        with ExitStack() as stack:
            sockets = [stack.enter_context(opened(server)) for _ in range(load.connections)]
            return run(load, [link.socket for link in sockets], seconds)
    finally:
        server.ask("UNLINK", key)


def opened(server: Server) -> Link:
    """Another connection that is logged in and does not block."""
    link = Link(server.address, PATIENCE_S)
    link.log_in()
    if link.socket.family != socket.AF_UNIX:
        link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.socket.setblocking(False)
    return link


def run(load: Load, sockets: Sequence[socket.socket], seconds: float) -> float:
    """Drive a load; operations per second."""
    batches, elapsed = Crowd(sockets, load.batches).run(load.expect, seconds)
    return batches * load.operations / elapsed


def tell(
    works: Sequence[Work],
    names: Sequence[str],
    rates: dict[str, list[list[float]]],
    *,
    is_json: bool,
) -> None:
    """Print the medians, and the ratio of the first server to the second."""
    rows: list[list[Cell]] = []
    for work in works:
        found = [median(column) for column in zip(*rates[work.name], strict=True)]
        ratio = round(found[0] / found[1], 3) if len(found) == 2 else None
        if is_json:
            facts = {"work": work.name, "unit": work.unit, "servers": list(names)}
            write_json(facts | {"rates": [round(rate) for rate in found], "ratio": ratio})
        shown: list[Cell] = [f"{ratio:.2f}x"] if ratio is not None else []
        rows.append([work.name, work.unit, *(round(rate) for rate in found), *shown])
    if is_json:
        return
    columns = ["work", "", *names, *(["ratio"] if len(names) == 2 else [])]
    show_table(columns, rows)
    if len(names) == 2:
        sys.stdout.write("ratio: the first server to the second; above 1 the first is faster\n")
