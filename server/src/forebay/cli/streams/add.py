"""``forebay add``: entries from the words of the line, or many from standard input.

Lines of standard input are JSON objects.  They are sent in pipelines, and a wrong line stops the
work: the lines before it are in the stream, and the error says where to continue.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from forebay.cli.output import counted, json_of, text_of, write_json
from forebay.cli.remote.link import PIPELINE, Refusal, Word
from forebay.cli.remote.option import Url
from forebay.cli.remote.refusals import sentence
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json, Stream, at_least_one
from forebay.cli.streams.json_fields import BadLineError, fields_of_line
from forebay.cli.usage import LineError
from forebay.errors import ForebayError

HELP = """\
Add an entry to a stream, or many from standard input; print its ID.

Fields are NAME=VALUE, each a word.  If the first word has no = in it, names and values
are words in turn.  A single - reads lines of JSON from standard input: each object is an
entry, each of its members a field; numbers, true and false become text, objects and lists
become JSON, {"base64": "..."} becomes bytes.
"""

EPILOG = """\
examples:
  forebay add orders item=tea price=3.20
  forebay add orders note 'two for one' temperature -5
  forebay add orders --id 1794900000000-0 item=tea
  forebay add orders --maxlen 100000 item=tea
  forebay add orders - < orders.ndjson
  jq -c '.orders[]' shop.json | forebay add orders -

Entries of another stream, with their IDs, are copied with: forebay copy
"""

app = App(name="add", help=HELP, help_epilogue=EPILOG)

Fields = Annotated[
    str,
    Parameter(name="FIELD", allow_leading_hyphen=True, help="NAME=VALUE, or NAME VALUE, or -"),
]
Id = Annotated[
    str, Parameter(name="--id", metavar="ID", help="the ID, as 5-1 or 5-* (made by the server)")
]
MaxLen = Annotated[
    int | None,
    Parameter(
        name="--maxlen",
        metavar="N",
        converter=at_least_one,
        help="remove old entries when there are about this many (MAXLEN ~ N)",
    ),
]


class RefusedLineError(ForebayError):
    """An entry of standard input was refused; those before it were added."""


@app.default
def add(
    stream: Stream,
    /,
    *fields: Fields,
    id: Id = "*",
    maxlen: MaxLen = None,
    json: Json = False,
    url: Url = None,
) -> int:
    """Add, and print the ID."""
    limit: list[Word] = [] if maxlen is None else ["MAXLEN", "~", maxlen]
    head: list[Word] = ["XADD", stream, *limit, id]
    if fields == ("-",):
        with connected(url) as server:
            return add_lines(server, stream, head, is_json=json)
    words = words_of(fields)
    with connected(url) as server:
        entry_id = server.ask(*head, *words).decode()
    if json:
        write_json({"stream": json_of(stream), "id": entry_id})
    else:
        sys.stdout.write(f"{entry_id}\n")
    return 0


def words_of(fields: Sequence[str]) -> list[bytes]:
    """Names and values in turn, in either form of the line."""
    if not fields:
        raise LineError("an entry needs a field: write NAME=VALUE, or - for standard input")
    if "=" not in fields[0]:
        if len(fields) % 2:
            raise LineError(f"the field {fields[-1]!r} has no value; write NAME=VALUE")
        return [os.fsencode(word) for word in fields]
    for word in fields:
        if "=" not in word:
            raise LineError(f"{word!r} has no =, and the first field has: write NAME=VALUE")
    return [os.fsencode(part) for word in fields for part in word.split("=", 1)]


def add_lines(server: Server, stream: bytes, head: list[Word], *, is_json: bool) -> int:
    """Add the lines of standard input, in pipelines."""
    batch = Batch(server, stream)
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            batch.put(number, [*head, *fields_of_line(line)])
        except BadLineError as error:
            batch.send()
            raise BadLineError(batch.told(number, str(error))) from None
    batch.send()
    if is_json:
        head_json = {"stream": json_of(stream), "added": batch.added}
        write_json(head_json | {"first": batch.first_id, "last": batch.last_id})
    else:
        span = f", {batch.first_id} to {batch.last_id}" if batch.added else ""
        sys.stdout.write(f"added {counted(batch.added, 'entry')} to {text_of(stream)}{span}\n")
    return 0


class Batch:
    """Lines that are sent together; a refusal stops the work."""

    def __init__(self, server: Server, stream: bytes) -> None:
        self.server = server
        self.stream = stream
        self.waiting: list[tuple[int, list[Word]]] = []
        self.added = 0
        self.first_id: str | None = None
        self.last_id: str | None = None

    def put(self, number: int, words: list[Word]) -> None:
        """Add one more entry, from this line."""
        self.waiting.append((number, words))
        if len(self.waiting) == PIPELINE:
            self.send()

    def send(self) -> None:
        """Send the waiting entries; RefusedLineError names the first refused line."""
        replies = self.server.link.ask_all([words for _, words in self.waiting])
        refused = None
        for (number, words), reply in zip(self.waiting, replies, strict=True):
            if isinstance(reply, Refusal):
                refused = refused or (number, words, reply)
                continue
            self.added += 1
            self.last_id = reply.decode()
            self.first_id = self.first_id or self.last_id
        self.waiting = []
        if refused is not None:
            number, words, reply = refused
            raise RefusedLineError(self.told(number, sentence(self.server.link, words, reply)))

    def told(self, number: int, problem: str) -> str:
        """The sentence about a wrong line, with what was added before."""
        done = counted(self.added, "entry")
        verb = "was" if self.added == 1 else "were"
        return (
            f"line {number} of standard input: {problem}; {done} {verb} added to "
            f"{text_of(self.stream)}"
        )
