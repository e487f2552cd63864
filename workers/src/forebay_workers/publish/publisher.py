"""Append messages to streams.

    one     XADD, sent at once; messages of many coroutines share a write
    many    pages of commands, so that neither side has to hold all of them
    once    the same key publishes one entry, however often it is tried

Once, if the server knows IDMP: the stream itself remembers the keys, for a day and for 10,000 keys
of each of sixteen producers.  Elsewhere: a key next to the stream, which expires after a day.

    WATCH k;  EXISTS k?  then it was published;  else MULTI, XADD, SET k EX, EXEC

If another publisher was quicker, EXEC does nothing and the key is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar
from zlib import crc32

from redis.exceptions import ResponseError, WatchError

from forebay_workers.errors import ServerError
from forebay_workers.servers.abilities import Abilities
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.link import Command, done
from forebay_workers.servers.slots import beside

T = TypeVar("T")
#: How long, and how many keys of one producer, a stream remembers: the most that Redis allows.
ONCE_S, ONCE_KEYS = 86_400, 10_000
PRODUCERS = 16
PAGE = 500
#: To fail, others must publish the same key at the same moment this often.
MOST_RACES = 20


def xadd(stream: str, fields: Sequence[bytes]) -> Command:
    """The command that appends a message."""
    return ("XADD", stream, "*", *fields)


class Publisher:
    """Appends to the streams of one server."""

    def __init__(self, server: Serves) -> None:
        self._server = server
        #: Streams whose time to remember keys is set.
        self._told: set[str] = set()

    async def publish(self, stream: str, fields: Sequence[bytes]) -> str:
        """Append one; return its ID."""
        return _id(await self._server.shared.ask(*xadd(stream, fields)))

    async def publish_many(self, messages: Iterable[tuple[str, Sequence[bytes]]]) -> list[str]:
        """Append all, each to its stream, in their order; return their IDs."""
        found: list[str] = []
        for page in _pages(messages):
            replies = await self._server.shared.ask_all([xadd(*one) for one in page])
            found += map(_id, replies)
        return found

    async def publish_once(
        self, stream: str, fields: Sequence[bytes], key: str, abilities: Abilities
    ) -> str | None:
        """Append unless the key was used before; return the ID, None if it is not known."""
        if abilities.idmp:
            return await self._by_stream(stream, fields, key)
        return await self.run_once(stream, [xadd(stream, fields)], key)

    async def run(self, commands: list[Command]) -> str:
        """Run a transaction; return the ID from its last command."""
        return _id((await self._server.shared.transaction(commands))[-1])

    async def _by_stream(self, stream: str, fields: Sequence[bytes], key: str) -> str:
        if stream not in self._told:
            await self._tell(stream)
            self._told.add(stream)
        producer = f"once-{crc32(key.encode()) % PRODUCERS}"
        return _id(
            await self._server.shared.ask("XADD", stream, "IDMP", producer, key, "*", *fields)
        )

    async def _tell(self, stream: str) -> None:
        """Let the stream remember keys as long as possible.  This comes before the first key:
        a stream forgets all keys when its limits change."""
        tell: Command = ("XCFGSET", stream, "IDMP-DURATION", ONCE_S, "IDMP-MAXSIZE", ONCE_KEYS)
        (told,) = await self._server.shared.ask_all([tell])
        if isinstance(told, ResponseError) and "no such key" in str(told):
            make: Command = ("XGROUP", "CREATE", stream, "forebay:make", "0", "MKSTREAM")
            drop: Command = ("XGROUP", "DESTROY", stream, "forebay:make")
            await self._server.shared.transaction([make, drop, tell])
        elif isinstance(told, Exception):
            raise told

    async def run_once(self, stream: str, commands: list[Command], key: str) -> str | None:
        """Run a transaction unless the key was used before; return the ID of its last command."""
        mark = beside(stream, f"once:{key}")
        for _ in range(MOST_RACES):
            async with self._server.watching() as link:
                await link.ask("WATCH", mark)
                known = await link.ask("GET", mark)
                if known is not None:
                    await link.ask("UNWATCH")
                    return known.decode() or None
                try:
                    reply = await self._run_and_mark(link, commands, mark)
                except WatchError:
                    continue
            # Only later calls with the key need the ID; without it nothing else is lost.
            await self._server.shared.ask("SET", mark, reply, "XX", "KEEPTTL")
            return _id(reply)
        raise ServerError(f"{mark!r} changes all the time. Are two programs using it?")

    async def _run_and_mark(self, link: Any, commands: list[Command], mark: str) -> bytes:
        remember: Command = ("SET", mark, "", "EX", ONCE_S)
        replies = done(await link.ask_all([("MULTI",), remember, *commands, ("EXEC",)]))
        added: bytes = replies[-1]
        return added


def _id(reply: Any) -> str:
    if isinstance(reply, Exception):
        raise reply
    found: str = reply.decode()
    return found


def _pages(messages: Iterable[T]) -> Iterator[list[T]]:
    source = iter(messages)
    while page := list(islice(source, PAGE)):
        yield page
