"""Exactly-once effects: the mark and the commands are one transaction."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import ResponseError

from forebay_workers import BusyError, WorkerError
from workers.tests.support.target import Target, until


async def test_it_is_done_once_however_often_it_is_tried(target: Target) -> None:
    async with target.app() as app:
        firsts = []
        for _ in range(3):
            async with app.once("bill:1") as once:
                firsts.append(once.first)
                if once.first:
                    once.also("INCRBY", "turnover", 320)
    assert firsts == [True, False, False]
    assert target.client.get("turnover") == "320"
    assert 0 < int(str(target.client.ttl("forebay:once:bill:1"))) <= 7 * 86_400


async def test_a_block_that_fails_does_nothing_and_leaves_it_to_the_next(target: Target) -> None:
    async with target.app() as app:
        with pytest.raises(ValueError, match="boom"):
            async with app.once("k") as once:
                once.also("INCR", "n")
                raise ValueError("boom")
        assert target.client.get("n") is None
        async with app.once("k") as once:
            assert once.first
            once.also("INCR", "n")
    assert target.client.get("n") == "1"


async def test_who_comes_meanwhile_is_told_to_come_later(target: Target) -> None:
    async with target.app() as app, target.app() as other:
        async with app.once("k"):
            with pytest.raises(BusyError):
                async with other.once("k"):
                    pass
        async with other.once("k") as once:
            assert not once.first


async def test_who_was_silent_for_too_long_does_nothing(target: Target) -> None:
    async with target.app() as app:
        with pytest.raises(WorkerError, match="nothing was done"):
            async with app.once("k") as once:
                once.also("INCR", "n")
                target.client.delete("forebay:once:k")
    assert target.client.get("n") is None


async def test_a_long_block_keeps_its_key(target: Target) -> None:
    async with target.app(lease=4.0) as app, app.once("k") as once:
        before = target.client.pttl("forebay:once:k")
        await until("aged", lambda: target.client.pttl("forebay:once:k") < before - 500)
        low = target.client.pttl("forebay:once:k")
        await until("renewed", lambda: target.client.pttl("forebay:once:k") > low)
        once.also("INCR", "n")
    assert target.client.get("n") == "1"


async def test_of_many_at_once_one_does_it(target: Target) -> None:
    apps = [target.app() for _ in range(6)]

    async def attempt(app) -> None:
        while True:
            try:
                async with app.once("k") as once:
                    if once.first:
                        once.also("INCR", "n")
                return
            except BusyError:
                await asyncio.sleep(0)

    await asyncio.gather(*map(attempt, apps))
    for app in apps:
        await app.close()
    assert target.client.get("n") == "1"


async def test_a_command_that_cannot_work_leaves_no_mark(target: Target) -> None:
    target.client.set("n", "text")
    async with target.app() as app:
        for _ in range(2):
            with pytest.raises(ResponseError):
                async with app.once("k") as once:
                    assert once.first
                    once.also("INCR", "n")
