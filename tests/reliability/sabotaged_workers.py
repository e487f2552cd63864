"""``python -m tests.reliability.sabotaged_workers ack-first URL``: R26's worker with a fault.

ack-first    acknowledges what it has fetched before any handler runs
forgetful    its idempotency store forgets completed effects
careless     never renews a lease
unburied     acknowledges poison, and writes no dead letter
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

from forebay_workers.lanes.leases import Leases
from forebay_workers.message import Message
from forebay_workers.settle.once import Once
from forebay_workers.worker.flow import Flow
from reliability.worker_program import build


def ack_first() -> None:
    take = Flow.take

    def hasty(self: Flow, messages: Sequence[Message]) -> None:
        self._settler.ack_all(self.stream, messages)
        take(self, messages)

    Flow.take = hasty  # type: ignore[method-assign]


def forgetful() -> None:
    async def enter(self: Once) -> Once:
        self.first = True
        return self

    async def leave(self: Once, *_: object) -> None:
        await self._server.shared.transaction(self._commands)

    Once.__aenter__, Once.__aexit__ = enter, leave  # type: ignore[method-assign]


def careless() -> None:
    async def forget(self: Leases, held: Any) -> list[Message]:
        return []

    Leases.renew = forget  # type: ignore[method-assign]


def unburied() -> None:
    def bury(self: Flow, message: Message, error: BaseException) -> None:
        message.is_running = False
        self._settler.ack(message)

    Flow._bury = bury  # type: ignore[method-assign]


SABOTAGES: dict[str, Callable[[], None]] = {
    "ack-first": ack_first,
    "forgetful": forgetful,
    "careless": careless,
    "unburied": unburied,
}

if __name__ == "__main__":
    SABOTAGES[sys.argv[1]]()
    asyncio.run(build(sys.argv[2]).run())
