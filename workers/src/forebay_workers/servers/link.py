"""One connection that many coroutines share, with as few writes and reads as possible.

    ask(...)  ----.
    ask(...)  -----+--> one write, then the replies in order --> each asker gets its own
    ask(...)  ----'     (later commands are the next write)

While one batch is on its way, the next one gathers.  So a busy worker sends large batches, a quiet
one sends each command at once, and no batch size needs to be chosen.  A transaction is one piece:
no command of another asker gets between MULTI and EXEC.

The connection is redis-py's: it handles URLs, passwords, TLS and Sentinel.  hiredis packs commands
and parses replies; nothing is decoded.  If the connection breaks, all commands on their way fail
with the error, and the next command opens it again.  The caller decides whether to send a command
again, because only the caller knows whether that is safe.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import hiredis
from redis import exceptions

Argument = bytes | str | int | float
Command = tuple[Argument, ...]
Reply = Any
Open = Callable[[], Awaitable[Any]]
#: hiredis's type hints allow only tuples of one argument.
_pack: Callable[[Command], bytes] = hiredis.pack_command  # type: ignore[assignment]

#: A server that does not answer for this long, beyond the time it may block, counts as gone.
ANSWER_TIMEOUT_S = 30.0


class Asker(ABC):
    """Asks a server, or a cluster of them."""

    async def ask(self, *command: Argument, block_s: float = 0.0) -> Reply:
        """One command and its reply; an error reply is raised."""
        (reply,) = await self.ask_all([command], block_s=block_s)
        if isinstance(reply, Exception):
            raise reply
        return reply

    @abstractmethod
    async def ask_all(self, commands: Sequence[Command], *, block_s: float = 0.0) -> list[Reply]:
        """The replies of many commands; error replies are among them."""


class Link(Asker):
    """A shared connection, opened on first use."""

    def __init__(self, open_connection: Open) -> None:
        self._open = open_connection
        self._connection: Any = None
        self._waiting: list[tuple[bytes, int, asyncio.Future[list[Reply]]]] = []
        self._pump: asyncio.Task[None] | None = None
        self._timeout_s = ANSWER_TIMEOUT_S
        self._is_stale = False

    async def ask_all(self, commands: Sequence[Command], *, block_s: float = 0.0) -> list[Reply]:
        packed = b"".join(map(_pack, commands))
        future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
        self._timeout_s = max(self._timeout_s, ANSWER_TIMEOUT_S + block_s)
        self._waiting.append((packed, len(commands), future))
        if self._pump is None:
            self._pump = asyncio.create_task(self._run())
        return await future

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """The replies of a transaction; an error inside it is raised."""
        replies = await self.ask_all([("MULTI",), *commands, ("EXEC",)])
        return done(replies)

    async def _run(self) -> None:
        """Send batches and read their replies, until nothing waits."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._exchange(batch)
        finally:
            self._pump = None

    async def _exchange(self, batch: list[tuple[bytes, int, asyncio.Future[list[Reply]]]]) -> None:
        replies: list[list[Reply]] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._connection is None:
                    self._connection = await self._open()
                data = b"".join([packed for packed, _, _ in batch])
                await self._connection.send_packed_command(data, check_health=False)
                for _, count, _ in batch:
                    replies.append([await self._reply() for _ in range(count)])
            if self._is_stale:
                await self._drop()
        except (exceptions.RedisError, OSError) as error:
            # Answered commands are known, the rest is not.
            await self._drop()
            _fail(batch[len(replies) :], error)
        except BaseException:
            await self._drop()
            _fail(batch[len(replies) :], exceptions.ConnectionError("the connection was closed"))
            raise
        finally:
            for (_, _, future), answer in zip(batch, replies, strict=False):
                if not future.done():
                    future.set_result(answer)

    async def _reply(self) -> Reply:
        try:
            return await self._connection.read_response(
                disable_decoding=True, disconnect_on_error=False
            )
        except exceptions.ReadOnlyError as error:
            # The primary has become a replica: the next command looks for the new one.
            self._is_stale = True
            return error
        except exceptions.ResponseError as error:
            return error

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._is_stale = False
        if connection is not None:
            await hang_up(connection)

    async def close(self) -> None:
        """Close it, also in the middle of a command."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
        _fail(self._waiting, exceptions.ConnectionError("the connection was closed"))
        self._waiting = []
        await self._drop()


async def hang_up(connection: Any) -> None:
    """Close a connection and wait for the end: with TLS this takes several steps."""
    with suppress(exceptions.RedisError, OSError):
        await connection.disconnect()


def _fail(
    batch: Sequence[tuple[bytes, int, asyncio.Future[list[Reply]]]], error: Exception
) -> None:
    for _, _, future in batch:
        if not future.done():
            future.set_exception(error)


def done(replies: list[Reply]) -> list[Reply]:
    """The reply of EXEC; an error before it or inside it is raised."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    inner = replies[-1]
    if inner is None:
        raise exceptions.WatchError("a watched key has changed")
    for reply in inner:
        if isinstance(reply, Exception):
            raise reply
    found: list[Reply] = inner
    return found
