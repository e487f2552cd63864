"""Reading one piece of a stream, page after page, in bounded memory.

How a page is asked for is the business of a form (forms.py); the driver has found out
which one the server understands and says so in the task.

- Pages grow from a few entries towards ``pageBytes``, so that neither tiny nor huge
  entries hurt: the first page is small enough for entries of a megabyte.
- The next page is asked for before this one is decoded, so that the server and this
  task work at the same time.
- A piece whose count is known must give exactly that many entries.  One whose count is
  not known asks, with each page, whether the stream was trimmed meanwhile.
- A connection that breaks is opened again and reading goes on after the last page:
  ranges do not change, so this cannot repeat or skip an entry.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
import redis
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from forebay_spark import loss
from forebay_spark.connect import PASSING, RETRY_PAUSES_S, Link, Server, translate
from forebay_spark.decode import Decoder
from forebay_spark.forms import ColumnsForm, Command, Form, RangeForm
from forebay_spark.ids import EntryId
from forebay_spark.offsets import Piece, Position, Span
from forebay_spark.options import Options
from forebay_spark.pages import Page
from forebay_spark.schema import columns_of
from forebay_spark.server_help import Helper
from forebay_spark.state import StreamState, fetch, fetch_on, parse_reply

FIRST_PAGE_ENTRIES = 16
MOST_PAGE_ENTRIES = 20_000
GROWTH = 10


class Task(InputPartition):
    """A piece of a stream for one task of Spark."""

    def __init__(
        self, stream: str, piece: Piece, batch_start: Position, in_columns: bool = False
    ) -> None:
        super().__init__((stream, piece, batch_start))
        self.stream = stream
        self.piece = piece
        self.batch_start = batch_start
        self.in_columns = in_columns


def tasks_of(
    spans: Mapping[str, Span], server: Server, helper: Helper, options: Options
) -> list[Task]:
    """The tasks of a batch, each stream checked for loss first."""
    tasks: list[Task] = []
    for stream, span in spans.items():
        pieces = [piece for piece in span.pieces if piece.end > piece.start]
        if pieces:
            now = fetch(server, stream)
            if not loss.check(stream, span.start, span.end, now, options):
                pieces = [piece._replace(entries=None) for piece in pieces]
            in_columns = helper.helps(stream)
            tasks += [Task(stream, piece, span.start, in_columns) for piece in pieces]
    return tasks


class Reader:
    """Fetches the entries of tasks."""

    def __init__(self, server: Server, options: Options, form: Form) -> None:
        self._server = server
        self._options = options
        self._form = form

    def pages(self, task: Task) -> Iterator[Page]:
        """All entries of the piece, in order, each once; raises or reports what is lost."""
        link = self._server.link(task.stream)
        at, seen, wanted = task.piece.start, 0, FIRST_PAGE_ENTRIES
        self._ask(link, task, at, wanted)
        while True:
            page = self._fetch(link, task, at, wanted)
            if page is None:
                break
            seen += page.rows
            last = self._form.is_last(page, wanted, task.piece.end)
            if not last:
                at = page.last_id
                wanted = next_page_entries(page, self._options.pageBytes)
                self._ask(link, task, at, wanted)
            if page.rows:
                yield page
            if last:
                break
        self._check_count(link, task, seen)

    def _ask(self, link: Link, task: Task, at: EntryId, wanted: int) -> None:
        """Send for the page after ``at``; if that fails, ``_fetch`` sends again."""
        commands: list[Command] = [self._form.ask(task.stream, at, task.piece.end, wanted)]
        if task.piece.entries is None:
            commands.append(("XINFO", "STREAM", task.stream))
        try:
            link.send(*commands)
        except PASSING:
            link.drop()

    def _fetch(self, link: Link, task: Task, at: EntryId, wanted: int) -> Page | None:
        """The page that was asked for, over a new connection if need be; None: no such stream."""
        for pause_s in (*RETRY_PAUSES_S, None):
            try:
                page = self._form.page(link.receive())
                if task.piece.entries is None:
                    self._check_trim(task, at, parse_reply(link.receive()))
                return page
            except PASSING as error:
                link.drop()
                if pause_s is None:
                    raise translate(error, self._server.where) from None
                time.sleep(pause_s)
                self._ask(link, task, at, wanted)
            except redis.exceptions.ResponseError as error:
                link.drop()
                if "no such key" in str(error):
                    loss.report(f"Stream {task.stream!r} is gone.", self._options)
                    return None
                raise translate(error, self._server.where, ("", task.stream)) from None
        raise AssertionError("the last pause is None")

    def _check_trim(self, task: Task, at: EntryId, now: StreamState) -> None:
        """After a page: if nothing up to ``at`` is left, was the rest still there?"""
        passed = now.first_id is None or now.first_id > at
        missing = loss.trimmed(task.stream, task.batch_start, now) if passed else None
        if missing:
            loss.report(missing, self._options)

    def _check_count(self, link: Link, task: Task, seen: int) -> None:
        """At the end: were all entries there that the plan has counted?"""
        piece = task.piece
        if piece.entries is None or seen == piece.entries:
            return
        if seen > piece.entries:
            loss.report(
                f"Stream {task.stream!r} gave {seen} entries after {piece.start} up to "
                f"{piece.end}, but {piece.entries} were added: it was made anew, or a failover "
                "lost entries and others took their place.",
                self._options,
            )
            return
        now = fetch_on(link, task.stream)
        # Redis before 7.0 does not tell deletes from trimming; who allows one allows both there.
        untold = now is not None and now.added is None
        on_purpose = untold or (now is not None and now.max_deleted_id > piece.start)
        if on_purpose and not self._options.failOnDeletes:
            return
        loss.report(
            f"Stream {task.stream!r} gave {seen} of {piece.entries} entries after {piece.start} "
            f"up to {piece.end}; the others were trimmed or deleted before they were read.",
            self._options,
        )


def next_page_entries(page: Page, page_bytes: int) -> int:
    """How many entries to ask for next, by the size of these."""
    by_size = page_bytes * page.rows // max(page.size, 1)
    return max(1, min(by_size, page.rows * GROWTH, MOST_PAGE_ENTRIES))


def read_task(
    schema: StructType, options: Options, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """Record batches of a task, over a connection of its own."""
    if not isinstance(partition, Task):
        return
    server = Server(options)
    form = ColumnsForm(columns_of(schema)) if partition.in_columns else RangeForm()
    try:
        decoder = Decoder(schema, options)
        with no_cycle_search():
            for page in Reader(server, options, form).pages(partition):
                yield decoder.batch(partition.stream, page)
    finally:
        server.close()


@contextmanager
def no_cycle_search() -> Iterator[None]:
    """Entries of XRANGE are many small lists without cycles; to search them takes a third more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
