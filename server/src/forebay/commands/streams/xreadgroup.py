"""XREADGROUP: read for one consumer of a group, and wait if necessary.

    parse_xreadgroup    the words: xread_options.py
    apply_xreadgroup    like XREAD (xread.py), with the checks and entries of a group
    record_xreadgroup   the deliveries, and new consumers

Meaning of an ID:
    >    entries never delivered to this group; they become pending
    id   history: this consumer's own pending entries above it, served at once

With CLAIM, entries that have been pending too long are delivered before new
ones.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.args import shown
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import BLOCKING, MOVABLEKEYS, WRITE, Command
from forebay.commands.streams import entry_writer, xread_options
from forebay.commands.streams.delivery_effects import DeliveryEffects, record_consumer
from forebay.commands.streams.parsing import group_of
from forebay.commands.streams.xread import READ_KEYS, Read
from forebay.core import ids
from forebay.core.finder import Finder
from forebay.core.group import Consumer, Group
from forebay.core.stream import Stream
from forebay.errors import CommandError
from forebay.wire.argv import Argv
from forebay.wire.chars import GREATER

MEANINGLESS = (
    b"ERR The %c ID is meaningless in the context of XREADGROUP: you want to read the history of "
    b"this consumer by specifying a proper ID, or use the > ID to get new messages. "
    b"The %c ID would just return an empty result set."
)


class GroupRead(Read):
    """One call of XREADGROUP."""

    def begin(self, argv: Argv, is_group: bool) -> None:
        """Forget the last call, and read the words of this one."""
        #: To be recorded: the number of changes, deliveries by stream, consumers that got nothing.
        self.changes = 0
        self.recorders: list[DeliveryEffects] | None = None
        self.idle_consumers: list[tuple[bytes, bytes, bytes]] | None = None
        Read.begin(self, argv, is_group)

    # One stream

    def check(self, i: int) -> None:
        """Check type, group and ID of the i-th stream."""
        found = self.ctx.read_stream(self.argv, self.options.keys_at + i)
        if self.group(found.stream) is None:
            argv = self.argv
            raise CommandError(
                b"NOGROUP No such key '%s' or consumer group '%s' in XREADGROUP with GROUP option"
                % (shown(argv[self.options.keys_at + i]), shown(argv[self.options.group_at]))
            )
        sign = self.sign(i)
        if sign == 0:
            self.read_id(i)
        elif sign != GREATER:
            raise CommandError(MEANINGLESS % (sign, sign))

    def group(self, stream: Stream | None) -> Group | None:
        """The group of the call in this stream."""
        return group_of(stream, self.argv, self.options.group_at)

    def serve(self, i: int) -> None:
        """Write new, claimed or past entries; a second look counts again, as in Redis."""
        found = self.ctx.read_stream(self.argv, self.options.keys_at + i)
        stream = found.stream
        group = self.group(stream)
        if stream is not None and group is not None:
            self.serve_group(found.key, stream, group, i)

    def serve_group(self, key: bytes, stream: Stream, group: Group, i: int) -> None:
        """Write the entries of the group for the consumer."""
        before = self.written
        name = self.argv.at(self.options.group_at + 1)
        consumer = group.consumer(name)
        is_new = consumer is None
        if consumer is None:
            consumer = group.create_consumer(name, self.ctx.now_ms)
            self.changes += 1
            self.ctx.notify(NOTIFY_STREAM, b"xgroup-createconsumer", key)
        consumer.seen_ms = self.ctx.now_ms
        sign = self.sign(i)
        if sign == 0:
            ms, seq = self.read_id(i)
            if ms == mem.U64_MAX and seq == mem.U64_MAX:
                # Redis stores ">" as the largest ID, and so treats that ID as ">".
                sign = GREATER
        if sign == 0:
            # A history ID also switches claiming off for the keys after it.
            self.options.claim_ms = xread_options.NOT_SET
        if not self.is_exhausted():
            if sign == 0:
                self.serve_history(stream, group, consumer, i)
            else:
                self.serve_new(key, stream, group, consumer, i)
        if is_new and (self.options.noack or self.written == before):
            self.idle_consumers = self.idle_consumers or []
            self.idle_consumers.append((key, group.name, name))

    def serve_history(self, stream: Stream, group: Group, consumer: Consumer, i: int) -> None:
        """The consumer's own pending entries above an ID; deleted entries as [id, null]."""
        out = self.out
        pending = group.pending
        limit = self.limit()
        ms, seq = self.read_id(i)
        ok, ms, seq = ids.successor(ms, seq)
        self.open_stream(i)
        mark = out.open_array(consumer.pending if limit == -1 else limit)
        finder = Finder(stream)
        slot = consumer.view.seek(ms, seq) if ok else -1
        n = 0
        while slot >= 0 and n != limit and not self.is_full():
            ms = pending.id_ms(slot)
            seq = pending.id_seq(slot)
            if finder.find(ms, seq):
                entry_writer.entry(out, finder.cursor, 2)
                pending.give(slot, consumer.number, self.ctx.now_ms)
                pending.count_delivery(slot)
            else:
                out.array(2)
                out.stream_id(ms, seq)
                out.null_array()
            n += 1
            self.written += 1
            slot = consumer.view.after(slot)
        out.close_array(mark, n)

    def serve_new(
        self, key: bytes, stream: Stream, group: Group, consumer: Consumer, i: int
    ) -> None:
        """Claimed entries, then new ones; if there are none, nothing is written."""
        claims = self.options.claim_ms != xread_options.NOT_SET and group.pending.count > 0
        # The last ID may be that of a deleted entry; then there is nothing to deliver after all.
        has_new = stream.length > 0 and ids.before(
            group.last_ms, group.last_seq, stream.last_ms, stream.last_seq
        )
        if not claims and not has_new:
            return
        out = self.out
        before = out.size
        recorder = None
        if self.ctx.effects.enabled:
            recorder = DeliveryEffects(self.ctx.effects, key, group)
            self.recorders = self.recorders or []
            self.recorders.append(recorder)
        self.open_stream(i)
        limit = self.limit()
        mark = out.open_array(stream.length if limit == -1 else limit)
        n = self.claim(stream, group, consumer, limit, recorder) if claims else 0
        if has_new and n != limit:
            n += self.deliver(stream, group, consumer, -1 if limit == -1 else limit - n, recorder)
        if n == 0:
            self.served -= 1
            out.rewind(before)
        else:
            self.changes += 1
            out.close_array(mark, n)

    def claim(
        self,
        stream: Stream,
        group: Group,
        consumer: Consumer,
        limit: int,
        recorder: DeliveryEffects | None,
    ) -> int:
        """Take over entries idle for long enough, released ones first, then oldest; how many."""
        now_ms = self.ctx.now_ms
        pending = group.pending
        # A new owner changes the place of an entry in the order that is walked here: do that last.
        taken: list[int] = []
        slot = pending.oldest()
        while slot >= 0 and len(taken) != limit and not self.is_full():
            idle_ms = now_ms - pending.time_ms(slot)
            if idle_ms < self.options.claim_ms:
                break
            cursor = stream.find(pending.id_ms(slot), pending.id_seq(slot))
            if cursor is not None:
                entry_writer.entry(self.out, cursor, 4)
                self.out.integer(idle_ms)
                self.out.integer(pending.deliveries(slot))
                self.written += 1
                taken.append(slot)
            slot = pending.after_by_time(slot)
        self.take_over(group, consumer, taken, recorder)
        return len(taken)

    def take_over(
        self, group: Group, consumer: Consumer, taken: list[int], recorder: DeliveryEffects | None
    ) -> None:
        """Give the claimed entries to the consumer."""
        now_ms = self.ctx.now_ms
        pending = group.pending
        for slot in taken:
            pending.give(slot, consumer.number, now_ms)
            pending.count_delivery(slot)
            if recorder is not None:
                recorder.note(
                    pending.id_ms(slot),
                    pending.id_seq(slot),
                    consumer.name,
                    now_ms,
                    pending.deliveries(slot),
                )
        if taken:
            consumer.active_ms = now_ms
        if recorder is not None:
            recorder.flush()

    def deliver(
        self,
        stream: Stream,
        group: Group,
        consumer: Consumer,
        limit: int,
        recorder: DeliveryEffects | None,
    ) -> int:
        """Entries new to the group; they become pending unless NOACK."""
        out = self.out
        noack = self.options.noack
        with_claims = self.options.claim_ms != xread_options.NOT_SET
        now_ms = self.ctx.now_ms
        _, ms, seq = ids.successor(group.last_ms, group.last_seq)
        cursor = stream.cursor()
        cursor.open(ms, seq, mem.U64_MAX, mem.U64_MAX, False)
        n = 0
        while n != limit and not self.is_full() and cursor.next():
            entry_writer.entry(out, cursor, 4 if with_claims else 2)
            if with_claims:
                out.integer(0)
                out.integer(0)
            group.deliver(stream, cursor.ms, cursor.seq, consumer, now_ms, noack)
            if recorder is not None and not noack:
                recorder.note(cursor.ms, cursor.seq, consumer.name, now_ms, 1)
            n += 1
            self.written += 1
        if n > 0 and not noack:
            consumer.active_ms = now_ms
        if n > 0 and recorder is not None:
            recorder.moved = group
        return n

    # Waiting

    def look_again(self, keys: list[bytes]) -> dict[bytes, int] | None:
        """With CLAIM: when an entry of the stream can be claimed."""
        if self.options.claim_ms == xread_options.NOT_SET:
            return None
        streams = [self.stream(i) for i in range(len(keys))]
        return {
            key: self.claim_time(stream)
            for key, stream in zip(keys, streams, strict=True)
            if stream is not None
        }

    def claim_time(self, stream: Stream) -> int:
        """When the oldest pending entry that still exists can be claimed."""
        since_ms = self.ctx.now_ms
        group = self.group(stream)
        slot = -1 if group is None else group.pending.oldest()
        while group is not None and slot >= 0:
            pending = group.pending
            if stream.exists(pending.id_ms(slot), pending.id_seq(slot)):
                since_ms = pending.time_ms(slot)
                break
            slot = pending.after_by_time(slot)
        # However long the idle time is, the sum must not wrap.
        return since_ms + min(self.options.claim_ms, mem.I64_MAX - since_ms)


def xreadgroup(ctx: Context, argv: Argv) -> None:
    """Entries for one consumer of a group, from several streams."""
    read = parse_xreadgroup(ctx, argv)
    apply_xreadgroup(read)
    record_xreadgroup(read)


def parse_xreadgroup(ctx: Context, argv: Argv) -> GroupRead:
    """All words of a call; the IDs are read later, when their streams are known."""
    read: GroupRead | None = ctx.spare_group_read
    if read is None:
        read = ctx.spare_group_read = GroupRead(ctx)
    read.begin(argv, True)
    return read


def apply_xreadgroup(read: GroupRead) -> None:
    """Deliver and reply, or wait."""
    read.run()


def record_xreadgroup(read: GroupRead) -> None:
    """Record deliveries as XCLAIM, the progress of groups, and consumers that no record names."""
    effects = read.ctx.effects
    effects.changes += read.changes
    if read.recorders is not None:
        for recorder in read.recorders:
            recorder.finish()
    if read.idle_consumers is not None:
        for key, group, name in read.idle_consumers:
            record_consumer(effects, key, group, name)


ROWS = [
    Command(
        name="xreadgroup",
        handler=xreadgroup,
        arity=-7,
        flags=BLOCKING | WRITE | MOVABLEKEYS,
        categories="@write @stream @slow @blocking",
        keys=READ_KEYS,
        since="5.0.0",
        summary="Delivers entries of streams to a consumer of a group, or waits for them.",
        group="stream",
        syntax="GROUP group consumer [COUNT count] [MAXCOUNT maxcount] [MAXSIZE bytes] "
        "[BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]",
    ),
]
