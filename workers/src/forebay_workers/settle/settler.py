"""Reports the end of messages to the server, as many in one write as there are.

    ack        XACK stream group id id id ...                     all of a turn in one command
    publish    MULTI, XADD to ..., XACK stream group id, EXEC     result and acknowledgement are one
    bury       MULTI, XADD dead ..., XACK stream group id, EXEC   so are letter and acknowledgement
    announce   XCLAIM stream group me 0 id RETRYCOUNT n JUSTID    before attempt n > 1 starts

While one batch is on its way, the next one gathers; no handler waits for an acknowledgement.

If the connection breaks, acknowledgements are simply sent again.  A transaction may have run
although its reply was lost; then its message is no longer pending.  If the key to publish to is not
a stream, EXEC acknowledges without publishing: then the message is made pending again
(XCLAIM FORCE), so that it is not lost, and is tried again later.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from forebay_workers.clock import Clock
from forebay_workers.fetch.counts import count
from forebay_workers.fetch.reading import still_ours
from forebay_workers.lanes.leases import MARGIN
from forebay_workers.message import Message
from forebay_workers.observe.hooks import Hooks
from forebay_workers.servers.connect import Asks
from forebay_workers.servers.link import Command
from forebay_workers.servers.trouble import FAULTS, Pauses, is_passing

ByStream = dict[str, list[Message]]


def _by_stream(messages: Sequence[Message]) -> ByStream:
    found: ByStream = defaultdict(list)
    for message in messages:
        found[message.stream].append(message)
    return found


def _keys(reply: Any) -> list[Any]:
    """The items of a reply that is a list; nothing if the group is gone."""
    return reply if isinstance(reply, list) else []


class Piece:
    """Commands that run together with the acknowledgement of messages."""

    __slots__ = ("commands", "is_doubtful", "messages", "on_refusal")

    def __init__(
        self,
        messages: Sequence[Message],
        commands: list[Command],
        on_refusal: Callable[[Exception], None],
    ) -> None:
        self.messages = messages
        self.commands = commands
        #: It was sent, and no reply arrived.
        self.is_doubtful = False
        self.on_refusal = on_refusal


class Settler:
    """Settles the messages of one consumer."""

    def __init__(
        self,
        link: Asks,
        group: str,
        consumer: str,
        clock: Clock,
        hooks: Hooks,
        let_go: Callable[[str, Sequence[Message]], None],
    ) -> None:
        """``let_go`` is called when the server has confirmed the end of messages of a stream."""
        self._link = link
        self._group = group
        self._consumer = consumer
        self._clock = clock
        self._hooks = hooks
        self._let_go = let_go
        self._pauses = Pauses(clock)
        self._acks: ByStream = defaultdict(list)
        self._pieces: list[Piece] = []
        self._announced: list[tuple[Message, asyncio.Future[bool]]] = []
        self._marks: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[None] | None = None
        #: Whether a stream has one owner, so that all its pending entries are ours.
        self.is_owned: Callable[[str], bool] = lambda _: False
        #: Called after each batch: there may be room for more.
        self.on_settled: Callable[[], None] = lambda: None

    def ack(self, message: Message) -> None:
        """Acknowledge a message."""
        self._acks[message.stream].append(message)
        if self._task is None:
            self._start()

    def ack_all(self, stream: str, messages: Sequence[Message]) -> None:
        """Acknowledge messages of one stream."""
        self._acks[stream] += messages
        if self._task is None:
            self._start()

    def together(
        self,
        messages: Sequence[Message],
        commands: list[Command],
        on_refusal: Callable[[Exception], None],
    ) -> None:
        """Run commands and acknowledge, both or neither."""
        self._pieces.append(Piece(messages, commands, on_refusal))
        if self._task is None:
            self._start()

    async def announce(self, message: Message) -> bool:
        """Let the server count an attempt before it starts; False if the message is not ours."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._announced.append((message, future))
        if self._task is None:
            self._start()
        return await future

    def _start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Send until nothing is left to send."""
        try:
            while self._acks or self._pieces or self._announced or self._marks:
                await self._flush()
        finally:
            self._task = None

    async def idle(self) -> None:
        """Wait until everything is sent."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def caught_up(self) -> None:
        """Wait until everything so far is sent."""
        mark: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._marks.append(mark)
        if self._task is None:
            self._start()
        await mark

    def give_up(self) -> None:
        """Send nothing more; unsent messages stay pending."""
        if self._task is not None:
            self._task.cancel()

    async def _flush(self) -> None:
        acks, self._acks = self._acks, defaultdict(list)
        announced, self._announced = self._announced, []
        pieces, self._pieces = self._pieces, []
        marks, self._marks = self._marks, []
        try:
            if any(piece.is_doubtful for piece in pieces):
                pieces = await self._undone(pieces)
            await self._send(acks, announced, pieces)
        except FAULTS as error:
            for stream, messages in acks.items():
                self._acks[stream] = messages + self._acks[stream]
            self._announced = announced + self._announced
            self._pieces = pieces + self._pieces
            self._marks = marks + self._marks
            self._hooks.trouble(error)
            await self._pauses.wait()
        else:
            self._pauses.succeeded()
            for mark in marks:
                if not mark.done():
                    mark.set_result(None)
            self.on_settled()

    async def _send(
        self,
        acks: ByStream,
        announced: list[tuple[Message, asyncio.Future[bool]]],
        pieces: list[Piece],
    ) -> None:
        commands = self._ack_commands(acks)
        counting = len(commands)
        commands += self._announcements([message for message, _ in announced])
        plain = len(commands)
        for piece in pieces:
            piece.is_doubtful = True
            acknowledgements = self._ack_commands(_by_stream(piece.messages))
            commands += [("MULTI",), *piece.commands, *acknowledgements, ("EXEC",)]
        replies = await self._link.ask_all(commands)
        for reply in replies[:plain]:
            if isinstance(reply, Exception) and is_passing(reply):
                raise reply
        now_s = self._clock.monotonic_s()
        for stream, messages in acks.items():
            self._let_go(stream, messages)
        acks.clear()
        ours = {key for reply in replies[counting:plain] for key in _keys(reply)}
        ours |= await self._renewed([one for one, _ in announced if one.key not in ours])
        for message, future in announced:
            message.leased_s = now_s
            if not future.done():
                future.set_result(message.key in ours)
        announced.clear()
        await self._judge(pieces, replies[plain:])

    def _ack_commands(self, acks: ByStream) -> list[Command]:
        return [
            ("XACK", stream, self._group, *[message.key for message in messages])
            for stream, messages in acks.items()
        ]

    def _announcements(self, messages: Sequence[Message]) -> list[Command]:
        return [
            count(
                *(one.stream, self._group, self._consumer, [one.key], one.attempt),
                self._idle_ms(one),
            )
            for one in messages
        ]

    def _idle_ms(self, message: Message) -> int:
        """The least idle time of our message; it is shorter if another consumer owns it."""
        if self.is_owned(message.stream):
            return 0
        return int((self._clock.monotonic_s() - message.leased_s) * MARGIN * 1000)

    async def _renewed(self, missed: Sequence[Message]) -> set[bytes]:
        """Of messages that could not be counted, those that are still ours.

        Their lease was renewed while the announcement was on its way, so they were not idle for
        long enough.  Now no other consumer can claim them: they are counted without that check.
        """
        if not missed:
            return set()
        mine = await still_ours(self._link, missed, self._group, self._consumer)
        me = self._group, self._consumer
        await self._link.ask_all([count(one.stream, *me, [one.key], one.attempt) for one in mine])
        return {one.key for one in mine}

    async def _judge(self, pieces: list[Piece], replies: Sequence[Any]) -> None:
        """Each transaction ran completely, was refused completely, or ran with an error inside.

        Transactions that may work later stay among the pieces, and the error is raised.
        """
        at = 0
        again: list[Piece] = []
        passing: Exception | None = None
        for piece in pieces:
            streams = {message.stream for message in piece.messages}
            at += 2 + len(piece.commands) + len(streams)
            executed = replies[at - 1]
            inside = executed if isinstance(executed, list) else [executed]
            errors = [one for one in inside if isinstance(one, Exception)]
            if not errors:
                self._let_go_all(piece.messages)
            elif is_passing(errors[0]):
                passing = errors[0]
                again.append(piece)
            else:
                await self._take_back(piece)
                piece.on_refusal(errors[0])
        pieces[:] = again
        if passing is not None:
            raise passing

    def _let_go_all(self, messages: Sequence[Message]) -> None:
        for stream, several in _by_stream(messages).items():
            self._let_go(stream, several)

    async def _take_back(self, piece: Piece) -> None:
        """Make messages pending again if their acknowledgement ran without the rest."""
        me = self._group, self._consumer
        counts = [count(one.stream, *me, [one.key], one.starts) for one in piece.messages]
        await self._link.ask_all([(*command, "FORCE") for command in counts])

    async def _undone(self, pieces: list[Piece]) -> list[Piece]:
        """Of transactions without a reply, those that did not run: their messages are ours."""
        me = self._consumer.encode()
        undone = []
        for piece in pieces:
            first = piece.messages[0]
            rows: Any = [(None, me)]
            if piece.is_doubtful:
                ask: Command = ("XPENDING", first.stream, self._group, first.key, first.key, 1)
                (rows,) = await self._link.ask_all([ask])
            if isinstance(rows, Exception):
                rows = self._unless_passing(rows)
            if rows and rows[0][1] == me:
                undone.append(piece)
            else:
                self._let_go_all(piece.messages)
        return undone

    @staticmethod
    def _unless_passing(error: Exception) -> list[Any]:
        """Raise passing errors; otherwise nothing is pending: the group is gone."""
        if is_passing(error):
            raise error
        return []
