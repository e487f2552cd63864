"""``App``: streams, handlers, publishing; the one object that a user creates.

app = App("redis://127.0.0.1:6379", group="billing")

@app.on("orders", retry=Retry(5, backoff=(1, 10, 60)), to="receipts")
async def bill(order: Order) -> Receipt: ...

await app.publish("orders", order)
await app.run()                        # until SIGTERM or SIGINT
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from forebay_workers.clock import Clock, RealClock
from forebay_workers.errors import ConfigError
from forebay_workers.handle.handler import Handler
from forebay_workers.handle.router import Router
from forebay_workers.observe.hooks import HookList, Hooks
from forebay_workers.options import (
    LAYOUTS,
    BatchOptions,
    HandlerOptions,
    Layout,
    Patience,
    Retry,
    StreamOptions,
    start_id,
)
from forebay_workers.partitioned import Partitioned
from forebay_workers.publish.later import add_later
from forebay_workers.publish.placing import placed
from forebay_workers.publish.publisher import Publisher
from forebay_workers.servers.abilities import Abilities, ask_abilities
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.reach import reach
from forebay_workers.servers.slots import CLUSTER, check_together
from forebay_workers.settle.letters import dead_stream, dead_streams
from forebay_workers.settle.once import Once
from forebay_workers.settle.redrive import DeadLetters
from forebay_workers.worker.flow import Subscription
from forebay_workers.worker.worker import Worker, WorkerOptions

URL_VARIABLE, DEFAULT_URL = "FOREBAY_URL", "redis://127.0.0.1:6379"
ONE_WEEK = timedelta(days=7)
F = TypeVar("F", bound=Callable[..., Any])


class App:
    """Handlers on streams of one server, as one consumer group."""

    def __init__(
        self,
        url: str | None = None,
        *,
        group: str = "workers",
        consumer: str | None = None,
        layout: Layout = "fields",
        lease: float = 30.0,
        grace: float = 30.0,
        patience: Patience | None = None,
        hooks: Sequence[Hooks] = (),
    ) -> None:
        """Make an app; this reads nothing and connects to no server yet.

        ``url``: the server; by default FOREBAY_URL, or else the usual port of this machine.
        ``group``: the consumer group; every other group gets all messages too.
        ``consumer``: a name that survives restarts; by default each process has its own.
        ``layout``: "fields", one field for each attribute, or "json", all in the field ``data``.
        ``lease``: seconds after which others take over the messages of a dead worker.
        ``grace``: seconds that handlers may take to end after SIGTERM.
        ``patience``: what to do while the server is away.
        ``hooks``: objects that are called with what happens to messages.
        """
        if layout not in LAYOUTS:
            raise ConfigError(f'layout={layout!r} is neither "fields" nor "json".')
        if lease <= 0 or grace < 0:
            raise ConfigError("lease must be more than 0 seconds, and grace 0 or more.")
        self.url = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
        self.group, self.layout = group, layout
        self.lease, self.grace = lease, grace
        self.patience = patience or Patience()
        self.hooks = list(hooks)
        self.subscriptions: dict[str, Subscription] = {}
        self._is_cluster = self.url.startswith(CLUSTER)
        self._consumer = consumer
        self._server: Serves | None = None
        #: Replaces the server in tests.
        self._stand_in: Serves | None = None
        self._publisher: Publisher | None = None
        self._abilities: Abilities | None = None
        self._clock: Clock = RealClock()

    def on(
        self,
        stream: str | Partitioned,
        *,
        start: str = "beginning",
        order_by: str | None = None,
        concurrency: int = 16,
        prefetch: int = 1000,
        prefetch_bytes: int = 16 << 20,
        timeout: float | None = None,
        retry: Retry | None = None,
        dead: str | None = None,
        unknown: Literal["dead", "skip"] = "dead",
        to: str | Partitioned | None = None,
        keep: int | timedelta | None = 0,
        layout: Layout | None = None,
    ) -> Callable[[F], F]:
        """Let a function handle the messages of a stream; several may, each for its own types.

        All processes share a ``Partitioned``: one of them reads each partition, so the order of
        each key holds over all of them.

        ``start``: where a new group starts: "beginning", "end", or after an ID.
        ``order_by``: messages with the same value of this attribute run one after another.
        ``concurrency``: how many handlers run in a process at the same time.
        ``prefetch``: the most messages that a process holds.
        ``prefetch_bytes``: the most bytes of messages that a process holds.
        ``timeout``: seconds that the handler may take; a thread cannot be ended from outside.
        ``retry``: how often a message is tried, and with which pauses.
        ``dead``: the dead-letter stream; by default the stream's name and ``:dead``.
        ``unknown``: for a message of a type that no handler knows: make it "dead", or "skip" it.
        ``to``: the stream for the handler's result; published together with the acknowledgement.
        ``keep``: how many entries that all groups have acknowledged stay, or for how long; None
        keeps everything.
        ``layout``: if it differs from the layout of the app.
        """
        stream, order_by = self._ordered(stream, order_by)
        options = StreamOptions(
            *(start_id(start), order_by, concurrency, prefetch, prefetch_bytes, dead, unknown),
            keep,
        )
        how = HandlerOptions(retry or Retry(), timeout, to)

        def add(function: F) -> F:
            self._add(stream, options, Handler(function, layout or self.layout, how), layout)
            return function

        return add

    def on_batch(
        self,
        stream: str | Partitioned,
        *,
        size: int = 100,
        within: float = 0.2,
        start: str = "beginning",
        concurrency: int = 1,
        prefetch: int = 1000,
        prefetch_bytes: int = 16 << 20,
        timeout: float | None = None,
        retry: Retry | None = None,
        dead: str | None = None,
        keep: int | timedelta | None = 0,
        layout: Layout | None = None,
    ) -> Callable[[F], F]:
        """Let a function handle lists of up to ``size`` messages that came ``within`` seconds.

        The function returns None, or ``Failed`` with the places of the failed messages.

        ``size``: the most messages in a batch.
        ``within``: seconds after which a batch runs although it is not full.
        ``start``: where a new group starts: "beginning", "end", or after an ID.
        ``concurrency``: how many batches run in a process at the same time.
        ``prefetch``: the most messages that a process holds.
        ``prefetch_bytes``: the most bytes of messages that a process holds.
        ``timeout``: seconds that the handler may take; a thread cannot be ended from outside.
        ``retry``: how often a message is tried, and with which pauses.
        ``dead``: the dead-letter stream; by default the stream's name and ``:dead``.
        ``keep``: how many entries that all groups have acknowledged stay, or for how long; None
        keeps everything.
        ``layout``: if it differs from the layout of the app.
        """
        options = StreamOptions(
            *(start_id(start), None, concurrency, prefetch, prefetch_bytes, dead, "dead", keep)
        )
        how = HandlerOptions(retry or Retry(), timeout, None)
        batch = BatchOptions(size, within)

        def add(function: F) -> F:
            handler = Handler(function, layout or self.layout, how, is_batch=True)
            name = _name(stream)
            if name in self.subscriptions:
                raise ConfigError(f"The batch handler of {name!r} must be its only handler.")
            self._add(stream, options, handler, layout, batch)
            return function

        return add

    def _ordered(
        self, stream: str | Partitioned, order_by: str | None
    ) -> tuple[str | Partitioned, str | None]:
        """The field that orders a stream; a partitioned stream is ordered by its key."""
        if isinstance(stream, str):
            return stream, order_by
        if order_by is not None and stream.by not in (None, order_by):
            raise ConfigError(
                f"{stream.name!r} is partitioned by {stream.by!r}, so it cannot keep the order of "
                f"{order_by!r}."
            )
        return replace(stream, by=order_by or stream.by), order_by or stream.by

    def _add(
        self,
        stream: str | Partitioned,
        options: StreamOptions,
        handler: Handler,
        layout: Layout | None,
        batch: BatchOptions | None = None,
    ) -> None:
        name = _name(stream)
        options.check(name)
        if self._is_cluster:
            check_together(stream, options.dead, handler.options.to)
            if isinstance(stream, str) and options.dead is None:
                options = replace(options, dead=dead_stream(stream, is_cluster=True))
        known = self.subscriptions.get(name)
        partitioned = None if isinstance(stream, str) else stream
        if known is not None and (known.options, known.partitioned) != (options, partitioned):
            raise ConfigError(
                f"The handlers of {name!r} differ in start, order_by, concurrency, prefetch, "
                "dead, unknown, keep or partitions. Set these to the same values for each handler."
            )
        if known is None:
            known = Subscription(
                *(name, options, Router(), layout or self.layout, batch, partitioned)
            )
            self.subscriptions[name] = known
        known.router.add(name, handler)

    async def publish(
        self,
        stream: str | Partitioned,
        message: Any,
        *,
        key: str | None = None,
        once: str | None = None,
        delay: float | timedelta | None = None,
        at: datetime | None = None,
    ) -> str | None:
        """Append a message; return its ID.

        A delayed message needs a running worker of the stream, which moves it to the stream.

        ``key``: chooses the partition of a ``Partitioned``; by default the field that it is
        partitioned by does.
        ``once``: the same key appends one entry in a day, however often it is tried.
        ``delay``: seconds to wait.
        ``at``: the time, with its time zone.
        """
        place, fields = self._fields(stream, message, key)
        if delay is not None or at is not None:
            return await self._publish_later(place, fields, self._due_ms(delay, at), once)
        if once is None:
            return await self._published().publish(place, fields)
        if self._abilities is None:
            self._abilities = await ask_abilities(self.server.shared)
        return await self._published().publish_once(place, fields, once, self._abilities)

    async def _publish_later(
        self, stream: str, fields: list[bytes], due_ms: int, once: str | None
    ) -> str | None:
        commands = add_later(stream, fields, due_ms)
        if once is None:
            return await self._published().run(commands)
        return await self._published().run_once(stream, commands, once)

    def _due_ms(self, delay: float | timedelta | None, at: datetime | None) -> int:
        if delay is not None and at is not None:
            raise ConfigError("Give delay or at, not both.")
        if at is not None:
            if at.tzinfo is None:
                raise ConfigError("at needs a time zone, as in datetime(2026, 11, 17, tzinfo=UTC).")
            return int(at.timestamp() * 1000)
        seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay or 0)
        return self._clock.now_ms() + int(seconds * 1000)

    def once(self, key: str, *, keep: float | timedelta = ONE_WEEK) -> Once:
        """Work that must be done once: ``async with app.once(key) as once``.

        ``key``: the name of the work, as ``bill:order-17``.
        ``keep``: how long the server remembers that it was done, in seconds or as a timedelta.
        """
        keep_s = keep.total_seconds() if isinstance(keep, timedelta) else keep
        return Once(self.server, key, self._clock, lease_s=self.lease, keep_s=keep_s)

    async def publish_many(self, stream: str | Partitioned, messages: Iterable[Any]) -> list[str]:
        """Append messages in their order, in a few round trips; return their IDs."""
        return await self._published().publish_many(
            self._fields(stream, message, None) for message in messages
        )

    def dead_letters(self, stream: str | Partitioned) -> DeadLetters:
        """The dead letters of a stream."""
        known = self.subscriptions.get(_name(stream))
        if known is not None:
            streams = dead_streams(known.partitioned or known.stream, known.options.dead)
        else:
            streams = dead_streams(stream, is_cluster=self._is_cluster)
        return DeadLetters(self.server, streams, self._clock)

    @property
    def server(self) -> Serves:
        """The server; connected on first use."""
        if self._server is None:
            self._server = self._stand_in or reach(self.url, self._clock)
        return self._server

    def worker(self, *, name: str | None = None) -> Worker:
        """A worker with all handlers; ``run`` creates one itself.

        ``name``: the consumer's name, if the App has none.
        """
        if not self.subscriptions:
            raise ConfigError("The app has no handlers. Decorate a function with @app.on(stream).")
        consumer = self._consumer or name
        options = WorkerOptions(
            self.group,
            consumer or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}",
            *(self._consumer is not None, self.lease, self.grace, self.patience),
        )
        return Worker(
            *(self.server, list(self.subscriptions.values()), options, HookList(self.hooks)),
            self._clock,
        )

    async def run(self) -> None:
        """Work until SIGTERM or SIGINT, then end cleanly."""
        worker = self.worker()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.stop)
        try:
            await worker.run()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
            await self.close()

    @contextmanager
    def standing_on(self, server: Serves, clock: Clock, hook: Hooks) -> Iterator[None]:
        """Temporarily use another server and clock, with one more hook; for ``TestApp``."""
        if self._server is not None:
            raise ConfigError("The app is connected to a server. Close it before it is tested.")
        real_clock, self._clock = self._clock, clock
        self._stand_in, self._abilities = server, None
        self.hooks.append(hook)
        try:
            yield
        finally:
            self.hooks.remove(hook)
            self._clock, self._stand_in = real_clock, None
            self._server, self._publisher, self._abilities = None, None, None

    async def close(self) -> None:
        """Close all connections."""
        server, self._server, self._publisher = self._server, None, None
        if server is not None:
            await server.close()

    async def __aenter__(self) -> App:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _published(self) -> Publisher:
        if self._publisher is None:
            self._publisher = Publisher(self.server)
        return self._publisher

    def _fields(
        self, stream: str | Partitioned, message: Any, key: str | None
    ) -> tuple[str, list[bytes]]:
        """The stream for a message, and its fields."""
        known = self.subscriptions.get(_name(stream))
        if known is not None and isinstance(stream, str) != (known.partitioned is None):
            raise ConfigError(f"{known.stream!r} is partitioned. Publish to the Partitioned.")
        if known is not None and isinstance(stream, Partitioned) and stream.by is None:
            stream = replace(stream, by=known.options.order_by)
        layout = known.layout if known is not None else self.layout
        place, fields = placed(stream, message, layout, key)
        for hook in self.hooks:
            hook.publishing(place, fields)
        return place, fields


def _name(stream: str | Partitioned) -> str:
    return stream if isinstance(stream, str) else stream.name
