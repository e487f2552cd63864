"""``forebay tail``: the last entries of some streams, and with ``-f`` new ones.

    the last N of each stream, in the order of their IDs
    then XREAD BLOCK over all of them, each from its last shown entry
    a pattern is looked up again in every turn: a new stream is followed from its start

With ``--group`` it follows deliveries to a group, not the streams (onlooker.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any

from cyclopts import App, Parameter, Token

from forebay.cli.output import complain, text_of
from forebay.cli.remote.facts import id_key
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.names import is_pattern
from forebay.cli.remote.option import Url
from forebay.cli.remote.refusals import NO_STREAM, RefusedError, no_stream
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json, Patterns, parameter
from forebay.cli.streams.entries import Entry, EntryWriter, pages
from forebay.cli.streams.onlooker import look_on
from forebay.cli.streams.read_range import Since
from forebay.cli.usage import LineError

HELP = """\
Print the last entries of streams and, with -f, new ones, until ctrl-c.

A word with * ? [ is a pattern; with -f it also follows streams that appear later.

With --group it shows what was delivered to a consumer group, with the consumer that has
it, and with -f what is delivered now.  It only looks on: it joins no group, takes nothing
from a consumer and acknowledges nothing.
"""

EPILOG = """\
examples:
  forebay tail orders
  forebay tail -f orders payments
  forebay tail -f 'orders:*' -n 0                 only new entries
  forebay tail -f orders --since 10m --json | jq .fields
  forebay tail -f orders --group billing          which consumer gets what
"""

app = App(name="tail", help=HELP, help_epilogue=EPILOG)

USUAL_LINES = 10
#: A pattern is looked up again this often.
TURN_S = 1.0
PAGE = 500

Placed = tuple[bytes, Entry]


def none_or_more(_: Any, tokens: Sequence[Token]) -> int:
    """A number of lines."""
    text = tokens[0].value
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{text!r} is no number of entries")
    return int(text)


Follow = Annotated[bool, Parameter(alias="-f", help="go on with new entries")]
Lines = Annotated[
    int,
    Parameter(
        alias="-n",
        metavar="N",
        converter=none_or_more,
        show_default=True,
        help="begin with this many of each stream",
    ),
]
OfGroup = Annotated[
    bytes | None,
    parameter("--group", "entries delivered to this group, and who has them; only looks on"),
]


@app.default
def tail(
    *streams: Patterns,
    follow: Follow = False,
    lines: Lines = USUAL_LINES,
    since: Since = None,
    group: OfGroup = None,
    json: Json = False,
    url: Url = None,
) -> int:
    """Print the last entries, and new ones."""
    if not streams:
        raise LineError("tail needs a stream")
    with connected(url) as server:
        names = server.chosen([s for s in streams if not (follow and is_pattern(s))])
        patterns = [word for word in streams if follow and is_pattern(word)]
        names += [name for name in found(server, patterns) if name not in names]
        is_many = len(names) > 1 or any(map(is_pattern, streams))
        writer = EntryWriter(is_json=json, names_streams=is_many)
        if group is not None:
            start_ms = since.at_ms(server.now_ms) if since else None
            look_on(server, names, group, writer, lines, start_ms, is_following=follow)
            return 0
        if since is None:
            begun = last_entries(server, names, lines, is_following=follow)
        else:
            begun = entries_since(server, names, since.at_ms(server.now_ms))
        places = dict.fromkeys(names, b"0-0")
        if since is None and not lines:
            places |= newest(server, names)
        show(writer, begun, places)
        while follow:
            show(writer, come(server, places), places)
            for name in found(server, patterns):
                places.setdefault(name, b"0-0")
    return 0


def found(server: Server, patterns: Sequence[str]) -> list[bytes]:
    """The streams that match now; none is no error while we wait for some."""
    return [name for pattern in patterns for name in server.streams(pattern)]


def show(writer: EntryWriter, placed: Iterator[Placed], places: dict[bytes, bytes]) -> None:
    """Print entries, and remember the last of each stream."""
    for name, entry in placed:
        writer.write(name, entry)
        places[name] = entry[0]
    writer.flush()


def last_entries(
    server: Server, names: Sequence[bytes], lines: int, *, is_following: bool
) -> Iterator[Placed]:
    """The last entries of each stream, in the order of IDs; with -f a stream may be missing."""
    commands = [("XREVRANGE", name, "+", "-", "COUNT", max(lines, 1)) for name in names]
    replies = server.ask_all(commands)
    listed: list[Placed] = []
    for name, reply in zip(names, replies, strict=True):
        listed += [(name, (entry_id, words)) for entry_id, words in reply[:lines]]
        if (
            not reply
            and not is_following
            and isinstance(server.link.ask("XINFO", "STREAM", name), Refusal)
        ):
            raise RefusedError(no_stream(server.link, name), NO_STREAM)
        if not reply and is_following and not server.ask("EXISTS", name):
            complain(f"there is no stream {text_of(name)} yet; waiting for it")
    return iter(sorted(listed, key=lambda each: id_key(each[1][0])))


def newest(server: Server, names: Sequence[bytes]) -> dict[bytes, bytes]:
    """The ID of the last entry of each stream that has one."""
    replies = server.ask_all([("XREVRANGE", name, "+", "-", "COUNT", 1) for name in names])
    return {name: reply[0][0] for name, reply in zip(names, replies, strict=True) if reply}


def entries_since(server: Server, names: Sequence[bytes], start_ms: int) -> Iterator[Placed]:
    """All entries from a moment on, one stream after the other."""
    for name in names:
        for entry in chain.from_iterable(pages(server, name, str(start_ms), "+")):
            yield name, entry


def come(server: Server, places: dict[bytes, bytes]) -> Iterator[Placed]:
    """New entries; waits for them, but not for ever."""
    names = list(places)
    wait_ms = round(TURN_S * 1000)
    head = ("XREAD", "COUNT", PAGE, "BLOCK", wait_ms, "STREAMS")
    reply = server.ask(*head, *names, *places.values(), wait_s=TURN_S)
    for name, entries in reply or ():
        for entry_id, words in entries:
            yield name, (entry_id, words)
