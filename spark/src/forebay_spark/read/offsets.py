"""The offset: where a query is in each stream, and how its last batch was split.

Spark writes the end of a batch to its log before the batch runs, and after a crash
it runs the same batch again from that record.  So the record of its end holds
everything that defines a batch:

    {"orders": {"id": "1700-5", "n": 4000,           the last entry, and its position
                "from": {"id": "1600-0", "n": 2000}, the entry before the first one
                "cuts": [["1650-1", 1000, 0], ["1700-5", 1000, 1]]}}
                                                     the pieces: end, entries, number of the task

A replay then reads the same ranges in the same tasks, even if options, the number of
cores or the stream have changed meanwhile; sinks that count rows rely on that.  A
stream without news in a batch has only ``id`` and ``n``.

``n`` counts the entries ever added up to ``id``; with it, missing entries are detected
after a trim.  It is left out if it is unknown.  ``"seen": false`` marks a start that
the user asked for and no server has confirmed (it may lie in the future).
``deleted`` is the newest ID that was deleted before the query began; those entries do not
count as lost.

Rule: a batch begins at its own ``from``, or at Spark's start if that is earlier.  Spark's
start is later when Spark asks for the initial offset ``latest`` a second time, and earlier
when Spark skipped records (asynchronous progress).
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from forebay_spark import ids
from forebay_spark.errors import OptionError
from forebay_spark.ids import FIRST, WORD_MAX, EntryId
from forebay_spark.options import STREAM, Options
from forebay_spark.servers.state import StreamState, is_read

Json = dict[str, Any]

EARLIEST, LATEST = "earliest", "latest"


class Position(NamedTuple):
    """A place in a stream: after this entry."""

    id: EntryId
    n: int | None
    seen: bool = True
    deleted: EntryId = FIRST

    def ahead(self, end: EntryId, n: int | None) -> Position:
        """The position at the end of a batch that began here."""
        return Position(end, n, deleted=self.deleted if self.deleted > end else FIRST)


class Piece(NamedTuple):
    """A range to read: ``(start, end]``, its number of entries, and the number of its task.

    Pieces with the same number share a task; one without a number has its own task.
    """

    start: EntryId
    end: EntryId
    entries: int | None
    task: int | None = None


class Span(NamedTuple):
    """The range that one batch reads of one stream."""

    start: Position
    end: Position
    pieces: tuple[Piece, ...]

    def uncounted(self) -> Span:
        """The same without the numbers of entries, which are not reliable."""
        return self._replace(pieces=tuple(p._replace(entries=None) for p in self.pieces))


def at_rest(position: Position) -> Json:
    """The record of a stream of which a batch reads nothing."""
    record: Json = {"id": str(position.id)}
    if position.n is not None:
        record["n"] = position.n
    if not position.seen:
        record["seen"] = False
    if position.deleted > position.id:
        record["deleted"] = str(position.deleted)
    return record


def encode(span: Span) -> Json:
    """The record of a stream of which a batch reads a span."""
    return {
        **at_rest(span.end),
        "from": at_rest(span.start),
        "cuts": [_cut(piece) for piece in span.pieces],
    }


def _cut(piece: Piece) -> list[str | int | None]:
    shared = [] if piece.task is None else [piece.task]
    return [str(piece.end), piece.entries, *shared]


def position(record: Json) -> Position:
    """Where the record of a stream ends."""
    return Position(
        ids.parse(record["id"]),
        record.get("n"),
        record.get("seen", True),
        ids.parse(record.get("deleted", "0-0")),
    )


def decode(start: Position | None, record: Json) -> Span:
    """The range to read of a stream between Spark's start and a recorded end."""
    end = position(record)
    own = position(record["from"]) if "from" in record else end
    pieces = _pieces(own.id, record.get("cuts", []))
    if start is None or start.id >= own.id:
        return Span(own, end, pieces)
    skipped = Piece(start.id, own.id, _difference(start.n, own.n))
    return Span(start, end, (skipped, *pieces))


def _pieces(start: EntryId, cuts: list[Any]) -> tuple[Piece, ...]:
    pieces = []
    for end_text, count, *shared in cuts:
        end = ids.parse(end_text)
        pieces.append(Piece(start, end, count, *shared))
        start = end
    return tuple(pieces)


def _difference(low: int | None, high: int | None) -> int | None:
    return None if low is None or high is None else high - low


def entries_between(start: Position, end: Position) -> int | None:
    """How many entries were added after ``start`` up to ``end``, if both are counted."""
    return _difference(start.n, end.n)


# Where a query begins and ends, by the user's options.


def starts(options: Options) -> dict[str, str] | str:
    """Where to begin: every stream at one place, or each at its own."""
    if options.startingTimestamp is not None:
        return str(EntryId(options.startingTimestamp, 0))
    if options.startingOffsetsByTimestamp is not None:
        option, moments = "startingOffsetsByTimestamp", options.startingOffsetsByTimestamp
        return _known(option, {s: str(EntryId(ms, 0)) for s, ms in moments.items()}, options)
    default = LATEST if options.where == STREAM else EARLIEST
    option = "startingOffsets"
    return _known(option, read_wishes(option, options.startingOffsets, default), options)


def ends(options: Options) -> dict[str, str] | str:
    """Where to end, in the same way; an ending time itself is not read."""
    if options.endingTimestamp is not None:
        return f"({EntryId(options.endingTimestamp, 0)}"
    if options.endingOffsetsByTimestamp is not None:
        option, moments = "endingOffsetsByTimestamp", options.endingOffsetsByTimestamp
        return _known(option, {s: f"({EntryId(ms, 0)}" for s, ms in moments.items()}, options)
    option = "endingOffsets"
    return _known(option, read_wishes(option, options.endingOffsets, LATEST), options)


def _known(option: str, wishes: dict[str, str] | str, options: Options) -> dict[str, str] | str:
    """The wishes, if each is for a stream that is read; otherwise a name is misspelt."""
    pattern = options.streamsPattern
    for stream in wishes if isinstance(wishes, dict) else ():
        if not is_read(options, stream):
            chosen = f"the pattern is {pattern!r}" if pattern else f"these are: {_list(options)}"
            raise OptionError(
                f"Option {option} names the stream {stream!r}, which is not read; {chosen}. "
                "Correct the name, or leave it out."
            )
    return wishes


def _list(options: Options) -> str:
    return ", ".join(map(repr, options.names))


def wish_for(stream: str, wishes: dict[str, str] | str, default: str) -> str:
    """The wish for one stream."""
    return wishes if isinstance(wishes, str) else wishes.get(stream, default)


def read_wishes(option: str, text: str | None, default: str) -> dict[str, str] | str:
    """``earliest``, ``latest``, or the JSON object from stream to ID, checked."""
    word = (text or default).strip()
    if word.lower() in (EARLIEST, LATEST):
        return word.lower()
    example = """Write earliest, latest or JSON such as {"orders": "1700000000000-0"}."""
    try:
        wishes = json.loads(word)
    except ValueError:
        raise OptionError(f"Option {option} is not JSON: {word!r}. {example}") from None
    if not isinstance(wishes, dict) or not all(isinstance(v, str) for v in wishes.values()):
        raise OptionError(f"Option {option} does not map streams to IDs: {word!r}. {example}")
    for stream, wish in wishes.items():
        _check_wish(option, stream, wish)
    return wishes


def _check_wish(option: str, stream: str, wish: str) -> None:
    if wish in (EARLIEST, LATEST):
        return
    try:
        ids.parse(wish.removeprefix("("))
    except ValueError:
        raise OptionError(
            f"Option {option} gives stream {stream!r} the offset {wish!r}, which is not an ID. "
            "Write earliest, latest, ms-seq as in 1700000000000-0, or (ms-seq to leave it out."
        ) from None


def start_of(wish: str, state: StreamState) -> Position:
    """The position before the first entry of a wish."""
    if wish == EARLIEST:
        return earliest(state)
    if wish == LATEST:
        return latest(state)
    entry_id = ids.parse(wish.removeprefix("("))
    start = entry_id if wish.startswith("(") else entry_id.before()
    return Position(start, None, False, state.max_deleted_id)


def end_of(wish: str, state: StreamState) -> Position:
    """The position of the last entry of a wish, not after the newest."""
    if wish == EARLIEST:
        return earliest(state)
    if wish == LATEST:
        return latest(state)
    entry_id = ids.parse(wish.removeprefix("("), default_seq=WORD_MAX)
    wanted = entry_id.before() if wish.startswith("(") else entry_id
    return latest(state) if wanted >= state.last_id else Position(wanted, None)


def earliest(state: StreamState) -> Position:
    """The position before the oldest existing entry."""
    if state.first_id is None:
        return latest(state)
    return Position(state.first_id.before(), state.removed, True, state.max_deleted_id)


def latest(state: StreamState) -> Position:
    """The newest entry."""
    return Position(state.last_id, state.added)
