"""Leases: they tell other workers that a message has a living owner.

The server knows the idle time of each pending entry.  A worker may claim an entry that is idle for
a whole lease.  So each worker resets the idle time of all its entries to 0, three times in a
lease, however long a handler takes:

    XCLAIM stream group me idle id id id ... JUSTID      JUSTID: no delivery is counted

``idle`` is a little less than the time since this process last did so.  If the process was stopped
for longer than a lease (SIGSTOP, a sleeping machine), another worker may have claimed the entry and
started it.  Its idle time is then short, and the XCLAIM leaves it alone.  Such a message is lost to
us: its handler is cancelled, and it is neither acknowledged nor buried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from forebay_workers.clock import Clock
from forebay_workers.lanes.held import Held
from forebay_workers.message import Message
from forebay_workers.servers.connect import Asks
from forebay_workers.servers.link import Command

RENEWALS = 3
#: Clocks of two machines do not run at the same speed.
MARGIN = 0.9
PAGE = 1000


class Leases:
    """Renews the leases of everything that a process holds."""

    def __init__(self, link: Asks, group: str, consumer: str, lease_s: float, clock: Clock) -> None:
        self._link = link
        self._group = group
        self._consumer = consumer
        self.pause_s = lease_s / RENEWALS
        self._clock = clock

    async def renew(self, held: Mapping[str, Held]) -> list[Message]:
        """Renew due leases; return messages that another consumer owns now."""
        lost: list[Message] = []
        for stream, messages in held.items():
            due = self._due(messages.messages.values())
            for at in range(0, len(due), PAGE):
                missing = await self._renew_page(stream, due[at : at + PAGE])
                lost += await self._taken(stream, missing)
        return lost

    def _due(self, messages: Iterable[Message]) -> list[Message]:
        """Messages whose lease would be older than a third at the end of the next turn."""
        latest_s = self._clock.monotonic_s() - self.pause_s * MARGIN
        return [message for message in messages if message.leased_s <= latest_s]

    async def _renew_page(self, stream: str, page: list[Message]) -> list[Message]:
        youngest_s = self._clock.monotonic_s() - max(message.leased_s for message in page)
        keys = [message.key for message in page]
        idle_ms = int(youngest_s * MARGIN * 1000)
        reply = await self._link.ask(
            "XCLAIM", stream, self._group, self._consumer, idle_ms, *keys, "JUSTID"
        )
        now_s, renewed = self._clock.monotonic_s(), set(reply)
        for message in page:
            if message.key in renewed:
                message.leased_s = now_s
        return [message for message in page if message.key not in renewed]

    async def _taken(self, stream: str, missing: list[Message]) -> list[Message]:
        """Messages of another consumer; the others were acknowledged or deleted meanwhile."""
        if not missing:
            return []
        commands: list[Command] = [
            ("XPENDING", stream, self._group, message.key, message.key, 1) for message in missing
        ]
        replies = await self._link.ask_all(commands)
        me = self._consumer.encode()
        pairs: Iterable[tuple[Message, Any]] = zip(missing, replies, strict=True)
        return [m for m, rows in pairs if isinstance(rows, list) and rows and rows[0][1] != me]
