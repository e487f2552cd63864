"""Reading the entries of a task, page after page, in bounded memory.

A task has one part or many: a range of a long stream, or many short streams, which share a task
because a task alone costs more than a short stream.  Parts are read one after the other, in their
order, so that a repeated task gives the same rows in the same order.

A form (page_requests.py) asks for a page; the driver has found out which one the server
understands, and the task says so.

- Pages grow from a few entries towards ``pageBytes``, so that neither tiny nor huge
  entries hurt: the first page is small enough for entries of a megabyte.
- The next page is asked for before this one is decoded, so that the server and this
  task work at the same time.  If a part has only one page, the first pages of the
  parts after it are asked for as well:

      asked     a1 b1 c1 d1            a, b, c, d: parts;  1, 2: pages
      page      a1                     e1 is asked for before a1 is decoded
      page         b1                  and so on: one page decoded, one on its way

- A piece with a known count must give exactly that many entries.  A piece without one
  asks, with each page, whether the stream was trimmed or lost its end meanwhile.
- A broken connection is opened again and reading continues after the last page:
  ranges do not change, so this cannot repeat or skip an entry.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from forebay_spark.ids import EntryId
from forebay_spark.options import Options
from forebay_spark.read import loss
from forebay_spark.read.decode import FAILFAST, Decoder
from forebay_spark.read.offsets import Piece, Position, Span
from forebay_spark.read.page_requests import ColumnsForm, Form, RangeForm
from forebay_spark.read.pages import Page
from forebay_spark.servers.capabilities import Helper
from forebay_spark.servers.connect import Command, Link, Server
from forebay_spark.servers.patience import PASSING, translate
from forebay_spark.servers.state import StreamState, fetch_all, fetch_on, parse_reply
from forebay_spark.values.schema import columns_of

#: The first page of a part: some entries, or more if the first and last one of the stream
#: are so small that this many would be a fraction of a page.
FIRST_PAGE_ENTRIES = 16
FIRST_PAGE_SHARE = 4
GROWTH = 10
#: The most pages on their way, each of another part.
PAGES_AHEAD = 8
#: Spark works on one record batch at a time; small ones of short streams become one of this size.
BATCH_ROWS = 10_000
BATCH_BYTES = 8 << 20


class Part(NamedTuple):
    """A piece of one stream."""

    stream: str
    piece: Piece
    batch_start: Position
    entry_bytes: int = 0


class Task(InputPartition):
    """The parts that one task of Spark reads."""

    def __init__(self, parts: Sequence[Part], in_columns: bool = False) -> None:
        super().__init__(tuple(parts))
        self.parts = tuple(parts)
        self.in_columns = in_columns


def tasks_of(
    spans: Mapping[str, Span], server: Server, helper: Helper, options: Options
) -> list[Task]:
    """The tasks of a batch, each stream checked for loss first."""
    busy = {
        stream: span
        for stream, span in spans.items()
        if any(piece.end > piece.start for piece in span.pieces)
    }
    states = fetch_all(server, busy)
    sure = {}
    for stream, span in busy.items():
        is_counted = loss.check(stream, span.start, span.end, states.get(stream), options)
        sure[stream] = span if is_counted else span.uncounted()
    return bundled(sure, states, helper)


def bundled(
    spans: Mapping[str, Span], states: Mapping[str, StreamState], helper: Helper
) -> list[Task]:
    """The tasks of all pieces.  Pieces with the same number share a task; one without a number is
    alone."""
    tasks: dict[object, list[Part]] = {}
    for stream, span in spans.items():
        size = states[stream].entry_bytes if stream in states else 0
        for piece in span.pieces:
            if piece.end > piece.start:
                name = (stream, piece.start) if piece.task is None else piece.task
                tasks.setdefault(name, []).append(Part(stream, piece, span.start, size))
    if not tasks:
        return []
    in_columns = helper.helps(next(iter(spans)))
    return [Task(parts, in_columns) for parts in tasks.values()]


class _Ask:
    """A requested page, and its reply."""

    def __init__(self, link: Link, part: Part, at: EntryId, wanted: int) -> None:
        self.link = link
        self.part = part
        self.at = at
        self.wanted = wanted
        self.replies: list[Any] | None = None

    @property
    def is_counted(self) -> bool:
        return self.part.piece.entries is not None

    def is_all_after(self, seen: int) -> bool:
        """Whether nothing of the part can come after this page."""
        entries = self.part.piece.entries
        return entries is not None and seen + self.wanted > entries

    def commands(self, form: Form) -> list[Command]:
        """The page, and the state of the stream if it is needed to see whether all is there."""
        part = self.part
        page = form.ask(part.stream, self.at, part.piece.end, self.wanted)
        return [page] if self.is_counted else [page, ("XINFO", "STREAM", part.stream)]


class Reader:
    """Fetches the entries of tasks."""

    def __init__(self, server: Server, options: Options, form: Form) -> None:
        self._server = server
        self._options = options
        self._form = form
        #: Requested pages that have not arrived yet, in the order of their links' replies.
        self._on_way: deque[_Ask] = deque()

    def pages(self, parts: Iterable[Part]) -> Iterator[tuple[Part, Page]]:
        """All entries of all parts, in order, each once; raises or reports losses."""
        todo = deque(parts)
        turns: deque[_Ask] = deque()
        while todo or turns:
            if not turns:
                turns.append(self._first(todo.popleft()))
                self._send(turns)
            yield from self._part(turns.popleft(), turns, todo)

    def _part(
        self, ask: _Ask, turns: deque[_Ask], todo: deque[Part]
    ) -> Iterator[tuple[Part, Page]]:
        """The pages of one part; meanwhile those of the next ones are on their way."""
        part, link, seen, last = ask.part, ask.link, 0, False
        while not last:
            self._look_ahead(ask, seen, turns, todo)
            page = self._fetch(ask)
            if page is None:
                break
            seen += page.rows
            last = self._form.is_last(page, ask.wanted, part.piece.end)
            if not last:
                wanted = self._next_page_entries(page)
                ask = _Ask(link, part, page.last_id, wanted)
                self._send([ask])
            if page.rows:
                yield part, page
        self._check_count(link, part, seen)
        if all(other.link is not link for other in turns):
            link.rest()

    def _look_ahead(self, ask: _Ask, seen: int, turns: deque[_Ask], todo: deque[Part]) -> None:
        """Ask for first pages of further parts, while every page asked for ends its part."""
        if len(turns) > PAGES_AHEAD // 2:
            return
        newest, before = (turns[-1], 0) if turns else (ask, seen)
        more: list[_Ask] = []
        while todo and len(turns) < PAGES_AHEAD and newest.is_all_after(before):
            newest, before = self._first(todo.popleft()), 0
            turns.append(newest)
            more.append(newest)
        self._send(more)

    def _first(self, part: Part) -> _Ask:
        """The first page of a part, sized by the entries that the driver has seen."""
        small = self._options.pageBytes // FIRST_PAGE_SHARE // max(part.entry_bytes, 1)
        most = self._form.most_first_entries if part.entry_bytes else FIRST_PAGE_ENTRIES
        wanted = max(min(small, most), FIRST_PAGE_ENTRIES)
        return _Ask(self._server.link(part.stream), part, part.piece.start, wanted)

    def _next_page_entries(self, page: Page) -> int:
        """How many entries to ask for next, by the size of these."""
        by_size: int = self._options.pageBytes * page.rows // max(page.size, 1)
        return max(1, min(by_size, page.rows * GROWTH, self._form.most_entries))

    def _send(self, asks: Sequence[_Ask]) -> None:
        """Request pages, in one write to each link; failed requests are sent again when due."""
        self._on_way.extend(asks)
        for link in {ask.link: None for ask in asks}:
            own = [c for ask in asks if ask.link is link for c in ask.commands(self._form)]
            try:
                link.send(*own)
            except PASSING:
                link.drop()

    def _fetch(self, ask: _Ask) -> Page | None:
        """A requested page, over a new connection if necessary; None: no such stream."""
        while ask.replies is None:
            self._receive_next(ask.link)
        for reply in ask.replies:
            if isinstance(reply, Exception):
                self._refuse(ask.part.stream, reply)
                return None
        page, *state = ask.replies
        if state:
            self._check_trim(ask.part, ask.at, parse_reply(state[0]))
        return self._form.page(page)

    def _refuse(self, stream: str, error: Exception) -> None:
        """A stream that is gone is loss; any other refusal is an error."""
        if "no such key" not in str(error):
            raise translate(error, self._server.where, ("", stream)) from None
        loss.report(f"Stream {stream!r} is gone.", self._options)

    def _receive_next(self, link: Link) -> None:
        """Receive the next reply of a link; it belongs to the first waiting request."""
        first = next(ask for ask in self._on_way if ask.link is link)

        def attempt() -> list[Any]:
            if not link.is_open:
                # A new connection does not have the requests of the old one.
                waiting = [ask for ask in self._on_way if ask.link is link]
                link.send(*(command for ask in waiting for command in ask.commands(self._form)))
            return [link.reply(long=True) for _ in first.commands(self._form)]

        first.replies = link.retry(attempt)
        self._on_way.remove(first)

    def _settle(self, link: Link) -> None:
        """Receive all pages on their way, so that the link is free for other commands."""
        while any(ask.link is link for ask in self._on_way):
            self._receive_next(link)

    def _check_trim(self, part: Part, at: EntryId, now: StreamState) -> None:
        """After a page: is the end still there, and, if nothing up to ``at`` is left, the rest?"""
        missing = loss.went_back(part.stream, Position(part.piece.end, None), now)
        if not missing and (now.first_id is None or now.first_id > at):
            missing = loss.trimmed(part.stream, part.batch_start, now)
        if missing:
            loss.report(missing, self._options)

    def _check_count(self, link: Link, part: Part, seen: int) -> None:
        """At the end: were all entries there that the plan has counted?"""
        piece = part.piece
        if piece.entries is None or seen == piece.entries:
            return
        if seen > piece.entries:
            loss.report(
                f"Stream {part.stream!r} gave {seen} entries after {piece.start} up to "
                f"{piece.end}, but {piece.entries} were added: it was created again, or a failover "
                "lost entries and others took their place.",
                self._options,
            )
            return
        self._settle(link)
        now = fetch_on(link, part.stream)
        gone = loss.went_back(part.stream, Position(piece.end, None), now)
        # Redis before 7.0 does not distinguish deletes from trimming; there, an option for one
        # allows both.
        untold = now is not None and now.added is None
        on_purpose = untold or (now is not None and now.max_deleted_id > piece.start)
        if on_purpose and not gone and not self._options.failOnDeletes:
            return
        loss.report(
            gone
            or f"Stream {part.stream!r} gave {seen} of {piece.entries} entries after {piece.start} "
            f"up to {piece.end}; the others were trimmed or deleted before they were read.",
            self._options,
        )


def read_parts(
    schema: StructType, options: Options, task: Task
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Record batches of a task and their streams, over its own connections."""
    server = Server(options, met=True)
    form: Form = RangeForm()
    if task.in_columns:
        form = ColumnsForm(columns_of(schema), names_entries=options.mode == FAILFAST)
    try:
        decoder = Decoder(schema, options)
        with no_cycle_search():
            for part, page in Reader(server, options, form).pages(task.parts):
                yield part.stream, decoder.batch(part.stream, page)
    finally:
        server.close()


def read_task(
    schema: StructType, options: Options, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """Record batches of a task, as Spark wants them."""
    if not isinstance(partition, Task):
        return
    batches = (batch for _, batch in read_parts(schema, options, partition))
    yield from batches if len(partition.parts) == 1 else joined(batches)


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: a batch costs Spark more than a few hundred rows."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_batches(waiting)


@contextmanager
def no_cycle_search() -> Iterator[None]:
    """XRANGE entries are many small lists without cycles; a search for cycles costs a third."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
