"""Has anything been lost between what was read and what is there now?

A position ``(id, n)`` was true once.  Against the stream as it is now:

1. The stream is gone, its newest ID lies below ``id``, it has counted fewer than ``n``
   entries, or more are there after ``id`` than were added since: it was deleted, flushed, or
   a failover lost its end.
2. ``added - n`` entries were added since, but fewer are there: trimming took unread
   ones.  Trimming takes the oldest first, so no read entry can be left to hide it.
3. ``max-deleted-entry-id`` lies above ``id``: an unread entry was deleted one by one,
   which rule 2 cannot see while older entries remain.  A pipeline that deletes on
   purpose switches this rule off (``failOnDeletes``).

Rules 2 and 3 need a server that counts: Redis 7.0 or later, Valkey, Forebay.  On other servers a
position whose own entry is gone proves nothing, and a warning says so once.
"""

from __future__ import annotations

import logging
from functools import cache

from forebay_spark.errors import DataLossError
from forebay_spark.options import STREAM, Options
from forebay_spark.read.offsets import Position
from forebay_spark.servers.state import StreamState

_LOG = logging.getLogger("forebay_spark")

#: For a query; an archive starts where its lake ends, whatever its checkpoint says.
GO_ON = (
    "Set failOnDataLoss to false (fail_on_data_loss in a pipeline) to continue with what is left. "
    "A query, but not an archive, can also start again: new checkpoint, startingOffsets earliest."
)
READ_AGAIN = "Read again, or set failOnDataLoss to false to take what is left."


def went_back(stream: str, start: Position, now: StreamState | None) -> str | None:
    """Rule 1: what happened to the stream itself, or None."""
    if not start.seen or start.id.number == 0:
        return None
    if now is None:
        return f"Stream {stream!r} is gone; it was read up to {start.id}."
    if now.last_id < start.id:
        return (
            f"Stream {stream!r} ends at {now.last_id} but was read up to {start.id}: "
            "it was deleted, flushed, or lost its end in a failover."
        )
    if now.added is None or start.n is None:
        return None
    if now.added < start.n:
        return (
            f"Stream {stream!r} has counted {now.added} entries but {start.n} were read: "
            "it was deleted and created again."
        )
    all_unread = now.first_id is not None and now.first_id > start.id
    if all_unread and now.length > now.added - start.n:
        return (
            f"Stream {stream!r} has {now.length} entries after {start.id}, but {start.n} of "
            f"the {now.added} ever added were read: it was deleted and created again."
        )
    return None


def trimmed(stream: str, start: Position, now: StreamState) -> str | None:
    """Rule 2: whether trimming took entries after the position."""
    if now.added is None or start.n is None:
        return None
    missing = now.added - start.n - now.length
    if missing <= 0:
        return None
    return (
        f"Stream {stream!r} was trimmed past the reader: "
        f"{missing} entries after {start.id} are gone."
    )


def deleted(stream: str, start: Position, now: StreamState) -> str | None:
    """Rule 3: whether an entry after the position was deleted by its ID."""
    if now.max_deleted_id <= max(start.id, start.deleted):
        return None
    return (
        f"Stream {stream!r} had entries deleted after {start.id}, "
        f"up to {now.max_deleted_id}, before they were read."
    )


def check(
    stream: str, start: Position, end: Position, now: StreamState | None, options: Options
) -> bool:
    """Raise or report a loss between positions; whether the counts are still reliable."""
    gone = went_back(stream, end, now)
    if gone or now is None:
        report(gone or f"Stream {stream!r} is gone.", options)
        return False
    if now.added is None and (now.first_id is None or now.first_id.before() > start.id):
        say_unknown(stream)
    loss = trimmed(stream, start, now)
    deletion = deleted(stream, start, now)
    if loss:
        report(loss, options)
    elif deletion and options.failOnDeletes:
        report(f"{deletion} Set failOnDeletes to false if that is intended.", options)
    return loss is None and deletion is None


@cache
def say_unknown(stream: str) -> None:
    """Warn once for a stream: it was trimmed at least up to the reader, perhaps further."""
    _LOG.warning(
        "Stream %r was trimmed at least as far as it was read. This server (Redis before 7.0) "
        "does not count entries, so unread ones may be gone unnoticed. Use Redis 7.0 or later.",
        stream,
    )


def report(loss: str, options: Options) -> None:
    """Fail the query, or log a warning and continue, as the options say."""
    if options.failOnDataLoss:
        raise DataLossError(f"{loss} {GO_ON if options.where == STREAM else READ_AGAIN}")
    if options.reportDataLoss:
        _LOG.warning("%s Continuing, as failOnDataLoss is false.", loss)
