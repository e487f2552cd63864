"""Connections whose TLS handshake is not over yet: they are no clients, and few may be here.

    socket --begin()--> Handshake --done--> TlsChannel, for a Connection
                            '--fault, too slow--> closed, and one line in the log

Handshakes are the dear part of TLS (a signature is worth a hundred commands) and the part that
strangers can make us do.

Rules
  1. Nothing blocks: a handshake goes a step when bytes have come.
  2. A turn of the loop takes only so many steps (max-new-tls-connections-per-cycle); the others
     come again with the next turn, because epoll is level-triggered.
  3. A handshake that takes longer than PATIENCE_MS is given up; when MOST are under way, one that
     takes longer than GRACE_MS.  Until then newcomers wait at the door.
  4. A stranger who has sent nothing costs a descriptor and no state of OpenSSL.
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
#: A record that begins a handshake; those of SSL 2 have the highest bit.
HANDSHAKE_RECORD, OLD_RECORD = 0x16, 0x80

NOT_TLS = "it speaks plain text, and this port speaks TLS"
GONE = "the other side closed the connection during the TLS handshake"
SLOW = "the TLS handshake took too long"

Done = Callable[[socket.socket, TlsChannel], None]
Failed = Callable[[str], None]


class Handshake:
    """One of them."""

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
        """Take what has come; a fault in words, or nothing."""
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
        """As far as it goes.  Raises ssl.SSLError."""
        if self.cipher is None:
            self.cipher = self.context.wrap_bio(self.incoming, self.outgoing, self.server_side)
        try:
            self.cipher.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.is_over = True

    def send(self) -> bool:
        """Send what it has to say; False if the socket does not take all of it now."""
        self.unsent += self.outgoing.read()
        if self.unsent:
            try:
                self.unsent = self.unsent[self.sock.send(self.unsent) :]
            except BlockingIOError:
                pass
        return not self.unsent


class Handshakes:
    """All that are under way."""

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
        """Somebody has come in."""
        return self._begin(sock, context, True, done, failed)

    def connect(
        self, sock: socket.socket, context: ssl.SSLContext, done: Done, failed: Failed
    ) -> Handshake:
        """We go to somebody; the socket may not be connected yet."""
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
        """How many more may come in; if it is none, those go whose time is up."""
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
        """Give up those that take too long."""
        self._give_up(PATIENCE_MS)

    def _give_up(self, after_ms: int) -> None:
        now_ms = self.clock.monotonic_ms()
        for handshake in list(self.open.values()):
            if now_ms - handshake.begun_ms < after_ms:
                break
            self._fail(handshake, SLOW)

    def cancel(self, handshake: Handshake) -> None:
        """Nobody wants it any more."""
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
        """OpenSSL has put the reason into words of TLS: the other side may want to know."""
        try:
            handshake.send()
        except OSError:
            pass  # it is gone

    def _fail(self, handshake: Handshake, why: str) -> None:
        self.cancel(handshake)
        handshake.failed(why)
