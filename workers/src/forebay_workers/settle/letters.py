"""A dead letter: the fields of the message, byte for byte, then why and where it failed.

    item tea  price x   @error ... @traceback ... @stream orders @id 1-0 @group billing
                        @consumer w1 @deliveries 5 @first 1794947608000 @last 1794947612345

The added fields are always the last nine, in this order.  So a letter can be parsed even if the
message had fields of the same names.  Times are milliseconds since 1970.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from forebay_workers.message import Message
from forebay_workers.partitioned import Partitioned
from forebay_workers.servers.link import Command
from forebay_workers.servers.slots import beside

ADDED = (
    *(b"@error", b"@traceback", b"@stream", b"@id", b"@group", b"@consumer", b"@deliveries"),
    *(b"@first", b"@last"),
)
#: A longer traceback keeps only its end, which says more than the beginning.
MOST_TRACEBACK = 8000
#: Frames of this package, which calls the handler, are left out.
OURS = "forebay_workers"


def dead_stream(stream: str, *, is_cluster: bool = False) -> str:
    """The default dead-letter stream of a stream."""
    return beside(stream, "dead") if is_cluster else f"{stream}:dead"


def dead_streams(
    stream: str | Partitioned, dead: str | None = None, *, is_cluster: bool = False
) -> list[str]:
    """All dead-letter streams of a stream: one, or one for each partition."""
    if dead is not None:
        return [dead]
    if isinstance(stream, str):
        return [dead_stream(stream, is_cluster=is_cluster)]
    return [dead_stream(stream.stream(number)) for number in range(stream.count)]


@dataclass(frozen=True)
class Letter:
    """A dead letter, parsed.

    ``id``: the ID of the letter.
    ``fields``: names and values of the message, alternating.
    ``error``: the type of the last error, and its text.
    ``traceback``: where it was raised.
    ``stream``: the stream that the message came from.
    ``origin_id``: its ID in that stream.
    ``group``: the group that could not handle it.
    ``consumer``: the worker that gave up.
    ``deliveries``: the number of attempts; 0 if it did not match its type.
    ``first_ms``: when that worker got it, in milliseconds since 1970.
    ``last_ms``: when it became a letter.
    """

    id: str
    fields: list[bytes]
    error: str
    traceback: str
    stream: str
    origin_id: str
    group: str
    consumer: str
    deliveries: int
    first_ms: int
    last_ms: int


def write(
    message: Message, error: BaseException, group: str, consumer: str, now_ms: int
) -> list[bytes]:
    """All fields of the letter for a message."""
    trace = "".join(traceback.format_exception(type(error), error, own_frames(error)))
    values = (
        *(f"{type(error).__name__}: {error}", trace[-MOST_TRACEBACK:], message.stream, message.id),
        *(group, consumer, str(message.starts), str(message.first_ms), str(now_ms)),
    )
    added: list[bytes] = []
    for name, value in zip(ADDED, values, strict=True):
        added += (name, value.encode("utf-8", "replace"))
    return [*message.raw, *added]


def own_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame of the user's code on; all of it if there is none."""
    place = error.__traceback__
    while place is not None:
        package = place.tb_frame.f_globals.get("__package__") or ""
        if package.partition(".")[0] != OURS:
            return place
        place = place.tb_next
    return error.__traceback__


def read(entry_id: bytes, raw: Sequence[bytes]) -> Letter | None:
    """Parse a letter; None if the entry is not a letter."""
    tail = list(raw[-2 * len(ADDED) :])
    if tuple(tail[::2]) != ADDED:
        return None
    texts = [value.decode("utf-8", "replace") for value in tail[1::2]]
    if not all(text.isascii() and text.isdecimal() for text in texts[6:]):
        return None  # fields with our names, written by another program
    deliveries, first_ms, last_ms = map(int, texts[6:])
    fields = list(raw[: -2 * len(ADDED)])
    error, trace, stream, origin_id, group, consumer = texts[:6]
    return Letter(
        *(entry_id.decode(), fields, error, trace, stream, origin_id, group, consumer),
        *(deliveries, first_ms, last_ms),
    )


def bury(stream: str, fields: Sequence[bytes]) -> Command:
    """The command that writes a letter."""
    return ("XADD", stream, "*", *fields)
