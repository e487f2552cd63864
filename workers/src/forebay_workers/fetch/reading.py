"""New entries of all streams in one blocking command; if the server can, together with the entries
of dead workers.

    XREADGROUP GROUP g me COUNT n [MAXSIZE b] BLOCK ms [CLAIM lease] STREAMS a b > >

A reply holds [id, fields] for each entry, with CLAIM also its idle time and how often it was
delivered before.  CLAIM counts its deliveries; the start of a handler counts again, so the count is
set back at once (claiming.py says why).

A cluster reads one slot in a command.  So each slot has its own read under way.  The read that ends
first is delivered; the others continue to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

from forebay_workers.clock import Clock
from forebay_workers.fetch.counts import count
from forebay_workers.message import Message
from forebay_workers.servers.abilities import Abilities
from forebay_workers.servers.connect import Asks, Serves
from forebay_workers.servers.link import Command

#: While a stream has no room, reads of the others block only this long.
SHORT_BLOCK_S = 0.05
#: The receiver of a stream's entries.
T = TypeVar("T")
Entries = list[Any]
Read = list[tuple[str, Entries]]


class Reader(Generic[T]):
    """Reads as one consumer of one group."""

    def __init__(
        self,
        server: Serves,
        link: Asks,
        group: str,
        consumer: str,
        lease_s: float,
        abilities: Abilities,
    ) -> None:
        self._server = server
        self._link = link
        self._group = group
        self._consumer = consumer
        self._lease_ms = int(lease_s * 1000)
        self._abilities = abilities

        #: Reads under way, by slot, with their receivers.
        self._flying: dict[int, tuple[asyncio.Task[Read], dict[str, T]]] = {}

    @property
    def flying(self) -> Collection[str]:
        """Streams with a read under way."""
        return {stream for _, streams in self._flying.values() for stream in streams}

    async def read(
        self,
        streams: Mapping[str, T],
        count: int,
        most_bytes: int,
        block_s: float,
        room: asyncio.Event | None,
    ) -> list[tuple[T, Entries]]:
        """Entries with their receivers; nothing if none arrived in time.

        ``room``: given if streams without room were left out.  It is set when there may be room;
        it cannot end a single read for all streams, so such a read blocks only for a moment.
        """
        slots: dict[int, dict[str, T]] = {}
        for stream, whose in streams.items():
            slots.setdefault(self._server.slot(stream), {})[stream] = whose
        if len(slots) == 1 and not self._flying:
            short_s = block_s if room is None else min(block_s, SHORT_BLOCK_S)
            return _for(streams, await self._read(list(streams), count, most_bytes, short_s))
        for slot, some in slots.items():
            if slot not in self._flying:
                read = self._read(list(some), count, most_bytes, block_s)
                self._flying[slot] = asyncio.create_task(read), some
        await self._wait(room)
        return self._landed()

    async def _wait(self, room: asyncio.Event | None) -> None:
        """Wait until a read has ended, or there is room."""
        waiting: set[asyncio.Task[Any]] = {task for task, _ in self._flying.values()}
        has_room = None if room is None else asyncio.create_task(room.wait())
        try:
            some = waiting if has_room is None else {*waiting, has_room}
            await asyncio.wait(some, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if has_room is not None:
                has_room.cancel()

    def _landed(self) -> list[tuple[T, Entries]]:
        """The entries of reads that have ended; an error is raised if no read brought entries."""
        found: list[tuple[T, Entries]] = []
        for slot, (task, streams) in list(self._flying.items()):
            if task.done() and (not found or task.exception() is None):
                # With entries of other reads, an error waits for the next call: nothing is lost.
                del self._flying[slot]
                found += _for(streams, task.result())
        return found

    async def _read(
        self, streams: Sequence[str], count: int, most_bytes: int, block_s: float
    ) -> Read:
        command: list[Any] = ["XREADGROUP", "GROUP", self._group, self._consumer, "COUNT", count]
        if self._abilities.maxsize:
            command += ["MAXSIZE", most_bytes]
        command += ["BLOCK", max(1, int(block_s * 1000))]
        if self._abilities.claim:
            command += ["CLAIM", self._lease_ms]
        command += ["STREAMS", *streams, *(">" for _ in streams)]
        reply = await self._link.ask(*command, block_s=block_s)
        return [(stream.decode(), entries) for stream, entries in reply or ()]

    def cancel(self) -> None:
        """Cancel all reads."""
        for task, _ in self._flying.values():
            if not task.cancel() and not task.cancelled():
                task.exception()  # marks it as seen
        self._flying = {}


def _for(streams: Mapping[str, T], read: Read) -> list[tuple[T, Entries]]:
    return [(streams[stream], entries) for stream, entries in read]


def messages_of(stream: str, entries: Sequence[Any], clock: Clock) -> list[Message]:
    """Entries as messages; those without fields were deleted and need no handler."""
    now_ms, now_s = clock.now_ms(), clock.monotonic_s()
    return [
        Message(stream, entry[0], entry[1], entry[3] if len(entry) > 2 else 0, now_ms, now_s)
        for entry in entries
        if entry[1] is not None
    ]


def uncounted(messages: Sequence[Message], group: str, consumer: str) -> list[Command]:
    """Commands that set the counts of claimed messages back to what they were.

    Some of them may have been ours all the time: CLAIM also takes entries of the caller itself, if
    the caller was silent for a lease.
    """
    by_count: dict[tuple[str, int], list[bytes]] = {}
    for message in messages:
        begun = message.attempt if message.is_running else max(1, message.starts)
        by_count.setdefault((message.stream, begun), []).append(message.key)
    return [
        count(stream, group, consumer, keys, starts) for (stream, starts), keys in by_count.items()
    ]


async def still_ours(
    link: Asks, messages: Sequence[Message], group: str, consumer: str
) -> list[Message]:
    """Messages that no other consumer has claimed since; none if the group is gone."""
    commands: list[Command] = [
        ("XPENDING", one.stream, group, one.key, one.key, 1, consumer) for one in messages
    ]
    replies = await link.ask_all(commands)
    pairs = zip(messages, replies, strict=True)
    return [one for one, rows in pairs if isinstance(rows, list) and rows]
