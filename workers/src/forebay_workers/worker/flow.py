"""One stream in one process: the way of a message from its arrival to its end.

claimed too often  -->  bury: it has killed every worker that started it
no handler, no fit -->  bury with the reason (or acknowledge, with unknown="skip")
announce attempt > 1  -->  run the handler
    returned  -->  acknowledge; with ``to=``, publish in the same transaction
    raised    -->  attempts left: park it, longer each time;  none left: bury it
    cancelled -->  another worker owns it, or this one stops: leave it as it is
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from forebay_workers.clock import Clock
from forebay_workers.codecs.codec import key_of
from forebay_workers.errors import ConfigError, MisfitError, WorkerError
from forebay_workers.handle.failed import Failed
from forebay_workers.handle.handler import Handler, call
from forebay_workers.handle.router import Router
from forebay_workers.lanes.gatherer import Gatherer
from forebay_workers.lanes.held import Held
from forebay_workers.lanes.lanes import KeyOf, Lanes
from forebay_workers.message import Message
from forebay_workers.observe.hooks import HookList
from forebay_workers.options import BatchOptions, Layout, StreamOptions
from forebay_workers.partitioned import KEY, Partitioned
from forebay_workers.publish.placing import placed
from forebay_workers.publish.publisher import xadd
from forebay_workers.servers.link import Command
from forebay_workers.settle.letters import bury, dead_stream, write
from forebay_workers.settle.settler import Settler

T = TypeVar("T")


class Runs(Protocol):
    """Runs messages: lanes, or a gatherer of batches."""

    @property
    def running(self) -> int: ...
    def put(self, messages: list[Message]) -> None: ...
    def waiting(self) -> Iterator[Message]: ...
    async def close(self, grace_s: float) -> None: ...


#: The pause of a message after the server refused its result or letter.
REFUSAL_PAUSE_S = 5.0


@dataclass(frozen=True)
class Subscription:
    """A stream, how it is read, and by which handlers."""

    stream: str
    options: StreamOptions
    router: Router
    layout: Layout
    batch: BatchOptions | None = None
    #: The partitioned stream that this stream belongs to, or is read as.
    partitioned: Partitioned | None = None

    @property
    def least_window(self) -> int:
        """The smallest window: all messages that can run at once, and as many in the queue."""
        each = 1 if self.batch is None else self.batch.size
        return 2 * each * self.options.concurrency

    @property
    def dead(self) -> str:
        """Its dead-letter stream."""
        return self.options.dead or dead_stream(self.stream)


@dataclass(frozen=True)
class Parts:
    """The objects that all flows of a process share."""

    group: str
    consumer: str
    clock: Clock
    hooks: HookList
    threads: Executor
    settler: Settler
    #: Keys with the same number can be in one transaction.
    slot: Callable[[str], int]


class Flow:
    """The messages of one stream in this process; see SingleFlow and BatchFlow."""

    lanes: Runs

    def __init__(self, subscription: Subscription, parts: Parts) -> None:
        self.subscription = subscription
        self.stream = subscription.stream
        self._parts = parts
        self._clock = parts.clock
        self._settler = parts.settler
        self._hooks = parts.hooks
        self.held = Held(subscription.options, subscription.least_window)
        #: The last ID that this process got.
        self.seen: bytes | None = None

    def take(self, messages: Sequence[Message]) -> None:
        """Take messages that just arrived."""
        new = self.held.add(list(messages))
        if new:
            self._hooks.fetched(self.stream, len(new))
            self.lanes.put(new)

    def has_changed(self) -> bool:
        """Whether there may be something to trim since the last call."""
        return True

    async def close(self, grace_s: float) -> None:
        """Start nothing more, let running handlers end."""
        await self.lanes.close(grace_s)

    def lose(self, message: Message) -> None:
        """Drop a message that another consumer owns now."""
        message.is_lost = True
        self.held.let_go([message])
        self._hooks.lost(message)
        if message.task is not None:
            message.task.cancel()

    def _not_ours(self, message: Message) -> None:
        """Drop a message that was acknowledged, deleted or claimed while it waited here."""
        message.is_running = False
        message.is_lost = True
        self.held.let_go([message])
        self._hooks.lost(message)

    def _parked(self, change: int) -> None:
        self.held.parked += change

    def _readied(self, message: Message) -> tuple[Handler, Any] | None:
        """The handler of a message and its argument; None if it is settled without one."""
        try:
            handler = self.subscription.router.choose(message)
        except MisfitError as error:
            if self.subscription.options.unknown == "skip":
                message.is_running = False
                self._settler.ack(message)
            else:
                self._bury(message, error)
            return None
        if message.starts >= handler.options.retry.attempts:
            self._bury(message, WorkerError(_GAVE_UP.format(message.starts)))
            return None
        try:
            return handler, handler.decode(message)
        except MisfitError as error:
            self._bury(message, error)
            return None

    async def _call(
        self,
        handler: Handler,
        arguments: tuple[Any, ...],
        messages: Sequence[Message],
        then: Callable[[Any], T],
    ) -> T:
        """Run a handler and process its result, inside the hooks."""
        if self._hooks.is_empty:
            return then(await call(handler, arguments, self._clock, self._parts.threads))
        with self._hooks.around(messages):
            return then(await call(handler, arguments, self._clock, self._parts.threads))

    def _failed(self, message: Message, handler: Handler, error: BaseException) -> float | None:
        """Count a failed attempt; return the pause before the next one, None if it was the last."""
        message.starts += 1
        message.is_running = False
        retry = handler.options.retry
        if message.starts >= retry.attempts:
            self._bury(message, error)
            return None
        pause_s = retry.pause_s(message.starts, self._clock.jitter())
        self._hooks.failed(message, error, pause_s)
        return pause_s

    def _done(self, message: Message, commands: list[Command]) -> None:
        """A handler has returned: acknowledge, and publish its result."""
        message.starts += 1
        message.is_running = False
        if message.is_lost:
            return
        if commands:
            self._settler.together([message], commands, self._refused(message))
        else:
            self._settler.ack(message)

    def _bury(self, message: Message, error: BaseException) -> None:
        message.is_running = False
        if message.is_lost:
            return
        parts = self._parts
        fields = write(message, error, parts.group, parts.consumer, self._clock.now_ms())
        self._settler.together(
            [message], [bury(self.subscription.dead, fields)], self._refused(message)
        )
        self._hooks.buried(message, error)

    def _refused(self, message: Message) -> Callable[[Exception], None]:
        """A callback that retries a message after the server refused its result or letter."""

        def again(error: Exception) -> None:
            self._hooks.trouble(error)
            message.lane = None
            self._parked(1)
            self._clock.call_later(REFUSAL_PAUSE_S, put_back)

        def put_back() -> None:
            self._parked(-1)
            message.starts = max(0, message.starts - 1)
            self.lanes.put([message])

        return again


class SingleFlow(Flow):
    """Gives a handler one message at a time."""

    def __init__(self, subscription: Subscription, parts: Parts) -> None:
        super().__init__(subscription, parts)
        options = subscription.options
        lanes = Lanes(self._run, _key_of(subscription), options.concurrency, parts.clock)
        lanes.on_park = self._parked
        self.lanes = lanes

    async def _run(self, message: Message) -> float | None:
        """Settle a message, or return the pause before its next attempt."""
        message.task = task = asyncio.current_task()
        message.is_running = True
        try:
            return await self._attempt(message)
        except asyncio.CancelledError:
            if not message.is_lost or task is None or task.uncancel() > 0:
                raise
            return None
        finally:
            message.task = None

    async def _attempt(self, message: Message) -> float | None:
        ready = self._readied(message)
        if ready is None:
            return None
        handler, value = ready
        if message.starts and not await self._settler.announce(message):
            self._not_ours(message)
            return None
        began_s = self._clock.monotonic_s()
        arguments = (value, message) if handler.wants_message else (value,)
        try:
            commands = await self._call(
                handler, arguments, [message], partial(self._results, handler)
            )
        except Exception as error:  # noqa: BLE001 - a handler may raise anything
            return self._failed(message, handler, error)
        self._done(message, commands)
        if not self._hooks.is_empty:
            self._hooks.handled(message, self._clock.monotonic_s() - began_s)
        return None

    def _results(self, handler: Handler, result: Any) -> list[Command]:
        """Commands that publish the result of a handler."""
        to = handler.options.to
        if to is None or result is None:
            return []
        several = result if isinstance(result, list) else [result]
        found = [placed(to, one, self.subscription.layout) for one in several]
        for stream, fields in found:
            if self._parts.slot(stream) != self._parts.slot(self.stream):
                raise ConfigError(_OTHER_SLOT.format(stream, self.stream))
            self._hooks.publishing(stream, fields)
        return [xadd(stream, fields) for stream, fields in found]


class BatchFlow(Flow):
    """Gives a handler many messages at a time; it may report that some of them failed."""

    def __init__(self, subscription: Subscription, parts: Parts, batch: BatchOptions) -> None:
        super().__init__(subscription, parts)
        (self._handler,) = subscription.router.handlers
        concurrency = subscription.options.concurrency
        gatherer = Gatherer(self._run, batch.size, batch.within_s, concurrency, parts.clock)
        gatherer.on_park = self._parked
        self.lanes = gatherer

    async def _run(self, batch: list[Message]) -> list[tuple[Message, float]]:
        """Settle a batch; return the messages to try again, each with its pause."""
        messages, values = self._all_readied(batch)
        if not messages:
            return []
        handler = self._handler
        for message in messages:
            message.is_running = True
        again = [message for message in messages if message.starts]
        if again and not await self._all_ours(again):
            ours_yet = [message for message in messages if not message.is_lost]
            return await BatchFlow._run(self, ours_yet)
        began_s = self._clock.monotonic_s()
        arguments = (values, messages) if handler.wants_message else (values,)
        try:
            errors = await self._call(
                handler, arguments, messages, partial(self._errors, len(messages))
            )
        except Exception as error:  # noqa: BLE001 - a handler may raise anything
            errors = dict.fromkeys(range(len(messages)), error)
        return self._settled(handler, messages, errors, self._clock.monotonic_s() - began_s)

    def _all_readied(self, batch: list[Message]) -> tuple[list[Message], list[Any]]:
        """The messages for the handler, and their values; mostly all of them, in one step."""
        attempts = self._handler.options.retry.attempts
        if not [message for message in batch if message.starts >= attempts]:
            try:
                return batch, self._handler.decode_all(batch)
            except MisfitError:
                pass  # decode one by one, to find the bad ones
        ready = [(message, found[1]) for message in batch if (found := self._readied(message))]
        return [message for message, _ in ready], [value for _, value in ready]

    async def _all_ours(self, again: list[Message]) -> bool:
        """Announce further attempts; False if some of the messages are no longer ours."""
        ours = await asyncio.gather(*map(self._settler.announce, again))
        gone = [message for message, is_ours in zip(again, ours, strict=True) if not is_ours]
        for message in gone:
            self._not_ours(message)
        return not gone

    @staticmethod
    def _errors(count: int, result: Any) -> dict[int, BaseException]:
        if result is None:
            return {}
        if not isinstance(result, Failed):
            raise TypeError(f"a batch handler returns None or Failed, not {result!r}")
        strange = [place for place in result.errors if not 0 <= place < count]
        if strange:
            raise IndexError(f"the batch of {count} has no place {strange[0]}")
        return result.errors

    def _settled(
        self,
        handler: Handler,
        messages: Sequence[Message],
        errors: dict[int, BaseException],
        seconds: float,
    ) -> list[tuple[Message, float]]:
        if not errors and self._hooks.is_empty:
            for message in messages:
                message.starts += 1
                message.is_running = False
            self._settler.ack_all(self.stream, [one for one in messages if not one.is_lost])
            return []
        again = []
        for place, message in enumerate(messages):
            error = errors.get(place)
            if error is None:
                self._done(message, [])
                if not self._hooks.is_empty:
                    self._hooks.handled(message, seconds / len(messages))
            elif (pause_s := self._failed(message, handler, error)) is not None:
                again.append((message, pause_s))
        return again


def flow_of(subscription: Subscription, parts: Parts) -> Flow:
    """The flow of a stream, message by message or in batches."""
    if subscription.batch is not None:
        return BatchFlow(subscription, parts, subscription.batch)
    return SingleFlow(subscription, parts)


_OTHER_SLOT = (
    "{} and {} are in different slots of the cluster: a result published with to= must have the "
    "partition of its message"
)
_GAVE_UP = "the worker died, or lost its lease, in each of {} attempts"


def _key_of(subscription: Subscription) -> KeyOf | None:
    """How to find the key of a message: in an attribute, or from its publishing."""
    order_by = subscription.options.order_by
    attribute = None if order_by is None else key_of(order_by, subscription.layout)
    if subscription.partitioned is None:
        return attribute
    return lambda message: message.header(KEY) or (attribute(message) if attribute else None)
