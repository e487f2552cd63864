"""Connections whose TLS handshake is not over: they are not clients yet, and few are allowed.

    socket --begin()--> Handshake --done--> TlsChannel, for a Connection
                            '--fault, too slow--> closed, and one line in the log

Handshakes are the expensive part of TLS (a signature costs as much as a hundred commands), and
strangers can make us do them.

Rules
  1. Nothing blocks: a handshake takes a step when bytes have arrived.
  2. A turn of the loop takes a limited number of steps (max-new-tls-connections-per-cycle); the
     next turn takes the others, because epoll is level-triggered.
  3. A handshake that takes longer than PATIENCE_MS is ended; when MOST are under way, already one
     that takes longer than GRACE_MS.  Until then new clients wait in the accept queue.
  4. A stranger that has sent nothing costs a descriptor and no state of OpenSSL.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from forebay.commands.api.settings import Settings
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.net.tls_channel import Scratch, TlsChannel, in_words

if TYPE_CHECKING:
    import ssl
else:
    from forebay.server.net.lazy_ssl import ssl

PATIENCE_MS = 10_000
GRACE_MS = 1_000
MOST = 1_000
PIECE_BYTES = 16 << 10
#: The first byte of a record that begins a handshake; in SSL 2 it has the highest bit.
HANDSHAKE_RECORD, OLD_RECORD = 0x16, 0x80

NOT_TLS = "it speaks plain text, and this port speaks TLS"
GONE = "the other side closed the connection during the TLS handshake"
SLOW = "the TLS handshake took too long"

Done = Callable[[socket.socket, TlsChannel], None]
Failed = Callable[[str], None]


class Handshake:
    """One handshake."""

    def __init__(
        self,
        sock: socket.socket,
        context: ssl.SSLContext,
        server_side: bool,
        begun_ms: int,
        done: Done,
        failed: Failed,
    ) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.context = context
        self.server_side = server_side
        self.begun_ms = begun_ms
        self.done = done
        self.failed = failed
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.cipher: ssl.SSLObject | None = None
        self.is_over = False
        #: Encrypted bytes that the socket has not taken.
        self.unsent = b""

    def receive(self) -> str:
        """Take the bytes that have arrived; a fault in words, or empty."""
        try:
            data = self.sock.recv(PIECE_BYTES)
        except BlockingIOError:
            return ""
        except OSError as fault:
            return fault.strerror or str(fault)
        if not data:
            return GONE
        first = data[0]
        if self.cipher is None and first != HANDSHAKE_RECORD and not first & OLD_RECORD:
            return NOT_TLS
        self.incoming.write(data)
        return ""

    def go_on(self) -> None:
        """Go on as far as possible.  Raises ssl.SSLError."""
        if self.cipher is None:
            self.cipher = self.context.wrap_bio(self.incoming, self.outgoing, self.server_side)
        try:
            self.cipher.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.is_over = True

    def send(self) -> bool:
        """Send its messages; False if the socket does not take all of them now."""
        self.unsent += self.outgoing.read()
        if self.unsent:
            try:
                self.unsent = self.unsent[self.sock.send(self.unsent) :]
            except BlockingIOError:
                pass
        return not self.unsent


class Handshakes:
    """All handshakes that are under way."""

    def __init__(self, settings: Settings, loop: Loop, clock: Clock) -> None:
        self.settings = settings
        self.loop = loop
        self.clock = clock
        self.scratch = Scratch()
        #: In the order in which they began.
        self.open: dict[int, Handshake] = {}
        self.turn = -1
        self.steps_left = 0

    def __len__(self) -> int:
        return len(self.open)

    def accept(
        self, sock: socket.socket, context: ssl.SSLContext, done: Done, failed: Failed
    ) -> Handshake:
        """Begin with a client that has connected."""
        return self._begin(sock, context, True, done, failed)

    def connect(
        self, sock: socket.socket, context: ssl.SSLContext, done: Done, failed: Failed
    ) -> Handshake:
        """Begin with a server that we connect to; the socket may not be connected yet."""
        handshake = self._begin(sock, context, False, done, failed)
        self.loop.epoll.modify(handshake.fd, select.EPOLLOUT)
        return handshake

    def _begin(
        self,
        sock: socket.socket,
        context: ssl.SSLContext,
        server_side: bool,
        done: Done,
        failed: Failed,
    ) -> Handshake:
        now_ms = self.clock.monotonic_ms()
        handshake = Handshake(sock, context, server_side, now_ms, done, failed)
        self.open[handshake.fd] = handshake
        self.loop.watch(handshake.fd, lambda: self._step(handshake))
        return handshake

    def room(self) -> int:
        """How many more may begin; if none, the slow ones are ended first."""
        most = min(MOST, max(1, self.settings.maxclients // 2))
        if len(self.open) >= most:
            self._give_up(GRACE_MS)
        return most - len(self.open)

    # Steps

    def _may_step(self) -> bool:
        turn = self.loop.shared.engine.stats.turns
        if turn != self.turn:
            self.turn = turn
            self.steps_left = self.settings.max_new_tls_per_turn
        self.steps_left -= 1
        return self.steps_left >= 0

    def _step(self, handshake: Handshake) -> None:
        if handshake.server_side and not self._may_step():
            return
        try:
            self._go_on(handshake)
        except ssl.SSLError as fault:
            self._say_alert(handshake)
            self._fail(handshake, in_words(fault))
        except OSError as fault:
            self._fail(handshake, fault.strerror or str(fault))

    def _go_on(self, handshake: Handshake) -> None:
        error = handshake.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._fail(handshake, os.strerror(error))
            return
        fault = "" if handshake.unsent else handshake.receive()
        if fault:
            self._fail(handshake, fault)
            return
        if not handshake.is_over and (handshake.incoming.pending or not handshake.server_side):
            handshake.go_on()
        if not handshake.send():
            self.loop.epoll.modify(handshake.fd, select.EPOLLIN | select.EPOLLOUT)
        elif handshake.is_over:
            self._finish(handshake)
        else:
            self.loop.epoll.modify(handshake.fd, select.EPOLLIN)

    def _finish(self, handshake: Handshake) -> None:
        assert handshake.cipher is not None
        self._forget(handshake)
        channel = TlsChannel(
            handshake.fd,
            handshake.cipher,
            handshake.incoming,
            handshake.outgoing,
            self.scratch,
        )
        handshake.done(handshake.sock, channel)

    # Ends

    def beat(self) -> None:
        """End those that take too long."""
        self._give_up(PATIENCE_MS)

    def _give_up(self, after_ms: int) -> None:
        now_ms = self.clock.monotonic_ms()
        for handshake in list(self.open.values()):
            if now_ms - handshake.begun_ms < after_ms:
                break
            self._fail(handshake, SLOW)

    def cancel(self, handshake: Handshake) -> None:
        """End a handshake that is no longer wanted."""
        if self.open.get(handshake.fd) is handshake:
            self._forget(handshake)
            handshake.sock.close()

    def close_all(self) -> None:
        """The server ends."""
        for handshake in list(self.open.values()):
            self.cancel(handshake)

    def _forget(self, handshake: Handshake) -> None:
        del self.open[handshake.fd]
        self.loop.unwatch(handshake.fd)

    def _say_alert(self, handshake: Handshake) -> None:
        """Send the alert that OpenSSL has made: it tells the other side the reason."""
        try:
            handshake.send()
        except OSError:
            pass  # it is gone

    def _fail(self, handshake: Handshake, why: str) -> None:
        self.cancel(handshake)
        handshake.failed(why)
