"""Reading one piece of a stream, page after page, in bounded memory.

``Reader`` is the seam: give it a piece, get pages.  ``RangeReader`` pages with XRANGE,
which every server has; a reader on FB.COLUMNS can take its place.

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

import time
from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa
import redis
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from forebay_spark import ids, loss
from forebay_spark.connect import PASSING, RETRY_PAUSES_S, Link, Server, translate
from forebay_spark.decode import Decoder
from forebay_spark.ids import EntryId
from forebay_spark.offsets import Piece, Position
from forebay_spark.options import Options
from forebay_spark.pages import EntryPage, Page
from forebay_spark.state import StreamState, fetch_on, parse_reply

FIRST_PAGE_ENTRIES = 64
MOST_PAGE_ENTRIES = 20_000
GROWTH = 10
SAMPLED_ENTRIES = 32


class Task(InputPartition):
    """A piece of a stream for one task of Spark."""

    def __init__(self, stream: str, piece: Piece, batch_start: Position) -> None:
        super().__init__((stream, piece, batch_start))
        self.stream = stream
        self.piece = piece
        self.batch_start = batch_start


class Reader(Protocol):
    """Fetches the entries of a task."""

    def pages(self, task: Task) -> Iterator[Page]:
        """All entries of the piece, in order, each once; raises or reports what is lost."""


class RangeReader:
    """Reads with XRANGE, on any server of the family."""

    def __init__(self, server: Server, options: Options) -> None:
        self._server = server
        self._options = options

    def pages(self, task: Task) -> Iterator[Page]:
        """See Reader."""
        link = self._server.link(task.stream)
        at, seen, wanted = task.piece.start, 0, FIRST_PAGE_ENTRIES
        self._ask(link, task, at, wanted)
        while True:
            entries = self._fetch(link, task, at, wanted)
            seen += len(entries)
            last = len(entries) < wanted
            if not last:
                at = ids.parse(entries[-1][0])
                wanted = next_page_entries(entries, self._options.pageBytes)
                self._ask(link, task, at, wanted)
            if entries:
                yield EntryPage(entries)
            if last:
                break
        self._check_count(link, task, seen)

    def _ask(self, link: Link, task: Task, at: EntryId, wanted: int) -> None:
        """Send for the page after ``at``; if that fails, ``_fetch`` sends again."""
        end = str(task.piece.end)
        commands: list[tuple[Any, ...]] = [
            ("XRANGE", task.stream, f"({at}", end, "COUNT", wanted),
        ]
        if task.piece.entries is None:
            commands.append(("XINFO", "STREAM", task.stream))
        try:
            link.send(*commands)
        except PASSING:
            link.drop()

    def _fetch(self, link: Link, task: Task, at: EntryId, wanted: int) -> list[Any]:
        """The page that was asked for, over a new connection if the old one broke."""
        for pause_s in (*RETRY_PAUSES_S, None):
            try:
                entries: list[Any] = link.receive()
                if task.piece.entries is None:
                    self._check_trim(task, at, parse_reply(link.receive()))
                return entries
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
                    return []
                raise translate(error, self._server.where, ("XRANGE", task.stream)) from None
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


def next_page_entries(entries: list[Any], page_bytes: int) -> int:
    """How many entries to ask for next, by the size of a sample of these."""
    sample = entries[:: max(1, len(entries) // SAMPLED_ENTRIES)]
    sampled_bytes = sum(sum(map(len, entry[1])) for entry in sample)
    by_size = page_bytes * len(sample) // max(sampled_bytes, 1)
    return max(1, min(by_size, len(entries) * GROWTH, MOST_PAGE_ENTRIES))


def read_task(
    schema: StructType, options: Options, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """Record batches of a task, over a connection of its own."""
    if not isinstance(partition, Task):
        return
    server = Server(options)
    try:
        decoder = Decoder(schema, options)
        for page in RangeReader(server, options).pages(partition):
            yield decoder.batch(partition.stream, page)
    finally:
        server.close()
