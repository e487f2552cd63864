"""Delayed messages, also on servers without sorted sets.

    {orders}:later              set      hours with messages:     498541
    {orders}:later:498541       set      seconds of that hour:    1794748612 1794748700
    {orders}:later:1794748612   stream   the messages of that second, in the order of publishing

    publish   MULTI, SADD hours, SADD seconds, XADD second, EXEC
    move      WATCH second;  MULTI, XADD orders ..., XDEL second ..., EXEC       when it has passed
    sweep     WATCH second;  it is empty:  MULTI, DEL second, SREM seconds, EXEC

Every worker of the stream moves messages.  WATCH lets one of them win a page; the others leave the
rest to it.  A message moves once, never early, and at most about a second late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.exceptions import WatchError

from forebay_workers.clock import Clock
from forebay_workers.publish.publisher import xadd
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.link import Command, done
from forebay_workers.servers.slots import beside

PAGE = 200
HOUR_S = 3600


def hours_key(stream: str) -> str:
    """The set of hours."""
    return beside(stream, "later")


def second_key(stream: str, second: int) -> str:
    """The stream of one second."""
    return f"{hours_key(stream)}:{second}"


def hour_key(stream: str, hour: int) -> str:
    """The set of seconds of one hour."""
    return f"{hours_key(stream)}:{hour}"


def add_later(stream: str, fields: Sequence[bytes], due_ms: int) -> list[Command]:
    """Commands of a transaction that stores a message until ``due_ms``."""
    second = -(-due_ms // 1000)
    hour = second // HOUR_S
    return [
        ("SADD", hours_key(stream), hour),
        ("SADD", hour_key(stream, hour), second),
        xadd(second_key(stream, second), fields),
    ]


class Mover:
    """Moves messages whose time has come."""

    def __init__(self, server: Serves, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    async def move(self, stream: str) -> int:
        """Move all due messages; return how many this worker has moved."""
        now_s = self._clock.now_ms() // 1000
        moved = 0
        for hour in await self._members(hours_key(stream)):
            if hour > now_s // HOUR_S:
                break
            for second in await self._members(hour_key(stream, hour)):
                if second > now_s:
                    break
                moved += await self._empty(stream, hour, second)
            if hour < now_s // HOUR_S:
                await self._close_hour(stream, hour)
        return moved

    async def _members(self, key: str) -> list[int]:
        return sorted(map(int, await self._server.shared.ask("SMEMBERS", key)))

    async def _empty(self, stream: str, hour: int, second: int) -> int:
        """Move page after page, until the second is empty or another worker moves it."""
        moved = 0
        try:
            while count := await self._page(stream, hour, second):
                moved += count
        except WatchError:
            pass
        return moved

    async def _page(self, stream: str, hour: int, second: int) -> int:
        key = second_key(stream, second)
        async with self._server.watching() as link:
            await link.ask("WATCH", key)
            entries: list[Any] = await link.ask("XRANGE", key, "-", "+", "COUNT", PAGE)
            commands: list[Command] = [xadd(stream, raw) for _, raw in entries]
            if entries:
                commands.append(("XDEL", key, *(entry_id for entry_id, _ in entries)))
            else:
                commands += [("DEL", key), ("SREM", hour_key(stream, hour), second)]
            done(await link.ask_all([("MULTI",), *commands, ("EXEC",)]))
        return len(entries)

    async def _close_hour(self, stream: str, hour: int) -> None:
        """Forget a past hour, if nothing of it is left."""
        key = hour_key(stream, hour)
        async with self._server.watching() as link:
            await link.ask("WATCH", key)
            if await link.ask("EXISTS", key):
                await link.ask("UNWATCH")
                return
            forget: list[Command] = [("MULTI",), ("SREM", hours_key(stream), hour), ("EXEC",)]
            await link.ask_all(forget)
