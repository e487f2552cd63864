"""Entries: read from a server in pages, and printed for people and programs.

    1794947610000-0  2026-11-17T20:33:30.000Z  item=tea price=3.20          a line for a person
    {"stream": "orders", "id": "1794947610000-0", "fields": {"item": "tea", "price": "3.20"}}

In JSON the fields are an object.  If a name occurs twice in an entry, or is not text, they are a
list of pairs instead, so that nothing is lost: [["item", "tea"], ["item", "milk"]].
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from forebay.cli.moments import iso
from forebay.cli.output import json_of, text_of, write_json
from forebay.cli.remote.facts import ms_of
from forebay.cli.remote.server import Server

if TYPE_CHECKING:
    from rich.console import Console

#: An ID, and names and values in turn.
Entry = tuple[bytes, list[bytes]]

#: The first page is small, in case entries are large; then pages have about PAGE_BYTES.
FIRST_PAGE = 50
PAGE_BYTES = 1 << 20
LONGEST_PAGE = 5000


def pages(
    server: Server,
    stream: bytes,
    start: str,
    end: str,
    *,
    is_reverse: bool = False,
    longest: int = LONGEST_PAGE,
) -> Iterator[list[Entry]]:
    """The entries between two bounds of XRANGE, a page at a time."""
    size = FIRST_PAGE
    while True:
        if is_reverse:
            page = server.ask("XREVRANGE", stream, end, start, "COUNT", size)
        else:
            page = server.ask("XRANGE", stream, start, end, "COUNT", size)
        if page:
            yield [(entry_id, words) for entry_id, words in page]
        if len(page) < size:
            return
        last = f"({page[-1][0].decode()}"
        start, end = (start, last) if is_reverse else (last, end)
        size = min(longest, page_size(page))


def page_size(page: list[Any]) -> int:
    """How many entries to ask for next, if they are like these."""
    held = sum(len(word) for _, words in page for word in words) + 50 * len(page)
    return max(1, min(LONGEST_PAGE, PAGE_BYTES * len(page) // held))


def fields_json(words: list[bytes]) -> Any:
    """Fields for JSON: an object, or pairs where an object would lose something."""
    names = [json_of(name) for name in words[::2]]
    values = [json_of(value) for value in words[1::2]]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return dict(zip(names, values, strict=True))
    return [list(pair) for pair in zip(names, values, strict=True)]


def fields_text(words: list[bytes]) -> str:
    """Fields for people."""
    return " ".join(
        f"{text_of(name)}={text_of(value)}"
        for name, value in zip(words[::2], words[1::2], strict=True)
    )


def moment_of_id(entry_id: bytes) -> str:
    """When an entry was added, if its ID says so: an ID that a user chose may be any number."""
    return iso(ms_of(entry_id.decode()))


class EntryWriter:
    """Prints entries, one per line; the stream is named if there are several."""

    def __init__(self, *, is_json: bool, names_streams: bool = False) -> None:
        self.is_json = is_json
        self.names_streams = names_streams
        self.console: Console | None = None
        if not is_json and sys.stdout.isatty():
            from rich.console import Console

            self.console = Console(highlight=False, soft_wrap=True)

    def write(
        self,
        stream: bytes,
        entry: Entry,
        note: str = "",
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Print one entry; ``note`` is extra text for people, ``more`` extra facts for programs."""
        entry_id, words = entry
        if self.is_json:
            head = {"stream": json_of(stream), "id": entry_id.decode()}
            write_json({**head, "fields": fields_json(words), **more})
            return
        name = [text_of(stream)] if self.names_streams else []
        known = [f"[{note}]"] if note else []
        told = [*name, entry_id.decode(), moment_of_id(entry_id), *known]
        self._write_line("  ".join(told), fields_text(words))

    def flush(self) -> None:
        """Flush standard output."""
        sys.stdout.flush()

    def _write_line(self, head: str, rest: str) -> None:
        if self.console is None:
            sys.stdout.write(f"{head}  {rest}\n")
            return
        from rich.text import Text

        self.console.print(Text(f"{head}  ", style="cyan").append(rest, style="default"))
