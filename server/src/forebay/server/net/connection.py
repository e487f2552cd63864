"""One client's socket: bytes in, commands run, replies out.

         socket --receive--> shared buffer --parser--> engine.call --> session.out --send--> socket
                                 |  ^
        an incomplete command    v  |  the rest has arrived
                             held bytes, and a parser that knows how far it got

All connections read into one shared buffer and parse with one shared parser,
because nearly always complete commands arrive and nothing is left over.  Only a
connection with bytes that could not be run yet owns a copy of them (``held``)
and, in the middle of a command, its own parser.  An idle one owns neither.

Rules
  1. A turn does at most one receive on a socket and runs a bounded amount,
     so that no client starves the others; the rest runs in the next turn
     (``more`` is then set).
  2. Commands stop running while the client is blocked, is being closed, or
     leaves more than PAUSE_BYTES of replies unread.  Its bytes are still
     taken and held, up to client-query-buffer-limit: a client that writes its
     whole pipeline before it reads the first reply must not get stuck, and
     requests are far smaller than replies.
  3. Memory grows with the bytes that arrived, never with an announced length.
  4. Only ``pull`` and ``push`` touch the socket; a connection with a
     ``channel`` (TLS) uses that instead.
  5. A link between servers is a connection too.  A ``source`` fills its output whenever there is
     room (all data and the stream of changes, for a replica); a ``sink`` takes its input instead
     of the parser (the same from our primary).
"""

from __future__ import annotations

from typing import Protocol

from forebay import mem
from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.spec import NO_KEYS
from forebay.engine.engine import Engine
from forebay.errors import ProtocolError, WrongPortError
from forebay.server.net import sysio
from forebay.server.net.tls_channel import TlsChannel
from forebay.wire.request import Limits, RequestParser
from forebay.wire.resp_writer import RespWriter

# One receive.  Larger ones only add latency for the others.
READ_BYTES = 64 << 10
# The same where more than that is known to be missing of an argument.
LARGE_READ_BYTES = 1 << 20
# Up to this many left-over bytes go back into the shared buffer, before the new ones.
SMALL_BYTES = 64 << 10
# Input of one client that runs in one turn, and output that it may cause.
RUN_BYTES = 256 << 10
BURST_BYTES = 1 << 20
# If a client leaves more bytes of replies unread, its commands wait.
PAUSE_BYTES = 64 << 20
# Bytes held for, and owed to, a client that has not given its password: with spare room for
# both and the session itself that is 64 KiB, so that a crowd of strangers stays cheap.
STRANGER_HELD_BYTES = 32 << 10
STRANGER_BURST_BYTES = 8 << 10
# One send; the kernel rarely takes more, and a slow copy delays the others.
SEND_BYTES = 1 << 20

# Replies to one client in one turn that do not delay others.
LIGHT_BYTES = 1 << 20
# How much of the input of a new client is inspected to see what it asks for.
PEEK_BYTES = 4 << 10
# The weight of a client that has asked for nothing yet, and of a new one that asks for data.
UNKNOWN, DOUBTFUL = -1, -2

STARVED, BUSY, STALLED = 0, 1, 2
IS_STRANGER = gates.UNAUTHENTICATED


class Source(Protocol):
    """Fills the output of a link, a piece at a time."""

    def refill(self, conn: Connection, shared: Shared) -> bool:
        """Add the next piece to the output if little waits there, or send it straight from its
        own buffer; False when the other side is gone.
        """

    def has_more(self) -> bool:
        """Whether refill() would add something if there were room."""

    def owed(self) -> int:
        """Bytes that are due to the other side and not in the output yet."""

    def is_copying(self) -> bool:
        """Whether the output holds nothing that counts against its limit."""

    def closed(self) -> None:
        """The connection is closed."""


class Sink(Protocol):
    """Takes the input of a link."""

    def receive(self, conn: Connection) -> bool:
        """Take what has arrived; False when the link ends."""

    def closed(self) -> None:
        """The connection is closed."""


class Shared:
    """What all connections of a loop share."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.now_ms = 0
        self.buf = bytearray(SMALL_BYTES + READ_BYTES)
        self.p: mem.Pointer = self.buf
        self.trusted = Limits()
        self.strangers = Limits(authenticated=False)
        self.parser = RequestParser(self.trusted)
        self.query_limit_bytes = 1 << 30
        #: Bytes of replies written in this turn by the readers of sockets.
        self.produced = 0
        self.bytes_in = 0
        self.bytes_out = 0


class Connection:
    """A socket and its session."""

    def __init__(self, fd: int, session: Session, channel: TlsChannel | None = None) -> None:
        self.fd = fd
        self.session = session
        self.out: RespWriter = session.out
        self.channel = channel
        self.source: Source | None = None
        self.sink: Sink | None = None
        #: Nothing is read for now: its sink has enough to do.
        self.deaf = False
        self.parser: RequestParser | None = None
        self.held: bytearray | None = None
        self.start = 0
        self.end = 0
        #: Commands that could be run are waiting in ``held``.
        self.more = False
        #: In the loop's list of connections to settle, and in that of those to continue.
        self.queued = False
        self.busy = False
        #: The client will send no more; its last commands still run, or their replies wait.
        self.ended = False
        #: The events that epoll watches for.
        self.watching = 0
        #: The socket is full until epoll reports room.
        self.is_full = False
        #: Since when the output is over its soft limit; 0 if it is not.
        self.over_since_ms = 0
        #: The client itself asked to be closed, and may take time to read its last replies;
        #: a client that is closed by others may not.
        self.leaving = False
        #: Seconds since the close began, while the client does not take its last reply.
        self.seconds_closing = 0
        #: Bytes of replies to its latest commands, or UNKNOWN or DOUBTFUL.
        self.weight = UNKNOWN
        #: Its memory, as client_limits.py counted it last.
        self.counted_bytes = 0
        #: The error of the system that ended it; 0 if there was none.
        self.error_number = 0
        #: Why it is being closed, for the log; empty if the client closed it.
        self.fault = ""
        #: The limit that it broke, "query" or "output", or "port" if it came to the wrong port;
        #: an operator should see that.
        self.offence = ""

    # In

    def read(self, shared: Shared) -> bool:
        """Take what has arrived and run complete commands; False when the client is gone."""
        if self.sink is not None:
            return self.sink.receive(self)
        if self.held is not None and (self.more or self.end - self.start > SMALL_BYTES):
            return self.read_own(shared)
        at = 0
        parser = shared.parser
        if self.held is not None:
            at = self.end - self.start
            mem.copy(shared.p, 0, self.held, self.start, at)
            if self.parser is not None:
                parser = self.parser
        n = self.pull(shared.p, at, READ_BYTES)
        if n <= 0:
            return self.no_bytes(n)
        self.count_in(shared, n)
        self.held = None
        parser.load(shared.buf, 0, at + n)
        self.more = self.run(shared, parser) != STARVED and parser.pos < at + n
        if parser.pos < at + n:
            self.hold(shared, parser, at + n)
        elif parser is self.parser:
            self.parser = None
        return self.within_limit(shared)

    def read_own(self, shared: Shared) -> bool:
        """The same for a client with many held bytes, or bytes that may not run yet."""
        n = READ_BYTES
        if self.parser is not None and self.parser.want > n:
            n = min(self.parser.want, LARGE_READ_BYTES)
        self.make_room(n)
        assert self.held is not None
        n = self.pull(self.held, self.end, n)
        if n <= 0:
            return self.no_bytes(n)
        self.count_in(shared, n)
        self.end += n
        if not self.more:
            self.resume(shared)
        return self.within_limit(shared)

    def no_bytes(self, result: int) -> bool:
        """Nothing was received: whether the connection stays open all the same.

        Commands that arrived before the end of the input still run and get their
        replies, unless the client is blocked: it would wait for nothing.  What is sent to
        a replica has no end, and no reply in it.
        """
        owes = self.more or (self.source is None and self.out.pending() > 0)
        if result == 0 and owes and self.session.blocked is None:
            self.ended = True
            return True
        return sysio.again(result)

    def resume(self, shared: Shared) -> None:
        """Run held bytes as far as possible."""
        if self.held is None:
            self.more = False
        else:
            self.run_held(shared, self.held)

    def run_held(self, shared: Shared, held: bytearray) -> None:
        """Run held bytes; free them when all are used."""
        parser = self.parser
        if parser is None:
            parser = RequestParser(shared.trusted)
            self.parser = parser
        parser.load(held, self.start, self.end)
        self.more = self.run(shared, parser) != STARVED
        self.start = parser.pos
        if self.start == self.end:
            self.more = False
            self.held = None
            self.parser = None

    def run(self, shared: Shared, parser: RequestParser) -> int:
        """Run commands until none is left, or the client must wait."""
        before = self.out.size
        try:
            state = self.run_commands(shared, parser)
            self.weight = self.out.size - before
            shared.produced += self.weight
            return state
        except ProtocolError as error:
            self.out.error(error.text)
            self.session.closing = True
            self.leaving = True
            self.fault = str(error)
            if isinstance(error, WrongPortError):
                self.offence = "port"
            return STALLED

    def run_commands(self, shared: Shared, parser: RequestParser) -> int:
        """The loop over commands; hot."""
        session = self.session
        out = self.out
        if self.stalled():
            return STALLED
        shared.engine.started_us = 0
        last_pos = parser.pos + RUN_BYTES
        if not session.gate & IS_STRANGER:
            last_size = out.size + BURST_BYTES
            parser.limits = shared.trusted
        else:
            last_size = out.size + STRANGER_BURST_BYTES
            parser.limits = shared.strangers
        while parser.next():
            if parser.argv.n > 0:
                shared.engine.call(session, parser.argv, shared.now_ms)
                if session.blocked is not None or session.closing:
                    self.leaving = session.closing and not self.offence
                    return STALLED
                if out.size > last_size or parser.pos > last_pos:
                    return BUSY
                if (session.gate & IS_STRANGER == 0) != parser.limits.authenticated:
                    return BUSY
        return STARVED

    def stalled(self) -> bool:
        """Whether no command of this client may run now."""
        return (
            self.session.blocked is not None
            or self.session.closing
            or self.out.pending() > PAUSE_BYTES
        )

    def has_no_more_to_do(self) -> bool:
        """Whether a client that sends no more can be closed: all has run, or it only waits."""
        return not self.more or self.session.blocked is not None

    def is_light(self, shared: Shared) -> bool:
        """Whether serving it takes little time, as far as that is known beforehand.

        A client is expected to ask for as much as last time.  For a new one the first
        command decides: it is a quick one (O(1) in Redis's tables), or names no key.
        """
        if self.weight >= 0:
            return self.weight <= LIGHT_BYTES
        if self.weight == DOUBTFUL or self.channel is not None or self.held is not None:
            return False
        n = sysio.peek(self.fd, shared.p, 0, PEEK_BYTES)
        if n > 0 and not asks_little(shared, n):
            self.weight = DOUBTFUL
        return self.weight == UNKNOWN

    # Held bytes

    def hold(self, shared: Shared, parser: RequestParser, end: int) -> None:
        """Keep the bytes of the shared buffer from the parser's position on."""
        n = end - parser.pos
        self.held = bytearray(n)
        mem.copy(self.held, 0, shared.p, parser.pos, n)
        self.start = 0
        self.end = n
        if parser is shared.parser:
            self.parser = parser
            shared.parser = RequestParser(shared.trusted)

    def make_room(self, n: int) -> None:
        """Make room for n more bytes after the held ones."""
        assert self.held is not None
        size = self.end - self.start
        if len(self.held) - self.end < n:
            room = max(size + n, size + size // 2)
            self.held = mem.widened(self.held, self.start, size, room)
            self.start = 0
            self.end = size

    def within_limit(self, shared: Shared) -> bool:
        """False when more is held for the client than it may send ahead."""
        if self.held is None:
            self.session.query_bytes = 0
            return True
        size = self.end - self.start
        self.session.query_bytes = size
        if not self.session.gate & IS_STRANGER:
            if size <= shared.query_limit_bytes:
                return True
        elif size <= STRANGER_HELD_BYTES:
            return True
        self.fault = "reached the limit of its query buffer"
        self.offence = "query"
        return False

    def count_in(self, shared: Shared, n: int) -> None:
        """Statistics of received bytes."""
        shared.bytes_in += n
        shared.engine.stats.reads += 1
        self.session.bytes_in += n

    # Out

    def flush(self, shared: Shared) -> bool:
        """Send what waits, as far as the socket takes it; False when the client is gone."""
        if self.out.aside is not None:
            return self.flush_aside(shared)
        n = self.out.size - self.out.start
        if n > SEND_BYTES:
            n = SEND_BYTES
        n = self.push(n)
        if n < 0:
            return self.not_sent(n)
        self.count_out(shared, n)
        self.out.consume(n)
        return True

    def flush_aside(self, shared: Shared) -> bool:
        """The same for buffers that were set aside; a channel has none."""
        assert self.out.aside is not None
        first = self.out.aside[0]
        at = self.out.aside_start
        n = sysio.send(self.fd, first, at, min(len(first) - at, SEND_BYTES))
        if n < 0:
            return self.not_sent(n)
        self.count_out(shared, n)
        self.out.consume_aside(n)
        return True

    def not_sent(self, result: int) -> bool:
        """Whether the socket is only full."""
        self.error_number = -result
        self.is_full = sysio.again(result)
        return self.is_full

    def send_from(self, shared: Shared, buf: bytearray, at: int, n: int) -> int:
        """For a source: send up to n bytes of its own buffer; as sysio.send.

        A channel sends only bytes of the output (its rule 2), so they are copied there.
        """
        if self.channel is not None:
            self.out.bytes_of(buf, at, n)
            return n
        n = sysio.send(self.fd, buf, at, n)
        if n < 0:
            self.error_number = -n
        else:
            self.count_out(shared, n)
        return n

    def count_out(self, shared: Shared, n: int) -> None:
        """Statistics of sent bytes."""
        shared.bytes_out += n
        shared.engine.stats.writes += 1
        self.session.bytes_out += n

    # The socket

    def receive_into(self, shared: Shared, buf: bytearray, at: int, n: int) -> int:
        """For a sink: receive up to n bytes into buf[at:]; 0 and less as in sysio."""
        got = self.pull(buf, at, n)
        if got > 0:
            self.count_in(shared, got)
        return got

    def pull(self, p: mem.Pointer, at: int, n: int) -> int:
        """Receive up to n bytes into p[at:]."""
        if self.channel is None:
            return sysio.recv(self.fd, p, at, n)
        return self.channel.recv(p, at, n)

    def push(self, n: int) -> int:
        """Send up to n waiting bytes."""
        if self.channel is None:
            return sysio.send(self.fd, self.out.p, self.out.start, n)
        return self.channel.send(self.out.p, self.out.start, n)


def asks_little(shared: Shared, n: int) -> bool:
    """Whether the first command in the shared buffer has a short answer for any data."""
    parser = RequestParser(shared.strangers)
    parser.load(shared.buf, 0, n)
    try:
        if not parser.next():
            return False
    except ProtocolError:
        return True
    argv = parser.argv
    row = shared.engine.row_of(argv)
    if row is not None and row.is_container and len(argv) > 1:
        row = row.subcommands.get(argv[1].lower())
    return row is None or row.is_fast or row.keys is NO_KEYS
