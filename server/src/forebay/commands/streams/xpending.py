"""XPENDING: entries that were delivered and not acknowledged.

    XPENDING key group                                          summary
    XPENDING key group [IDLE ms] start end count [consumer]     one row per entry

    summary    [total, smallest ID, greatest ID, [[consumer, "how many"], ...]]
    extended   [[ID, consumer, ms since delivery, deliveries], ...] in the order of IDs

An entry that was given back (XNACK) has no owner: its row has an empty consumer
and an idle time of -1, it counts in the total but for no consumer, and IDLE
does not exclude it.  Arguments are checked before key and group.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.streams import parsing
from forebay.core import ids
from forebay.core.group import Group
from forebay.core.view import View
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

SUMMARY_ARGS = 3
LEAST_ARGS, MOST_ARGS = 6, 9
LEAST_IDLE_ARGS = 8
FIRST_OPTION = 3


def xpending(ctx: Context, argv: Argv) -> None:
    """The pending entries of a group, as a summary or one by one."""
    if argv.n == SUMMARY_ARGS:
        _, _, group = parsing.need_group(ctx, argv)
        summary(ctx, group)
        return
    if argv.n < LEAST_ARGS or argv.n > MOST_ARGS:
        raise CommandError(SYNTAX)
    extended(ctx, argv)


def summary(ctx: Context, group: Group) -> None:
    """Total, both ends, and the number of entries of each consumer."""
    out = ctx.reply
    pending = group.pending
    out.array(4)
    out.integer(pending.count)
    if pending.count == 0:
        out.null()
        out.null()
        out.null_array()
        return
    for slot in (pending.first(), pending.last()):
        out.stream_id(pending.id_ms(slot), pending.id_seq(slot))
    holders = [consumer for consumer in group.consumers.values() if consumer.pending > 0]
    out.array(len(holders))
    for consumer in holders:
        out.array(2)
        out.bulk(consumer.name)
        out.bulk(b"%d" % consumer.pending)


def extended(ctx: Context, argv: Argv) -> None:
    """The entries of an interval, of the whole group or of one consumer."""
    at = FIRST_OPTION
    min_idle_ms = 0
    if argv.word(at, b"IDLE"):
        min_idle_ms = parsing.integer(argv, at + 1)
        if argv.n < LEAST_IDLE_ARGS:
            raise CommandError(SYNTAX)
        at += 2
    count = parsing.integer(argv, at + 2)
    rows = Rows(ctx.now_ms, min_idle_ms, count)
    rows.start_ms, rows.start_seq = ids.interval_start(argv.p, argv.w[2 * at], argv.w[2 * at + 1])
    rows.end_ms, rows.end_seq = ids.interval_end(argv.p, argv.w[2 * at + 2], argv.w[2 * at + 3])
    _, _, group = parsing.need_group(ctx, argv)
    if at + 3 >= argv.n:
        rows.write(ctx, group, group.pending.by_id)
        return
    consumer = group.consumer(argv[at + 3])
    if consumer is None:
        ctx.reply.array(0)
    else:
        rows.write(ctx, group, consumer.view)


class Rows:
    """Which pending entries to show, and the loop that shows them."""

    def __init__(self, now_ms: int, min_idle_ms: int, count: int) -> None:
        self.now_ms = now_ms
        self.min_idle_ms = min_idle_ms
        self.count = count if count > 0 else 0
        self.start_ms = self.start_seq = 0
        self.end_ms = self.end_seq = 0

    def write(self, ctx: Context, group: Group, view: View) -> None:
        """Write a row for each record of the view that matches."""
        out = ctx.reply
        records = group.pending.records
        shown = 0
        mark = out.open_array(self.count if self.count < view.count else view.count)
        slot = view.seek(self.start_ms, self.start_seq) if self.count > 0 else -1
        while slot >= 0 and shown < self.count:
            ms = records.id_ms(slot)
            seq = records.id_seq(slot)
            if ids.before(self.end_ms, self.end_seq, ms, seq):
                break
            owner_no = records.owner_no(slot)
            idle_ms = self.now_ms - records.time_ms(slot)
            if owner_no == 0 or self.min_idle_ms == 0 or idle_ms >= self.min_idle_ms:
                out.array(4)
                out.stream_id(ms, seq)
                if owner_no == 0:
                    out.bulk(b"")
                    out.integer(-1)
                else:
                    out.bulk(group.owner_name(slot))
                    out.integer(idle_ms if idle_ms > 0 else 0)
                out.integer(records.deliveries(slot))
                shown += 1
            slot = view.after(slot)
        out.close_array(mark, shown)


ROWS = [
    Command(
        name="xpending",
        handler=xpending,
        arity=-3,
        flags=READONLY,
        categories="@read @stream @slow",
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="5.0.0",
        summary="Lists the entries that a consumer group got and has not acknowledged.",
        group="stream",
        syntax="key group [[IDLE min-idle-time] start end count [consumer]]",
    ),
]
