"""Owners of messages: claims from dead workers, leases of living ones, the end of a process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forebay_workers import Message, Retry
from forebay_workers.settle.handing_back import NOBODY
from workers.tests.support import program
from workers.tests.support.target import Target, until, working

Start = Callable[..., subprocess.Popen[bytes]]
#: Long enough for a busy machine to renew in time.
LEASE_S = 2.0
TWO_LEASES_MS = 4500


@pytest.fixture
def start(target: Target) -> Iterator[Start]:
    """Worker processes on the server, ended after the test."""
    started = []

    def begin(**settings: object) -> subprocess.Popen[bytes]:
        started.append(program.start(target.url, **settings))
        return started[-1]

    yield begin
    for process in started:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def listed(target: Target, key: str) -> list[str]:
    found: Any = target.client.lrange(key, 0, -1)
    return list(found)


def names(target: Target) -> set[str]:
    rows: Any = target.client.xinfo_consumers("s", "g")
    return {row["name"] for row in rows}


def idle_ms(target: Target) -> int:
    return max(row["time_since_delivered"] for row in target.pending("s"))


async def passed(target: Target, ms: int) -> None:
    """Wait until this much time has passed on the server."""
    start_s, start_us = target.client.time()  # type: ignore[misc]

    def has_passed() -> bool:
        s, us = target.client.time()  # type: ignore[misc]
        return (s - start_s) * 1000 + (us - start_us) / 1000 > ms

    await until(f"{ms} ms on the server", has_passed)


async def test_what_a_killed_worker_left_is_done_by_another(target: Target, start: Start) -> None:
    target.add("s", *range(50))
    dead = start(handler="hang", lease=LEASE_S)
    await until("all slots hang", lambda: len(listed(target, "begun")) == 16)
    dead.kill()
    dead.wait()
    app, seen = target.app(lease=LEASE_S), {}

    @app.on("s")
    async def handler(fields: dict, m: Message) -> None:
        seen[int(fields["n"])] = m.attempt

    async with working(app):
        await until("all", lambda: len(seen) == 50 and not target.pending("s"))
    assert sorted(seen) == list(range(50))
    begun = {int(line.split("/")[0]) for line in listed(target, "begun")}
    assert {seen[n] for n in begun} == {2}


async def test_a_long_handler_is_not_delivered_again_while_its_worker_lives(
    target: Target, start: Start
) -> None:
    target.add("s", 1)
    start(handler="hang", lease=LEASE_S)
    await until("it hangs", lambda: listed(target, "begun"))
    app, seen = target.app(lease=LEASE_S), []

    @app.on("s")
    async def handler(fields: dict) -> None:
        seen.append(fields["n"])

    async with working(app):
        await passed(target, TWO_LEASES_MS)
        assert idle_ms(target) < 1000 * LEASE_S
        (row,) = target.pending("s")
        assert row["times_delivered"] == 1
    assert seen == []
    assert listed(target, "begun") == ["1/1"]


async def test_prefetched_messages_of_a_living_worker_are_not_taken_either(
    target: Target, start: Start
) -> None:
    target.add("s", *range(4))
    start(handler="hang", lease=LEASE_S, concurrency=2)
    await until(
        "two wait", lambda: len(listed(target, "begun")) == 2 and len(target.pending("s")) == 4
    )
    app, seen = target.app(lease=LEASE_S), []

    @app.on("s")
    async def handler(fields: dict) -> None:
        seen.append(fields["n"])

    async with working(app):
        await passed(target, TWO_LEASES_MS)
    assert seen == []


async def test_a_worker_that_was_frozen_gives_way_to_the_one_that_claimed(
    target: Target, start: Start
) -> None:
    (entry_id,) = target.add("s", 1)
    frozen = start(handler="hang", lease=LEASE_S)
    await until("it hangs", lambda: listed(target, "begun"))
    frozen.send_signal(signal.SIGSTOP)
    app, begun, end = target.app(lease=LEASE_S), [], asyncio.Event()

    @app.on("s")
    async def handler(fields: dict, m: Message) -> None:
        begun.append(m.attempt)
        await end.wait()

    async with working(app) as worker:
        await until("claimed", lambda: begun)
        me = worker._options.consumer
        frozen.send_signal(signal.SIGCONT)
        await passed(target, TWO_LEASES_MS)
        (row,) = target.pending("s")
        assert (row["message_id"], row["consumer"]) == (entry_id, me)
        end.set()
        await until("acknowledged", lambda: not target.pending("s"))
    # A server that claims for blocked readers gave it to the frozen one once more.
    assert begun in ([2], [3])


async def test_a_message_that_kills_its_worker_is_buried_and_its_neighbours_are_not(
    target: Target, start: Start
) -> None:
    target.add("s", 0, kill="1")
    target.add("s", *range(1, 20))
    # A worker that stalls for a lease would be charged for an attempt that was not begun.
    settings = {"lease": 2.0, "attempts": 3, "concurrency": 1}
    for _ in range(3):
        process = start(**settings)
        await until(
            "it died",
            lambda process=process: process.poll() is not None,
            lambda: (listed(target, "begun"), target.pending("s")[:2], target.entries("s:dead")),
        )
    start(**settings)
    await until("buried", lambda: target.client.xlen("s:dead") == 1)
    await until("others", lambda: len(set(listed(target, "handled"))) == 19)
    (letter,) = target.entries("s:dead")
    assert (letter["n"], letter["@deliveries"]) == ("0", "3")
    assert "died, or lost its lease, in each of 3 attempts" in letter["@error"]
    others = {line.split("/")[1] for line in listed(target, "begun") if not line.startswith("0/")}
    assert others <= {"1", "2"}


async def test_sigterm_lets_handlers_end_and_hands_back_the_rest(
    target: Target, start: Start
) -> None:
    target.add("s", 0, 1, hang="1")
    target.add("s", *range(2, 6))
    process = start(handler="mixed", concurrency=2, grace=0.3, lease=60)
    await until("two hang", lambda: len(listed(target, "begun")) == 2)
    await until("prefetched", lambda: len(target.pending("s")) == 4)
    process.send_signal(signal.SIGTERM)
    await until("it ends", lambda: process.poll() is not None)
    assert process.returncode == 0
    rows = {row["message_id"]: row for row in target.pending("s")}
    # Two were begun and cancelled; the others were not charged for being fetched.
    assert sorted(row["times_delivered"] for row in rows.values()) == [0, 0, 1, 1]
    assert names(target) <= {NOBODY}
    app, seen = target.app(lease=60), {}

    @app.on("s")
    async def handler(fields: dict, m: Message) -> None:
        seen[int(fields["n"])] = m.attempt

    async with working(app):
        await until("all at once, in spite of the lease", lambda: len(seen) == 6)
    assert seen == {0: 2, 1: 2, 2: 1, 3: 1, 4: 1, 5: 1}


async def test_a_handler_within_the_grace_time_ends_well(target: Target) -> None:
    app, begun, end = target.app(), [], asyncio.Event()

    @app.on("s")
    async def handler(fields: dict) -> None:
        begun.append(1)
        await end.wait()

    target.add("s", 1)
    async with working(app) as worker:
        await until("it runs", lambda: begun)
        worker.stop()
        await asyncio.sleep(0)
        end.set()
    assert target.pending("s") == []
    assert names(target) == set()


async def test_a_named_consumer_does_its_own_backlog_first(target: Target, start: Start) -> None:
    target.add("s", *range(5))
    dead = start(handler="hang", consumer="one", lease=60)
    await until("all hang", lambda: len(listed(target, "begun")) == 5)
    dead.kill()
    dead.wait()
    target.add("s", 5)
    app, seen = target.app(consumer="one", lease=60), []

    @app.on("s", concurrency=1)
    async def handler(fields: dict, m: Message) -> None:
        seen.append((int(fields["n"]), m.attempt))

    async with working(app):
        await until("all", lambda: len(seen) == 6)
    assert seen == [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 1)]
    assert names(target) == {"one"}


async def test_parked_messages_are_handed_back_too(target: Target) -> None:
    app, failed = target.app(), []

    @app.on("s", retry=Retry(3, backoff=(60,)))
    async def handler(fields: dict) -> None:
        failed.append(1)
        raise ValueError("later")

    target.add("s", 1)
    async with working(app):
        await until("it failed", lambda: failed)
    (row,) = target.pending("s")
    assert row["times_delivered"] == 1
    assert row["consumer"] in ("", NOBODY)
