"""Take over the pending entries of a dead worker, and our own backlog after a restart.

    XPENDING stream group IDLE lease ( cursor + n      consumer, idle time, count
    XCLAIM   stream group me lease id ... RETRYCOUNT n      the same entries, once for each n

A living worker resets the idle time of all its entries to 0 three times a lease (lanes/leases.py),
so only dead workers have entries that are idle for a whole lease.

RETRYCOUNT keeps the count as it is.  The count rises when a handler starts, not when an entry
changes its owner.  Otherwise a poisonous entry that keeps killing workers would also raise the
counts of the innocent entries that they had prefetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebay_workers.clock import Clock
from forebay_workers.fetch.groups import id_key
from forebay_workers.fetch.reading import messages_of
from forebay_workers.message import Message
from forebay_workers.servers.connect import Asks
from forebay_workers.servers.link import Command

START = "-"


class Claimer:
    """Claims for one consumer of one group, page by page, stream by stream."""

    def __init__(self, link: Asks, group: str, consumer: str, clock: Clock) -> None:
        self._link = link
        self._group = group
        self._consumer = consumer
        self._clock = clock
        #: Where the next page begins, by stream.
        self._cursors: dict[str, str] = {}

    async def claim(self, stream: str, idle_s: float, count: int) -> list[Message]:
        """Entries that have been idle for ``idle_s``."""
        idle_ms = int(idle_s * 1000)
        start = self._cursors.get(stream, START)
        rows = await self._link.ask(
            "XPENDING", stream, self._group, "IDLE", idle_ms, start, "+", count
        )
        full = len(rows) == count
        self._cursors[stream] = f"({rows[-1][0].decode()}" if full else START
        return await self.take(stream, rows, idle_ms)

    async def own_backlog(self, stream: str, count: int, after: str = START) -> list[Message]:
        """Entries that this consumer had before a restart under the same name."""
        rows = await self._link.ask(
            "XPENDING", stream, self._group, after, "+", count, self._consumer
        )
        return await self.take(stream, rows, 0)

    async def take(self, stream: str, rows: Sequence[Any], idle_ms: int) -> list[Message]:
        """Claim the entries that XPENDING listed; another worker may have been quicker."""
        if not rows:
            return []
        commands = claims(stream, self._group, self._consumer, rows, idle_ms)
        replies = await self._link.ask_all([command for command, _ in commands])
        found: list[Message] = []
        for (_, starts), reply in zip(commands, replies, strict=True):
            if isinstance(reply, Exception):
                raise reply
            taken = messages_of(stream, [one for one in reply if one], self._clock)
            for message in taken:
                message.starts = starts
            found += taken
        found.sort(key=lambda message: id_key(message.key))
        return found


def claims(
    stream: str, group: str, consumer: str, rows: Sequence[Any], idle_ms: int
) -> list[tuple[Command, int]]:
    """One XCLAIM for each count among the rows of XPENDING, with that count."""
    by_count: dict[int, list[bytes]] = {}
    for key, _, _, count in rows:
        by_count.setdefault(count, []).append(key)
    return [
        (("XCLAIM", stream, group, consumer, idle_ms, *keys, "RETRYCOUNT", count), count)
        for count, keys in by_count.items()
    ]
