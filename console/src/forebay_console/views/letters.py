"""Dead letters: streams that hold them, letters grouped by error, one letter with its history.

A letter is an entry that a worker buried (forebay_workers.settle.letters).  Errors that differ only
in numbers, quoted words and addresses are one kind: ``ValueError: bad price '3,20'``, ``'4,10'``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from forebay.cli.remote.server import Server
from forebay_console.asking.asked import Asked, NotThereError
from forebay_console.asking.permits import ON_SCREEN_S, Sight
from forebay_console.servers.shown import WHOLE_BYTES, fields, key_of, name
from forebay_console.views.entries import bound, exact, walk
from forebay_workers.settle.letters import Letter, read

SUFFIX = b":dead"
PAGE, MOST = 50, 500
#: Kinds are made of this many newest letters.
MOST_LOOKED = 10_000
CHANGING = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']*'|\"[^\"]*\"|`[^`]*`")
LONGEST_ERROR = 300


def places(asked: Asked) -> dict[str, Any]:
    """All dead-letter streams that are not empty."""
    found = [
        one
        for one in list(asked.board.streams.values())
        if one.facts.name.endswith(SUFFIX) and one.facts.length
    ]
    sights = asked.sights([one.facts.name for one in found], ON_SCREEN_S)
    found = [one for one in found if sights[one.facts.name]]
    found.sort(key=lambda one: -one.facts.length)
    return {
        "places": [
            {
                "key": key_of(one.facts.name),
                "name": name(one.facts.name),
                "letters": one.facts.length,
                "newest_id": one.facts.newest_id if sights[one.facts.name] is Sight.ALL else None,
            }
            for one in found
        ]
    }


def kinds(asked: Asked) -> dict[str, Any]:
    """The letters of a stream by kind of error, the most frequent first."""
    found: dict[str, dict[str, Any]] = {}
    looked = 0
    for letter in letters(asked.server, asked.stream, "+"):
        looked += 1
        kind = kind_of(letter.error)
        known = found.setdefault(
            kind, {"kind": kind, "example": first_line(letter.error), "count": 0, "newest_ms": 0}
        )
        known["count"] += 1
        known["newest_ms"] = max(known["newest_ms"], letter.last_ms)
        if looked >= MOST_LOOKED:
            break
    rows = sorted(found.values(), key=lambda one: -one["count"])
    return {"kinds": rows, "looked": looked, "is_whole": looked < MOST_LOOKED}


def some_letters(asked: Asked) -> dict[str, Any]:
    """A page of letters, newest first, of one kind or of all."""
    kind, count = asked.word("kind"), asked.page(PAGE, MOST)
    found: list[Letter] = []
    looked, last = 0, None
    for letter in letters(asked.server, asked.stream, bound(asked, "to", "+")):
        looked, last = looked + 1, letter.id
        if not kind or kind_of(letter.error) == kind:
            found.append(letter)
        if len(found) >= count or looked >= MOST_LOOKED:
            break
    else:
        last = None
    return {"letters": [line(one) for one in found], "next": f"({last}" if last else None}


def one_letter(asked: Asked) -> dict[str, Any]:
    """One letter: the message, the error, the traceback, where it came from."""
    letter = letter_of(asked)
    return {
        **line(letter),
        "traceback": letter.traceback,
        "consumer": letter.consumer,
        "first_ms": letter.first_ms,
        "fields": fields(letter.fields, WHOLE_BYTES),
    }


def letter_of(asked: Asked) -> Letter:
    """The letter that is asked for."""
    entry_id = exact(asked.path["id"])
    page = asked.server.ask("XRANGE", asked.stream, entry_id, entry_id)
    letter = read(*page[0]) if page else None
    if letter is None:
        raise NotThereError(f"there is no letter {entry_id}; it was sent back or dropped")
    return letter


def line(letter: Letter) -> dict[str, Any]:
    """A letter in a list."""
    return {
        "id": letter.id,
        "kind": kind_of(letter.error),
        "error": first_line(letter.error),
        "stream": letter.stream,
        "stream_key": key_of(letter.stream.encode()),
        "origin_id": letter.origin_id,
        "group": letter.group,
        "deliveries": letter.deliveries,
        "last_ms": letter.last_ms,
    }


def letters(server: Server, stream: bytes, end: str) -> Iterator[Letter]:
    """Letters, newest first; entries that are not letters are skipped."""
    for entry_id, words in walk(server, stream, "-", end, is_reverse=True):
        letter = read(entry_id, words)
        if letter is not None:
            yield letter


def kind_of(error: str) -> str:
    """An error without the parts that differ from message to message."""
    return CHANGING.sub("…", first_line(error))


def first_line(error: str) -> str:
    """The error for a table."""
    return (error.splitlines() or [""])[0][:LONGEST_ERROR]
