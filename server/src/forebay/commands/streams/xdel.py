"""XDEL and XDELEX: delete entries of a stream by their IDs.

    XDEL    key id [id ...]                                how many were deleted
    XDELEX  key [KEEPREF|DELREF|ACKED] IDS n id [id ...]    per ID: 1 gone, -1 not there, 2 kept

The words of XDELEX may be in any order.  All IDs are read before the first entry is
deleted, so after an invalid ID nothing has changed.  For a missing key the IDs are
not read: Redis looks up the key first.

    parse_…     IDs and options
    apply_…     delete
    record_…    events, the AOF, WATCH
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import FAST, WRITE, Command, Keys
from forebay.commands.streams.parsing import parse_delete, parse_ids
from forebay.core import ids
from forebay.core.group import drop_references, is_referenced, min_last_id
from forebay.core.stream import Stream
from forebay.core.trim import ACKED, DELREF
from forebay.wire.argv import Argv

GONE = 1
MISSING = -1
KEPT = 2
# The entry did not exist, but groups held it: the client gets MISSING.
FORGOTTEN = 0


def xdel(ctx: Context, argv: Argv) -> None:
    """Delete entries by ID."""
    found = ctx.find_stream(argv, 1)
    if found.stream is None:
        ctx.reply.integer(0)
        return
    parse_ids(argv, 2, argv.n)
    deleted = apply_xdel(found.stream, argv)
    record_deletion(ctx, argv, found.key, deleted)
    ctx.reply.integer(deleted)


def apply_xdel(stream: Stream, argv: Argv) -> int:
    """Delete; how many existed."""
    deleted = 0
    for i in range(2, argv.n):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        if stream.delete(ms, seq):
            deleted += 1
    return deleted


def record_deletion(ctx: Context, argv: Argv, key: bytes, deleted: int) -> None:
    """Everything after a deletion by ID: events, effects."""
    if deleted > 0:
        ctx.db.touch(key)
        ctx.notify(NOTIFY_STREAM, b"xdel", key)
        ctx.effects.record_call(argv, deleted)


def xdelex(ctx: Context, argv: Argv) -> None:
    """Delete entries by ID, with a policy for consumer groups."""
    found = ctx.find_stream(argv, 1)
    policy, first, count = parse_delete(argv, 2)
    ctx.reply.array(count)
    if found.stream is None:
        for _ in range(count):
            ctx.reply.integer(MISSING)
        return
    parse_ids(argv, first, first + count)
    deleted, forgotten = apply_xdelex(ctx, argv, found.stream, policy, first, first + count)
    record_deletion(ctx, argv, found.key, deleted)
    if deleted == 0 and forgotten > 0:
        # Redis counts this as no change; it must still reach the replicas.
        ctx.effects.record_call(argv, 0)


def apply_xdelex(
    ctx: Context, argv: Argv, stream: Stream, policy: int, first: int, end: int
) -> tuple[int, int]:
    """Delete and answer for each ID; how many were deleted, and how many only groups still had."""
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
        ctx.reply.integer(outcome)
    return deleted, forgotten


def delete_one(stream: Stream, ms: int, seq: int, policy: int, low_ms: int, low_seq: int) -> int:
    """Delete one entry under a policy; ``low`` is min_last_id(stream)."""
    if policy == ACKED and is_referenced(stream, ms, seq, low_ms, low_seq):
        return KEPT
    forgotten = policy == DELREF and drop_references(stream, ms, seq) > 0
    if stream.delete(ms, seq):
        return GONE
    return FORGOTTEN if forgotten else MISSING


_DELETE_KEYS = Keys(1, 1, 1, "RW DELETE")

ROWS = [
    Command(
        name="xdel",
        handler=xdel,
        arity=-3,
        flags=WRITE | FAST,
        categories="@write @stream @fast",
        keys=_DELETE_KEYS,
        since="5.0.0",
        summary="Deletes entries by ID and returns how many existed.",
        group="stream",
        syntax="key id [id ...]",
    ),
    Command(
        name="xdelex",
        handler=xdelex,
        arity=-5,
        flags=WRITE | FAST,
        categories="@write @stream @fast",
        keys=_DELETE_KEYS,
        since="8.2.0",
        summary="Deletes entries by ID, with a rule for groups that still need them.",
        group="stream",
        syntax="key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
    ),
]
