"""``make bench-workers``: the same messages, handled by several programs in turns on one server.

    python -m bench.workers.run [--quick] [--server forebay|redis]

    bare         redis-py: XREADGROUP COUNT 100, a handler, XACK one by one; the template of Redis
    worker       forebay_workers, one message at a time
    batch        forebay_workers, lists of 500
    faststream   FastStream's subscriber on a stream with a group
    bare 1       redis-py: read one, handle it, acknowledge it
    worker 1     forebay_workers without any batching: prefetch and concurrency of 1
    ceiling      the most that Python can do: read 1000, make a dict of each, acknowledge all in
                 one command; no leases, no retries, no orderly end

Every program handles messages of one stream in a group of its own, with a handler that adds a
number.  A round runs all of them, so that a busy machine is busy for all; the median ratio counts.
CPU is the time of this process for a message: it does not grow while the machine does other work.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import hiredis
from faststream.redis import RedisBroker, StreamSub
from redis import asyncio as redis_asyncio

from forebay_workers import App
from testkit.oracle import start_redis
from testkit.servers import ServerProcess, start_forebay

STREAM = "bench"
FULL, QUICK = (100_000, 5), (20_000, 3)
#: Slow programs handle this share of the messages; quick ones need all, or their start would count.
SLOW, SLOW_PART = ("bare", "faststream", "bare 1", "worker 1"), 0.1
PAGE = 1000


class Pace(NamedTuple):
    """The time that a program needed."""

    seconds: float
    cpu_s: float

    def each(self, count: int) -> Pace:
        """The time for one of this many messages."""
        return Pace(self.seconds / count, self.cpu_s / count)


Program = Callable[[str, int, str], Awaitable[Pace]]


class Watch:
    """Measures the time since it was created."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> Pace:
        """The time that has passed."""
        began_s, began_cpu_s = self._began
        return Pace(time.perf_counter() - began_s, time.process_time() - began_cpu_s)


class Done:
    """Counts messages, and knows when all are handled."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.total = 0
        self._all = asyncio.Event()

    def add(self, number: int) -> None:
        """One more."""
        self.total += number
        self._left -= 1
        if self._left == 0:
            self._all.set()

    async def wait(self) -> None:
        """Wait until all are handled."""
        await self._all.wait()


async def bare(url: str, count: int, group: str) -> Pace:
    """The loop that most people write first."""
    return await bare_loop(url, count, group, 100)


async def bare_one(url: str, count: int, group: str) -> Pace:
    """The same, with a read for each message."""
    return await bare_loop(url, count, group, 1)


async def bare_loop(url: str, count: int, group: str, page: int) -> Pace:
    """Read, handle, acknowledge one by one."""
    client: Any = redis_asyncio.Redis.from_url(url)
    await client.xgroup_create(STREAM, group, "0")
    done = Done(count)

    async def handle(fields: Any) -> None:
        done.add(int(fields[b"n"]))

    watch, left = Watch(), count
    while left:
        read = await client.xreadgroup(group, "c", {STREAM: ">"}, count=page, block=1000)
        for _, entries in read:
            for entry_id, fields in entries:
                await handle(fields)
                await client.xack(STREAM, group, entry_id)
                left -= 1
    pace = watch.stop()
    await client.aclose()
    return pace


async def worker(
    url: str, count: int, group: str, prefetch: int = 1000, concurrency: int = 16
) -> Pace:
    """One message at a time."""
    app, done = App(url, group=group), Done(count)

    @app.on(STREAM, keep=None, prefetch=prefetch, concurrency=concurrency)
    async def handle(fields: dict[str, str]) -> None:
        done.add(int(fields["n"]))

    return await timed(app, done)


async def worker_one(url: str, count: int, group: str) -> Pace:
    """The same without any batching."""
    return await worker(url, count, group, prefetch=1, concurrency=1)


async def batch(url: str, count: int, group: str) -> Pace:
    """Lists of messages."""
    app, done = App(url, group=group), Done(count)

    @app.on_batch(STREAM, size=500, within=0.05, prefetch=2000, keep=None)
    async def handle(rows: list[dict[str, str]]) -> None:
        for row in rows:
            done.add(int(row["n"]))

    return await timed(app, done)


async def timed(app: App, done: Done) -> Pace:
    """A worker, from its start to the last handler."""
    running, watch = app.worker(), Watch()
    task = asyncio.create_task(running.run())
    await done.wait()
    pace = watch.stop()
    running.stop()
    await task
    await app.close()
    return pace


async def faststream(url: str, count: int, group: str) -> Pace:
    """The same with FastStream, which must be told where the group starts."""
    broker, done = RedisBroker(url), Done(count)
    client = redis_asyncio.Redis.from_url(url)
    await client.xgroup_create(STREAM, group, "0")

    @broker.subscriber(stream=StreamSub(STREAM, group=group, consumer="c", max_records=100))
    async def handle(message: dict[str, Any]) -> None:
        done.add(int(message["n"]))

    watch = Watch()
    await broker.start()
    await done.wait()
    pace = watch.stop()
    await broker.stop()
    await client.aclose()
    return pace


async def ceiling(url: str, count: int, group: str) -> Pace:
    """As few calls and objects as possible with hiredis and a dict for each message."""
    client: Any = redis_asyncio.Redis.from_url(url, protocol=2)
    await client.xgroup_create(STREAM, group, "0")
    connection = client.connection_pool.make_connection()
    await connection.connect()
    done, watch, left = Done(count), Watch(), count
    while left:
        await send(
            connection, "XREADGROUP", "GROUP", group, "c", "COUNT", PAGE, "STREAMS", STREAM, ">"
        )
        ((_, entries),) = await connection.read_response(disable_decoding=True)
        rows = [dict(zip(*[map(bytes.decode, raw)] * 2, strict=True)) for _, raw in entries]
        for row in rows:
            done.add(int(row["n"]))
        await send(connection, "XACK", STREAM, group, *[entry[0] for entry in entries])
        await connection.read_response(disable_decoding=True)
        left -= len(entries)
    pace = watch.stop()
    await connection.disconnect()
    await client.aclose()
    return pace


async def send(connection: Any, *command: Any) -> None:
    """One command to a connection of redis-py."""
    await connection.send_packed_command(hiredis.pack_command(command), check_health=False)


PROGRAMS: dict[str, Program] = {
    "bare": bare,
    "worker": worker,
    "batch": batch,
    "faststream": faststream,
    "bare 1": bare_one,
    "worker 1": worker_one,
    "ceiling": ceiling,
}
#: A program, the one it is compared with, and the target ratio of their rates.
GOALS = (
    ("worker", "bare", 3.0),
    ("worker", "faststream", 2.0),
    ("worker 1", "bare 1", 1 / 1.3),
    ("batch", "worker", 5.0),
    ("batch", "ceiling", 1.0),
)
Paces = dict[str, list[Pace]]


async def measure(server: ServerProcess, count: int, rounds: int) -> Paces:
    """The time of each program for a message, round by round."""
    url = f"redis://127.0.0.1:{server.port}"
    async with App(url) as app:
        message = {"n": 1, "item": "tea", "cents": 320}
        await app.publish_many(STREAM, (message for _ in range(count)))
    found: Paces = {name: [] for name in PROGRAMS}
    for at in range(rounds):
        for name, program in PROGRAMS.items():
            share = int(count * SLOW_PART) if name in SLOW else count
            pace = await program(url, share, f"{name}-{at}")
            found[name].append(pace.each(share))
    return found


def lines(found: Paces) -> list[str]:
    """Each program, then the ratios of the same round, by the clock and by CPU time."""
    shown = [f"{'program':<12}{'messages/s':>12}{'CPU us':>10}"]
    for name, paces in found.items():
        rate = median(1 / pace.seconds for pace in paces)
        cpu_us = median(pace.cpu_s * 1e6 for pace in paces)
        shown.append(f"{name:<12}{rate:>12,.0f}{cpu_us:>10.1f}")
    shown += ["", f"{'ratio':<26}{'rate':>8}{'CPU':>8}{'goal':>8}"]
    for name, other, goal in GOALS:
        pairs = list(zip(found[name], found[other], strict=True))
        rate = median(theirs.seconds / ours.seconds for ours, theirs in pairs)
        cpu = median(theirs.cpu_s / ours.cpu_s for ours, theirs in pairs)
        shown.append(f"{f'{name} to {other}':<26}{rate:>7.2f}x{cpu:>7.2f}x{goal:>7.2f}x")
    return shown


def main() -> None:
    """Measure on one server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--server", choices=("forebay", "redis"), default="forebay")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="fb-"))
    start = start_forebay if options.server == "forebay" else start_redis
    server = start(folder)
    try:
        found = asyncio.run(measure(server, *(QUICK if options.quick else FULL)))
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"on {options.server}")
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
