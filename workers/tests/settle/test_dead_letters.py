"""Failures: tried again, buried with all their details, redriven or dropped."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from forebay_workers import Message, Retry
from forebay_workers.settle.letters import ADDED
from workers.tests.support.target import GROUP, Target, until, working

AT_ONCE = Retry(3, backoff=(0,))


@dataclass
class Order:
    n: int


async def test_a_message_that_fails_is_tried_again_and_the_server_counts(target: Target) -> None:
    app, seen = target.app(), []

    @app.on("s", retry=Retry(5, backoff=(0.01,)))
    async def flaky(fields: dict, m: Message) -> None:
        (row,) = target.pending("s")
        seen.append((m.attempt, row["times_delivered"]))
        assert f"failed {m.attempt - 1} times" in repr(m)
        if m.attempt < 3:
            raise ValueError("not yet")

    target.add("s", 1)
    async with working(app):
        await until("acknowledged", lambda: len(seen) == 3 and not target.pending("s"))
    assert seen == [(1, 1), (2, 2), (3, 3)]
    assert target.client.xlen("s:dead") == 0


async def test_one_that_fails_each_time_is_buried_with_all_that_is_known(target: Target) -> None:
    app = target.app()

    @app.on("s", retry=AT_ONCE)
    async def poison(m: Message) -> None:
        raise ValueError("boom \udcff")

    raw: Any = {"n": "1", b"\xff": b"\x00\xff", "@error": "mine"}
    entry_id = str(target.client.xadd("s", raw))
    async with working(app) as worker:
        await until("buried", lambda: target.client.xlen("s:dead"))
        assert target.pending("s") == []
        (letter,) = [letter async for letter in app.dead_letters("s").letters()]
        consumer = worker._options.consumer
    assert letter.fields == [b"n", b"1", b"\xff", b"\x00\xff", b"@error", b"mine"]
    assert letter.error == "ValueError: boom ?"
    assert 'raise ValueError("boom' in letter.traceback
    assert (letter.stream, letter.origin_id) == ("s", entry_id)
    assert (letter.group, letter.consumer, letter.deliveries) == (GROUP, consumer, 3)
    assert 0 < letter.first_ms <= letter.last_ms
    with target.server.client() as client:
        ((_, stored),) = client("XRANGE", "s:dead", "-", "+")
    assert stored[6::2] == list(ADDED)


async def test_a_message_that_does_not_fit_is_buried_at_once_with_the_reason(
    target: Target,
) -> None:
    app = target.app()

    @app.on("s", dead="graves")
    async def never(order: Order) -> None:
        raise AssertionError("it must not run")

    target.client.xadd("s", {"n": "x"})
    async with working(app):
        await until("buried", lambda: target.client.xlen("graves"))
    (letter,) = target.entries("graves")
    assert letter["@error"] == "MisfitError: Order: Expected `int`, got `str` - at `$.n`"
    assert letter["@deliveries"] == "0"


async def test_a_handler_that_takes_too_long_is_cancelled_and_tried_again(target: Target) -> None:
    app, cancelled = target.app(), []

    @app.on("s", timeout=0.02, retry=Retry(2, backoff=(0,)))
    async def slow(fields: dict) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    target.add("s", 1)
    async with working(app):
        await until("buried", lambda: target.client.xlen("s:dead"))
    assert len(cancelled) == 2
    assert target.entries("s:dead")[0]["@error"] == "TimeoutError: it took longer than 0.02 s"


async def test_a_function_in_a_thread_is_late_when_it_returns(target: Target) -> None:
    app, begun = target.app(), []
    let_go = asyncio.Event()
    loop = asyncio.get_running_loop()

    @app.on("s", timeout=0.001, retry=Retry(1))
    def slow(fields: dict) -> None:
        begun.append(target.pending("s")[0]["time_since_delivered"])
        asyncio.run_coroutine_threadsafe(let_go.wait(), loop).result()

    target.add("s", 1)
    async with working(app):
        await until("it runs", lambda: begun)
        later_ms = begun[0] + 5
        await until("time", lambda: target.pending("s")[0]["time_since_delivered"] > later_ms)
        let_go.set()
        await until("buried", lambda: target.client.xlen("s:dead"))
    assert "took longer than 0.001 s" in target.entries("s:dead")[0]["@error"]


async def test_a_letter_that_cannot_be_written_does_not_lose_the_message(
    target: Target, monkeypatch: Any
) -> None:
    monkeypatch.setattr("forebay_workers.worker.flow.REFUSAL_PAUSE_S", 0.02)
    app = target.app()

    @app.on("s", retry=Retry(1))
    async def poison(fields: dict) -> None:
        raise ValueError("boom")

    target.client.set("s:dead", "no stream")
    (entry_id,) = target.add("s", 1)
    async with working(app) as worker:
        flow = worker.flows["s"]
        await until("refused", lambda: flow.held.parked)
        await until("pending again", lambda: target.pending("s"))
        target.client.delete("s:dead")
        await until("buried", lambda: target.client.xlen("s:dead"))
        await until("acknowledged", lambda: not target.pending("s"))
    assert target.entries("s:dead")[0]["@id"] == entry_id


async def test_letters_are_redriven_one_some_and_all(target: Target) -> None:
    app, mended, seen = target.app(), False, []

    @app.on("s", retry=Retry(1))
    async def handler(fields: dict, m: Message) -> None:
        if not mended:
            raise (KeyError if int(fields["n"]) % 2 else ValueError)(fields["n"])
        seen.append((fields, m.attempt))

    target.add("s", *range(6))
    async with working(app):
        await until("buried", lambda: target.client.xlen("s:dead") == 6)
        mended = True
        dead = app.dead_letters("s")
        letters = [letter async for letter in dead.letters()]
        first = letters[0].id
        assert await dead.redrive(lambda letter: letter.id == first) == 1
        assert await dead.redrive(lambda letter: letter.error.startswith("KeyError")) == 3
        assert await dead.drop(lambda letter: letter.fields[1] == b"4") == 1
        assert await dead.redrive(lambda _: True, rate=1000) == 1
        assert await dead.redrive(lambda _: True) == 0
        await until("all", lambda: len(seen) == 5 and not target.pending("s"))
    assert sorted(fields["n"] for fields, _ in seen) == ["0", "1", "2", "3", "5"]
    assert {attempt for _, attempt in seen} == {1}


async def test_two_who_redrive_at_once_send_each_letter_once(target: Target) -> None:
    app, other = target.app(), target.app()

    @app.on("s", retry=Retry(1))
    async def poison(fields: dict) -> None:
        raise ValueError("boom")

    target.add("s", *range(300))
    async with working(app):
        await until("buried", lambda: target.client.xlen("s:dead") == 300)
    length = target.client.xlen("s")
    async with app, other:
        counts = await asyncio.gather(
            app.dead_letters("s").redrive(lambda _: True),
            other.dead_letters("s").redrive(lambda _: True),
        )
    assert sum(counts) == 300
    assert target.client.xlen("s") == length + 300
    assert target.client.xlen("s:dead") == 0
