"""``python -m reliability.worker_program URL``: the worker that R26 kills at random points.

Three kinds of messages arrive on one stream:

    Order    its effect must be there exactly once, through ``app.once``; it may be begun often
    Poison   always fails, and must become a dead letter after its attempts
    Long     takes more than two leases, and must not go to another worker while its own lives

The worker notes its steps in streams of the server.  The IDs of these notes are the server's
own time, so all of them, and those of the judge, use one clock:

    begun     a handler starts:  kind n attempt pid
    handled   a handler ends:  kind n attempt pid
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from dataclasses import dataclass

from forebay_workers import App, Message, Retry

STREAM, GROUP = "orders", "g"
BEGUN, HANDLED, EFFECTS = "begun", "handled", "effects"
#: Long enough for a busy machine to renew in time, short enough to claim from the dead soon.
LEASE_S = 3.0
LONG_S = 2.5 * LEASE_S
GRACE_S = 1.0
CONCURRENCY = 8
POISON_ATTEMPTS = 4
#: A message whose workers are killed again and again is not to blame.
PATIENT = Retry(1000, backoff=(0.2,))
#: Pauses before and after an effect; most kills fall into one of them.
BEFORE_S, AFTER_S = 0.02, 0.05


@dataclass
class Order:
    """To be billed once."""

    n: int


@dataclass
class Poison:
    """Fails each time."""

    n: int


@dataclass
class Long:
    """Takes its time."""

    n: int


def build(url: str) -> App:
    """The app of such a process."""
    app = App(url, group=GROUP, lease=LEASE_S, grace=GRACE_S)

    async def note(stream: str, message: Order | Poison | Long, m: Message) -> None:
        about = ("kind", type(message).__name__, "n", message.n)
        who = ("attempt", m.attempt, "pid", os.getpid())
        await app.server.shared.ask("XADD", stream, "*", *about, *who)

    @app.on(STREAM, concurrency=CONCURRENCY, retry=PATIENT)
    async def bill(order: Order, m: Message) -> None:
        await note(BEGUN, order, m)
        async with app.once(f"bill:{order.n}") as once:
            await asyncio.sleep(random.uniform(0, BEFORE_S))
            if once.first:
                once.also("RPUSH", EFFECTS, order.n)
        await asyncio.sleep(random.uniform(0, AFTER_S))
        await note(HANDLED, order, m)

    @app.on(STREAM, concurrency=CONCURRENCY, retry=Retry(POISON_ATTEMPTS, backoff=(0.1,)))
    async def choke(poison: Poison, m: Message) -> None:
        await note(BEGUN, poison, m)
        raise ValueError("poison")

    @app.on(STREAM, concurrency=CONCURRENCY, retry=PATIENT)
    async def grind(long: Long, m: Message) -> None:
        await note(BEGUN, long, m)
        await asyncio.sleep(LONG_S)
        await note(HANDLED, long, m)

    return app


if __name__ == "__main__":
    asyncio.run(build(sys.argv[1]).run())
