"""XREAD and XREADGROUP: reading several streams at once, waiting if need be.

    parse_xread     the words: xread_options.py
    apply_xread     check every key: type, then group, then ID: the first failure ends it
                    serve key after key: what has nothing to say is left out of the reply
                    nothing served? BLOCK: wait, and run again from the start when a key is ready
    record_xread    what XREADGROUP delivered, and to a consumer that is new

What an ID asks for:
    XREAD       id   entries above it        $  above what is there now    +  the last one
    XREADGROUP  >    entries never delivered to this group; they become pending
                id   history: this consumer's own pending entries above it, served at once

With CLAIM, entries that have been pending too long come before new ones.

A blocked command is run again as it was given; only ``$`` has become the ID it stood for.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.args import shown
from forebay.commands.api.context import BLOCK_STREAM, Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import BLOCKING, MOVABLEKEYS, READONLY, WRITE, Command, Keys
from forebay.commands.streams import entry_writer, xread_options
from forebay.commands.streams.delivery_effects import DeliveryEffects, record_consumer
from forebay.commands.streams.parsing import group_of
from forebay.commands.streams.xread_options import ReadOptions, key_positions
from forebay.core import ids
from forebay.core.finder import Finder
from forebay.core.group import Consumer, Group
from forebay.core.stream import Stream
from forebay.errors import INVALID_ID, CommandError
from forebay.wire.argv import Argv, argv_of
from forebay.wire.chars import DOLLAR, GREATER, PLUS

MEANINGLESS = (
    b"ERR The %c ID is meaningless in the context of XREADGROUP: you want to read the history of "
    b"this consumer by specifying a proper ID, or use the > ID to get new messages. "
    b"The %c ID would just return an empty result set."
)
NOT_IN_XREAD = (
    b"ERR The > ID can be specified only when calling XREADGROUP using the "
    b"GROUP <group> <consumer> option."
)


class Read:
    """One call: its options, and how far the reply has come."""

    def __init__(self, ctx: Context, argv: Argv, is_group: bool) -> None:
        self.ctx = ctx
        self.argv = argv
        self.is_group = is_group
        self.out = self.ctx.reply  # A field has a type for Cython, an argument has none.
        self.options = ReadOptions()
        #: Where this command's reply begins, for MAXSIZE.
        self.start = 0
        #: Entries written so far, over all streams, for MAXCOUNT.
        self.written = 0
        self.served = 0
        self.mark = 0
        #: For record_xread: how much changed, deliveries by stream, consumers that got nothing.
        self.changes = 0
        self.recorders: list[DeliveryEffects] | None = None
        self.idle_consumers: list[tuple[bytes, bytes, bytes]] | None = None

    def run(self) -> None:
        """Serve, wait, or say that there is nothing."""
        options = self.options
        for i in range(options.streams):
            self.check(i)
        self.start = self.out.size
        if self.out.resp == 2:
            self.mark = self.out.open_array(options.streams)
        else:
            self.mark = self.out.open_map(options.streams)
        for i in range(options.streams):
            self.serve(i)
        self.finish()

    def finish(self) -> None:
        """Close the reply, or wait."""
        if self.served > 0:
            if self.out.resp == 2:
                self.out.close_array(self.mark, self.served)
            else:
                self.out.close_map(self.mark, self.served)
            return
        self.out.rewind(self.start)
        if self.options.block_ms == xread_options.NOT_SET or not self.ctx.may_block:
            self.out.null_array()
        else:
            self.wait()

    # Checks, before anything is served

    def check(self, i: int) -> None:
        """Type, group and ID of the i-th stream."""
        found = self.ctx.read_stream(self.argv, self.options.keys_at + i)
        if self.is_group and self.group(found.stream) is None:
            argv = self.argv
            raise CommandError(
                b"NOGROUP No such key '%s' or consumer group '%s' in XREADGROUP with GROUP option"
                % (shown(argv[self.options.keys_at + i]), shown(argv[self.options.group_at]))
            )
        sign = self.sign(i)
        if sign == 0:
            self.read_id(i)
        elif self.is_group and sign != GREATER:
            raise CommandError(MEANINGLESS % (sign, sign))
        elif not self.is_group and sign == GREATER:
            raise CommandError(NOT_IN_XREAD)

    def stream(self, i: int) -> Stream | None:
        """The i-th stream."""
        return self.ctx.find_stream(self.argv, self.options.keys_at + i).stream

    def group(self, stream: Stream | None) -> Group | None:
        """The group of the call in this stream."""
        return group_of(stream, self.argv, self.options.group_at)

    def sign(self, i: int) -> int:
        """``$``, ``+`` or ``>`` if the i-th ID is one of them, otherwise 0."""
        at = self.options.keys_at + self.options.streams + i
        argv = self.argv
        if argv.w[2 * at + 1] != 1:
            return 0
        sign = argv.p[argv.w[2 * at]]
        return sign if sign == DOLLAR or sign == PLUS or sign == GREATER else 0

    def read_id(self, i: int) -> tuple[int, int]:
        """The i-th ID."""
        at = self.options.keys_at + self.options.streams + i
        argv = self.argv
        ok, ms, seq = ids.parse(argv.p, argv.w[2 * at], argv.w[2 * at + 1], 0)
        if not ok:
            raise CommandError(INVALID_ID)
        return ms, seq

    # Serving one stream

    def serve(self, i: int) -> None:
        """Write what the i-th stream has to say; looking again counts again, as in Redis."""
        found = self.ctx.read_stream(self.argv, self.options.keys_at + i)
        stream = found.stream
        if stream is None:
            return
        sign = self.sign(i)
        if self.is_group:
            self.serve_group(found.key, stream, i, sign)
        elif sign == DOLLAR or stream.length == 0 or self.is_exhausted():
            return
        elif sign == PLUS:
            self.serve_last(stream, i)
        else:
            ms, seq = self.read_id(i)
            if stream.has_after(ms, seq):
                self.open_stream(i)
                self.serve_entries(stream, ms, seq)

    def open_stream(self, i: int) -> None:
        """Begin the part of the reply that belongs to the i-th stream."""
        argv = self.argv
        at = self.options.keys_at + i
        if self.out.resp == 2:
            self.out.array(2)
        self.out.span(argv.p, argv.w[2 * at], argv.w[2 * at + 1])
        self.served += 1

    def serve_last(self, stream: Stream, i: int) -> None:
        """The last live entry, for ``+``."""
        cursor = stream.cursor()
        cursor.open(0, 0, mem.U64_MAX, mem.U64_MAX, True)
        self.open_stream(i)
        self.written += entry_writer.entries(self.out, cursor, 1, 1)

    def serve_entries(self, stream: Stream, ms: int, seq: int) -> None:
        """Entries above an ID, in an array."""
        _, ms, seq = ids.successor(ms, seq)
        cursor = stream.cursor()
        cursor.open(ms, seq, mem.U64_MAX, mem.U64_MAX, False)
        limit = self.limit()
        guess = stream.length
        if limit != -1 and limit < guess:
            guess = limit
        if self.options.maxsize == 0:
            self.written += entry_writer.entries(self.out, cursor, limit, guess)
            return
        mark = self.out.open_array(guess)
        n = 0
        while n != limit and not self.is_full() and cursor.next():
            entry_writer.entry(self.out, cursor, 2)
            n += 1
            self.written += 1
        self.out.close_array(mark, n)

    def limit(self) -> int:
        """How many entries the next stream may give, -1 for any number."""
        options = self.options
        limit = options.count if options.count > 0 else -1
        if options.maxcount != 0:
            left = options.maxcount - self.written
            if limit == -1 or left < limit:
                limit = left
        return limit

    def is_full(self) -> bool:
        """Whether MAXSIZE forbids another entry; the first one always fits."""
        maxsize = self.options.maxsize
        return maxsize != 0 and self.written > 0 and self.out.size - self.start >= maxsize

    def is_exhausted(self) -> bool:
        """Whether MAXCOUNT or MAXSIZE leave nothing for further streams."""
        maxcount = self.options.maxcount
        return self.is_full() or (maxcount != 0 and self.written >= maxcount)

    # Serving a group

    def serve_group(self, key: bytes, stream: Stream, i: int, sign: int) -> None:
        """New, claimed or past entries for a consumer of the group."""
        group = self.group(stream)
        if group is None:
            return
        before = self.written
        name = self.argv[self.options.group_at + 1]
        consumer = group.consumer(name)
        is_new = consumer is None
        if consumer is None:
            consumer = group.create_consumer(name, self.ctx.now_ms)
            self.changes += 1
            self.ctx.notify(NOTIFY_STREAM, b"xgroup-createconsumer", key)
        consumer.seen_ms = self.ctx.now_ms
        if sign == 0:
            ms, seq = self.read_id(i)
            if ms == mem.U64_MAX and seq == mem.U64_MAX:
                # Redis keeps ">" as the largest ID and so takes that ID for it.
                sign = GREATER
        if sign == 0:
            # A history ID switches claiming off for the keys after it, too.
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
        """The consumer's own pending entries above an ID; deleted ones as [id, null]."""
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
        """Claimed entries, then new ones; nothing at all is written if there are none."""
        claims = self.options.claim_ms != xread_options.NOT_SET and group.pending.count > 0
        # The last ID may be of an entry that is gone; then there is nothing to deliver after all.
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
        """Take over entries idle for long enough, released and oldest first; how many."""
        now_ms = self.ctx.now_ms
        pending = group.pending
        # Giving an entry away moves it in the order that is walked here: that comes last.
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
        """Make the claimed entries the consumer's."""
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
        """Entries that the group has not had; they become pending unless NOACK."""
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

    def wait(self) -> None:
        """Run again when a key is ready, or when an entry has been pending long enough."""
        options = self.options
        argv = self.argv
        keys = [argv.at(options.keys_at + i) for i in range(options.streams)]
        words: list[bytes] | None = None
        wake_at_ms: dict[bytes, int] | None = None
        for i in range(options.streams):
            stream = self.stream(i)
            if self.sign(i) == DOLLAR:
                words = argv.list() if words is None else words
                at = options.keys_at + options.streams + i
                words[at] = b"0-0" if stream is None else ids.text(stream.last_ms, stream.last_seq)
            if options.claim_ms != xread_options.NOT_SET and stream is not None:
                wake_at_ms = wake_at_ms or {}
                wake_at_ms[keys[i]] = self.claim_time(stream)
        call = argv.kept() if words is None else argv_of(words)
        self.ctx.block(BLOCK_STREAM, keys, options.block_ms, call, self.is_group, wake_at_ms)

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


def xread(ctx: Context, argv: Argv) -> None:
    """Entries above given IDs, from several streams."""
    apply_xread(parse_xread(ctx, argv, False))


def xreadgroup(ctx: Context, argv: Argv) -> None:
    """Entries for one consumer of a group, from several streams."""
    read = parse_xread(ctx, argv, True)
    apply_xread(read)
    record_xread(read)


def parse_xread(ctx: Context, argv: Argv, is_group: bool) -> Read:
    """All words of a call; the IDs wait until their streams are known."""
    read = Read(ctx, argv, is_group)
    read.options.read(argv, ctx.now_ms, is_group)
    return read


def apply_xread(read: Read) -> None:
    """Deliver and reply, or wait."""
    read.run()


def record_xread(read: Read) -> None:
    """Deliveries as XCLAIM, how far groups have read, and consumers that nothing else names."""
    effects = read.ctx.effects
    effects.changes += read.changes
    if read.recorders is not None:
        for recorder in read.recorders:
            recorder.finish()
    if read.idle_consumers is not None:
        for key, group, name in read.idle_consumers:
            record_consumer(effects, key, group, name)


_READ_KEYS = Keys(0, 0, 0, "RO ACCESS", key_positions)

ROWS = [
    Command(
        name="xread",
        handler=xread,
        arity=-4,
        flags=BLOCKING | READONLY | MOVABLEKEYS,
        categories="@read @stream @slow @blocking",
        keys=_READ_KEYS,
        since="5.0.0",
        summary="The entries of streams after the given IDs; can wait for some.",
        group="stream",
        syntax="[COUNT count] [MAXCOUNT maxcount] [MAXSIZE bytes] [BLOCK milliseconds] "
        "STREAMS key [key ...] id [id ...]",
    ),
    Command(
        name="xreadgroup",
        handler=xreadgroup,
        arity=-7,
        flags=BLOCKING | WRITE | MOVABLEKEYS,
        categories="@write @stream @slow @blocking",
        keys=_READ_KEYS,
        since="5.0.0",
        summary="Delivers entries of streams to a consumer of a group; can wait for some.",
        group="stream",
        syntax="GROUP group consumer [COUNT count] [MAXCOUNT maxcount] [MAXSIZE bytes] "
        "[BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]",
    ),
]
