"""XACK, XACKDEL and XNACK: a consumer has finished entries, or gives them back.

    XACK key group id [id ...]
    XACKDEL key group [KEEPREF|DELREF|ACKED] IDS numids id [id ...]
    XNACK key group <SILENT|FAIL|FATAL> IDS numids id [id ...] [RETRYCOUNT n] [FORCE]

    pending  --XACK-->     forgotten
             --XACKDEL-->  forgotten, and the entry deleted unless another group needs it
             --XNACK-->    without an owner, first in line to be claimed

Rules
  1. All IDs are read before anything changes: after an invalid ID nothing has changed.
  2. An ID may occur twice: XACK counts it once, XNACK each time.
  3. Only the size of the request limits the number of IDs: no buffer of fixed size
     holds them.
  4. The group is looked up before the words are read: as in Redis, XACK of a missing
     group answers 0, whatever the IDs are.  Then parse_…, apply_…, record_….
"""

from __future__ import annotations

from forebay.commands.api.args import shown
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import FAST, WRITE, Command, Keys
from forebay.commands.streams import parsing
from forebay.core import group as core_group
from forebay.core import ids
from forebay.core.group import Group
from forebay.core.layout import DELIVERIES_MAX, NOBODY
from forebay.core.stream import Stream
from forebay.core.trim import ACKED, DELREF
from forebay.errors import CommandError
from forebay.wire.argv import Argv

FIRST_ID = 3
# The answers of XACKDEL for each ID.
DONE, KEPT, NOT_PENDING = 1, 2, -1

SILENT, FAIL, FATAL = 0, 1, 2
NO_RETRYCOUNT = -1


def xack(ctx: Context, argv: Argv) -> None:
    """Acknowledge entries; answers how many were pending."""
    group = parsing.group_of(ctx.read_stream(argv, 1).stream, argv, 2)
    if group is None:
        ctx.reply.integer(0)
        return
    parsing.parse_ids(argv, FIRST_ID, argv.n)
    acked = apply_xack(group, argv)
    record_acks(ctx, argv, acked)
    ctx.reply.integer(acked)


def apply_xack(group: Group, argv: Argv) -> int:
    """Acknowledge; how many were pending."""
    acked = 0
    for i in range(FIRST_ID, argv.n):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        if group.ack(ms, seq):
            acked += 1
    return acked


def record_acks(ctx: Context, argv: Argv, acked: int) -> None:
    """Record the call as received, if it changed something."""
    if acked > 0:
        ctx.effects.record_call(argv, acked)


def xackdel(ctx: Context, argv: Argv) -> None:
    """Acknowledge entries and delete them; answers the result for each."""
    found = ctx.read_stream(argv, 1)
    stream = found.stream
    policy, first, numids = parsing.parse_delete(argv, FIRST_ID)
    group = parsing.group_of(stream, argv, 2)
    if stream is None or group is None:
        ctx.reply.array(numids)
        for _ in range(numids):
            ctx.reply.integer(NOT_PENDING)
        return
    parsing.parse_ids(argv, first, first + numids)
    length = stream.length
    acked = apply_xackdel(ctx, argv, stream, group, policy, first, numids)
    record_acks(ctx, argv, acked)
    if stream.length < length:
        record_shorter(ctx, found.key)


def record_shorter(ctx: Context, key: bytes) -> None:
    """Entries were deleted: WATCH and events."""
    ctx.db.touch(key)
    ctx.notify(NOTIFY_STREAM, b"xdel", key)


def apply_xackdel(
    ctx: Context, argv: Argv, stream: Stream, group: Group, policy: int, first: int, numids: int
) -> int:
    """Acknowledge, delete and write the answers; how many were pending."""
    acked = 0
    low_ms, low_seq = core_group.min_last_id(stream)
    ctx.reply.array(numids)
    for i in range(first, first + numids):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        if not group.ack(ms, seq):
            ctx.reply.integer(NOT_PENDING)
            continue
        acked += 1
        if policy == ACKED and core_group.is_referenced(stream, ms, seq, low_ms, low_seq):
            ctx.reply.integer(KEPT)
            continue
        if policy == DELREF:
            core_group.drop_references(stream, ms, seq)
        stream.delete(ms, seq)
        ctx.reply.integer(DONE)
    return acked


class Release:
    """The arguments of XNACK: the IDs, and the new delivery counters."""

    def __init__(self) -> None:
        self.mode = SILENT
        self.first = 0
        self.numids = 0
        self.retrycount = NO_RETRYCOUNT
        self.force = False

    def read(self, argv: Argv) -> None:
        """The mode and, in any order after it, the IDs and options."""
        self.mode = self.read_mode(argv)
        at = FIRST_ID + 1
        while at < argv.n:
            if self.numids == 0 and at + 1 < argv.n and argv.word(at, b"IDS"):
                at = self.read_ids(argv, at + 1)
            elif at + 1 < argv.n and argv.word(at, b"RETRYCOUNT"):
                self.read_retrycount(argv, at + 1)
                at += 2
            elif argv.word(at, b"FORCE"):
                self.force = True
                at += 1
            else:
                # Redis's own text carries the code twice; clients may match on it.
                raise CommandError(b"ERR ERR Unrecognized XNACK option '%s'" % shown(argv[at]))
        if self.numids == 0:
            raise CommandError(b"ERR ERR syntax error, expected IDS keyword")
        parsing.parse_ids(argv, self.first, self.first + self.numids)

    def read_mode(self, argv: Argv) -> int:
        """The word after the group."""
        if argv.word(FIRST_ID, b"SILENT"):
            return SILENT
        if argv.word(FIRST_ID, b"FAIL"):
            return FAIL
        if argv.word(FIRST_ID, b"FATAL"):
            return FATAL
        raise CommandError(b"ERR ERR mode must be SILENT, FAIL, or FATAL")

    def read_ids(self, argv: Argv, at: int) -> int:
        """``numids id ...``; the index after them."""
        ok, numids = argv.integer(at)
        if not ok or numids < 1:
            raise CommandError(b"ERR numids must be a positive integer")
        if numids > argv.n - at - 1:
            raise CommandError(b"ERR ERR number of IDs doesn't match numids")
        self.first = at + 1
        self.numids = numids
        return self.first + numids

    def read_retrycount(self, argv: Argv, at: int) -> None:
        """The counter that every released entry gets."""
        retrycount = parsing.integer(argv, at)
        if retrycount < 0:
            raise CommandError(b"ERR ERR Invalid RETRYCOUNT value, must be >= 0")
        self.retrycount = retrycount

    def deliveries(self, before: int) -> int:
        """The new counter of a released entry whose counter was ``before``."""
        if self.retrycount != NO_RETRYCOUNT:
            return self.retrycount
        if self.mode == FATAL:
            return DELIVERIES_MAX
        return max(before - 1, 0) if self.mode == SILENT else before


def xnack(ctx: Context, argv: Argv) -> None:
    """Give entries back: without an owner, to be claimed before all others."""
    key, stream, group = parsing.need_group(ctx, argv)
    release = parse_xnack(argv)
    released = apply_xnack(argv, stream, group, release)
    record_xnack(ctx, argv, key, released)
    ctx.reply.integer(released)


def parse_xnack(argv: Argv) -> Release:
    """The words after the group."""
    release = Release()
    release.read(argv)
    return release


def apply_xnack(argv: Argv, stream: Stream, group: Group, release: Release) -> int:
    """Release entries; how many."""
    released = 0
    for i in range(release.first, release.first + release.numids):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        if release_one(stream, group, release, ms, seq):
            released += 1
    return released


def record_xnack(ctx: Context, argv: Argv, key: bytes, released: int) -> None:
    """Record for the AOF, and wake clients that wait for something to claim."""
    if released > 0:
        ctx.effects.record_call(argv, released)
        ctx.db.signal(key)


def release_one(stream: Stream, group: Group, release: Release, ms: int, seq: int) -> bool:
    """Give one entry back; with FORCE one that was never delivered becomes pending, too."""
    pending = group.pending
    slot = pending.find(ms, seq)
    if slot >= 0:
        group.nack(slot, release.deliveries(pending.deliveries(slot)))
        return True
    if not release.force or not stream.exists(ms, seq):
        return False
    pending.add(ms, seq, NOBODY, 0, release.deliveries(0))
    return True


_CATEGORIES = "@write @stream @fast"

ROWS = [
    Command(
        name="xack",
        handler=xack,
        arity=-4,
        flags=WRITE | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="5.0.0",
        summary="Acknowledges entries: the group is done with them.",
        group="stream",
        syntax="key group id [id ...]",
    ),
    Command(
        name="xackdel",
        handler=xackdel,
        arity=-6,
        flags=WRITE | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW UPDATE DELETE"),
        since="8.2.0",
        summary="Acknowledges entries and deletes them.",
        group="stream",
        syntax="key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
    ),
    Command(
        name="xnack",
        handler=xnack,
        arity=-7,
        flags=WRITE | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="8.8.0",
        summary="Gives pending entries back, to be claimed before all others.",
        group="stream",
        syntax="key group <SILENT | FAIL | FATAL> IDS numids id [id ...] "
        "[RETRYCOUNT count] [FORCE]",
    ),
]
