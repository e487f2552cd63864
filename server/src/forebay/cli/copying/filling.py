"""Entries of a file into a stream, in pipelines; existing ones are skipped.

    file     1-0  2-0  3-0  4-0
    stream   1-0  2-0               3-0 and 4-0 are added, if 2-0 is in the file

An entry without an ID gets a new one, so a second run would add it again.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.cli.copying.files import FileError, open_to_read, read_entries
from forebay.cli.copying.start import OtherStreamError
from forebay.cli.output import text_of
from forebay.cli.remote.facts import NO_ID, StreamFacts, id_key, stream_facts
from forebay.cli.remote.link import PIPELINE, Refusal, Word
from forebay.cli.remote.server import Server


class Filler:
    """Fills one stream from one file."""

    def __init__(self, server: Server, stream: bytes, *, is_append: bool) -> None:
        self.server, self.stream, self.is_append = server, stream, is_append
        self.added = self.skipped = 0
        self.waiting: list[list[Word]] = []

    def run(self, word: str, kind: str, tell: Callable[[int], None]) -> None:
        """The whole file."""
        facts = self._facts()
        last = id_key(facts.last_id if facts else NO_ID)
        newest = facts.newest_id if facts else None
        is_checked = newest is None or self.is_append
        with open_to_read(word) as file:
            for entry_id, words in read_entries(file, kind):
                if entry_id is not None and self._key(entry_id, word) <= last:
                    is_checked = is_checked or entry_id.decode() == newest
                    self.skipped += 1
                    continue
                if not is_checked:
                    raise self._other(word, newest)
                self.waiting.append(["XADD", self.stream, entry_id or b"*", *words])
                if len(self.waiting) == PIPELINE:
                    self._send()
                    tell(self.added)
        self._send()

    def _facts(self) -> StreamFacts | None:
        reply = self.server.link.ask("XINFO", "STREAM", self.stream)
        if isinstance(reply, Refusal) and reply.startswith("ERR no such key"):
            return None
        return stream_facts(self.stream, self.server.ask("XINFO", "STREAM", self.stream))

    @staticmethod
    def _key(entry_id: bytes, word: str) -> tuple[int, int]:
        try:
            return id_key(entry_id)
        except ValueError:
            raise FileError(f"{word} has an ID that is not valid: {text_of(entry_id)}") from None

    def _other(self, word: str, newest: str | None) -> OtherStreamError:
        return OtherStreamError(
            f"{text_of(self.stream)} at {self.server.address} holds entries already, and its "
            f"newest, {newest}, is not in {word}; --append adds what comes after it"
        )

    def _send(self) -> None:
        self.server.ask_all(self.waiting)
        self.added += len(self.waiting)
        self.waiting = []
