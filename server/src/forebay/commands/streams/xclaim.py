"""XCLAIM and XAUTOCLAIM: a consumer takes over unfinished entries of others.

    XCLAIM key group consumer min-idle id [id ...]
           [IDLE ms] [TIME unix-ms] [RETRYCOUNT n] [FORCE] [JUSTID] [LASTID id]
    XAUTOCLAIM key group consumer min-idle start [COUNT n] [JUSTID]

    7-0 is bob's, 10 minutes old  --XCLAIM s g alice 60000 7-0-->  alice's, now, delivered again
    8-0 is bob's, entry deleted   --XCLAIM s g alice 60000 8-0-->  no longer pending

Rules
  1. The consumer is created if it does not exist, even if it then gets nothing.
  2. Neither command is recorded as such: claims become XCLAIM records (delivery_effects.py);
     a pending entry that was deleted becomes one with its old owner, or XACK if it had none.
     A new consumer without claims is recorded as CREATECONSUMER, a raised last ID without
     claims as SETID.
  3. XAUTOCLAIM looks at ten times COUNT records at most, and a record that it removes
     counts; its allocations depend on what it finds, not on COUNT.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.commands.api.args import shown
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import FAST, WRITE, Command, Keys
from forebay.commands.streams import entry_writer, parsing
from forebay.commands.streams.delivery_effects import (
    DeliveryEffects,
    record_consumer,
    record_position,
)
from forebay.core import ids
from forebay.core.finder import Finder
from forebay.core.group import Consumer, Group
from forebay.core.stream import Stream
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

CONSUMER, MIN_IDLE = 3, 4
FIRST_ID = 5
START, AUTO_OPTIONS = 5, 6
DEFAULT_COUNT = 100
# Records to look at for each one that may be claimed.
ATTEMPTS_FACTOR = 10
# The maximum COUNT of Redis; with it the attempts fit in 64 bits.
MOST_COUNT = ((1 << 63) - 1) // 16
NO_RETRYCOUNT = -1


class Claim:
    """One call: its options, its consumer, and its result."""

    def __init__(self, ctx: Context, key: bytes, stream: Stream, group: Group) -> None:
        self.ctx = ctx
        self.out = ctx.reply
        self.key = key
        self.group = group
        self.pending = group.pending
        self.finder = Finder(stream)
        self.now_ms = ctx.now_ms
        #: The index after the IDs of XCLAIM.
        self.ids_end = FIRST_ID
        self.min_idle_ms = 0
        self.time_ms = ctx.now_ms
        self.retrycount = NO_RETRYCOUNT
        self.force = False
        self.justid = False
        self.last_ms = self.last_seq = 0
        self.raised = False
        self.consumer: Consumer = None  # type: ignore[assignment]
        self.created = False
        self.claimed = 0
        #: Entries that have a new owner or are no longer pending.
        self.changes = 0
        self.recorder: DeliveryEffects | None = None

    def read_min_idle(self, argv: Argv, text: bytes) -> None:
        """The minimum idle time; a negative time counts as 0."""
        min_idle_ms = parsing.integer(argv, MIN_IDLE, text)
        self.min_idle_ms = min_idle_ms if min_idle_ms > 0 else 0

    def read_options(self, argv: Argv, at: int) -> None:
        """The options of XCLAIM, which follow the IDs."""
        while at < argv.n:
            has_value = at + 1 < argv.n
            if argv.word(at, b"FORCE"):
                self.force = True
            elif argv.word(at, b"JUSTID"):
                self.justid = True
            elif has_value and argv.word(at, b"IDLE"):
                at += 1
                idle_ms = option_value(argv, at, b"IDLE")
                self.time_ms = self.now_ms - idle_ms if idle_ms > 0 else self.now_ms
            elif has_value and argv.word(at, b"TIME"):
                at += 1
                self.time_ms = option_value(argv, at, b"TIME")
            elif has_value and argv.word(at, b"RETRYCOUNT"):
                at += 1
                self.retrycount = option_value(argv, at, b"RETRYCOUNT")
            elif has_value and argv.word(at, b"LASTID"):
                at += 1
                self.last_ms, self.last_seq = parsing.strict_id(argv, at)
            else:
                word = shown(argv[at])
                raise CommandError(b"ERR Unrecognized XCLAIM option '%s'" % word)
            at += 1
        # Clients use their own clocks; an impossible time becomes now.  A primary's clock may be
        # ahead of ours; its times are kept.
        is_ahead = self.time_ms > self.now_ms and not self.ctx.session.is_replaying
        if self.time_ms < 0 or is_ahead:
            self.time_ms = self.now_ms

    def begin(self, argv: Argv) -> None:
        """All words are valid: move the last ID, find the consumer."""
        group = self.group
        if ids.before(group.last_ms, group.last_seq, self.last_ms, self.last_seq):
            group.last_ms = self.last_ms
            group.last_seq = self.last_seq
            self.raised = True
        name = argv.at(CONSUMER)
        consumer = group.consumer(name)
        if consumer is None:
            consumer = group.create_consumer(name, self.now_ms)
            self.created = True
            self.ctx.effects.changes += 1
            self.ctx.notify(NOTIFY_STREAM, b"xgroup-createconsumer", self.key)
        consumer.seen_ms = self.now_ms
        self.consumer = consumer
        if self.ctx.effects.enabled:
            self.recorder = DeliveryEffects(self.ctx.effects, self.key, group)

    def is_ripe(self, slot: int) -> bool:
        """Whether a pending entry has been idle long enough; one without an owner always has."""
        if self.min_idle_ms == 0 or self.pending.owner_no(slot) == 0:
            return True
        return self.now_ms - mem.signed(self.pending.time_ms(slot)) >= self.min_idle_ms

    def take(self, slot: int, ms: int, seq: int) -> None:
        """Give the entry under the finder's cursor to the consumer, and write it to the reply."""
        pending = self.pending
        pending.give(slot, self.consumer.number, self.time_ms)
        if self.retrycount >= 0:
            pending.set_deliveries(slot, self.retrycount)
        elif not self.justid:
            pending.count_delivery(slot)
        if self.justid:
            self.out.stream_id(ms, seq)
        else:
            entry_writer.entry(self.out, self.finder.cursor, 2)
        self.claimed += 1
        self.changes += 1
        if self.recorder is not None:
            deliveries = pending.deliveries(slot)
            self.recorder.note(ms, seq, self.consumer.name, self.time_ms, deliveries)

    def drop(self, slot: int, ms: int, seq: int) -> None:
        """The entry was deleted from the stream: it is no longer pending."""
        pending = self.pending
        self.changes += 1
        if self.recorder is not None:
            if pending.owner_no(slot) == 0:
                text = ids.text(ms, seq)
                effects = self.ctx.effects
                effects.record_command((b"XACK", self.key, self.group.name, text), 0)
            else:
                owner = self.group.owner_name(slot)
                time_ms = mem.signed(pending.time_ms(slot))
                self.recorder.note(ms, seq, owner, time_ms, pending.deliveries(slot))
        pending.remove(slot)

    def record(self) -> None:
        """Record what is not recorded yet."""
        effects = self.ctx.effects
        effects.changes += self.changes
        if self.raised and self.changes == 0:
            effects.changes += 1
        if self.recorder is not None:
            self.recorder.flush()
            group = self.group
            if self.created and self.claimed == 0:
                record_consumer(effects, self.key, group.name, self.consumer.name)
            if self.raised and self.recorder.records == 0:
                record_position(effects, self.key, group)


def option_value(argv: Argv, i: int, option: bytes) -> int:
    """The number after an option of XCLAIM."""
    ok, value = argv.integer(i)
    if not ok:
        raise CommandError(b"ERR Invalid %s option argument for XCLAIM" % option)
    return value


def xclaim(ctx: Context, argv: Argv) -> None:
    """Take over the pending entries with these IDs."""
    key, stream, group = parsing.need_group(ctx, argv)
    claim = Claim(ctx, key, stream, group)
    parse_xclaim(claim, argv)
    apply_xclaim(claim, argv)
    record_claim(claim)


def parse_xclaim(claim: Claim, argv: Argv) -> None:
    """The idle time, the IDs, and the options from the first word on that is not an ID."""
    claim.read_min_idle(argv, b"ERR Invalid min-idle-time argument for XCLAIM")
    end = FIRST_ID
    while end < argv.n:
        ok, _, _ = ids.parse(argv.p, argv.w[2 * end], argv.w[2 * end + 1], 0)
        if not ok:
            break
        end += 1
    claim.ids_end = end
    claim.read_options(argv, end)


def apply_xclaim(claim: Claim, argv: Argv) -> None:
    """Claim each ID and reply."""
    claim.begin(argv)
    mark = claim.out.open_array(claim.ids_end - FIRST_ID)
    for i in range(FIRST_ID, claim.ids_end):
        _, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        claim_one(claim, ms, seq)
    claim.out.close_array(mark, claim.claimed)


def record_claim(claim: Claim) -> None:
    """Mark the consumer as active; record the claims for AOF and replicas."""
    if claim.claimed > 0:
        claim.consumer.active_ms = claim.now_ms
    claim.record()


def claim_one(claim: Claim, ms: int, seq: int) -> None:
    """One ID of XCLAIM: claim it, drop it, or skip it."""
    slot = claim.pending.find(ms, seq)
    if slot < 0 and not claim.force:
        return
    if not claim.finder.find(ms, seq):
        if slot >= 0:
            claim.drop(slot, ms, seq)
    elif slot < 0:
        slot = claim.pending.add(ms, seq, claim.consumer.number, claim.time_ms, 1)
        claim.take(slot, ms, seq)
    elif claim.is_ripe(slot):
        claim.take(slot, ms, seq)


def xautoclaim(ctx: Context, argv: Argv) -> None:
    """Take over all entries that have been idle for long enough, from an ID on."""
    min_idle_ms, ms, seq, count, justid = parse_xautoclaim(argv)
    key, stream, group = parsing.need_group(ctx, argv)
    claim = Claim(ctx, key, stream, group)
    claim.min_idle_ms = min_idle_ms if min_idle_ms > 0 else 0
    claim.justid = justid
    apply_xautoclaim(claim, argv, ms, seq, count)
    record_claim(claim)


def apply_xautoclaim(claim: Claim, argv: Argv, ms: int, seq: int, count: int) -> None:
    """Claim and reply: the next cursor, the claimed entries, the deleted entries."""
    claim.begin(argv)
    out = claim.out
    deleted = array("Q")
    out.array(3)
    front = out.size
    records = claim.pending.by_id.count
    mark = out.open_array(count if count < records else records)
    slot = scan(claim, ms, seq, count, deleted)
    out.close_array(mark, claim.claimed)
    if slot >= 0:
        insert_id(out, front, claim.pending.id_ms(slot), claim.pending.id_seq(slot))
    else:
        insert_id(out, front, 0, 0)
    out.array(len(deleted) >> 1)
    for i in range(0, len(deleted), 2):
        out.stream_id(deleted[i], deleted[i + 1])


def parse_xautoclaim(argv: Argv) -> tuple[int, int, int, int, bool]:
    """The idle time, the first ID (two numbers), ``[COUNT n] [JUSTID]``."""
    text = b"ERR Invalid min-idle-time argument for XAUTOCLAIM"
    min_idle_ms = parsing.integer(argv, MIN_IDLE, text)
    ms, seq = ids.interval_start(argv.p, argv.w[2 * START], argv.w[2 * START + 1])
    count, justid = DEFAULT_COUNT, False
    at = AUTO_OPTIONS
    while at < argv.n:
        if at + 1 < argv.n and argv.word(at, b"COUNT"):
            at += 1
            ok, count = argv.integer(at)
            if not ok or count < 1 or count > MOST_COUNT:
                raise CommandError(b"ERR COUNT must be > 0")
        elif argv.word(at, b"JUSTID"):
            justid = True
        else:
            raise CommandError(SYNTAX)
        at += 1
    return min_idle_ms, ms, seq, count, justid


def scan(claim: Claim, ms: int, seq: int, count: int, deleted: array[int]) -> int:
    """Walk the records from an ID on and claim them; the first one not looked at, or -1."""
    pending = claim.pending
    attempts = count * ATTEMPTS_FACTOR
    slot = pending.seek(ms, seq)
    while slot >= 0 and attempts > 0 and count > 0:
        attempts -= 1
        following = pending.after(slot)
        ms = pending.id_ms(slot)
        seq = pending.id_seq(slot)
        if not claim.finder.find(ms, seq):
            claim.drop(slot, ms, seq)
            deleted.append(ms)
            deleted.append(seq)
            count -= 1
        elif claim.is_ripe(slot):
            claim.take(slot, ms, seq)
            count -= 1
        slot = following
    return slot


def insert_id(out: RespWriter, mark: int, ms: int, seq: int) -> None:
    """Insert an ID before the bytes written since ``mark``: the cursor is known last."""
    text = ids.text(ms, seq)
    out.insert(mark, b"$%d\r\n%b\r\n" % (len(text), text))


_CATEGORIES = "@write @stream @fast"

ROWS = [
    Command(
        name="xclaim",
        handler=xclaim,
        arity=-6,
        flags=WRITE | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="5.0.0",
        summary="Gives pending entries to another consumer.",
        group="stream",
        syntax="key group consumer min-idle-time id [id ...] [IDLE ms] "
        "[TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
    ),
    Command(
        name="xautoclaim",
        handler=xautoclaim,
        arity=-6,
        flags=WRITE | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW DELETE"),
        since="6.2.0",
        summary="Gives pending entries that were idle for too long to a consumer.",
        group="stream",
        syntax="key group consumer min-idle-time start [COUNT count] [JUSTID]",
    ),
]
