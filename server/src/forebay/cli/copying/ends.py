"""Ends of a copy: a stream or a file that takes entries, from where it stopped.

    end.start()             the last ID that it holds, 0-0 if it is new
    end.take(after, last, tell)   the entries between two IDs; how many

Both work in turns: a turn is what the source held at one moment (copy.py).
"""

from __future__ import annotations

from typing import IO, Protocol

from forebay.cli.copying.files import (
    CSV,
    CsvWriter,
    FileError,
    NdjsonWriter,
    Writer,
    last_entry,
    open_to_append,
)
from forebay.cli.copying.pump import Pump, Tell
from forebay.cli.copying.start import check_same, start_in
from forebay.cli.output import text_of
from forebay.cli.remote.facts import NO_ID
from forebay.cli.remote.server import Server
from forebay.cli.streams.entries import pages


class End(Protocol):
    """Where entries go."""

    name: str

    def start(self) -> str: ...
    def take(self, after: str, last_id: str, tell: Tell) -> int: ...
    def close(self) -> None: ...


class StreamEnd:
    """Another stream, on the same or another server."""

    def __init__(
        self,
        source: Server,
        stream: bytes,
        target: Server,
        to: bytes,
        *,
        is_append: bool,
    ) -> None:
        self.name = f"{text_of(to)} at {target.address}"
        self.source, self.stream = source, stream
        self.target, self.to = target, to
        self.is_append = is_append
        self.pump = Pump(source.link, stream, target.link, to)

    def start(self) -> str:
        """After its last ID."""
        return start_in(self.source, self.stream, self.target, self.to, is_append=self.is_append)

    def take(self, after: str, last_id: str, tell: Tell) -> int:
        """As bytes, from server to server."""
        return self.pump.run(after, last_id, tell)

    def close(self) -> None:
        """Nothing to close."""


class FileEnd:
    """A file, or standard output."""

    def __init__(self, source: Server, stream: bytes, word: str, kind: str) -> None:
        self.name = word
        self.source, self.stream = source, stream
        self.kind = kind
        self.file: IO[str] | None = None
        self.writer: Writer | None = None

    def start(self) -> str:
        """After the last whole line."""
        self.file = open_to_append(self.name)
        newest, columns = last_entry(self.name, self.kind)
        self.writer = CsvWriter(self.file, columns) if self.kind == CSV else NdjsonWriter(self.file)
        if newest is None:
            return NO_ID
        if self.kind == CSV:  # which keeps no order of fields
            return newest[0].decode()
        check_same(self.source, self.stream, newest, self.name)
        return newest[0].decode()

    def take(self, after: str, last_id: str, tell: Tell) -> int:
        """A page at a time."""
        assert self.file is not None and self.writer is not None, "it was started"
        copied = 0
        try:
            for page in pages(self.source, self.stream, f"({after}", last_id):
                self.writer.write(page)
                copied += len(page)
                tell(copied)
            self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(f"cannot write {self.name}: {error.strerror}") from None
        return copied

    def close(self) -> None:
        """Close the file."""
        if self.file is not None and self.name != "-":
            self.file.close()
