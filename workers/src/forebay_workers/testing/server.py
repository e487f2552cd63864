"""The server of a test: Forebay's own engine in this process; redis-py needs no socket to reach it.

    Link -- redis-py's connection -- Pipe -- EmbeddedClient -- engine
            handshake, RESP, errors   bytes                     the commands themselves

Everything to the left of ``Pipe`` is the code of production, everything to the right is the code of
the server.  So this test double has no commands of its own, and cannot get one wrong.

Each process has its own connections: killing one cuts only those.  The app sees ``Doors``, which
gives each caller the connections of the process in which it runs.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from redis import asyncio as redis_asyncio

from forebay_workers.errors import ConfigError
from forebay_workers.servers.connect import Asks, Server, settings
from forebay_workers.testing.loop import FAR_S, PROCESS, Stoppable

if TYPE_CHECKING:
    from forebay.engine.embedded import Embedded, EmbeddedClient

NEEDS_ENGINE = (
    "TestApp runs Forebay's engine in the test, and it is not installed. "
    "Install it with: pip install 'forebay-workers[testing]'."
)
LIKE = (
    'like={!r} is not known. Use "forebay", or a server with its version, as "redis 6.2" or '
    '"valkey 8.0".'
)
#: Valkey started from this Redis, and has none of Redis's later additions to streams.
VALKEY = "7.2"
WHERE = "the server of the test"


def engine(now_ms: int, like: str) -> Embedded:
    """An engine with the commands of that server."""
    try:
        from forebay.engine.embedded import Embedded
        from forebay.engine.older import commands_of
    except ImportError as error:
        raise ConfigError(NEEDS_ENGINE) from error
    name, _, version = like.partition(" ")
    if like == "forebay":
        return Embedded(now_ms)
    try:
        commands = commands_of(VALKEY if name == "valkey" else version)
    except ValueError:
        commands = {}
    if name not in ("redis", "valkey") or not commands:
        raise ConfigError(LIKE.format(like))
    return Embedded(now_ms, commands=commands)


class Double:
    """The server: its engine, its time, its connections, whether it can be reached."""

    def __init__(self, start_ms: int, like: str) -> None:
        self.start_ms = start_ms
        self.engine = engine(start_ms, like)
        self.is_away = False
        self.pipes: set[Pipe] = set()
        self._looked = 0
        #: All entries ever added, by stream: [ID, name, value, ...].
        self.added: dict[str, list[list[bytes]]] = defaultdict(list)

    # Time, set by the loop

    def ms_at(self, now_s: float) -> int:
        """Wall time, in milliseconds."""
        return self.start_ms + round(now_s * 1_000_000) // 1000

    def next_due_s(self) -> float:
        """The next time at which the server does something by itself."""
        due_ms = self.engine.next_due_ms()
        return FAR_S if due_ms < 0 else (due_ms - self.start_ms) / 1000

    def set_time(self, now_s: float) -> None:
        """Set the current time."""
        self.engine.set_time(self.ms_at(now_s))
        self.look()

    @property
    def changes(self) -> int:
        """A number that grows with every change of the data."""
        return self.engine.engine.effects.total

    # Connections

    def open(self, process: Stoppable | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection."""
        if self.is_away:
            raise ConnectionRefusedError(111, "the test took the server away")
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        pipe = Pipe(self, process, protocol)
        protocol.connection_made(pipe)
        return reader, asyncio.StreamWriter(pipe, protocol, reader, loop)

    def cut(self, process: Stoppable | None = None) -> None:
        """Break the connections of a process, or of all; replies on their way are lost.

        The test's own connections stay: they are for inspection.
        """
        for pipe in [one for one in self.pipes if one.process is not None]:
            if process in (None, pipe.process):
                pipe.break_off()

    def look(self) -> None:
        """Note newly added entries."""
        if self._looked == self.changes:
            return
        self._looked = self.changes
        for words in self.engine.changes():
            if words[0].upper() == b"XADD" and (entry := _entry_of(words)):
                self.added[words[1].decode("utf-8", "replace")].append(entry)

    def ask(self, *command: bytes | str | int | float) -> Any:
        """Run a command outside all connections; an error reply is raised."""
        import hiredis

        client = self.engine.connect()
        words: Any = command
        client.send(hiredis.pack_command(words))
        reader = hiredis.Reader(replyError=_error)
        reader.feed(client.take())
        client.close()
        self.look()
        reply = reader.gets()
        if isinstance(reply, Exception):
            raise reply
        return reply


def _error(text: str) -> Exception:
    from redis.exceptions import ResponseError

    return ResponseError(text)


#: How many words an option of XADD takes; a limit may have a sign between it and its number.
OPTIONS = {
    **dict.fromkeys((b"NOMKSTREAM", b"KEEPREF", b"DELREF", b"ACKED"), 1),
    **dict.fromkeys((b"MAXLEN", b"MINID", b"LIMIT", b"IDMPAUTO"), 2),
    b"IDMP": 3,
}
LIMITS, SIGNS = (b"MAXLEN", b"MINID"), (b"=", b"~")


def _entry_of(words: Sequence[bytes]) -> list[bytes]:
    """ID and fields of an XADD as the AOF has it; nothing if it added no entry (IDMP)."""
    at = 2
    while (option := words[at].upper()) in OPTIONS:
        at += OPTIONS[option] + (option in LIMITS and words[at + 1] in SIGNS)
    return [] if words[at] == b"*" else list(words[at:])


class Pipe(asyncio.Transport):
    """A connection to the engine, instead of a socket."""

    def __init__(
        self, double: Double, process: Stoppable | None, protocol: asyncio.StreamReaderProtocol
    ) -> None:
        super().__init__()
        self.process = process
        self._double = double
        self._protocol = protocol
        self._client: EmbeddedClient | None = double.engine.connect()
        self._client.on_output = self._came
        self._client.on_end = self.break_off
        double.pipes.add(self)

    def write(self, data: Any) -> None:
        """Send to the server, at once."""
        if self._double.is_away:
            self.break_off()
        elif self._client is not None:
            self._client.send(bytes(data))
            self._double.look()

    def _came(self, data: bytes) -> None:
        if self._client is not None:
            self._protocol.data_received(data)

    def break_off(self) -> None:
        """Break the connection; our side notices."""
        if self._leave():
            self._protocol.connection_lost(None)

    def drop(self) -> None:
        """Break the connection; our side does not notice, because its process is gone."""
        self._leave()

    def _leave(self) -> bool:
        client, self._client = self._client, None
        self._double.pipes.discard(self)
        if client is not None:
            client.close()
        return client is not None

    def close(self) -> None:
        """Close it from our side."""
        self.break_off()

    def abort(self) -> None:
        """The same."""
        self.break_off()

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._client is None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """There is no socket."""
        return default

    def can_write_eof(self) -> bool:
        """A half-closed connection is not possible here."""
        return False


class PipeConnection(redis_asyncio.Connection):
    """redis-py's connection on a pipe."""

    def __init__(self, double: Double, process: Stoppable | None) -> None:
        super().__init__(host=WHERE, **settings())
        self._double = double
        self._process = process

    async def _connect(self) -> None:
        self._reader, self._writer = self._double.open(self._process)


class Pipes:
    """Makes the connections of one process; the part of a pool that ``Server`` needs."""

    def __init__(self, double: Double, process: Stoppable | None) -> None:
        self._double = double
        self._process = process

    def make_connection(self) -> PipeConnection:
        """A connection that is not open yet."""
        return PipeConnection(self._double, self._process)

    async def disconnect(self) -> None:
        """Nothing is kept here."""


class Doors:
    """The server as the app sees it: each process has its own connections."""

    where = WHERE

    def __init__(self, double: Double) -> None:
        self._double = double
        #: One for each process; the test's own code has one for each event loop.
        self._servers: dict[object, Server] = {}

    def _mine(self) -> Server:
        process = PROCESS.get()
        key: object = process or asyncio.get_running_loop()
        server = self._servers.get(key)
        if server is None:
            server = self._servers[key] = Server(WHERE, Pipes(self._double, process))
        return server

    @property
    def shared(self) -> Asks:
        """The link for all quick commands."""
        return self._mine().shared

    def blocking(self) -> Asks:
        """A new link for blocking commands."""
        return self._mine().blocking()

    def slot(self, key: str) -> int:
        """Always the same: it is not a cluster."""
        return self._mine().slot(key)

    def watching(self) -> Any:
        """A link for WATCH ... MULTI ... EXEC."""
        return self._mine().watching()

    async def close(self) -> None:
        """Close the connections of the calling process."""
        await self._mine().close()

    async def close_all(self) -> None:
        """Close all connections of all processes."""
        for server in self._servers.values():
            await server.close()
