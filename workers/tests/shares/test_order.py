"""Order per key over many processes that join, leave, are killed and are frozen."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testkit import ordered_worker as ordered
from testkit.ordered_worker import DisorderError, check
from workers.tests.support.target import Target, until

#: Long enough for a busy machine to renew in time, short enough to wait for it to end.
LEASE_S = 3.0
KEYS = [f"customer-{n}" for n in range(24)]

Start = Callable[[str], subprocess.Popen[bytes]]


class Shop:
    """Publishes messages with a number for each key, and reads what became of them."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.app = target.app()
        self.numbers: Counter[str] = Counter()

    async def __aenter__(self) -> Shop:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.app.close()

    async def publish(self, rounds: int) -> None:
        """Publish this many messages of each key."""
        messages = []
        for _ in range(rounds):
            for key in KEYS:
                self.numbers[key] += 1
                messages.append({"customer": key, "n": self.numbers[key]})
        await self.app.publish_many(ordered.partitioned(), messages)

    def history(self) -> list[str]:
        lines: Any = self.target.client.lrange("history", 0, -1)
        return list(lines)

    def ended(self) -> set[tuple[str, str]]:
        """Keys and numbers that were handled."""
        words = [line.split() for line in self.history()]
        return {(key, n) for _, what, key, n, _ in words if what == "end"}

    async def settled(self) -> None:
        """Wait until all published messages are handled."""
        wanted = sum(self.numbers.values())
        await until("all are handled", lambda: len(self.ended()) == wanted)

    async def handled(self, share: float) -> None:
        """Wait until a share of the published messages is handled."""
        wanted = sum(self.numbers.values()) * share
        await until("a part is handled", lambda: len(self.ended()) >= wanted)

    def owners(self) -> Counter[str]:
        """How many partitions each process has."""
        keys = [f"{ordered.partitioned().stream(n)}:owner:g" for n in range(ordered.PARTITIONS)]
        owners: Any = [self.target.client.get(key) for key in keys]
        return Counter(owner for owner in owners if owner is not None)

    def is_even(self, members: int) -> bool:
        """Whether this many workers share all partitions evenly, up to one partition."""
        sizes = self.owners().values()
        even = len(sizes) == members and max(sizes) - min(sizes) <= 1
        return even and sum(sizes) == ordered.PARTITIONS


@pytest.fixture
def start(anywhere: Target) -> Iterator[Start]:
    """Worker processes on the server, ended after the test."""
    started = []

    def begin(name: str) -> subprocess.Popen[bytes]:
        started.append(ordered.start(anywhere.url, name, lease_s=LEASE_S))
        return started[-1]

    yield begin
    for process in started:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


async def ended(process: subprocess.Popen[bytes]) -> None:
    await until("it ends", lambda: process.poll() is not None)


async def test_the_order_of_each_key_holds_while_workers_join_leave_and_are_killed(
    anywhere: Target, start: Start
) -> None:
    async with Shop(anywhere) as shop:
        await shop.publish(5)
        first = start("w1")
        await shop.handled(0.3)
        second, third = start("w2"), start("w3")
        await shop.publish(10)
        await until("three share", lambda: shop.is_even(3))
        await shop.publish(10)
        await shop.handled(0.6)
        first.send_signal(signal.SIGTERM)
        await shop.publish(5)
        await ended(first)
        assert first.returncode == 0
        await until("two share", lambda: shop.is_even(2))
        await shop.publish(10)
        await shop.handled(0.8)
        second.kill()
        start("w4")
        await shop.publish(5)
        await shop.settled()
        third.send_signal(signal.SIGTERM)
        await ended(third)
        await shop.publish(2)
        await shop.settled()
        assert check(shop.history()) == shop.numbers


async def test_a_frozen_owner_that_wakes_up_later_does_no_harm(
    anywhere: Target, start: Start
) -> None:
    async with Shop(anywhere) as shop:
        frozen = start("frozen")
        await until("it has all", lambda: shop.is_even(1))
        await shop.publish(10)
        await shop.handled(0.3)
        frozen.send_signal(signal.SIGSTOP)
        stopped_s = time.monotonic()
        # It may have a read under way: new messages may be delivered to it.
        await shop.publish(5)
        start("next")
        await shop.settled()
        frozen.send_signal(signal.SIGCONT)
        await shop.publish(10)
        await until("both share", lambda: shop.is_even(2))
        await shop.publish(5)
        await shop.settled()
        assert check(shop.history(), frozen={"frozen": stopped_s}) == shop.numbers


HISTORY = ["a begin k 1", "a end k 1", "a begin k 2", "a end k 2", "b begin k 3", "b end k 3"]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([*HISTORY[2:4], *HISTORY[:2], *HISTORY[4:]], id="two before one"),
        pytest.param([*HISTORY[:2], *HISTORY[4:]], id="one is missing"),
        pytest.param([*HISTORY[:3], *HISTORY[4:], HISTORY[3]], id="three inside of two"),
        pytest.param([*HISTORY, "b begin k 1"], id="back to what it had done itself"),
        pytest.param(["a begin k 1", "a begin k 2"], id="two at once"),
    ],
)
def test_the_checker_finds_a_broken_order(broken: list[str]) -> None:
    assert check(HISTORY) == {"k": 3}
    with pytest.raises(DisorderError):
        check(broken)


def test_the_checker_lets_the_next_worker_repeat_what_a_killed_one_did() -> None:
    assert check([*HISTORY[:4], "b begin k 1", "b end k 1", *HISTORY[2:]]) == {"k": 3}
    assert check(["a begin k 1", "b begin k 1", "b end k 1"]) == {"k": 1}
