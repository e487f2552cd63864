"""The delivery count is the number of starts, whatever happened in between."""

from __future__ import annotations

import time
from typing import Any

from forebay_workers.clock import RealClock
from forebay_workers.message import Message
from forebay_workers.observe.hooks import Hooks
from forebay_workers.servers.abilities import ask_abilities
from forebay_workers.servers.connect import Server
from forebay_workers.settle.handing_back import hand_back
from forebay_workers.settle.settler import Settler
from workers.tests.support.target import GROUP, Target

ME = "me"


def deliver(target: Target, consumer: str = ME) -> bytes:
    """Add an entry and deliver it."""
    (entry_id,) = target.add("s", 1)
    target.client.xgroup_create("s", GROUP, "0")
    target.client.xreadgroup(GROUP, consumer, {"s": ">"})
    return entry_id.encode()


def count(target: Target) -> int:
    (row,) = target.pending("s")
    return int(row["times_delivered"])


async def announce(target: Target, key: bytes) -> bool:
    """Announce the second attempt, by a worker that saw no renewal in the last ten seconds."""
    server = Server(target.url)
    settler = Settler(server.shared, GROUP, ME, RealClock(), Hooks(), lambda *_: None)
    try:
        return await settler.announce(
            Message("s", key, [], starts=1, leased_s=time.monotonic() - 10)
        )
    finally:
        await server.close()


async def test_an_attempt_is_announced_although_a_renewal_was_on_its_way(target: Target) -> None:
    assert await announce(target, deliver(target))
    assert count(target) == 2


async def test_what_somebody_else_has_is_not_announced(target: Target) -> None:
    assert not await announce(target, deliver(target, "other"))
    assert count(target) == 1


async def handed_back(target: Target, *claim: Any) -> int:
    """The count of an entry that is ours but did not reach us, after it was handed back."""
    key = deliver(target)
    if claim:
        target.client.execute_command("XCLAIM", "s", GROUP, ME, 0, key, *claim)
    server = Server(target.url)
    abilities = await ask_abilities(server.shared)
    await hand_back(server.shared, "s", GROUP, ME, {}, abilities)
    await server.close()
    return count(target)


async def test_a_new_entry_on_its_way_is_not_charged(target: Target) -> None:
    assert await handed_back(target) == 0


async def test_a_claimed_entry_on_its_way_keeps_its_count(target: Target) -> None:
    server = Server(target.url)
    claims_while_reading = (await ask_abilities(server.shared)).claim
    await server.close()
    # A read counts the entries it claims; XCLAIM here leaves the count.
    assert await handed_back(target, "RETRYCOUNT", 3) == (2 if claims_while_reading else 3)
