"""A worker on a partitioned stream as its own process, and a checker of its notes.

    python -m testkit.ordered_worker URL NAME COUNT LEASE GRACE

Each handler writes two lines to the list ``history``, which the server keeps in one order:

    RPUSH history "w1.1 begin ann 7 81.5"    ...    RPUSH history "w1.1 end ann 7 81.5"

(``.1`` is the life of the process: it begins another one after it has lost a lease.  The last word
is the time when the handler was called, by the clock that all processes of a machine share.)

The messages of a key are numbered without gaps.  The checker accepts:

    the next number                   7 after 6
    an earlier number, once more      5 after 6, at *another* process: the first one was killed, or
                                      frozen, before the server had its acknowledgement
    a begin inside another one        at another process, and only if the first one never ended, or
                                      was frozen
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping

from forebay_workers import App, Hooks, Message, Partitioned, Retry
from testkit.places import ROOT
from testkit.servers import environment

PARTITIONS = 8


def partitioned(count: int = PARTITIONS) -> Partitioned:
    """The stream that is read."""
    return Partitioned("orders", count, by="customer")


def start(
    url: str, name: str, *, lease_s: float, grace_s: float = 30.0, count: int = PARTITIONS
) -> subprocess.Popen[bytes]:
    """Start a worker."""
    words = [url, name, str(count), str(lease_s), str(grace_s)]
    command = [sys.executable, "-m", "testkit.ordered_worker", *words]
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env["PYTHONPATH"]])
    return subprocess.Popen(command, cwd=ROOT, env=env)


class Lives(Hooks):
    """A process that lost its lease, because it was frozen or slow, begins another life."""

    count = 1

    def lost(self, message: Message) -> None:
        self.count += 1


async def work(url: str, name: str, count: int, lease_s: float, grace_s: float) -> None:
    """Work until SIGTERM."""
    lives = Lives()
    app = App(url, group="g", lease=lease_s, grace=grace_s, hooks=[lives])
    chance = random.Random(name)

    @app.on(partitioned(count), concurrency=8, retry=Retry(5, backoff=(0.02,)))
    async def handle(fields: dict[str, str]) -> None:
        began = f"{fields['customer']} {fields['n']} {time.monotonic()}"
        me, what = f"{name}.{lives.count}", began
        await app.server.shared.ask("RPUSH", "history", f"{me} begin {what}")
        await asyncio.sleep(chance.random() / 100)
        await app.server.shared.ask("RPUSH", "history", f"{me} end {what}")
        if chance.random() < 0.02:
            raise ValueError("it fails after it was done")

    await app.run()


class DisorderError(AssertionError):
    """A history that breaks the order of a key."""


def check(history: Iterable[str], *, frozen: Mapping[str, float] | None = None) -> dict[str, int]:
    """The last number of each key; DisorderError if the order of one was broken.

    ``frozen``: processes that were stopped for a while, and when.  A handler that they had begun
    before may reach the server late, and may end late.  So may a handler that was about to be
    called: it runs in the frozen life of the process, before the process checks its lease.
    """
    stopped = frozen or {}
    frozen_lives: dict[str, str] = {}
    last: dict[str, tuple[int, str]] = {}
    running: dict[str, tuple[str, int]] = {}
    for line in history:
        name, what, key, number, *at = line.split()
        n, process = int(number), name.partition(".")[0]
        if process in stopped and (not at or float(at[0]) <= stopped[process]):
            frozen_lives[process] = name
        is_late = frozen_lives.get(process) == name
        before, owner = last.get(key, (0, ""))
        if what == "end":
            if running.get(key) == (name, n):
                del running[key]
            elif process not in stopped:
                raise DisorderError(f"{line}: {running.get(key)} had begun")
            continue
        if is_late and n <= before and owner != name:
            continue
        if key in running and running[key][0] == name:
            raise DisorderError(f"{line}: it had begun with {running[key]} and not ended")
        if n > before + 1:
            raise DisorderError(f"{line}: the one before it was {before}")
        if n <= before and owner == name and key not in running and n != before:
            raise DisorderError(f"{line}: it had done {before} itself")
        last[key] = n, name
        running[key] = name, n
    return {key: n for key, (n, _) in last.items()}


if __name__ == "__main__":
    _, the_url, the_name, the_count, the_lease, the_grace = sys.argv
    asyncio.run(work(the_url, the_name, int(the_count), float(the_lease), float(the_grace)))
