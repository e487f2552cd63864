"""The members of a group on one partitioned stream, and their common plan.

    {orders}:partitions                 16              the largest count of any member
    {orders}:plan:billing               {"members": ..., "owners": ...}      (plan.py)
    {orders}:member:billing:w1          1, expires after a lease      w1 is alive

There is no coordinator.  A member that finds the plan wrong (it is not in it, or another member is
gone) makes a new one; WATCH lets one of them win, and the others read its plan.  To look, a worker
sends one command:

    MGET plan member member ...

All keys have the stream's name as their hash tag, so that a cluster keeps them together.
"""

from __future__ import annotations

from redis.exceptions import WatchError

from forebay_workers.partitioned import Partitioned
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.link import Command, done
from forebay_workers.shares.plan import Plan, load, share

#: To fail, others must write a plan at the same moment this often.
MOST_RACES = 100


def count_key(name: str) -> str:
    """The key of the number of partitions."""
    return f"{{{name}}}:partitions"


async def known_count(server: Serves, name: str) -> int:
    """How many partitions a stream has; 0 if it has none."""
    return int(await server.shared.ask("GET", count_key(name)) or 0)


class Members:
    """One member's view of the group."""

    def __init__(
        self, server: Serves, partitioned: Partitioned, group: str, me: str, lease_s: float
    ) -> None:
        self._server = server
        self._partitioned = partitioned
        self._prefix = f"{{{partitioned.name}}}:member:{group}:"
        self._plan_key = f"{{{partitioned.name}}}:plan:{group}"
        self._me = me
        self._lease_ms = int(lease_s * 1000)
        self.plan = Plan()

    async def live(self) -> None:
        """Report that this member is alive, for a lease."""
        await self._server.shared.ask("SET", self._prefix + self._me, 1, "PX", self._lease_ms)

    async def look(self) -> Plan:
        """The plan; a new one, if the current one is wrong."""
        keys = [self._plan_key, *(self._prefix + name for name in self.plan.members)]
        text, *alive = await self._server.shared.ask("MGET", *keys)
        plan = load(text)
        has_same_members = plan.members == self.plan.members
        self.plan = plan
        if (
            self._me not in plan.members
            or len(plan.owners) < self._partitioned.count
            or (has_same_members and None in alive)
        ):
            await self.live()
            await self._share(is_leaving=False)
        return self.plan

    async def leave(self) -> None:
        """Give this member's partitions to the others."""
        await self._share(is_leaving=True)
        await self._server.shared.ask("DEL", self._prefix + self._me)

    async def _share(self, *, is_leaving: bool) -> None:
        for _ in range(MOST_RACES):
            async with self._server.watching() as link:
                await link.ask("WATCH", self._plan_key)
                before = load(await link.ask("GET", self._plan_key))
                others = [name for name in before.members if name != self._me]
                # MGET needs at least one key: the count is always one.
                count_name = count_key(self._partitioned.name)
                keys = [count_name, *(self._prefix + name for name in others)]
                known, *alive = await link.ask("MGET", *keys)
                members = [name for name, is_alive in zip(others, alive, strict=True) if is_alive]
                count = max(int(known or 0), self._partitioned.count, len(before.owners))
                after = share(before, members if is_leaving else [*members, self._me], count)
                write: Command = ("SET", self._plan_key, after.dump())
                if not after.members:
                    write = ("DEL", self._plan_key)
                commands: list[Command] = [write, ("SET", count_name, count)]
                try:
                    done(await link.ask_all([("MULTI",), *commands, ("EXEC",)]))
                except WatchError:
                    continue
            self.plan = after
            return
