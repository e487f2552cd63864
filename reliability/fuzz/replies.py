"""The rules for the output of a server, whatever the request was.

Replies follow one another, each whole.  Inside a line (a status, an error, a number)
there is no CR and no LF, and no line begins with a text that a user has sent to fake a reply.
A bulk string may hold anything: its length comes first.
"""

from __future__ import annotations

from reliability.fuzz.words import INJECTED

CRLF = b"\r\n"
BULKS, AGGREGATES, LINES = b"$=!", b"*~>%|", b"+-:_,#("
PAIRS = b"%|"


class BrokenReplyError(Exception):
    """The output cannot be read by a client, or contains a fake reply."""


class UnfinishedReplyError(BrokenReplyError):
    """The output ends in the middle of a reply."""


def check_replies(data: bytes, may_be_cut: bool = False) -> int:
    """The number of whole replies in ``data``; raises BrokenReplyError.

    ``may_be_cut``: the rest was not waited for.
    """
    at = count = 0
    while at < len(data):
        try:
            at = end_of(data, at)
        except UnfinishedReplyError:
            if may_be_cut:
                break
            raise
        count += 1
    return count


def end_of(data: bytes, at: int) -> int:
    """Where the reply that begins here ends."""
    left = 1
    while left:
        end = data.find(CRLF, at)
        if end < 0:
            raise UnfinishedReplyError(f"a line without an end: {data[at : at + 80]!r}")
        kind, text = data[at], data[at + 1 : end]
        left -= 1
        at = end + 2
        if kind in LINES:
            check_line(text)
        elif kind in BULKS:
            at = end_of_bulk(data, at, int(text))
        elif kind in AGGREGATES:
            left += max(0, int(text)) * (2 if kind in PAIRS else 1)
        else:
            raise BrokenReplyError(f"not a reply: {data[end - 40 : end + 40]!r}")
    return at


def end_of_bulk(data: bytes, at: int, size: int) -> int:
    """Where a bulk string of this size ends."""
    if size < 0:
        return at
    if at + size + 2 > len(data):
        raise UnfinishedReplyError(f"a bulk string without an end: {data[at : at + 80]!r}")
    if data[at + size : at + size + 2] != CRLF:
        raise BrokenReplyError(f"a bulk string with another end: {data[at : at + 80]!r}")
    return at + size + 2


def check_line(text: bytes) -> None:
    """Check a line: it ends in the right place and begins with the server's own words."""
    if b"\n" in text or b"\r" in text:
        raise BrokenReplyError(f"a line end inside of a line: {text[:120]!r}")
    if text.startswith(INJECTED):
        raise BrokenReplyError(f"a line that a user wrote: {text[:120]!r}")
