"""The flow of a partition: like that of a stream, while the partition is ours.

Handlers of all partitions of a stream share ``concurrency`` slots.  The lease is checked before
each start of a handler and before each settling: a frozen process can wake up at any point.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from forebay_workers.errors import LeaseLostError
from forebay_workers.handle.handler import Handler
from forebay_workers.message import Message
from forebay_workers.servers.link import Command
from forebay_workers.shares.owners import Lease
from forebay_workers.worker.flow import BatchFlow, Flow, Parts, SingleFlow, Subscription

T = TypeVar("T")
#: An idle partition is trimmed this much more rarely, not never: other groups may have read.
MOST_UNASKED = 12


class OwnedFlow(Flow):
    """The common part of both flows of a partition."""

    lease: Lease
    slots: asyncio.Semaphore
    #: It goes to another member: nothing more is read.
    is_leaving = False
    #: Something may be pending that is not here.
    must_check = False
    #: A reply was lost, perhaps with entries that no handler has started.
    has_lost_reply = False
    is_closed = False
    _state: tuple[bytes | None, int] = (b"", 0)
    _unasked = 0

    def _may_run(self) -> bool:
        return self.lease.is_valid and not self.is_closed

    async def close(self, grace_s: float) -> None:
        self.is_closed = True
        await super().close(grace_s)

    def has_changed(self) -> bool:
        before, self._state = self._state, (self.seen, len(self.held.messages))
        self._unasked += 1
        if self._state == before and not self.held.messages and self._unasked < MOST_UNASKED:
            return False
        self._unasked = 0
        return True

    def lose_all(self) -> None:
        """Drop all messages: another process owns the partition."""
        self.lease.end()
        for message in list(self.held.messages.values()):
            self.lose(message)

    async def _call(
        self,
        handler: Handler,
        arguments: tuple[Any, ...],
        messages: Sequence[Message],
        then: Callable[[Any], T],
    ) -> T:
        if not self.lease.is_valid:
            raise LeaseLostError(f"the lease on {self.stream} has ended")
        return await super()._call(handler, arguments, messages, then)

    def _done(self, message: Message, commands: list[Command]) -> None:
        if not self.lease.is_valid:
            message.is_lost = True
        super()._done(message, commands)

    def _bury(self, message: Message, error: BaseException) -> None:
        if not self.lease.is_valid:
            message.is_lost = True
        super()._bury(message, error)


class OwnedSingleFlow(OwnedFlow, SingleFlow):
    """One message at a time."""

    async def _run(self, message: Message) -> float | None:
        async with self.slots:
            return await super()._run(message) if self._may_run() else None


class OwnedBatchFlow(OwnedFlow, BatchFlow):
    """Many messages at a time; one batch after another, so that they keep their order."""

    async def _run(self, batch: list[Message]) -> list[tuple[Message, float]]:
        async with self.slots:
            return await super()._run(batch) if self._may_run() else []


def owned_flow(
    subscription: Subscription, parts: Parts, lease: Lease, slots: asyncio.Semaphore
) -> OwnedFlow:
    """The flow of a partition, message by message or in batches."""
    flow: OwnedFlow
    if subscription.batch is not None:
        flow = OwnedBatchFlow(subscription, parts, subscription.batch)
    else:
        flow = OwnedSingleFlow(subscription, parts)
    flow.lease, flow.slots = lease, slots
    return flow
