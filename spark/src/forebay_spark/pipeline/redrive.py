"""Redrive: dead letters, corrected or unchanged, back into a stream, each once.

    dead letters --> mend --> chunks --> MULTI  XADD ... XADD  SET position  EXEC --> stream

The position is the ID of the last dead letter that was put back.  It changes in the same
transaction as the entries (replay.Writer), and it stays: a killed redrive continues where it
stopped, and a second run takes only newer letters.  A letter that is still wrong comes back from
the quarantine as a new letter.

A run ends at the letter that was the last one when it began; otherwise letters that a running
quarantine sends back at once would circulate for ever.

If the server is away, a redrive waits for it, as replay.py does.

Without a correction the entry is the same, byte for byte: ``original`` has it where JSON cannot.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from traceback import extract_tb
from typing import Any, NamedTuple

from forebay_spark import ids
from forebay_spark.errors import OptionError
from forebay_spark.options import DEFAULT_URL
from forebay_spark.pipeline.replay import CHUNK_ENTRIES, NEW, Entry, Writer, target
from forebay_spark.pipeline.spec import function_of
from forebay_spark.servers import state
from forebay_spark.servers.connect import Server

Fields = list[tuple[bytes, bytes]]
#: Bytes that are not text survive the conversion to text and back.
ODD_BYTES = "surrogateescape"


class Letter(NamedTuple):
    """A dead letter: its ID, its origin, the reason, its fields."""

    id: str
    stream: str | None
    reason: str
    fields: Fields


Mend = Callable[[Letter], Fields | None]


class Destination(NamedTuple):
    """One stream that letters go back to."""

    to: str
    name: str
    ids: str = NEW


@dataclass
class Redriven:
    """The result of a run."""

    written: int = 0
    before: int = 0
    passed_over: int = 0
    shown: list[tuple[str, Letter, Fields]] = field(default_factory=list)


def letter_of(entry: list[Any]) -> Letter:
    """A dead letter from its entry."""
    entry_id, flat = entry[0].decode(), entry[1] or []
    told = dict(zip(flat[0::2], flat[1::2], strict=True))
    stream = told.get(b"source_stream")
    return Letter(
        entry_id,
        None if stream is None else stream.decode(),
        told.get(b"reason", b"").decode("utf-8", "replace"),
        _fields(entry_id, told),
    )


def _fields(entry_id: str, told: Mapping[bytes, bytes]) -> Fields:
    try:
        if b"original" in told:
            parts = [b64decode(text) for text in json.loads(told[b"original"])]
            return list(zip(parts[0::2], parts[1::2], strict=True))
        payload = json.loads(told[b"payload"])
        return [(name.encode(), value.encode()) for name, value in payload.items()]
    except (KeyError, ValueError, TypeError, AttributeError):
        raise OptionError(
            f"The entry {entry_id} is not a dead letter: it has neither payload nor original as a "
            "quarantine writes them. Name the stream of a quarantine with --from."
        ) from None


def with_values(values: Mapping[str, str]) -> Mend:
    """Set fields: existing ones in place, new ones at the end."""
    wanted = {name.encode(): value.encode() for name, value in values.items()}

    def mend(letter: Letter) -> Fields:
        mended = [(name, wanted.get(name, value)) for name, value in letter.fields]
        there = {name for name, _ in mended}
        return [*mended, *((n, v) for n, v in wanted.items() if n not in there)]

    return mend


def with_function(text: str) -> Mend:
    """A function of the user: it gets pairs of text and the reason, and returns pairs or a dict."""
    function = function_of(text)

    def mend(letter: Letter) -> Fields | None:
        try:
            given = [(_text(name), _text(value)) for name, value in letter.fields]
            mended = function(given, letter.reason)
            return None if mended is None else _bytes_of(mended)
        except Exception as error:
            last = extract_tb(error.__traceback__)[-1]
            raise OptionError(
                f"The function {text!r} failed on the dead letter {letter.id} at line "
                f"{last.lineno} of {last.filename}: {type(error).__name__}: {error}. Correct it, "
                "and start again: what was put back before is not put back twice."
            ) from error

    return mend


def _text(data: bytes) -> str:
    return data.decode("utf-8", ODD_BYTES)


def _bytes_of(mended: Mapping[str, str] | Iterable[tuple[str, str]]) -> Fields:
    pairs = mended.items() if isinstance(mended, Mapping) else mended
    return [
        (str(n).encode("utf-8", ODD_BYTES), str(v).encode("utf-8", ODD_BYTES)) for n, v in pairs
    ]


def shown(data: bytes) -> str:
    """Bytes for a person: one word as it is, other text quoted."""
    text = data.decode("utf-8", "backslashreplace")
    return text if text and text.isprintable() and " " not in text else json.dumps(text)


def as_it_was(letter: Letter) -> Fields:
    """No correction."""
    return letter.fields


@dataclass(frozen=True, kw_only=True)
class Redrive:
    """Puts dead letters of one stream into another, or each into the stream it came from."""

    dead: str
    to: str | None = None
    url: str = DEFAULT_URL
    mend: Mend = as_it_was
    retry_for: str | None = None
    dry_run: bool = False

    def run(self) -> Redriven:
        """Put back letters that were not put back yet; return the result."""
        if self.to == self.dead:
            raise OptionError(f"{self.dead!r} would be filled with its own letters. Change --to.")
        options = target(self.url, self.dead, self.retry_for)
        with closing(Server(options, patient=True)) as server:
            return self._run(server)

    def _run(self, server: Server) -> Redriven:
        writers: dict[str, tuple[Writer, ids.EntryId | None]] = {}
        done = Redriven()
        for page in self._pages(server):
            chunks: dict[str, list[Entry]] = {}
            for letter in map(letter_of, page):
                to = self._target(letter)
                if to not in writers:
                    writers[to] = self._writer(server, to)
                self._take(letter, to, writers[to][1], chunks, done)
            for to, chunk in chunks.items():
                done.written += len(chunk)
                if not self.dry_run:
                    writers[to][0].write(chunk)
        return done

    def _take(
        self,
        letter: Letter,
        to: str,
        position: ids.EntryId | None,
        chunks: dict[str, list[Entry]],
        done: Redriven,
    ) -> None:
        """Add a letter to the chunk of its stream, or count it as skipped."""
        letter_id = ids.parse(letter.id)
        if position is not None and letter_id <= position:
            done.before += 1
            return
        mended = self.mend(letter)
        if not mended:
            done.passed_over += 1
            return
        flat = [part for pair in mended for part in pair]
        chunks.setdefault(to, []).append(Entry(letter.id, letter_id.ms, flat))
        if self.dry_run:
            done.shown.append((to, letter, mended))

    def _writer(self, server: Server, to: str) -> tuple[Writer, ids.EntryId | None]:
        writer = Writer(server, Destination(to, f"redrive:{self.dead}"))
        position = writer.position()
        return writer, None if position is None else ids.parse(position)

    def _target(self, letter: Letter) -> str:
        if self.to is not None:
            return self.to
        if letter.stream is None or letter.stream == self.dead:
            raise OptionError(
                f"The dead letter {letter.id} does not say where it came from. Add --to STREAM."
            )
        return letter.stream

    def _pages(self, server: Server) -> Iterator[list[Any]]:
        """The letters that exist now, page by page."""
        now = state.fetch(server, self.dead)
        if now is None:
            raise OptionError(
                f"There is no stream {self.dead!r} on the server at {server.where}. "
                "Correct its name."
            )
        link, start = server.link(self.dead), "-"
        while True:
            page = link.call("XRANGE", self.dead, start, str(now.last_id), "COUNT", CHUNK_ENTRIES)
            if page:
                yield page
            if len(page) < CHUNK_ENTRIES:
                return
            start = f"({page[-1][0].decode()}"


def told(job: Redrive, done: Redriven) -> str:
    """The result of a run, for a person."""
    verb = "would be put back" if job.dry_run else "put back"
    into = f"into {job.to}" if job.to else "where they came from"
    more = [f"{done.before} were put back before"] if done.before else []
    more += [f"{done.passed_over} skipped"] if done.passed_over else []
    return "; ".join([f"{done.written} dead letters of {job.dead} {verb} {into}", *more])
