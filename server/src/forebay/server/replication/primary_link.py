"""Our connection to the primary: its input, in the order in which it arrives.

    LINES   answers to our introduction          replication/handshake.py
    HEAD    the line before a copy of all data   replication/copying.py
    COPY    its bytes                            incoming.py
    WAIT    it is being read; nothing is received meanwhile
    STREAM  changes, whole units at a time       engine/apply.py

A table says which function takes the bytes in each mode.  The link decides nothing: it tells the
replica side (replica.py) what has arrived.
"""

from __future__ import annotations

import os
from typing import Protocol

from forebay.commands.api.session import Session
from forebay.engine.apply import Applier
from forebay.engine.engine import Engine
from forebay.errors import ForebayError
from forebay.replication.copying import Copy
from forebay.replication.handshake import DONE, Handshake, Refused
from forebay.server.net import sysio
from forebay.server.net.connection import Connection, Shared
from forebay.server.net.tls_channel import LEAST_ROOM

LINES = "lines"
HEAD = "head"
COPY = "copy"
WAIT = "wait"
STREAM = "stream"

BUFFER_BYTES = 256 << 10
#: No line of a primary is longer.
LONGEST_LINE = 64 << 10


class Owner(Protocol):
    """The replica side."""

    def agreed(self, link: PrimaryLink) -> None:
        """The introduction is over; the handshake says how it ended."""

    def copy_begins(self, link: PrimaryLink) -> None: ...
    def copy_grows(self, link: PrimaryLink, data: bytes) -> None: ...
    def copy_ends(self, link: PrimaryLink) -> None: ...
    def applied(self, link: PrimaryLink, start: int) -> None:
        """Bytes of the stream have been applied: those from ``start`` on in its buffer."""

    def asked(self, link: PrimaryLink) -> None:
        """The primary asks how far we are."""

    def failed(self, link: PrimaryLink, error: ForebayError) -> None: ...
    def lost(self, link: PrimaryLink) -> None: ...


class PrimaryLink:
    """The sink of the connection to the primary."""

    def __init__(
        self,
        owner: Owner,
        engine: Engine,
        shared: Shared,
        session: Session,
        conn: Connection,
        handshake: Handshake,
    ) -> None:
        self.owner = owner
        self.engine = engine
        self.shared = shared
        self.session = session
        self.conn = conn
        self.handshake = handshake
        self.applier = Applier(engine, session)
        self.mode = LINES
        self.copy: Copy | None = None
        self.buf = bytearray(BUFFER_BYTES)
        self.start = 0
        self.end = 0
        self.fault = ""
        #: Bytes received at the last look.
        self.seen_bytes = 0

    def send(self, data: bytes) -> None:
        """Send something to the primary at the end of the turn."""
        if data:
            self.session.out.raw(data)
            self.engine.sessions.touched(self.session)

    # What the loop asks

    def receive(self, conn: Connection) -> bool:
        """Take what has arrived."""
        self.make_room()
        n = conn.receive_into(self.shared, self.buf, self.end, len(self.buf) - self.end)
        if n <= 0:
            self.fault = self.fault or describe(n)
            return sysio.again(n)
        self.end += n
        return self.digest()

    def closed(self) -> None:
        """The connection is closed."""
        if self.conn.channel is not None and self.conn.channel.fault:
            self.fault = self.conn.channel.fault
        elif not self.fault and self.conn.error_number:
            self.fault = describe(-self.conn.error_number)
        self.owner.lost(self)

    # Bytes

    def digest(self) -> bool:
        """Let each mode take its part of the bytes; False when the link must end."""
        try:
            while self.start < self.end and self.mode is not WAIT:
                is_moving = self.take_units() if self.mode is STREAM else TAKERS[self.mode](self)
                if not is_moving:
                    break
        except ForebayError as error:
            self.owner.failed(self, error)
            return False
        if self.start == self.end:
            self.start = self.end = 0
        return True

    def make_room(self) -> None:
        """Make room after the waiting bytes: as much as any way of receiving needs."""
        if len(self.buf) - self.end >= LEAST_ROOM:
            return
        waiting = self.buf[self.start : self.end]
        size = max(BUFFER_BYTES, 2 * len(waiting))
        self.buf = bytearray(size)
        self.buf[: len(waiting)] = waiting
        self.start, self.end = 0, len(waiting)

    def line(self) -> bytes | None:
        """The next line, without its end; None if it is incomplete."""
        at = self.buf.find(b"\n", self.start, self.end)
        if at < 0:
            if self.end - self.start > LONGEST_LINE:
                raise Refused("the primary sends no lines; is it a Redis or a Forebay?")
            return None
        line = bytes(self.buf[self.start : at])
        self.start = at + 1
        return line.removesuffix(b"\r")

    # Modes

    def take_line(self) -> bool:
        """An answer to our introduction."""
        line = self.line()
        if line is None:
            return False
        self.send(self.handshake.take(line))
        if self.handshake.state == DONE:
            self.owner.agreed(self)
        return True

    def take_head(self) -> bool:
        """The line before a copy; empty lines are only signs of life."""
        line = self.line()
        if line is None:
            return False
        if line.startswith(b"-"):
            raise Refused(f"the primary cannot send its data: {line.decode('utf-8', 'replace')}")
        if line:
            self.copy = Copy(line)
            self.owner.copy_begins(self)
            self.mode = COPY
            if self.copy.is_done:
                self.end_copy()
        return True

    def take_copy(self) -> bool:
        """Bytes of a copy."""
        assert self.copy is not None
        data, rest = self.copy.take(bytes(self.buf[self.start : self.end]))
        self.start = self.end - len(rest)
        self.owner.copy_grows(self, data)
        if self.copy.is_done:
            self.end_copy()
        return True

    def end_copy(self) -> None:
        """The copy is complete: receive nothing until it is read."""
        self.mode = WAIT
        self.conn.deaf = True
        self.engine.sessions.touched(self.session)
        self.owner.copy_ends(self)

    def begin_stream(self) -> None:
        """Changes follow."""
        self.mode = STREAM
        self.conn.deaf = False
        self.engine.sessions.touched(self.session)

    def take_units(self) -> bool:
        """Complete units of the stream; an empty line between them is not part of it."""
        if self.buf[self.start] in b"\r\n":
            self.start += 1
            return True
        at = self.applier.run(self.buf, self.start, self.end, self.shared.now_ms)
        if at == self.start:
            return False
        start, self.start = self.start, at
        self.owner.applied(self, start)
        if self.applier.wants_ack:
            self.applier.wants_ack = False
            self.owner.asked(self)
        return True


TAKERS = {
    LINES: PrimaryLink.take_line,
    HEAD: PrimaryLink.take_head,
    COPY: PrimaryLink.take_copy,
    STREAM: PrimaryLink.take_units,
}


def describe(result: int) -> str:
    """Why nothing was received."""
    if result == 0:
        return "the primary closed the connection"
    return "" if sysio.again(result) else os.strerror(-result)
