"""Effects exactly once: a key that marks work as done, and commands that run with the mark.

    async with app.once(f"bill:{order.id}") as once:
        if once.first:
            once.also("INCRBY", "turnover", order.cents)

    enter     SET key token NX PX lease      first: not done, and not being done
    leave     WATCH key; it has our token;   MULTI, SET key done EX keep, INCRBY ..., EXEC
    failed    WATCH key; it has our token;   MULTI, DEL key, EXEC       the next call is first again

The mark and the commands are one transaction, so they happen once, even if workers are killed.
While the block runs, the key is renewed.  Another worker gets ``BusyError`` meanwhile, so that its
message is tried again later.  An effect outside the server can only be exactly once if it has the
key too: pass it to the database or the payment service as their idempotency key.
"""

from __future__ import annotations

import asyncio
import secrets
from types import TracebackType

from redis.exceptions import ResponseError, WatchError

from forebay_workers.clock import Clock
from forebay_workers.errors import BusyError, ConfigError, LeaseLostError
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.link import Argument, Command, done
from forebay_workers.servers.slots import key_of
from forebay_workers.servers.trouble import FAULTS

DONE = b"done"
PREFIX = "forebay:once:"


class Once:
    """Work that must be done once.

    ``first``: whether to do it now; False: it was done before.
    """

    def __init__(
        self, server: Serves, key: str, clock: Clock, *, lease_s: float, keep_s: float
    ) -> None:
        self._server = server
        self._key = PREFIX + key
        self._clock = clock
        self._lease_ms = max(1, int(lease_s * 1000))
        self._keep_ms = int(keep_s * 1000)
        self._token = secrets.token_hex(8).encode()
        self._commands: list[Command] = []
        self._renewal: asyncio.Task[None] | None = None
        self.first = False

    def also(self, *command: Argument) -> None:
        """Run this command in one transaction with the mark."""
        key = key_of(command)
        if key is not None and self._server.slot(key) != self._server.slot(self._key):
            raise ConfigError(
                f"On a cluster {key!r} and app.once({self._key.removeprefix(PREFIX)!r}) must be in "
                f"the same slot. Start the name with {{{key}}}."
            )
        self._commands.append(command)

    async def __aenter__(self) -> Once:
        link = self._server.shared
        for _ in range(2):  # the key may expire between the two questions
            if await link.ask("SET", self._key, self._token, "NX", "PX", self._lease_ms):
                self.first = True
                self._renewal = asyncio.create_task(self._renew())
                return self
            held = await link.ask("GET", self._key)
            if held == DONE:
                return self
            if held is not None:
                raise BusyError(f"{self._key!r} is being done by another worker now")
        raise BusyError(f"{self._key!r} changes its owner now")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.first:
            return
        if self._renewal is not None:
            self._renewal.cancel()
        if error is None:
            mark: Command = ("SET", self._key, DONE, "PX", self._keep_ms)
            await self._if_ours([mark, *self._commands])
        else:
            try:
                await self._if_ours([("DEL", self._key)])
            except (LeaseLostError, *FAULTS):
                pass  # it expires; the error of the block matters more

    async def _if_ours(self, commands: list[Command]) -> None:
        async with self._server.watching() as link:
            await link.ask("WATCH", self._key)
            if await link.ask("GET", self._key) != self._token:
                await link.ask("UNWATCH")
                raise LeaseLostError(f"{self._key!r} expired meanwhile; nothing was done")
            try:
                done(await link.ask_all([("MULTI",), *commands, ("EXEC",)]))
            except WatchError:
                raise LeaseLostError(f"{self._key!r} expired meanwhile; nothing was done") from None
            except ResponseError:
                # One of the commands failed, but the mark was set.
                await link.ask("DEL", self._key)
                raise

    async def _renew(self) -> None:
        while True:
            await self._clock.sleep(self._lease_ms / 3000)
            try:
                await self._if_ours([("PEXPIRE", self._key, self._lease_ms)])
            except LeaseLostError:
                return
            except FAULTS:
                continue  # next time, or it expires
