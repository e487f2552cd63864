"""A worker: one loop that reads, and a few tasks next to it.

    loop       own backlog --> entries of dead workers --> new entries, blocking  --> flows
    renewals   three times a lease: this process still owns these
    upkeep     moves delayed messages, trims entries that no group needs any more
    settler    reports the end of messages (settle/settler.py)
    keepers    our part of partitioned streams (keeper.py)

One connection is for blocking reads; everything else shares another one.  Streams that have no room
are left out of the read, which then blocks only for a moment.

Trouble: if the server is away, the worker waits, with growing pauses; if a group is gone, it
creates the group again; either may end the worker instead (``Patience``).  The loop never turns
without having read something or waited for something.

The end (SIGTERM, or ``stop``): read no more; let handlers end within the grace time; cancel the
rest; settle what has ended; hand back everything else, prefetched entries too.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from forebay_workers.clock import Clock
from forebay_workers.fetch.claiming import START, Claimer
from forebay_workers.fetch.counts import begun_before
from forebay_workers.fetch.groups import ensure_group, id_key, remake_group
from forebay_workers.fetch.reading import Reader, messages_of, still_ours, uncounted
from forebay_workers.fetch.taking_over import has_strangers, take_over
from forebay_workers.lanes.leases import Leases
from forebay_workers.message import Message
from forebay_workers.observe.hooks import HookList, log
from forebay_workers.options import Patience
from forebay_workers.partitioned import Partitioned, name_of
from forebay_workers.publish.later import Mover
from forebay_workers.servers.abilities import Abilities, ask_abilities
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.trouble import FAULTS, Pauses, is_group_gone, is_passing, said
from forebay_workers.settle.handing_back import hand_back, leave
from forebay_workers.settle.retention import trim
from forebay_workers.settle.settler import Settler
from forebay_workers.worker.flow import Flow, Parts, Subscription, flow_of
from forebay_workers.worker.keeper import Keeper
from forebay_workers.worker.owned import OwnedFlow

BLOCK_S = 2.0
CLAIM_PAGE = 100
#: If reads can claim, a separate claim is rare: only for what reads leave out (deleted entries).
RARE = 10
#: How long the end waits for a server that is away.
LAST_WORDS_S = 5.0
#: How often to look for due messages, at least, and how often to trim streams.
TICK_S, TRIM_S = 0.25, 5.0
#: One tick looks after one in this many partitions.
PARTS = 3


@dataclass(frozen=True)
class WorkerOptions:
    """The options of a process, for all streams."""

    group: str
    consumer: str
    #: The name is used again after a restart, so it may have a backlog.
    has_fixed_name: bool = False
    lease_s: float = 30.0
    grace_s: float = 30.0
    patience: Patience = field(default_factory=Patience)


class Worker:
    """Reads and handles until it is stopped."""

    def __init__(
        self,
        server: Serves,
        subscriptions: Sequence[Subscription],
        options: WorkerOptions,
        hooks: HookList,
        clock: Clock,
    ) -> None:
        self._server = server
        self._options = options
        self._hooks = hooks
        self._clock = clock
        # A name that is used again does not distinguish one process from the next.
        token = f"/{secrets.token_hex(4)}" if options.has_fixed_name else ""
        self._member = options.consumer + token
        self._room = asyncio.Event()
        self._threads = ThreadPoolExecutor(
            sum(one.options.concurrency for one in subscriptions), "forebay-worker"
        )
        self._settler = Settler(
            server.shared, options.group, options.consumer, clock, hooks, self._let_go
        )
        self._settler.on_settled = self._wake
        parts = Parts(
            *(options.group, options.consumer, clock, hooks, self._threads, self._settler),
            server.slot,
        )
        plain = [one for one in subscriptions if one.partitioned is None]
        #: By stream; keepers add partitions and remove them.
        self.flows: dict[str, Flow] = {one.stream: flow_of(one, parts) for one in plain}
        self._keepers = {
            one.partitioned.name: self._keeper(one, one.partitioned, parts)
            for one in subscriptions
            if one.partitioned is not None
        }
        self._settler.is_owned = lambda stream: isinstance(self.flows.get(stream), OwnedFlow)
        self._abilities = Abilities()
        self._stopped = asyncio.Event()
        self._pauses = Pauses(clock)
        self._claim_at_s = 0.0
        #: A reply may have been lost, with entries that are ours now.
        self._has_lost_reply = False
        #: Held while we take entries that no flow has yet.
        self._taking = asyncio.Lock()
        self._blocking = server.blocking()
        self._reader: Reader[Flow] | None = None
        self._claimer = Claimer(server.shared, options.group, options.consumer, clock)
        self._leases = Leases(
            server.shared, options.group, options.consumer, options.lease_s, clock
        )
        #: Set when streams are being read.
        self.is_ready = asyncio.Event()

    def _keeper(self, subscription: Subscription, partitioned: Partitioned, parts: Parts) -> Keeper:
        options = self._options
        return Keeper(
            *(subscription, partitioned, self._server, parts),
            me=self._member,
            lease_s=options.lease_s,
            grace_s=options.grace_s,
            flows=self.flows,
            wake=self._wake,
        )

    @property
    def _plain(self) -> list[Flow]:
        """The streams that are not partitions."""
        return [flow for flow in self.flows.values() if not isinstance(flow, OwnedFlow)]

    def stop(self) -> None:
        """Start to end; ``run`` returns when all is settled or handed back."""
        self._stopped.set()

    async def run(self) -> None:
        """Work until stopped; ServerError if the server cannot be used."""
        keeping = (keeper.run() for keeper in self._keepers.values())
        work = (self._read(), self._renew(), self._keep_up(), *keeping)
        tasks = [asyncio.create_task(one) for one in work]
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._calm()
            for task in (*tasks, stopping):
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            await self._end()
        for one in ended:
            if isinstance(one, Exception):
                raise one

    async def _calm(self) -> None:
        """Wait for a claim under way, and take no more: without its reply the counts of the claimed
        entries would be too high or too low.
        """
        taking = asyncio.ensure_future(self._taking.acquire())
        timer = self._clock.call_later(LAST_WORDS_S, taking.cancel)
        await asyncio.wait([taking])
        timer.cancel()

    async def _read(self) -> None:
        """The loop, with pauses while something is wrong."""
        is_set_up = False
        while True:
            try:
                if not is_set_up:
                    reader = await self._set_up()
                    is_set_up = True
                    self.is_ready.set()
                await self._turn(reader)
                self._pauses.succeeded()
            except FAULTS as error:
                self._has_lost_reply = is_set_up
                if is_group_gone(error) and self._options.patience.remake_group:
                    await self._remake(error)
                elif is_passing(error):
                    await self._wait_out(error)
                else:
                    raise said(error, self._server.where) from None

    async def _set_up(self) -> Reader[Flow]:
        options, link = self._options, self._server.shared
        self._abilities = await ask_abilities(link)
        if self._keepers:
            # In partitions idle times do not matter: reads must not claim.
            self._abilities = replace(self._abilities, claim=False)
        for flow in self._plain:
            start = flow.subscription.options.start
            await ensure_group(link, flow.stream, options.group, start)
            if options.has_fixed_name:
                await self._own_backlog(flow)
        self._reader = Reader(
            *(self._server, self._blocking, options.group, options.consumer, options.lease_s),
            self._abilities,
        )
        return self._reader

    async def _own_backlog(self, flow: Flow) -> None:
        """All pending entries of our consumer that are not here, before anything new.

        After a restart these are entries that an earlier process started.  After a lost reply they
        are entries that no handler has started.
        """
        after = START
        while backlog := await self._claimer.own_backlog(flow.stream, CLAIM_PAGE, after):
            after = f"({backlog[-1].id}"
            if self._has_lost_reply:
                for message in backlog:
                    message.starts = begun_before(message.starts, self._abilities)
            flow.take(backlog)

    async def _turn(self, reader: Reader[Flow]) -> None:
        """Claim if it is due, read as much as there is room for, or wait for room."""
        async with self._taking:
            if self._has_lost_reply:
                await self._recover()
            if self._clock.monotonic_s() >= self._claim_at_s:
                await self._claim()
        await self._between_reads(reader)
        open_flows = [flow for flow in self.flows.values() if not _is_leaving(flow)]
        rooms = {flow: room for flow in open_flows if (room := self._room_of(flow))}
        if not rooms and not reader.flying:
            self._room.clear()
            await self._room.wait()
            return
        wanted = self._room if len(rooms) < len(open_flows) else None
        self._room.clear()
        now_s = self._clock.monotonic_s()
        block_s = min(BLOCK_S, max(0.001, self._claim_at_s - now_s))
        most_bytes = min((flow.held.room_bytes() for flow in rooms), default=1)
        streams = {flow.stream: flow for flow in rooms}
        count = min(rooms.values(), default=1)
        read = await reader.read(streams, count, most_bytes, block_s, wanted)
        # If this process was frozen, the reply has waited, and others may own its entries now.
        is_late = self._clock.monotonic_s() - now_s > self._options.lease_s / 2
        async with self._taking:
            for flow, entries in read:
                if isinstance(flow, OwnedFlow):
                    await self._deliver_owned(flow, entries)
                else:
                    await self._deliver(flow, entries, is_late=is_late)

    def _room_of(self, flow: Flow) -> int:
        flow.held.adapt(self._clock.monotonic_s())
        return flow.held.room()

    async def _recover(self) -> None:
        """Find entries that are ours, after a reply may have been lost."""
        for flow in self.flows.values():
            if isinstance(flow, OwnedFlow):
                flow.must_check = flow.has_lost_reply = True
            else:
                await self._own_backlog(flow)
        self._has_lost_reply = False

    async def _between_reads(self, reader: Reader[Flow]) -> None:
        """The steps in a partition that need a moment without a read of it under way."""
        flying = reader.flying
        for flow in list(self.flows.values()):
            if isinstance(flow, OwnedFlow) and flow.stream not in flying:
                keeper = self._keepers[name_of(flow.stream)]
                if flow.is_leaving:
                    keeper.drain(flow)
                elif flow.must_check:
                    await keeper.check(flow)

    async def _deliver_owned(self, flow: OwnedFlow, entries: list[list[object]]) -> None:
        """Deliver entries of a partition; pending entries of earlier owners come first."""
        options, link = self._options, self._server.shared
        messages = messages_of(flow.stream, entries, self._clock)
        is_ours = self.flows.get(flow.stream) is flow and flow.lease.is_valid
        if not is_ours or not messages:
            return
        if await has_strangers(link, flow.stream, options.group, options.consumer):
            held = {*flow.held.messages, *(one.key for one in messages)}
            found = await take_over(link, self._claimer, flow.stream, options.group, held)
            messages = sorted([*found, *messages], key=lambda one: id_key(one.key))
        if flow.lease.is_valid:
            flow.seen = messages[-1].key
            flow.take(messages)

    async def _deliver(self, flow: Flow, entries: list[list[object]], *, is_late: bool) -> None:
        messages = messages_of(flow.stream, entries, self._clock)
        options, link = self._options, self._server.shared
        if is_late:
            messages = await still_ours(link, messages, options.group, options.consumer)
        if not messages:
            return
        flow.seen = messages[-1].key
        claimed = [flow.held.messages.get(one.key, one) for one in messages if one.starts]
        if claimed:
            await link.ask_all(uncounted(claimed, options.group, options.consumer))
        flow.take(messages)

    async def _claim(self) -> None:
        """Take over entries of dead workers, as much as there is room for."""
        pause_s = self._leases.pause_s * (RARE if self._abilities.claim else 1)
        self._claim_at_s = self._clock.monotonic_s() + pause_s
        for flow in self._plain:
            room = flow.held.room()
            if room:
                count = min(room, CLAIM_PAGE)
                flow.take(await self._claimer.claim(flow.stream, self._options.lease_s, count))

    async def _renew(self) -> None:
        """Renew the leases of held messages, until stopped."""
        while True:
            await self._clock.sleep(self._leases.pause_s)
            try:
                held = {flow.stream: flow.held for flow in self._plain}
                for message in await self._leases.renew(held):
                    self.flows[message.stream].lose(message)
                    self._wake()
            except FAULTS as error:
                # The reader waits for the server, and creates groups again.
                if not is_passing(error) and not is_group_gone(error):
                    raise said(error, self._server.where) from None

    async def _keep_up(self) -> None:
        """Move delayed messages, and trim entries that no group needs, now and then."""
        mover = Mover(self._server, self._clock)
        next_trim_s = self._clock.monotonic_s()
        turn = 0
        await self.is_ready.wait()
        while True:
            await self._clock.sleep(TICK_S * (1 + self._clock.jitter()))
            turn += 1
            is_time_to_trim = self._clock.monotonic_s() >= next_trim_s
            if is_time_to_trim:
                next_trim_s = self._clock.monotonic_s() + TRIM_S
            for number, flow in enumerate(list(self.flows.values())):
                try:
                    # There are many partitions: each has its turn about once a second.
                    if not isinstance(flow, OwnedFlow) or (turn + number) % PARTS == 0:
                        await mover.move(flow.stream)
                    keep = flow.subscription.options.keep
                    if is_time_to_trim and keep is not None and flow.has_changed():
                        await trim(self._server.shared, flow.stream, keep, self._clock)
                except FAULTS as error:
                    # The reader finds out whether the error is serious.
                    log.debug("upkeep of %s: %s", flow.stream, error)

    async def _remake(self, error: Exception) -> None:
        self._hooks.trouble(error)
        await self._pauses.wait()
        try:
            for flow in list(self.flows.values()):
                start = flow.subscription.options.start
                await remake_group(
                    self._server.shared, flow.stream, self._options.group, flow.seen, start
                )
        except FAULTS as again:
            if not is_passing(again):
                raise said(again, self._server.where) from None

    async def _wait_out(self, error: Exception) -> None:
        away_s = self._options.patience.away_s
        if away_s is not None and self._pauses.away_s >= away_s:
            raise said(error, self._server.where) from None
        self._hooks.trouble(error)
        await self._pauses.wait()

    def _let_go(self, stream: str, messages: Sequence[Message]) -> None:
        flow = self.flows.get(stream)
        if isinstance(flow, OwnedFlow):
            # A partition may have left and returned, with the same entries.
            held = flow.held.messages
            messages = [message for message in messages if held.get(message.key) is message]
        if flow is not None:
            flow.held.let_go(messages)

    def _wake(self) -> None:
        self._room.set()

    async def _end(self) -> None:
        """Drain, settle, hand back, leave."""
        if self._reader is not None:
            self._reader.cancel()
        await self._blocking.close()
        keepers = self._keepers.values()
        await asyncio.gather(*(keeper.leave() for keeper in keepers))
        holding = (self._renew(), *(keeper.hold() for keeper in keepers))
        renewals = [asyncio.create_task(one) for one in holding]
        try:
            grace_s = self._options.grace_s
            flows = list(self.flows.values())
            await asyncio.gather(*(flow.close(grace_s) for flow in flows))
            await self._tell()
        finally:
            for task in renewals:
                task.cancel()
        self.drop_threads()

    def drop_threads(self) -> None:
        """Start nothing more in threads; running functions continue, their results are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _tell(self) -> None:
        """The last commands to the server; if it is away, others notice later that we are gone."""
        timer = self._clock.call_later(LAST_WORDS_S, self._settler.give_up)
        await self._settler.idle()
        timer.cancel()
        link, options = self._server.shared, self._options
        try:
            for flow in list(self.flows.values()):
                if isinstance(flow, OwnedFlow):
                    await self._keepers[name_of(flow.stream)].hand_over(flow)
                    continue
                await hand_back(
                    *(link, flow.stream, options.group, options.consumer),
                    *(flow.held.messages, self._abilities),
                )
                if not options.has_fixed_name:
                    await leave(link, flow.stream, options.group, options.consumer)
        except FAULTS as error:
            if self.is_ready.is_set():  # otherwise there was nothing to hand back
                log.warning("nothing was handed back: %s", said(error, self._server.where))


def _is_leaving(flow: Flow) -> bool:
    return isinstance(flow, OwnedFlow) and flow.is_leaving
