"""Entries of a stream: by ID or time, newest or oldest first, filtered, a page at a time.

    ?order=newest&from=ID&to=ID&count=50&field=item&value=tea&contains=1

``next`` of an answer is where the next page begins; the previous page begins at ``first`` in the
other order.  Pages grow while entries are small, so a page of ten-megabyte entries holds a few of
them in memory, not fifty.  A filter looks at a bounded number of entries and then answers with the
matches: ``looked`` says how many it has looked at, and the page continues from ``next``.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from forebay.cli.copying.files import CSV, NDJSON, CsvWriter, NdjsonWriter, Writer
from forebay.cli.remote.server import Server
from forebay_console.asking.asked import Asked, BadRequestError, NotThereError
from forebay_console.asking.permits import is_refused
from forebay_console.servers.shown import WHOLE_BYTES, fields, size_of

COUNT, MOST = 50, 500
MOST_EXPORTED = 10_000
FIRST_PAGE = 1
#: Two 64-bit numbers, and one character more.
LONGEST_ID = 42
PAGE_BYTES = 1 << 20
LARGEST_PAGE = 1000
#: One request of a filter looks at no more entries, and takes no longer.
MOST_LOOKED = 50_000
LONGEST_LOOK_S = 0.5
#: The largest answer.
ANSWER_BYTES = 4 << 20

Entry = tuple[bytes, list[bytes]]
T = TypeVar("T")
Wanted = Callable[[list[bytes]], bool]


class Page(NamedTuple, Generic[T]):
    """Items made of the found entries, the number of entries looked at, and the last of those if
    there are more.
    """

    found: list[T]
    looked: int
    last: bytes | None

    @property
    def next(self) -> str | None:
        """Where the next page begins."""
        return f"({self.last.decode()}" if self.last else None


def entries(asked: Asked) -> dict[str, Any]:
    """A page of entries."""
    page = page_of(asked, asked.page(COUNT, MOST), told, lambda size: min(size, WHOLE_BYTES))
    return {"entries": page.found, "looked": page.looked, "next": page.next}


def export(asked: Asked) -> dict[str, Any]:
    """The same entries, uncut, as the text of a file; as many as one answer holds."""
    kind = asked.one_of("kind", (NDJSON, CSV))
    page = page_of(asked, asked.page(COUNT, MOST_EXPORTED), lambda entry: entry, lambda size: size)
    file = io.StringIO(newline="")
    writer: Writer = CsvWriter(file) if kind == CSV else NdjsonWriter(file)
    writer.write(page.found)
    return {"text": file.getvalue(), "entries": len(page.found), "next": page.next}


def page_of(
    asked: Asked, count: int, make: Callable[[Entry], T], size_in_answer: Callable[[int], int]
) -> Page[T]:
    """The entries that are asked for: at most ``count``, and as many as an answer holds.

    Each entry is converted at once, so a page of large entries needs little memory.
    """
    is_newest = asked.one_of("order", ("newest", "oldest")) == "newest"
    low, high = bound(asked, "from", "-"), bound(asked, "to", "+")
    wanted, until_s = filter_of(asked), time.monotonic() + LONGEST_LOOK_S
    found: list[T] = []
    looked, size, last = 0, 0, None
    for entry in walk(asked.server, asked.stream, low, high, is_reverse=is_newest):
        looked, last = looked + 1, entry[0]
        if wanted is None or wanted(entry[1]):
            found.append(make(entry))
            size += size_in_answer(size_of(entry[1]))
        if len(found) >= count or size > ANSWER_BYTES:
            break
        if looked >= MOST_LOOKED or (looked % 500 == 0 and time.monotonic() > until_s):
            break
    else:
        last = None
    if not looked:
        must_be_there(asked)
    return Page(found, looked, last)


def must_be_there(asked: Asked) -> None:
    """Raise if there is no such stream; a viewer who may not ask learns nothing."""
    if not is_refused(asked.server.link.ask("XINFO", "GROUPS", asked.stream)):
        asked.server.ask("XINFO", "GROUPS", asked.stream)


def told(entry: Entry) -> dict[str, Any]:
    """One entry in a list."""
    entry_id, words = entry
    return {"id": entry_id.decode(), "bytes": size_of(words), "fields": fields(words)}


def one_entry(asked: Asked) -> dict[str, Any]:
    """One entry, cut as little as possible."""
    entry_id = exact(asked.path["id"])
    page = asked.server.ask("XRANGE", asked.stream, entry_id, entry_id)
    if not page:
        raise NotThereError(f"there is no entry {entry_id}; it was deleted or trimmed")
    _, words = page[0]
    return {"id": entry_id, "bytes": size_of(words), "fields": fields(words, WHOLE_BYTES)}


def walk(
    server: Server, stream: bytes, low: str, high: str, *, is_reverse: bool
) -> Iterator[Entry]:
    """Entries one by one, in pages of about a megabyte."""
    size = FIRST_PAGE
    while True:
        if is_reverse:
            page = server.ask("XREVRANGE", stream, high, low, "COUNT", size)
        else:
            page = server.ask("XRANGE", stream, low, high, "COUNT", size)
        yield from ((entry_id, words) for entry_id, words in page)
        if len(page) < size:
            return
        after = f"({page[-1][0].decode()}"
        low, high = (low, after) if is_reverse else (after, high)
        held = sum(size_of(words) for _, words in page) + 50 * len(page)
        size = max(1, min(LARGEST_PAGE, 8 * size, PAGE_BYTES * len(page) // held))


def filter_of(asked: Asked) -> Wanted | None:
    """What the words field, value and contains ask for."""
    field, value = asked.word("field").encode(), asked.word("value").encode()
    if not field and not value:
        return None
    is_part = asked.word("contains") == "1"

    def wanted(words: list[bytes]) -> bool:
        for name, held in zip(words[::2], words[1::2], strict=True):
            if field and name != field:
                continue
            if not value or held == value or (is_part and value in held):
                return True
        return False

    return wanted


def bound(asked: Asked, name: str, otherwise: str) -> str:
    """A bound of XRANGE: an ID, inclusive or exclusive."""
    text = asked.word(name) or otherwise
    if text not in ("-", "+"):
        checked(text.removeprefix("("))
    return text


def exact(text: str) -> str:
    """The ID of one entry: 5 means 5-0."""
    return text if "-" in checked(text) else f"{text}-0"


def checked(text: str) -> str:
    """An ID, or milliseconds."""
    ms, dash, seq = text[:LONGEST_ID].partition("-")
    is_id = text.isascii() and ms.isdecimal() and (not dash or seq.isdecimal())
    if not is_id or max(int(ms), int(seq or 0)) >> 64:
        raise BadRequestError(f"{text[:50]!r} is not an ID; write it as 1794900000000-0")
    return text
