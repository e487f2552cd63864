"""A Redis Cluster as if it were one server.

    redis+cluster://h1:7000,h2:7000        any of its nodes; they name the others

    commands --> by the slot of their key --> a link to each node, all at the same time --> replies

A transaction (MULTI ... EXEC) goes to one node as one piece: its keys are in one slot (slots.py).
A node that no longer has a slot says so, and has done nothing:

    MOVED        the piece goes to the named node, and the table of slots is read again
    ASK          the slot is moving: a single command follows it (ASKING); a transaction cannot, and
                 waits until the slot has arrived
    TRYAGAIN     wait

Blocking commands are sent for one slot each: a cluster refuses to read several slots in one
command.  So each slot that is read has its own connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from redis import asyncio as redis_asyncio
from redis import exceptions

from forebay_workers.clock import Clock
from forebay_workers.errors import ConfigError
from forebay_workers.servers.connect import settings, without_secret
from forebay_workers.servers.link import Argument, Asker, Command, Link, Reply, done
from forebay_workers.servers.slots import CLUSTER, key_of, slot_of
from forebay_workers.servers.trouble import PASSING, REDIRECTIONS

Address = tuple[str, int]
#: How many redirections are followed; the pauses between them grow to the longest one.
MOST_REDIRECTIONS, FIRST_PAUSE_S, LONGEST_PAUSE_S = 14, 0.002, 0.5


class Nodes:
    """Which node has which slot, and the connections to it."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._clock = clock
        userinfo, _, hosts = url.removeprefix(CLUSTER).strip("/").rpartition("@")
        self._prefix = "redis://" + (f"{userinfo}@" if userinfo else "")
        try:
            self._seeds = [_address(text) for text in hosts.split(",")]
        except ValueError:
            shown = without_secret(url)
            raise ConfigError(
                f"The URL {shown!r} does not name nodes, as in redis+cluster://h1:7000,h2:7000."
            ) from None
        self._by_slot: dict[int, Address] = {}
        self._pools: dict[Address, Any] = {}
        self._is_stale = True
        self._loading = asyncio.Lock()

    async def of(self, slot: int) -> Address:
        """The node of a slot."""
        async with self._loading:
            if self._is_stale:
                await self._load()
        address = self._by_slot.get(slot)
        if address is None:
            self._is_stale = True
            raise exceptions.ClusterDownError(f"no node has the slot {slot}")
        return address

    def moved(self, slot: int, address: Address) -> None:
        """Note that a slot is elsewhere; others may be too."""
        self._by_slot[slot] = address

    def doubt(self) -> None:
        """A node may be gone: read the table of slots again."""
        self._is_stale = True

    async def pause(self, attempt: int) -> None:
        """Wait before a piece is sent again; the first pause is very short."""
        await self._clock.sleep(min(FIRST_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S))

    async def _load(self) -> None:
        """Ask one node after another for the table, until one of them answers."""
        known = [*dict.fromkeys(self._by_slot.values()), *self._seeds]
        failure: Exception | None = None
        for address in dict.fromkeys(known):
            link = self.link(address)
            try:
                rows = await link.ask("CLUSTER", "SLOTS")
            except PASSING as error:
                failure = error
            else:
                self._by_slot = _table(rows, address[0])
                self._is_stale = False
                return
            finally:
                await link.close()
        assert failure is not None
        raise failure

    def link(self, address: Address) -> Link:
        """A new link to a node."""
        return Link(partial(self._open, address))

    async def _open(self, address: Address) -> Any:
        pool = self._pools.get(address)
        if pool is None:
            url = f"{self._prefix}{address[0]}:{address[1]}"
            pool = redis_asyncio.ConnectionPool.from_url(url, **settings())
            self._pools[address] = pool
        connection = pool.make_connection()
        await connection.connect()
        return connection

    async def close(self) -> None:
        """Close the connections of the pools."""
        for pool in self._pools.values():
            await pool.disconnect()


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host:
        raise ValueError(text)
    return host, int(port)


def _table(rows: Sequence[Any], asked: str) -> dict[int, Address]:
    """The table of CLUSTER SLOTS; a node without a host name is the one that we asked."""
    found: dict[int, Address] = {}
    for first, last, primary, *_ in rows:
        address = (primary[0] or b"").decode() or asked, int(primary[1])
        found |= dict.fromkeys(range(first, last + 1), address)
    return found


class Piece:
    """A command, or a whole transaction, that goes to one node."""

    def __init__(self, at: int, commands: Sequence[Command]) -> None:
        #: The index of its first reply.
        self.at = at
        self.commands = commands
        keys = [key for command in commands if (key := key_of(command)) is not None]
        self.slot = slot_of(keys[0]) if keys else 0
        #: The node to ask instead of the node of its slot.
        self.ask: Address | None = None

    @property
    def is_transaction(self) -> bool:
        """Whether it is more than one command."""
        return len(self.commands) > 1


def pieces(commands: Sequence[Command]) -> list[Piece]:
    """Split a list of commands at transactions."""
    found = []
    start: int | None = None
    for at, command in enumerate(commands):
        if command[0] == "MULTI":
            start = at
        if start is None:
            found.append(Piece(at, [command]))
        elif command[0] == "EXEC":
            found.append(Piece(start, commands[start : at + 1]))
            start = None
    return found


class ClusterLink(Asker):
    """The same as ``Link``, for all nodes together."""

    def __init__(self, nodes: Nodes, *, is_by_slot: bool = False) -> None:
        """``is_by_slot``: a connection for each slot, for blocking commands."""
        self._nodes = nodes
        self._is_by_slot = is_by_slot
        self._links: dict[tuple[Address, int], Link] = {}

    async def ask_all(self, commands: Sequence[Command], *, block_s: float = 0.0) -> list[Reply]:
        replies: list[Reply] = [None] * len(commands)
        left = pieces(commands)
        for attempt in range(MOST_REDIRECTIONS):
            left = await self._send(left, replies, block_s)
            if not left:
                break
            await self._nodes.pause(attempt)
        for piece in left:
            # EXEC only reports that a command before it was wrong.
            place = slice(piece.at, piece.at + len(piece.commands))
            replies[place.stop - 1] = redirection(replies[place])
        return replies

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """The replies of a transaction; an error inside it is raised."""
        return done(await self.ask_all([("MULTI",), *commands, ("EXEC",)]))

    async def _send(
        self, todo: Sequence[Piece], replies: list[Reply], block_s: float
    ) -> list[Piece]:
        """Send pieces to their nodes; return those to send again."""
        by_link: dict[Link, list[Piece]] = {}
        for piece in todo:
            link = self._link(piece.ask or await self._nodes.of(piece.slot), piece.slot)
            by_link.setdefault(link, []).append(piece)
        answers = await asyncio.gather(
            *(_asked(link, some, block_s) for link, some in by_link.items()),
            return_exceptions=True,
        )
        again: list[Piece] = []
        failure: BaseException | None = None
        for some, answer in zip(by_link.values(), answers, strict=True):
            if isinstance(answer, BaseException):
                self._nodes.doubt()
                failure = answer
                continue
            for piece, got in zip(some, answer, strict=True):
                replies[piece.at : piece.at + len(got)] = got
                if self._is_elsewhere(piece, got):
                    again.append(piece)
        if failure is not None:
            raise failure
        return again

    def _is_elsewhere(self, piece: Piece, got: Sequence[Reply]) -> bool:
        """Whether a piece was not done; this also notes where to send it instead."""
        error = redirection(got)
        piece.ask = None
        if isinstance(error, exceptions.MovedError):
            self._nodes.moved(piece.slot, (error.host, error.port))
        elif isinstance(error, exceptions.AskError) and not piece.is_transaction:
            piece.ask = error.host, error.port
        elif error is not None:
            self._nodes.doubt()
        return error is not None

    def _link(self, address: Address, slot: int) -> Link:
        place = address, slot if self._is_by_slot else -1
        link = self._links.get(place)
        if link is None:
            link = self._links[place] = self._nodes.link(address)
        return link

    async def close(self) -> None:
        """Close every connection."""
        links, self._links = list(self._links.values()), {}
        for link in links:
            await link.close()


async def _asked(link: Link, some: Sequence[Piece], block_s: float) -> list[list[Reply]]:
    """The replies of pieces for one node."""
    commands: list[Command] = []
    for piece in some:
        if piece.ask is not None:
            commands.append(("ASKING",))
        commands += piece.commands
    replies = await link.ask_all(commands, block_s=block_s)
    found, at = [], 0
    for piece in some:
        at += piece.ask is not None
        found.append(replies[at : at + len(piece.commands)])
        at += len(piece.commands)
    return found


def redirection(replies: Sequence[Reply]) -> Exception | None:
    """The reply that means: not here, or not now."""
    return next((one for one in replies if isinstance(one, REDIRECTIONS)), None)


class Watch:
    """A link for WATCH ... MULTI ... EXEC: the first key chooses the node."""

    def __init__(self, nodes: Nodes, links: dict[Address, Link]) -> None:
        self._nodes = nodes
        self._links = links
        self._link: Link | None = None

    async def ask(self, *command: Argument, block_s: float = 0.0) -> Reply:
        """One command and its reply; a moving slot counts as a changed key."""
        if self._link is None:
            return await self._first(command)
        (reply,) = await self._link.ask_all([command])
        if isinstance(reply, REDIRECTIONS):
            self._nodes.doubt()
            raise exceptions.WatchError("the slot moves")
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _first(self, command: Command) -> Reply:
        slot = slot_of(key_of(command) or "")
        for attempt in range(MOST_REDIRECTIONS):
            address = await self._nodes.of(slot)
            link = self._links.get(address)
            if link is None:
                link = self._links[address] = self._nodes.link(address)
            try:
                reply = await link.ask(*command)
            except REDIRECTIONS:
                self._nodes.doubt()
                await self._nodes.pause(attempt + 1)
            except PASSING:
                self._nodes.doubt()
                raise
            else:
                self._link = link
                return reply
        raise exceptions.TryAgainError(f"the slot {slot} has been moving for too long")

    async def ask_all(self, commands: Sequence[Command], *, block_s: float = 0.0) -> list[Reply]:
        """The replies of many commands; if the slot has moved, EXEC did nothing."""
        assert self._link is not None
        replies = await self._link.ask_all(commands)
        if redirection(replies) is not None:
            self._nodes.doubt()
            return [None] * len(replies)
        return replies

    async def drop(self) -> None:
        """Close the connection, so that nothing stays watched."""
        if self._link is not None:
            await self._link.close()


class Cluster:
    """A cluster, with the interface of ``Server``."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.where = without_secret(url)
        self._nodes = Nodes(url, clock)
        self._shared = ClusterLink(self._nodes)
        self._blocking: list[ClusterLink] = []
        self._watched: dict[Address, Link] = {}
        self._one_watcher = asyncio.Lock()

    @property
    def shared(self) -> ClusterLink:
        """The link for all quick commands."""
        return self._shared

    def blocking(self) -> ClusterLink:
        """A new link for blocking commands."""
        link = ClusterLink(self._nodes, is_by_slot=True)
        self._blocking.append(link)
        return link

    def slot(self, key: str) -> int:
        """Keys with the same number can be in one command, and in one transaction."""
        return slot_of(key)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Watch]:
        """A link for WATCH ... MULTI ... EXEC, for this caller alone."""
        async with self._one_watcher:
            watch = Watch(self._nodes, self._watched)
            try:
                yield watch
            except BaseException:
                await watch.drop()
                raise

    async def close(self) -> None:
        """Close every connection."""
        for links in (self._shared, *self._blocking):
            await links.close()
        for link in self._watched.values():
            await link.close()
        await self._nodes.close()
