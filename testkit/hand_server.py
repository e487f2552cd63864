"""A server in this process; the test runs its clock and its loop.

clock = HandClock()
engine = Engine(settings, clock)
server = Server(settings, engine, TurnEnd(engine.effects), Log(clock), clock)
client = Client(server)
client.ask(encode("PING"))       one turn of the loop, and its output
clock.wall_ms -= 3_600_000       the clock of the machine is set back an hour
clock.pass_ms(500)               time passes, on both clocks
"""

from __future__ import annotations

import socket

from forebay.server.net.connection import Connection
from forebay.server.net.timers import Clock
from forebay.server.server import Server


class HandClock(Clock):
    """Both clocks, set by the test."""

    def __init__(self) -> None:
        self.wall_ms = 1_700_000_000_000
        self.steady_ms = 5_000_000

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic_ms(self) -> int:
        return self.steady_ms

    def us(self) -> int:
        return self.steady_ms * 1000

    def pass_ms(self, ms: int) -> None:
        self.wall_ms += ms
        self.steady_ms += ms


class Client:
    """The client's end of a connection to the server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        theirs.setblocking(False)
        self.conn: Connection = server.admit(theirs, "test:0", "test:0")

    def ask(self, data: bytes) -> bytes:
        """Send, let the server run one turn, and return the output."""
        if data:
            self.socket.send(data)
        self.server.loop.next_beat_ms = 0
        self.server.loop.turn()
        return self.answer()

    def answer(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except BlockingIOError:
            return b"(nothing)"

    def close(self) -> None:
        self.socket.close()
