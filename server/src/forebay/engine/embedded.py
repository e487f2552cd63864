"""An engine inside a program: no socket, no clock, no disk.

    server = Embedded(now_ms=1_000_000)
    client = server.connect()
    client.on_output = received.append      or client.take(): the bytes of replies
    client.send(b"PING\\r\\n")              bytes as from a socket, in pieces of any size
    server.pass_time(5000)                  work that becomes due is done in order

This is the entry point for test doubles and simulations: the test double of the workers
(``TestApp``) and the clients of our own tests use it, so they see what the server really does.

Rules
  1. The owner sets the time.  ``next_due_ms`` is the time of the next automatic work: a wait that
     ends, a claim for a waiting reader, a key that expires.
  2. A waiting client runs none of its later commands; it continues when its wait has ended.
  3. Random numbers come from a generator with a fixed seed.  Two runs with the same input are the
     same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from forebay.commands.api.settings import Settings
from forebay.commands.api.spec import Command
from forebay.commands.table import TABLE
from forebay.engine.engine import Engine
from forebay.engine.faults import Faults
from forebay.errors import ProtocolError
from forebay.wire.request import Limits, RequestParser

HERE, THERE = b"127.0.0.1:6379", b"127.0.0.1:50000"


class Embedded:
    """An engine, its time, and its clients."""

    def __init__(
        self,
        now_ms: int,
        settings: Settings | None = None,
        commands: Mapping[bytes, Command] = TABLE,
        faults: Faults | None = None,
    ) -> None:
        self.now_ms = now_ms
        self.engine = Engine(settings or Settings(), commands=commands, faults=faults)
        self.engine.effects.enabled = True
        self.engine.services.random_below = self.random_below
        self.engine.services.random_bytes = self.random_bytes
        self.engine.services.memory_used = lambda: 0
        self._seed = 1
        #: When due work was last done.
        self._served_ms = -1
        self._clients: dict[int, EmbeddedClient] = {}

    def random_below(self, n: int) -> int:
        """A poor but repeatable generator."""
        self._seed = (self._seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self._seed >> 33) % n

    def random_bytes(self, n: int) -> bytes:
        """This many bytes from it."""
        return bytes(self.random_below(256) for _ in range(n))

    def connect(self) -> EmbeddedClient:
        """A new connection."""
        client = EmbeddedClient(self)
        self._clients[client.session.id] = client
        return client

    def forget(self, client: EmbeddedClient) -> None:
        """A connection was closed."""
        if self._clients.pop(client.session.id, None) is not None:
            self.engine.close_session(client.session)

    def next_due_ms(self) -> int:
        """The time of the next automatic work; -1 if there is none.

        Always after the last time: the search for expired keys runs every few milliseconds,
        not at once.
        """
        due_ms = self.engine.next_deadline_ms()
        return due_ms if due_ms < 0 else max(due_ms, self._served_ms + 1)

    def pass_time(self, ms: int) -> None:
        """Let time pass; do work that becomes due meanwhile, in order."""
        end_ms = self.now_ms + ms
        while 0 <= (due_ms := self.next_due_ms()) < end_ms:
            self.set_time(max(self.now_ms, due_ms))
        self.set_time(end_ms)

    def set_time(self, now_ms: int) -> None:
        """Set the time and do the work that is due."""
        self.now_ms = self._served_ms = now_ms
        self.engine.before_sleep(now_ms)
        self.serve()

    def serve(self) -> None:
        """Deliver output that clients got without a command, and continue with their input."""
        while self._clients and (touched := self.engine.take_touched()):
            for session in touched:
                client = self._clients.get(session.id)
                if client is not None:
                    client.go_on()

    def changes(self) -> list[list[bytes]]:
        """The commands recorded since the last call, as the AOF and replicas get them."""
        data = self.engine.effects.take()
        parser = RequestParser(Limits())
        parser.load(data, 0, len(data))
        found = []
        while parser.next():
            found.append(parser.argv.list())
        return found


class EmbeddedClient:
    """One connection: bytes of requests in, bytes of replies out."""

    def __init__(self, server: Embedded) -> None:
        self._server = server
        self._held = b""
        self._parser = RequestParser(Limits())
        self.session = server.engine.new_session(THERE, HERE, now_ms=server.now_ms)
        #: Called with replies as they are written, if set; otherwise they wait for ``take``.
        self.on_output: Callable[[bytes], None] | None = None
        #: Called when the server closes the connection (QUIT, CLIENT KILL, garbage).
        self.on_end: Callable[[], None] = lambda: None

    def send(self, data: bytes) -> None:
        """Run all complete commands; the rest waits for more bytes, or for the end of a wait."""
        self._held += data
        self.go_on()
        self._server.serve()

    def go_on(self) -> None:
        """Run the input as far as possible, and deliver replies."""
        parser, held = self._parser, self._held
        parser.load(held, 0, len(held))
        try:
            self._run()
        except ProtocolError as error:
            self.session.out.error(error.text)
            self.session.closing = True
        self._held = held[parser.pos :]
        if self.on_output is not None and (data := self.take()):
            self.on_output(data)
        if self.session.closing:
            self.close()
            self.on_end()

    def _run(self) -> None:
        server, session, parser = self._server, self.session, self._parser
        while session.blocked is None and not session.closing and parser.next():
            if parser.argv.n > 0:
                server.engine.call(session, parser.argv, server.now_ms)

    def take(self) -> bytes:
        """Replies that were not delivered yet."""
        return self.session.out.take()

    def close(self) -> None:
        """Close the connection."""
        self._server.forget(self)
