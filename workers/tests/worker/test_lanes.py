"""Runners of messages: none ends while there is work that no other runner takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from forebay_workers.clock import RealClock
from forebay_workers.lanes.gatherer import Gatherer
from forebay_workers.lanes.lanes import Lanes
from forebay_workers.message import Message

Put = Callable[[list[Message]], None]


def lanes(done: list[Message]) -> Put:
    async def run(message: Message) -> None:
        done.append(message)

    return Lanes(run, None, 1, RealClock()).put


def gatherer(done: list[Message]) -> Put:
    async def run(batch: list[Message]) -> list[tuple[Message, float]]:
        done.extend(batch)
        return []

    return Gatherer(run, 1, 60.0, 1, RealClock()).put


@pytest.mark.parametrize("runs", [lanes, gatherer])
async def test_what_comes_in_the_moment_in_which_the_last_runner_ends_is_run(
    runs: Callable[[list[Message]], Put],
) -> None:
    done: list[Message] = []
    first, second = Message("s", b"1-0", []), Message("s", b"2-0", [])
    put = runs(done)
    put([first])
    # The runner does its step and ends; then this runs; then the loop reports that it has ended.
    asyncio.get_running_loop().call_soon(put, [second])
    for _ in range(10):
        await asyncio.sleep(0)
    assert done == [first, second]
