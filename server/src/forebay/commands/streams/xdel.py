"""XDEL, XDELEX and XTRIM: taking entries out of a stream.

    XDEL    key id [id ...]                                how many went
    XDELEX  key [KEEPREF|DELREF|ACKED] IDS n id [id ...]    per ID: 1 gone, -1 not there, 2 kept
    XTRIM   key MAXLEN|MINID [=|~] threshold [LIMIT n]      how many went

XDELEX's words may come in any order.
All IDs are read before the first is deleted, so a bad one leaves all as it was.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import FAST, WRITE, Command, Keys
from forebay.commands.streams.add_options import AddOptions
from forebay.commands.streams.parsing import delete_options, strict_ids
from forebay.core import ids
from forebay.core.group import drop_references, is_referenced, min_last_id
from forebay.core.stream import Stream
from forebay.core.trim import ACKED, DELREF
from forebay.wire.argv import Argv

GONE = 1
MISSING = -1
KEPT = 2
# The entry was not there, but groups held it: the client hears MISSING.
FORGOTTEN = 0


def xdel(ctx: Context, argv: Argv) -> None:
    """Delete entries by ID."""
    stream = ctx.stream_at(argv, 1)
    if stream is None:
        ctx.out.integer(0)
        return
    strict_ids(argv, 2, argv.n)
    deleted = 0
    for i in range(2, argv.n):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        if stream.delete(ms, seq):
            deleted += 1
    if deleted > 0:
        entries_went(ctx, argv, deleted)
    ctx.out.integer(deleted)


def entries_went(ctx: Context, argv: Argv, deleted: int) -> None:
    """What follows when entries were deleted by ID."""
    ctx.db.touch(ctx.key)
    ctx.notify(NOTIFY_STREAM, b"xdel", ctx.key)
    ctx.propagate(argv, deleted)


def xdelex(ctx: Context, argv: Argv) -> None:
    """Delete entries by ID, with a say in what happens to consumer groups."""
    stream = ctx.stream_at(argv, 1)
    policy, first, count = delete_options(argv, 2)
    end = first + count
    if stream is None:
        ctx.out.array(count)
        for _ in range(count):
            ctx.out.integer(MISSING)
        return
    strict_ids(argv, first, end)
    ctx.out.array(count)
    low_ms, low_seq = min_last_id(stream)
    deleted = forgotten = 0
    for i in range(first, end):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        outcome = delete_one(stream, ms, seq, policy, low_ms, low_seq)
        if outcome == GONE:
            deleted += 1
        elif outcome == FORGOTTEN:
            forgotten += 1
            outcome = MISSING
        ctx.out.integer(outcome)
    if deleted > 0:
        entries_went(ctx, argv, deleted)
    elif forgotten > 0:
        # Redis counts that as no change; a replica must hear of it all the same.
        ctx.propagate(argv, 0)


def delete_one(stream: Stream, ms: int, seq: int, policy: int, low_ms: int, low_seq: int) -> int:
    """Delete one entry under a policy; ``low`` is min_last_id(stream)."""
    if policy == ACKED and is_referenced(stream, ms, seq, low_ms, low_seq):
        return KEPT
    forgotten = policy == DELREF and drop_references(stream, ms, seq) > 0
    if stream.delete(ms, seq):
        return GONE
    return FORGOTTEN if forgotten else MISSING


def xtrim(ctx: Context, argv: Argv) -> None:
    """Shorten a stream from its old end."""
    options = AddOptions()
    options.read(ctx, argv, 2, False)
    stream = ctx.stream_at(argv, 1)
    if stream is None or options.trimmer is None:
        ctx.out.integer(0)
        return
    removed = options.trimmer.apply(stream)
    if removed > 0:
        ctx.notify(NOTIFY_STREAM, b"xtrim", ctx.key)
        ctx.effects.changes += removed
        if ctx.effects.enabled:
            options.record(ctx, argv, stream, 0)
        ctx.db.touch(ctx.key)
    ctx.out.integer(removed)


_DELETE_KEYS = Keys(1, 1, 1, "RW DELETE")

ROWS = [
    Command(
        "xdel",
        xdel,
        -3,
        WRITE | FAST,
        "@write @stream @fast",
        _DELETE_KEYS,
        "5.0.0",
        "Deletes entries by ID and answers how many were there.",
        "stream",
        "key id [id ...]",
    ),
    Command(
        "xdelex",
        xdelex,
        -5,
        WRITE | FAST,
        "@write @stream @fast",
        _DELETE_KEYS,
        "8.2.0",
        "Deletes entries by ID, with a rule for groups that still need them.",
        "stream",
        "key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
    ),
    Command(
        "xtrim",
        xtrim,
        -4,
        WRITE,
        "@write @stream @slow",
        _DELETE_KEYS,
        "5.0.0",
        "Removes the oldest entries of a stream.",
        "stream",
        "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
    ),
]
