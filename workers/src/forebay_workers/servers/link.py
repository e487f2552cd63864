"""One connection that many coroutines share, with as few writes and reads as can be.

    ask(...)  ----.
    ask(...)  -----+--> one write, then the replies in order --> each asker gets its own
    ask(...)  ----'     (what comes meanwhile is the next write)

While one batch is on its way the next one gathers.  So a busy worker sends large batches and a
quiet one sends each command at once, and nobody has to choose a size.  A transaction is one piece:
nothing of another asker comes between MULTI and EXEC.

The connection is redis-py's: it knows URLs, passwords, TLS and Sentinel.  Commands are packed and
replies are parsed by hiredis, and nothing is decoded.  If it breaks, all that was on its way fails
with the error, and the next command opens it anew.  Whether a command is sent again is decided by
those who know whether that is safe.
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
#: Its own types know only tuples of one argument.
_pack: Callable[[Command], bytes] = hiredis.pack_command  # type: ignore[assignment]

#: A server that does not answer for so long, beyond the time it may block, is taken for gone.
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
        """Replies of commands that run as one; an error inside of it is raised."""
        replies = await self.ask_all([("MULTI",), *commands, ("EXEC",)])
        return done(replies)

    async def _run(self) -> None:
        """Until nothing waits: a batch out, its replies in."""
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
            # What was answered is known, the rest is not.
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
        """End it, in the middle of a command too."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
        _fail(self._waiting, exceptions.ConnectionError("the connection was closed"))
        self._waiting = []
        await self._drop()


async def hang_up(connection: Any) -> None:
    """End a connection and wait for it: over TLS its end is a matter of several steps."""
    with suppress(exceptions.RedisError, OSError):
        await connection.disconnect()


def _fail(
    batch: Sequence[tuple[bytes, int, asyncio.Future[list[Reply]]]], error: Exception
) -> None:
    for _, _, future in batch:
        if not future.done():
            future.set_exception(error)


def done(replies: list[Reply]) -> list[Reply]:
    """What EXEC answered; an error before it or inside of it is raised."""
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
