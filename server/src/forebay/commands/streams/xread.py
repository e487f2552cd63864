"""XREAD: read several streams at once, and wait if necessary.

    parse_xread     the words: xread_options.py
    apply_xread     check every key, type and ID; the first failure ends the call
                    serve key after key; streams without entries are left out of the reply
                    nothing served? BLOCK: wait, then run again from the start when a key is ready

Meaning of an ID:
    id   entries above it        $  entries added later        +  the last one

A blocked command runs again as it was received, except that ``$`` is replaced by its ID.
XREADGROUP (xreadgroup.py) has its own checks and its own way to serve; all else is the same.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import BLOCK_STREAM, Context
from forebay.commands.api.spec import BLOCKING, MOVABLEKEYS, READONLY, Command, Keys
from forebay.commands.streams import entry_writer, xread_options
from forebay.commands.streams.xread_options import ReadOptions, key_positions
from forebay.core import ids
from forebay.core.stream import Stream
from forebay.errors import INVALID_ID, CommandError
from forebay.wire.argv import Argv, argv_of
from forebay.wire.chars import DOLLAR, GREATER, PLUS

NOT_IN_XREAD = (
    b"ERR The > ID can be specified only when calling XREADGROUP using the "
    b"GROUP <group> <consumer> option."
)


class Read:
    """One call: its options, and the state of the reply.

    Making one costs a fifth of a call, so the Context keeps it for the next one.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.options = ReadOptions()

    def begin(self, argv: Argv, is_group: bool) -> None:
        """Forget the last call, and read the words of this one."""
        self.argv = argv
        self.out = self.ctx.reply
        #: Where this command's reply begins, for MAXSIZE.
        self.start = 0
        #: Entries written so far, over all streams, for MAXCOUNT.
        self.written = 0
        self.served = 0
        self.mark = 0
        self.options.read(argv, self.ctx.now_ms, is_group)

    def run(self) -> None:
        """Serve, wait, or answer that there is nothing."""
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

    # One stream; XREADGROUP overrides these

    def check(self, i: int) -> None:
        """Check type and ID of the i-th stream."""
        self.ctx.read_stream(self.argv, self.options.keys_at + i)
        sign = self.sign(i)
        if sign == 0:
            self.read_id(i)
        elif sign == GREATER:
            raise CommandError(NOT_IN_XREAD)

    def serve(self, i: int) -> None:
        """Write the entries of the i-th stream; a second look counts again, as in Redis."""
        stream = self.ctx.read_stream(self.argv, self.options.keys_at + i).stream
        sign = self.sign(i)
        if stream is None or sign == DOLLAR or stream.length == 0 or self.is_exhausted():
            return
        if sign == PLUS:
            self.serve_last(stream, i)
            return
        ms, seq = self.read_id(i)
        if stream.has_after(ms, seq):
            self.open_stream(i)
            self.serve_entries(stream, ms, seq)

    def look_again(self, keys: list[bytes]) -> dict[bytes, int] | None:
        """When to look at each key again although nothing changed; None: never."""
        return None

    # The words

    def stream(self, i: int) -> Stream | None:
        """The i-th stream."""
        return self.ctx.find_stream(self.argv, self.options.keys_at + i).stream

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

    # Writing

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
        """How many entries the next stream may give; -1: any number."""
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

    # Waiting

    def wait(self) -> None:
        """Run again when a key is ready, or when entries can be claimed."""
        options = self.options
        argv = self.argv
        if options.claim_ms == xread_options.NOT_SET and self.ctx.block_as_before(
            BLOCK_STREAM, options.block_ms, argv
        ):
            return
        keys = [argv.at(options.keys_at + i) for i in range(options.streams)]
        words: list[bytes] | None = None
        for i in range(options.streams):
            if self.sign(i) == DOLLAR:
                stream = self.stream(i)
                words = argv.list() if words is None else words
                at = options.keys_at + options.streams + i
                words[at] = b"0-0" if stream is None else ids.text(stream.last_ms, stream.last_seq)
        call = argv if words is None else argv_of(words)
        is_group = options.group_at != 0
        self.ctx.block(BLOCK_STREAM, keys, options.block_ms, call, is_group, self.look_again(keys))


def xread(ctx: Context, argv: Argv) -> None:
    """Entries above given IDs, from several streams."""
    apply_xread(parse_xread(ctx, argv))


def parse_xread(ctx: Context, argv: Argv) -> Read:
    """All words of a call; the IDs are read later, when their streams are known."""
    read: Read | None = ctx.spare_read
    if read is None:
        read = ctx.spare_read = Read(ctx)
    read.begin(argv, False)
    return read


def apply_xread(read: Read) -> None:
    """Reply, or wait."""
    read.run()


READ_KEYS = Keys(0, 0, 0, "RO ACCESS", key_positions)

ROWS = [
    Command(
        name="xread",
        handler=xread,
        arity=-4,
        flags=BLOCKING | READONLY | MOVABLEKEYS,
        categories="@read @stream @slow @blocking",
        keys=READ_KEYS,
        since="5.0.0",
        summary="Returns the entries of streams after given IDs, or waits for them.",
        group="stream",
        syntax="[COUNT count] [MAXCOUNT maxcount] [MAXSIZE bytes] [BLOCK milliseconds] "
        "STREAMS key [key ...] id [id ...]",
    ),
]
