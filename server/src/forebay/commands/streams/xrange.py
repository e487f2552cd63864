"""XLEN, XRANGE and XREVRANGE: how many entries there are, and those between two IDs.

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
    stream = ctx.read_stream(argv, 1)
    ctx.out.integer(0 if stream is None else stream.length)


def xrange(ctx: Context, argv: Argv) -> None:
    """Entries from the smaller ID to the larger."""
    range_reply(ctx, argv, 2, 3, False)


def xrevrange(ctx: Context, argv: Argv) -> None:
    """Entries from the larger ID to the smaller."""
    range_reply(ctx, argv, 3, 2, True)


def range_reply(ctx: Context, argv: Argv, start_at: int, end_at: int, reverse: bool) -> None:
    """Both range commands; they differ in the order of bounds and entries."""
    w = argv.w
    start_ms, start_seq = ids.interval_start(argv.p, w[2 * start_at], w[2 * start_at + 1])
    end_ms, end_seq = ids.interval_end(argv.p, w[2 * end_at], w[2 * end_at + 1])
    count = read_count(argv, 4)
    stream = ctx.read_stream(argv, 1)
    if stream is None:
        ctx.out.array(0)
    elif count == 0:
        ctx.out.null_array()
    else:
        cursor = stream.cursor()
        cursor.open(start_ms, start_seq, end_ms, end_seq, reverse)
        guess = stream.length
        if count > 0 and count < guess:
            guess = count
        entry_writer.entries(ctx.out, cursor, count, guess)


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
        "xlen",
        xlen,
        2,
        READONLY | FAST,
        "@read @stream @fast",
        Keys(1, 1, 1, "RO"),
        "5.0.0",
        "Returns the number of messages in a stream.",
        "stream",
        "key",
    ),
    Command(
        "xrange",
        xrange,
        -4,
        READONLY,
        "@read @stream @slow",
        _RANGE_KEYS,
        "5.0.0",
        "The entries between two IDs, oldest first.",
        "stream",
        "key start end [COUNT count]",
    ),
    Command(
        "xrevrange",
        xrevrange,
        -4,
        READONLY,
        "@read @stream @slow",
        _RANGE_KEYS,
        "5.0.0",
        "The entries between two IDs, newest first.",
        "stream",
        "key end start [COUNT count]",
    ),
]
