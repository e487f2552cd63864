"""Dead letters: send back one, unchanged or edited, or all of a kind with a rate; drop.

    WATCH dead;  XRANGE dead id id;  MULTI, XADD origin * fields, XDEL dead id, EXEC

A letter is sent back once, also if two people press the button at the same time: EXEC does nothing
if the dead-letter stream has changed since the read, and the letter is read again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from forebay.cli.remote.link import Word
from forebay.cli.remote.server import Server
from forebay_console.actions.entries import fields_of
from forebay_console.asking.asked import Asked, BadRequestError
from forebay_console.views.entries import checked
from forebay_console.views.letters import kind_of, letter_of, letters
from forebay_workers.settle.letters import Letter, read

#: One request sends back at most this many, or as many as its time allows; the page asks again.
MOST = 1_000
LONGEST_S = 2.0


def redrive(asked: Asked) -> dict[str, Any]:
    """Send one letter back; if the body has "fields", with these fields."""
    letter = letter_of(asked)
    words = fields_of(asked) if "fields" in asked.body else None
    return {"sent": send_back(asked.server, asked.stream, letter.id, words), "to": letter.stream}


def redrive_all(asked: Asked) -> dict[str, Any]:
    """Send back letters of a kind, or all: {"kind": ..., "rate": n a second}; some per request."""
    rate = asked.body.get("rate")
    if rate is not None and (not isinstance(rate, int | float) or rate <= 0):
        raise BadRequestError("rate must be a number above 0, or be left out")
    wanted, sent, begun_s = chosen(asked), 0, time.monotonic()
    for letter in wanted[:MOST]:
        took_s = time.monotonic() - begun_s
        if took_s > LONGEST_S or (rate is not None and sent >= max(1.0, rate * LONGEST_S)):
            break
        sent += send_back(asked.server, asked.stream, letter.id, None)
    return {"sent": sent, "left": max(0, len(wanted) - sent)}


def drop(asked: Asked) -> dict[str, Any]:
    """Delete letters of a kind, or all, or by ID: {"kind": ...}, {"ids": [...]}, {"all": true}."""
    ids = asked.body.get("ids")
    if isinstance(ids, list):
        found = [checked(str(one)) for one in ids]
    else:
        found = [one.id for one in chosen(asked)]
    count = 0
    for at in range(0, len(found), MOST):
        count += asked.server.ask("XDEL", asked.stream, *found[at : at + MOST])
    return {"dropped": count}


def chosen(asked: Asked) -> list[Letter]:
    """The letters of a kind; all of them only if the body says so."""
    kind = asked.body.get("kind")
    if kind is None and asked.body.get("all") is not True:
        raise BadRequestError('give {"kind": ...} or {"all": true}')
    found = letters(asked.server, asked.stream, "+")
    return [one for one in found if kind is None or kind_of(one.error) == kind]


def send_back(server: Server, stream: bytes, entry_id: str, words: Sequence[bytes] | None) -> int:
    """Add a letter to its original stream; 0 if it was already sent back or dropped."""
    while True:
        server.ask("WATCH", stream)
        page = server.ask("XRANGE", stream, entry_id, entry_id)
        letter = read(*page[0]) if page else None
        if letter is None:
            server.ask("UNWATCH")
            return 0
        added: list[Word] = ["XADD", letter.stream, "*", *(words or letter.fields)]
        removed: list[Word] = ["XDEL", stream, entry_id]
        *_, done = server.ask_all([("MULTI",), added, removed, ("EXEC",)])
        if done is not None:
            return 1
