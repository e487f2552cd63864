"""``forebay dead``: dead letters, the messages that no handler could process."""

from __future__ import annotations

import base64
import json as json_module
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay_workers.app import DEFAULT_URL
from forebay_workers.cli.telling import Json, Url, Yes, agreed, aligned, answer, complain, told
from forebay_workers.clock import RealClock
from forebay_workers.errors import WorkerError
from forebay_workers.options import ENTRY_ID
from forebay_workers.partitioned import Partitioned
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.reach import reach
from forebay_workers.servers.slots import CLUSTER
from forebay_workers.servers.trouble import FAULTS, said
from forebay_workers.settle.letters import Letter, dead_streams
from forebay_workers.settle.redrive import DeadLetters
from forebay_workers.shares.members import count_key, known_count

EPILOG = """\
STREAM is the stream that the messages came from: the letters of orders are in orders:dead.
--letters names another dead-letter stream.

examples:
  forebay dead list orders
  forebay dead show orders                             the newest letter
  forebay dead show orders 1794947608000-0
  forebay dead redrive orders --error ValueError --rate 50
  forebay dead drop orders --all --yes
"""

app = App(
    name="dead",
    help="Manages dead letters: messages that failed on every attempt or did not match their type.",
    help_epilogue=EPILOG,
)

Stream = Annotated[str, Parameter(name="STREAM", help="the stream that the messages came from")]
Letters = Annotated[
    str | None, Parameter(metavar="STREAM", help="the dead-letter stream (STREAM:dead)")
]
ErrorText = Annotated[
    str | None, Parameter(name="--error", metavar="TEXT", help="letters whose error has this text")
]
Ids = Annotated[
    tuple[str, ...], Parameter(name="--id", metavar="ID", help="this letter; may be repeated")
]
All = Annotated[bool, Parameter(name="--all", help="all of them")]
COLUMNS = ("id", "failed", "attempts", "origin", "error")
LONGEST_ERROR = 200


class NoLettersError(WorkerError):
    """There is neither the stream nor its dead-letter stream."""


class Desk:
    """The dead letters of one stream, while a command runs."""

    def __init__(self, server: Serves, stream: str, dead: DeadLetters) -> None:
        self._server = server
        self.stream = stream
        self.dead = dead

    async def none(self) -> int:
        """Say that there are no letters, or that there is no such stream."""
        for name in (count_key(self.stream), self.stream, *self.dead.streams):
            if await self._server.shared.ask("EXISTS", name):
                answer(f"no dead letters in {self.dead.where}")
                return 0
        raise NoLettersError(
            f"there is no stream {self.stream}, nor {self.dead.where}, at {self._server.where}; "
            "list its streams with: forebay info '*'"
        )


@asynccontextmanager
async def opened(url: str, stream: str, letters: str | None) -> AsyncIterator[Desk]:
    """Connect to a server; its errors become one sentence that names it."""
    clock = RealClock()
    server = reach(url or DEFAULT_URL, clock)
    try:
        places = await _places(server, stream, letters, url)
        yield Desk(server, stream, DeadLetters(server, places, clock))
    except FAULTS as error:
        raise said(error, server.where) from None
    finally:
        await server.close()


async def _places(server: Serves, stream: str, letters: str | None, url: str) -> list[str]:
    """The dead-letter streams; a partitioned stream has one for each partition."""
    count = 0 if letters else await known_count(server, stream)
    whole = Partitioned(stream, count) if count else stream
    return dead_streams(whole, letters, is_cluster=url.startswith(CLUSTER))


def when(ms: int) -> str:
    """A time for people."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def plain(word: bytes) -> Any:
    """A word for JSON: text if it is UTF-8, else an object that keeps every bit."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(word).decode()}


def fields_json(fields: Sequence[bytes]) -> Any:
    """Fields for programs, as in ``forebay range --json``: pairs if a name occurs twice."""
    words = list(map(plain, fields))
    pairs = list(zip(words[::2], words[1::2], strict=True))
    names = [name for name, _ in pairs if isinstance(name, str)]
    return dict(pairs) if len(set(names)) == len(pairs) else pairs


def as_json(letter: Letter) -> str:
    """A letter for programs."""
    facts = asdict(letter) | {"fields": fields_json(letter.fields)}
    return json_module.dumps(facts, ensure_ascii=False)


@app.command(name="list", help_epilogue="examples:\n  forebay dead list orders --error ValueError")
@told
async def list_letters(
    stream: Stream,
    /,
    *,
    error: ErrorText = None,
    limit: Annotated[
        int, Parameter(alias="-n", metavar="N", show_default=True, help="at most this many")
    ] = 50,
    letters: Letters = None,
    json: Json = False,
    url: Url = DEFAULT_URL,
) -> int:
    """List dead letters, oldest first."""
    found: list[Letter] = []
    more = 0
    async with opened(url, stream, letters) as desk:
        async for letter in desk.dead.letters():
            if error is not None and error not in letter.error:
                continue
            if len(found) < limit:
                found.append(letter)
            else:
                more += 1
        if json:
            answer(*map(as_json, found))
            return 0
        if not found:
            return await desk.none()
    answer(*aligned([COLUMNS, *map(row_of, found)]))
    if more:
        complain(f"{more} more; --limit {len(found) + more} lists all")
    return 0


def row_of(letter: Letter) -> tuple[str, ...]:
    """A letter in a table."""
    origin = f"{letter.stream} {letter.origin_id}"
    first_line = (letter.error.splitlines() or [""])[0][:LONGEST_ERROR]
    return (letter.id, when(letter.last_ms), str(letter.deliveries), origin, first_line)


SHOW_EXAMPLES = """\
examples:
  forebay dead show orders                             the newest
  forebay dead show orders 1794947608000-0
  forebay dead show orders --json | jq -r .traceback
"""


@app.command(help_epilogue=SHOW_EXAMPLES)
@told
async def show(
    stream: Stream,
    entry_id: Annotated[
        str | None, Parameter(name="ID", help="the ID of the letter (the newest one)")
    ] = None,
    /,
    *,
    letters: Letters = None,
    json: Json = False,
    url: Url = DEFAULT_URL,
) -> int:
    """Show one letter: the message, the error, the traceback."""
    if entry_id is not None and not ENTRY_ID.fullmatch(entry_id):
        complain(f"{entry_id!r} is not an ID; try: forebay dead list {stream}")
        return 2
    async with opened(url, stream, letters) as desk:
        if entry_id is None:
            letter = await desk.dead.newest()
        else:
            letter = await desk.dead.find(entry_id)
        if letter is None and entry_id is None:
            return await desk.none()
    if letter is None:
        complain(f"{desk.dead.where} has no letter {entry_id}; try: forebay dead list {stream}")
        return 1
    answer(as_json(letter) if json else "\n".join(lines_of(letter)).rstrip())
    return 0


def lines_of(letter: Letter) -> list[str]:
    """A letter for people."""
    texts = [part.decode("utf-8", "backslashreplace") for part in letter.fields]
    pairs = zip(texts[::2], texts[1::2], strict=True)
    attempts = str(letter.deliveries) if letter.deliveries else "none, no handler was called"
    return [
        f"letter    {letter.id}",
        f"message   {letter.stream} {letter.origin_id}",
        *(f"          {name}: {value}" for name, value in pairs),
        f"group     {letter.group}, consumer {letter.consumer}",
        f"attempts  {attempts}",
        f"between   {when(letter.first_ms)} and {when(letter.last_ms)}",
        f"error     {letter.error}",
        "",
        letter.traceback,
    ]


def chosen(ids: tuple[str, ...], error: str | None, every: bool) -> Callable[[Letter], bool] | None:
    """Which letters the options choose; None if there are no such options."""
    if not (ids or error or every):
        complain("choose letters with --id ID, --error TEXT or --all")
        return None
    return lambda letter: (not ids or letter.id in ids) and (error is None or error in letter.error)


async def tell(desk: Desk, count: int, action: str, ids: tuple[str, ...]) -> int:
    """Say how many; 1 if some of the given IDs are not letters."""
    if not count and not ids:
        return await desk.none()
    answer(f"{count} {action}")
    if count < len(set(ids)):
        complain(
            f"{len(set(ids)) - count} of these were not chosen or are not letters of "
            f"{desk.dead.where}; try: forebay dead list {desk.stream}"
        )
        return 1
    return 0


REDRIVE_EXAMPLES = """\
examples:
  forebay dead redrive orders --id 1794947608000-0
  forebay dead redrive orders --error ValueError --rate 50
  forebay dead redrive orders --all
"""


@app.command(help_epilogue=REDRIVE_EXAMPLES)
@told
async def redrive(
    stream: Stream,
    /,
    *,
    id: Ids = (),
    error: ErrorText = None,
    every: All = False,
    rate: Annotated[float | None, Parameter(metavar="N", help="at most this many a second")] = None,
    letters: Letters = None,
    url: Url = DEFAULT_URL,
) -> int:
    """Send letters back to their original streams, each once."""
    wanted = chosen(id, error, every)
    if wanted is None:
        return 2
    if rate is not None and rate <= 0:
        complain("--rate must be more than 0")
        return 2
    async with opened(url, stream, letters) as desk:
        return await tell(desk, await desk.dead.redrive(wanted, rate=rate), "sent back", id)


@app.command(help_epilogue="examples:\n  forebay dead drop orders --error MisfitError --yes")
@told
async def drop(
    stream: Stream,
    /,
    *,
    id: Ids = (),
    error: ErrorText = None,
    every: All = False,
    yes: Yes = False,
    letters: Letters = None,
    url: Url = DEFAULT_URL,
) -> int:
    """Delete letters for ever."""
    wanted = chosen(id, error, every)
    if wanted is None:
        return 2
    async with opened(url, stream, letters) as desk:
        count = len([letter async for letter in desk.dead.letters() if wanted(letter)])
        noun = "letter" if count == 1 else "letters"
        action = f"delete {count} {noun} of {desk.dead.where} for ever"
        if count and not agreed(action, yes=yes):
            return 1
        return await tell(desk, await desk.dead.drop(wanted) if count else 0, "deleted", id)
