"""A connected server: a link that is logged in, and whose refusals are sentences.

    with connected(address) as server:
        server.ask("XLEN", b"orders")             -> 3, or RefusedError with what to do next
        server.link.ask("XNACK", ...)             -> a reply or a Refusal, for callers that check
        server.ask_all([("XLEN", name), ...])     -> pipelined

``connected`` raises only ForebayError, with one sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from forebay.cli.remote.address import DEFAULT_URL, Address, parse_url
from forebay.cli.remote.link import PATIENCE_S, Link, LinkError, Refusal, Word
from forebay.cli.remote.names import is_pattern, name_of, scanned
from forebay.cli.remote.refusals import RefusedError, refused
from forebay.errors import ForebayError


class NotReachedError(ForebayError):
    """No server answers, or it refuses us; the text says what to do."""


class Server:
    """One server and one connection to it."""

    def __init__(self, link: Link) -> None:
        self.link = link

    @property
    def address(self) -> Address:
        """Where it is."""
        return self.link.address

    def ask(self, *words: Word, wait_s: float = 0.0) -> Any:
        """One command; a refusal is raised as a sentence."""
        reply = self.link.ask(*words, wait_s=wait_s)
        if isinstance(reply, Refusal):
            raise refused(self.link, words, reply)
        return reply

    def ask_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Many commands in a row; the first refusal is raised as a sentence."""
        replies = self.link.ask_all(commands)
        for words, reply in zip(commands, replies, strict=True):
            if isinstance(reply, Refusal):
                raise refused(self.link, words, reply)
        return replies

    def streams(self, pattern: str = "*") -> list[bytes]:
        """All streams, or those that match, in order."""
        found = scanned(self.link, pattern)
        if isinstance(found, Refusal):
            raise refused(self.link, ("SCAN",), found)
        return found

    def chosen(self, words: Iterable[str]) -> list[bytes]:
        """The streams that names and patterns mean, each once; a pattern must match some."""
        found: dict[bytes, None] = {}
        for word in words:
            names = self.streams(word) if is_pattern(word) else [name_of(word)]
            if not names:
                raise RefusedError(
                    f"no stream at {self.address} matches {word}; list all with: forebay info '*'"
                )
            found.update(dict.fromkeys(names))
        return list(found)

    def now_ms(self) -> int:
        """The server's time, from which it makes IDs."""
        seconds, micros = self.ask("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def info(self, *sections: str) -> dict[str, str]:
        """The fields of INFO."""
        text = self.ask("INFO", *sections).decode("utf-8", "replace")
        return dict(
            line.split(":", 1) for line in text.splitlines() if ":" in line and line[0] != "#"
        )


@contextmanager
def connected(address: Address | None, patience_s: float = PATIENCE_S) -> Iterator[Server]:
    """Connect to a server; to the default one if none is named."""
    try:
        with Link(address or parse_url(DEFAULT_URL), patience_s) as link:
            link.log_in()
            yield Server(link)
    except LinkError as error:
        raise NotReachedError(told(error)) from None


def told(error: LinkError) -> str:
    """A whole sentence, with what to do next."""
    if error.is_nobody:
        return f"{error}; start one with: {error.do}, or name another with --url or FOREBAY_URL"
    return f"{error}; try: {error.do}"
