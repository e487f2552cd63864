"""Batches: by size and by time, with failing parts, and an end that does not hang."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from forebay_workers import ConfigError, Failed, Message, Retry
from workers.tests.support.target import Target, until, working


@dataclass
class Click:
    n: int


async def test_full_batches_come_at_once_and_the_rest_after_a_while(target: Target) -> None:
    app, batches = target.app(), []

    @app.on_batch("clicks", size=100, within=0.05)
    async def load(rows: list[Click], messages: list[Message]) -> None:
        assert [int(m.fields["n"]) for m in messages] == [row.n for row in rows]
        batches.append([row.n for row in rows])

    await app.publish_many("clicks", [Click(n) for n in range(250)])
    async with working(app):
        await until("all", lambda: sum(map(len, batches)) == 250)
        await until("acknowledged", lambda: not target.pending("clicks"))
    assert [n for batch in batches for n in batch] == list(range(250))
    assert [len(batch) for batch in batches] == [100, 100, 50]


async def test_only_the_parts_that_failed_are_tried_again_and_buried(target: Target) -> None:
    app, seen = target.app(), []

    @app.on_batch("s", size=10, within=0.02, retry=Retry(2, backoff=(0.01,)))
    async def load(rows: list[Click]) -> Failed | None:
        seen.append([row.n for row in rows])
        bad = {
            place: ValueError(f"no {row.n}") for place, row in enumerate(rows) if row.n in (3, 7)
        }
        return Failed(bad) if bad else None

    target.add("s", *range(10))
    target.client.xadd("s", {"n": "x"})
    async with working(app):
        await until("buried", lambda: target.client.xlen("s:dead") == 3)
        await until("acknowledged", lambda: not target.pending("s"))
    assert seen[0] == list(range(10))
    assert sorted(n for batch in seen[1:] for n in batch) == [3, 7]
    errors = sorted((e["n"], e["@error"], e["@deliveries"]) for e in target.entries("s:dead"))
    assert errors[:2] == [("3", "ValueError: no 3", "2"), ("7", "ValueError: no 7", "2")]
    assert errors[2][1].startswith("MisfitError")


@pytest.mark.parametrize("wrong", [5, Failed([99])], ids=["no Failed", "no such place"])
async def test_an_answer_that_means_nothing_fails_the_whole_batch(
    target: Target, wrong: object
) -> None:
    app = target.app()

    @app.on_batch("s", size=3, within=0.02, retry=Retry(1))
    def load(rows: list) -> object:
        return wrong

    target.add("s", *range(3))
    async with working(app):
        await until("buried", lambda: target.client.xlen("s:dead") == 3)


async def test_a_worker_that_gathers_stops_at_once_and_hands_the_batch_back(
    target: Target,
) -> None:
    app = target.app()

    @app.on_batch("s", size=100, within=3600)
    async def load(rows: list[Click]) -> None:
        raise AssertionError("it must not run")

    target.add("s", *range(5))
    async with working(app):
        await until("gathered", lambda: len(target.pending("s")) == 5)
    assert {row["times_delivered"] for row in target.pending("s")} == {0}


async def test_a_batch_that_runs_may_end_within_the_grace_time(target: Target) -> None:
    app, begun, end = target.app(), [], asyncio.Event()

    @app.on_batch("s", size=5, within=3600)
    async def load(rows: list[Click]) -> None:
        begun.append(len(rows))
        await end.wait()

    target.add("s", *range(5))
    async with working(app) as worker:
        await until("it runs", lambda: begun)
        worker.stop()
        await asyncio.sleep(0)
        end.set()
    assert target.pending("s") == []


def test_a_batch_handler_takes_a_list_and_is_alone(redis_server: object) -> None:
    app = Target(redis_server).app()  # type: ignore[arg-type]

    def single(row: Click) -> None: ...
    def several(rows: list[Click]) -> None: ...

    with pytest.raises(ConfigError, match=r"must take a list, as in list\[Click\]"):
        app.on_batch("s")(single)
    app.on_batch("s")(several)
    with pytest.raises(ConfigError, match="must be its only handler"):
        app.on_batch("s")(several)
    with pytest.raises(ConfigError, match="size of 1 or more"):
        app.on_batch("t", size=0)
