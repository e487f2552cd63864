"""Owners of partitions: leases that expire.

    orders:{3}:owner:billing     w1/5f0c...     expires after a lease

    take      SET owner me NX PX lease                       it has no owner
    renew     WATCH owner; it is me;  MULTI, PEXPIRE, EXEC   three times a lease
    let go    WATCH owner; it is me;  MULTI, DEL, EXEC       after the partition is drained

Rules:

1.  An owner counts its lease from before its request, and ends it a tenth early.  So it has stopped
    when the server lets the next owner in, also if it was frozen or cut off: it checks the clock
    before it starts a handler and before it settles a message.
2.  Late commands of an earlier owner do no harm (fetch/taking_over.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redis.exceptions import WatchError

from forebay_workers.clock import Clock
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.link import Command, done

#: Clocks of two machines do not run at the same speed.
MARGIN = 0.9
MOST_RACES = 3


class Lease:
    """The lease of this process on one partition."""

    def __init__(self, key: str, clock: Clock, ends_s: float) -> None:
        self.key = key
        self._clock = clock
        self.ends_s = ends_s
        self._has_ended = False

    @property
    def is_valid(self) -> bool:
        """Whether no other process can own it."""
        return not self._has_ended and self._clock.monotonic_s() < self.ends_s

    def end(self) -> None:
        """End the lease: the partition is no longer ours."""
        self._has_ended = True

    def prolong(self, ends_s: float) -> None:
        """Prolong the lease, unless it was given up meanwhile."""
        self.ends_s = ends_s


class Owners:
    """Leases on partitions for one member of a group."""

    def __init__(self, server: Serves, group: str, me: str, lease_s: float, clock: Clock) -> None:
        self._server = server
        self._group = group
        self._me = me.encode()
        self._lease_s = lease_s
        self._clock = clock

    def key(self, stream: str) -> str:
        """The key with the owner of a partition."""
        return f"{stream}:owner:{self._group}"

    def _ends_s(self) -> float:
        return self._clock.monotonic_s() + MARGIN * self._lease_s

    async def take(self, streams: Sequence[str]) -> dict[str, Lease]:
        """Take the partitions that have no owner; return their leases."""
        ends_s, lease_ms = self._ends_s(), int(self._lease_s * 1000)
        keys = [self.key(stream) for stream in streams]
        commands: list[Command] = [("SET", key, self._me, "NX", "PX", lease_ms) for key in keys]
        replies = await self._server.shared.ask_all(commands)
        # After an error the result is unknown: if the lease was taken, it expires.
        return {
            stream: Lease(key, self._clock, ends_s)
            for stream, key, reply in zip(streams, keys, replies, strict=True)
            if reply is not None and not isinstance(reply, Exception)
        }

    async def renew(self, leases: Iterable[Lease]) -> None:
        """Prolong the leases; those of partitions with another owner end."""
        for together in self._by_slot(leases):
            ends_s, lease_ms = self._ends_s(), int(self._lease_s * 1000)
            renew: list[Command] = [("PEXPIRE", lease.key, lease_ms) for lease in together]
            for lease in await self._if_mine(together, renew):
                lease.prolong(ends_s)

    async def let_go(self, leases: Sequence[Lease]) -> None:
        """Give the leases up, so that others can take them at once."""
        for together in self._by_slot(leases):
            await self._if_mine(together, [("DEL", lease.key) for lease in together])
            for lease in together:
                lease.end()

    def _by_slot(self, leases: Iterable[Lease]) -> list[list[Lease]]:
        found: dict[int, list[Lease]] = {}
        for lease in leases:
            found.setdefault(self._server.slot(lease.key), []).append(lease)
        return list(found.values())

    async def _if_mine(self, leases: list[Lease], commands: list[Command]) -> list[Lease]:
        """Run one command for each lease that is still mine; return these.  The others end."""
        for _ in range(MOST_RACES):
            async with self._server.watching() as link:
                keys = [lease.key for lease in leases]
                await link.ask("WATCH", *keys)
                owners = await link.ask("MGET", *keys)
                mine = [owner == self._me for owner in owners]
                for lease, is_mine in zip(leases, mine, strict=True):
                    if not is_mine:
                        lease.end()
                chosen = [one for one, is_mine in zip(commands, mine, strict=True) if is_mine]
                try:
                    done(await link.ask_all([("MULTI",), *chosen, ("EXEC",)]))
                except WatchError:
                    continue
                return [lease for lease, is_mine in zip(leases, mine, strict=True) if is_mine]
        return []
