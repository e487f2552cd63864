"""``forebay range``: the entries between two IDs, or between two moments."""

from __future__ import annotations

from itertools import chain, islice
from typing import Annotated

from cyclopts import App, Parameter

from forebay.cli.moments import Moment, Place
from forebay.cli.remote.option import Url
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Count, Json, Stream, place_option, time_option
from forebay.cli.streams.entries import EntryWriter, pages
from forebay.cli.usage import LineError

HELP = """\
Print entries of a stream in order, from START to END, both included.

They are IDs or times.  Without them it prints the whole stream, page by page, so its
size does not matter.

A time is 10m (this long ago, by the server's clock), 2026-11-17T09:30:00Z, or milliseconds
since 1970.  An ID after ( is left out.
"""

EPILOG = """\
examples:
  forebay range orders --count 10                        the ten oldest
  forebay range orders --reverse -n 10                   the ten newest, newest first
  forebay range orders --since 10m
  forebay range orders 2026-11-17T09:00 2026-11-17T10:00
  forebay range orders '(1794900000000-0' +              after an ID
  forebay range orders --since 1h --json | jq .fields.item
"""

app = App(name="range", help=HELP, help_epilogue=EPILOG)

Start = Annotated[
    Place | None,
    place_option("the first ID or time (-, the oldest)", name="START", allow_leading_hyphen=True),
]
End = Annotated[
    Place | None,
    place_option("the last ID or time (+, the newest)", name="END", allow_leading_hyphen=True),
]
Since = Annotated[Moment | None, time_option("from this time on")]
Until = Annotated[Moment | None, time_option("up to this time")]
Reverse = Annotated[bool, Parameter(alias="-r", help="the newest first")]


@app.default
def range_of(
    stream: Stream,
    start: Start = None,
    end: End = None,
    /,
    *,
    since: Since = None,
    until: Until = None,
    count: Count = None,
    reverse: Reverse = False,
    json: Json = False,
    url: Url = None,
) -> int:
    """Print what is there."""
    for place, moment, name in ((start, since, "--since"), (end, until, "--until")):
        if place is not None and moment is not None:
            raise LineError(f"give an ID or time as a word or with {name}, not both")
    with connected(url) as server:
        first = start or Place("-", since)
        last = end or Place("+", until)
        bounds = first.bound(server.now_ms), last.bound(server.now_ms)
        entries = chain.from_iterable(pages(server, stream, *bounds, is_reverse=reverse))
        writer = EntryWriter(is_json=json)
        is_empty = True
        for entry in islice(entries, count):
            writer.write(stream, entry)
            is_empty = False
        if is_empty:
            insist_on(server, stream)
    return 0


def insist_on(server: Server, stream: bytes) -> None:
    """A stream that does not exist is an error; one without entries is not."""
    server.ask("XINFO", "STREAM", stream)
