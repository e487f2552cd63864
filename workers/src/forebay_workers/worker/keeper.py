"""Keeps the partitions that this process owns of a partitioned stream.

    look      at the plan, once a second;  four times while a partition is on its way to us
    take      partitions that the plan gives us and that are free: claim pending entries, then read
    drain     partitions that the plan gives to others: read no more, let handlers end, hand back
              the rest, and only then let the partition go
    renew     three times a lease: this process is alive, and owns these partitions
    lose      a lease that has ended: cancel its handlers, settle nothing, forget its messages

The reading loop itself does two of these steps, between two reads of a partition.  It starts to
drain (worker.py), so that no read is under way in a partition that we let go.  It claims pending
entries, so that it claims none that is on its way to us.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

from forebay_workers.fetch.claiming import Claimer
from forebay_workers.fetch.groups import ensure_group
from forebay_workers.fetch.taking_over import take_over
from forebay_workers.observe.hooks import log
from forebay_workers.partitioned import Partitioned
from forebay_workers.servers.abilities import Abilities
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.trouble import FAULTS, is_group_gone, is_passing, said
from forebay_workers.settle.handing_back import hand_back, leave
from forebay_workers.shares.members import Members
from forebay_workers.shares.owners import Lease, Owners
from forebay_workers.worker.flow import Flow, Parts, Subscription
from forebay_workers.worker.owned import OwnedFlow, owned_flow

LOOK_S, SOON_S = 1.0, 0.25
#: The shortest time between two looks.
LEAST_S = 0.05
RENEWALS = 3
#: No XNACK: entries that are handed back stay pending for a consumer, which keeps their order.
PLAIN = Abilities()


class Keeper:
    """One partitioned stream in one process."""

    def __init__(
        self,
        subscription: Subscription,
        partitioned: Partitioned,
        server: Serves,
        parts: Parts,
        *,
        me: str,
        lease_s: float,
        grace_s: float,
        flows: dict[str, Flow],
        wake: Callable[[], None],
    ) -> None:
        """``me`` is the unique name of this process; its partitions are put into ``flows``."""
        self._subscription = subscription
        self._partitioned = partitioned
        self._server = server
        self._parts = parts
        self._clock = parts.clock
        self._me = me
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._flows = flows
        self._wake = wake
        self._members = Members(server, partitioned, parts.group, me, lease_s)
        self._owners = Owners(server, parts.group, me, lease_s, parts.clock)
        self._claimer = Claimer(server.shared, parts.group, parts.consumer, parts.clock)
        self._slots = asyncio.Semaphore(subscription.options.concurrency)
        self._leases: dict[str, Lease] = {}
        self._renew_at_s = 0.0
        #: Tasks that end partitions; a partition is taken again only after its task is done.
        self._ending: dict[str, asyncio.Task[None]] = {}

    @property
    def flows(self) -> list[OwnedFlow]:
        """The partitions that this process owns."""
        found = (self._flows.get(stream) for stream in self._leases)
        return [flow for flow in found if isinstance(flow, OwnedFlow)]

    async def run(self) -> None:
        """Run until cancelled."""
        watch = asyncio.create_task(self._watch())
        try:
            while True:
                pause_s = LOOK_S
                try:
                    pause_s = SOON_S if await self._look() else LOOK_S
                except FAULTS as error:
                    # The reading loop waits for the server, and creates groups again.
                    if not is_passing(error) and not is_group_gone(error):
                        raise said(error, self._server.where) from None
                pause_s *= 1 + self._clock.jitter() / 5
                until_renewal_s = self._renew_at_s - self._clock.monotonic_s()
                await self._clock.sleep(max(LEAST_S, min(pause_s, until_renewal_s)))
        finally:
            watch.cancel()

    async def _look(self) -> bool:
        """Look at the plan and act on it; whether a partition is on its way."""
        self.lose_ended()
        await self._renew()
        plan = await self._members.look()
        wanted = {self._partitioned.stream(number) for number in plan.of(self._me)}
        for flow in self.flows:
            if flow.stream not in wanted and not flow.is_leaving:
                flow.is_leaving = True
                self._wake()
        missing = sorted(wanted - set(self._leases) - set(self._ending))
        if missing:
            self._leases |= await self._owners.take(missing)
        for stream, lease in list(self._leases.items()):
            if stream not in self._flows:
                await self._begin(stream, lease)
        return wanted != {flow.stream for flow in self.flows}

    async def _renew(self) -> None:
        """Report that we are alive and own these, if it is due."""
        now_s = self._clock.monotonic_s()
        if now_s < self._renew_at_s:
            return
        self._renew_at_s = now_s + self._lease_s / RENEWALS
        await self._members.live()
        await self._owners.renew(list(self._leases.values()))
        self.lose_ended()
        for flow in self.flows:
            flow.must_check = True
        self._wake()

    async def _begin(self, stream: str, lease: Lease) -> None:
        """A partition is ours: first its pending entries, then new ones."""
        options = self._subscription.options
        link, group = self._server.shared, self._parts.group
        await ensure_group(link, stream, group, options.start)
        if self._subscription.batch is not None:
            options = replace(options, concurrency=1)
        part = replace(self._subscription, stream=stream, options=options)
        flow = owned_flow(part, self._parts, lease, self._slots)
        pending = await take_over(link, self._claimer, stream, group, flow.held.messages)
        if lease.is_valid:
            flow.take(pending)
            self._flows[stream] = flow
            self._share_room()
            self._wake()

    def _share_room(self) -> None:
        flows = self.flows
        for flow in flows:
            flow.held.share(len(flows))

    async def check(self, flow: OwnedFlow) -> None:
        """Take pending entries that are not here; called while no read of it is under way."""
        unbegun = self._parts.consumer.encode() if flow.has_lost_reply else None
        link, group = self._server.shared, self._parts.group
        found = await take_over(
            link, self._claimer, flow.stream, group, flow.held.messages, unbegun
        )
        flow.must_check = flow.has_lost_reply = False
        if flow.lease.is_valid:
            flow.take(found)

    def drain(self, flow: OwnedFlow) -> None:
        """Start to end a partition; called while no read of it is under way."""
        if flow.stream not in self._ending:
            self._end(flow, self._drain(flow))

    async def _drain(self, flow: OwnedFlow) -> None:
        await flow.close(self._grace_s)
        await self._parts.settler.caught_up()
        try:
            await self.hand_over(flow)
        except FAULTS as error:
            # The lease expires, and the next owner claims the pending entries.
            log.warning("%s was not handed over: %s", flow.stream, error)
        self._forget(flow)

    async def hand_over(self, flow: OwnedFlow) -> None:
        """Hand back messages that were not started, and let the partition go."""
        if not flow.lease.is_valid:
            return
        link, parts = self._server.shared, self._parts
        name = (flow.stream, parts.group, parts.consumer)
        await hand_back(link, *name, flow.held.messages, PLAIN)
        await leave(link, *name)
        await self._owners.let_go([flow.lease])

    def lose_ended(self) -> None:
        """Drop partitions whose lease has ended."""
        for stream, lease in list(self._leases.items()):
            if lease.is_valid:
                continue
            del self._leases[stream]
            flow = self._flows.pop(stream, None)
            if isinstance(flow, OwnedFlow):
                log.warning("the lease on %s has ended; another worker may have it", stream)
                flow.lose_all()
                if stream not in self._ending:
                    self._end(flow, flow.close(0))

    def _end(self, flow: OwnedFlow, end: Coroutine[Any, Any, None]) -> None:
        task = self._ending[flow.stream] = asyncio.create_task(end)
        task.add_done_callback(lambda _: self._ending.pop(flow.stream, None))

    def _forget(self, flow: OwnedFlow) -> None:
        if self._flows.get(flow.stream) is flow:
            del self._flows[flow.stream]
            self._leases.pop(flow.stream, None)
            self._share_room()

    async def _watch(self) -> None:
        """End leases in time, also while the server does not answer."""
        while True:
            now_s = self._clock.monotonic_s()
            ends = [lease.ends_s - now_s for lease in self._leases.values()]
            await self._clock.sleep(max(SOON_S, min(ends, default=LOOK_S)))
            self.lose_ended()

    async def leave(self) -> None:
        """Leave the plan; the others wait until we have let go of our partitions."""
        for task in list(self._ending.values()):
            task.cancel()
        with suppress(*FAULTS):
            await self._members.leave()

    async def hold(self) -> None:
        """Keep our partitions while handlers end, until cancelled."""
        watch = asyncio.create_task(self._watch())
        try:
            while True:
                await self._clock.sleep(self._lease_s / RENEWALS)
                with suppress(*FAULTS):
                    await self._owners.renew(list(self._leases.values()))
        finally:
            watch.cancel()
