"""Entries from a file, as ``forebay copy`` and the export write them: NDJSON or CSV.

    {"kind": "csv", "text": "id,item\\n1-0,tea\\n", "ids": "keep" | "new"}

The whole file is read before the first entry is added: a bad line is refused with its number, and
so are IDs that the stream would not take.
"""

from __future__ import annotations

import io
from typing import Any

from forebay.cli.copying.files import FileError, Found, read_entries
from forebay.cli.remote.facts import NO_ID, id_key, stream_of
from forebay.cli.remote.link import Refusal, Word
from forebay.cli.remote.refusals import refused
from forebay_console.asking.asked import Asked, BadRequestError
from forebay_console.servers.shown import fields
from forebay_console.views.entries import checked, exact

KINDS, IDS = ("ndjson", "csv"), ("new", "keep")
MOST_BYTES = 8 << 20
MOST_ENTRIES = 200_000
FIRST = 10
NEW = b"*"


def import_preview(asked: Asked) -> dict[str, Any]:
    """How many entries a file has, and its first ones."""
    found = checked_entries(asked)
    return {
        "entries": len(found),
        "first": [
            {"id": None if entry_id == NEW else entry_id.decode(), "fields": fields(words)}
            for entry_id, words in found[:FIRST]
        ],
    }


def import_entries(asked: Asked) -> dict[str, Any]:
    """Append the entries of a file."""
    found = checked_entries(asked)
    commands: list[tuple[Word, ...]] = [
        ("XADD", asked.stream, entry_id, *words) for entry_id, words in found
    ]
    replies = asked.server.link.ask_all(commands)
    added = sum(not isinstance(reply, Refusal) for reply in replies)
    for command, reply in zip(commands, replies, strict=True):
        if isinstance(reply, Refusal):
            more = f"; {added} of {len(found)} entries were added"
            raise refused(asked.server.link, command, reply, more)
    asked.poller.look_at([asked.stream])
    return {"added": added}


def checked_entries(asked: Asked) -> list[tuple[bytes, list[bytes]]]:
    """The entries of the sent file, with the IDs that they will have."""
    kind, ids = word_of(asked, "kind", KINDS), word_of(asked, "ids", IDS)
    text = asked.given("text", str)
    if len(text) > MOST_BYTES:
        raise BadRequestError(f"a file has at most {MOST_BYTES:,} bytes; for more: forebay copy")
    found = read_file(text, kind)
    if ids == "new":
        return [(NEW, words) for _, words in found]
    return with_ids(asked, found)


def read_file(text: str, kind: str) -> list[Found]:
    """The entries of a text; BadRequestError names the bad line."""
    file = io.StringIO(text, newline="")
    file.name = "the file"
    found: list[Found] = []
    try:
        for entry in read_entries(file, kind):
            found.append(entry)
            if len(found) > MOST_ENTRIES:
                raise BadRequestError(f"a file has at most {MOST_ENTRIES:,} entries")
    except FileError as error:
        raise BadRequestError(str(error)) from None
    except RecursionError:
        raise BadRequestError(f"entry {len(found) + 1} of the file nests too deeply") from None
    if not found:
        raise BadRequestError("the file has no entries")
    return found


def with_ids(asked: Asked, found: list[Found]) -> list[tuple[bytes, list[bytes]]]:
    """The entries with the IDs of the file; these must rise, from the stream's newest ID on."""
    kept: list[tuple[bytes, list[bytes]]] = []
    last = last_id(asked)
    for number, (entry_id, words) in enumerate(found, 1):
        if entry_id is None:
            raise BadRequestError(f"entry {number} of the file has no ID; choose new IDs")
        text = exact(checked(entry_id.decode("utf-8", "replace")))
        if id_key(text) <= id_key(last):
            raise BadRequestError(
                f"entry {number} of the file has the ID {text}, which must be greater than {last}"
            )
        last = text
        kept.append((text.encode(), words))
    return kept


def last_id(asked: Asked) -> str:
    """The newest ID that the stream had; a missing stream takes any ID."""
    if not asked.server.ask("EXISTS", asked.stream):
        return NO_ID
    return stream_of(asked.server, asked.stream).last_id


def word_of(asked: Asked, name: str, words: tuple[str, ...]) -> str:
    """A word of the body that must be one of these."""
    word: str = asked.given(name, str)
    if word not in words:
        raise BadRequestError(f"{name} must be one of {', '.join(words)}, not {word[:50]!r}")
    return word
