"""XLEN, XRANGE and XREVRANGE: the number of entries, and the entries between two IDs.

    XRANGE    key start end [COUNT n]       oldest first
    XREVRANGE key end start [COUNT n]       newest first

A bound is an ID, ``-`` or ``+``, or ``(id`` for the one next to it (core/ids.py).
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.spec import FAST, READONLY, Command, Keys
from forebay.commands.streams import entry_writer
from forebay.commands.streams.parsing import integer
from forebay.core import ids
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv


def xlen(ctx: Context, argv: Argv) -> None:
    """How many entries a stream has."""
    stream = ctx.read_stream(argv, 1).stream
    ctx.reply.integer(0 if stream is None else stream.length)


def xrange(ctx: Context, argv: Argv) -> None:
    """Entries from the smaller ID to the larger."""
    apply_xrange(ctx, argv, parse_xrange(argv, 2, 3), False)


def xrevrange(ctx: Context, argv: Argv) -> None:
    """Entries from the larger ID to the smaller."""
    apply_xrange(ctx, argv, parse_xrange(argv, 3, 2), True)


def parse_xrange(argv: Argv, start_at: int, end_at: int) -> tuple[int, int, int, int, int]:
    """The first and the last ID, in either order, and COUNT."""
    w = argv.w
    start_ms, start_seq = ids.interval_start(argv.p, w[2 * start_at], w[2 * start_at + 1])
    end_ms, end_seq = ids.interval_end(argv.p, w[2 * end_at], w[2 * end_at + 1])
    return start_ms, start_seq, end_ms, end_seq, read_count(argv, 4)


def apply_xrange(
    ctx: Context, argv: Argv, bounds: tuple[int, int, int, int, int], reverse: bool
) -> None:
    """Look the stream up and answer with its entries; nothing changes, so nothing is recorded."""
    start_ms, start_seq, end_ms, end_seq, count = bounds
    stream = ctx.read_stream(argv, 1).stream
    if stream is None:
        ctx.reply.array(0)
    elif count == 0:
        ctx.reply.null_array()
    else:
        cursor = stream.cursor()
        cursor.open(start_ms, start_seq, end_ms, end_seq, reverse)
        guess = stream.length
        if count > 0 and count < guess:
            guess = count
        entry_writer.entries(ctx.reply, cursor, count, guess)


def read_count(argv: Argv, at: int) -> int:
    """The value of COUNT words up to the end; -1 if there is none, 0 for zero and below."""
    count = -1
    while at < argv.n:
        if at + 1 >= argv.n or not argv.word(at, b"COUNT"):
            raise CommandError(SYNTAX)
        count = integer(argv, at + 1)
        if count < 0:
            count = 0
        at += 2
    return count


_RANGE_KEYS = Keys(1, 1, 1, "RO ACCESS")

ROWS = [
    Command(
        name="xlen",
        handler=xlen,
        arity=2,
        flags=READONLY | FAST,
        categories="@read @stream @fast",
        keys=Keys(1, 1, 1, "RO"),
        since="5.0.0",
        summary="How many entries a stream has.",
        group="stream",
        syntax="key",
    ),
    Command(
        name="xrange",
        handler=xrange,
        arity=-4,
        flags=READONLY,
        categories="@read @stream @slow",
        keys=_RANGE_KEYS,
        since="5.0.0",
        summary="The entries between two IDs, oldest first.",
        group="stream",
        syntax="key start end [COUNT count]",
    ),
    Command(
        name="xrevrange",
        handler=xrevrange,
        arity=-4,
        flags=READONLY,
        categories="@read @stream @slow",
        keys=_RANGE_KEYS,
        since="5.0.0",
        summary="The entries between two IDs, newest first.",
        group="stream",
        syntax="key end start [COUNT count]",
    ),
]
