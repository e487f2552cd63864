"""TestApp itself: time, threads, killed and frozen processes, a server that is away."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis.exceptions import ResponseError

from forebay_workers import App, ConfigError, Patience, Retry, ServerError, TestApp
from forebay_workers.settle.handing_back import NOBODY

LONG_AGO = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)


@dataclass
class Order:
    customer: str
    cents: int


def waiting_app(**options: Any) -> App:
    """An app whose handler waits as many seconds as the message says."""
    app = App(group="g", **options)

    @app.on("s")
    async def handler(fields: dict[str, str]) -> None:
        await asyncio.sleep(float(fields["wait"]))

    return app


# Time


def test_a_handler_that_sleeps_ends_when_the_time_has_come_and_not_before() -> None:
    with TestApp(waiting_app()) as t:
        t.publish("s", {"wait": "50"})
        t.advance(49.999)
        assert t.handled("s") == []
        t.advance(0.001)
        assert t.handled("s") == [{"wait": "50"}]
        (call,) = t.calls("s")
        assert (call.worker, call.began_s, call.ended_s) == ("worker-1", 0.0, 50.0)


def test_ten_minutes_pass_in_no_time() -> None:
    with TestApp(waiting_app()) as t:
        t.publish("s", {"wait": "600"})
        t.drain(within=timedelta(hours=2))
        assert t.elapsed == 600.0


def test_the_test_says_what_time_it_is() -> None:
    with TestApp(waiting_app(), start=LONG_AGO) as t:
        assert t.publish("s", {"wait": "0"}) == "981173106000-0"
        t.advance(timedelta(minutes=1))
        assert t.now == LONG_AGO + timedelta(minutes=1)
        assert t.publish("s", {"wait": "0"}) == "981173166000-0"
        seconds, _ = t.command("TIME")
        assert int(seconds) == int(t.now.timestamp())


def test_timeouts_of_handlers_are_virtual_too() -> None:
    app = App(group="g")

    @app.on("s", timeout=30, retry=Retry(1))
    async def handler(fields: dict[str, str]) -> None:
        await asyncio.sleep(31)

    with TestApp(app) as t:
        t.publish("s", {"n": "1"})
        t.advance(29)
        assert t.dead("s") == []
        t.advance(1)
        (letter,) = t.assert_dead("s", "TimeoutError")
        assert letter.last_ms - letter.first_ms == 30_000


def test_until_says_what_it_looked_like_if_it_does_not_happen() -> None:
    with TestApp(waiting_app()) as t:
        t.publish("s", {"wait": "100"})
        with pytest.raises(AssertionError, match="did not happen within 5 s") as caught:
            t.until(lambda: t.handled("s"), within=5)
        assert "worker-1: running, holds 1, 1 in handlers" in str(caught.value)
        t.until(lambda: t.handled("s"))
        assert t.elapsed == 100.0


def test_retries_come_exactly_after_their_pauses() -> None:
    app = App(group="g")

    @app.on("s", retry=Retry(3, backoff=(10, 60)))
    async def handler(fields: dict[str, str]) -> None:
        raise ValueError("always")

    with TestApp(app) as t:
        t.publish("s", {"n": "1"})
        t.drain()
        assert [call.began_s for call in t.calls("s")] == [0.0, 10.0, 70.0]
        assert [call.attempt for call in t.calls("s")] == [1, 2, 3]
        assert len(t.assert_dead("s", "ValueError: always")) == 1


# Processes


def test_what_a_killed_worker_had_is_done_by_another_after_a_lease() -> None:
    with TestApp(waiting_app(lease=30), workers=2) as t:
        t.publish("s", {"wait": "10"})
        t.kill("worker-1")
        t.advance(29.9)
        assert [call.worker for call in t.calls("s")] == ["worker-1"]
        t.drain()
        assert [(c.worker, c.attempt, c.outcome) for c in t.calls("s")] == [
            ("worker-1", 1, "killed"),
            ("worker-2", 2, "done"),
        ]
        t.assert_done()
        assert t.workers["worker-1"].state == "killed"


def test_not_one_more_line_of_a_killed_handler_runs_during_the_test() -> None:
    app, lines = App(group="g"), []

    @app.on("s")
    async def handler(fields: dict[str, str]) -> None:
        try:
            async with app.once("bill") as once:
                once.also("INCR", "bills")
                await asyncio.sleep(10)
        finally:
            lines.append("end")

    with TestApp(app) as t:
        t.publish("s", {"n": "1"})
        t.kill("worker-1")
        t.advance(20)
        assert lines == []
        assert t.command("GET", "bills") is None
    assert lines == ["end"]


def test_a_frozen_worker_does_not_notice_and_gives_way_to_the_one_that_claimed() -> None:
    with TestApp(waiting_app(lease=30), workers=2) as t:
        t.publish("s", {"wait": "100"})
        t.freeze("worker-1")
        assert t.workers["worker-1"].state == "frozen"
        t.advance(60)
        (row,) = t.pending("s")
        assert row.consumer == "worker-2"
        t.thaw("worker-1")
        t.drain()
        outcomes = {call.worker: call.outcome for call in t.calls("s")}
        assert outcomes["worker-2"] == "done"
        assert t.dead("s") == []


def test_a_worker_that_is_stopped_hands_back_what_does_not_end_in_time() -> None:
    with TestApp(waiting_app(grace=5, lease=60)) as t:
        t.publish("s", {"wait": "3"})
        t.publish("s", {"wait": "100"})
        t.stop("worker-1")
        assert t.workers["worker-1"].state == "stopping"
        t.advance(5)
        assert t.workers["worker-1"].state == "ended"
        assert t.handled("s") == [{"wait": "3"}]
        (row,) = t.pending("s")
        assert row.consumer in ("", NOBODY)
        t.start("worker-1")
        t.advance(100)
        t.assert_done()


def test_a_worker_that_ends_by_itself_fails_the_test_unless_it_was_looked_at() -> None:
    app = waiting_app(patience=Patience(remake_group=False))
    with (
        pytest.raises(AssertionError, match="worker-1 ended by itself") as caught,
        TestApp(app) as t,
    ):
        t.command("FLUSHALL")
        t.advance(5)
    assert isinstance(caught.value.__cause__, ServerError)
    with TestApp(app) as t:
        t.command("FLUSHALL")
        t.advance(5)
        assert "NOGROUP" in str(t.workers["worker-1"].error)


def test_a_name_that_is_not_there_is_one_sentence() -> None:
    with TestApp(waiting_app()) as t:
        with pytest.raises(ConfigError, match=r"There is no 'worker-7'. There are: worker-1."):
            t.kill("worker-7")
        with pytest.raises(ConfigError, match="worker-1 runs already"):
            t.start("worker-1")
        t.kill("worker-1")
        with pytest.raises(ConfigError, match=r"no longer runs \(killed\)"):
            t.freeze("worker-1")


# The server


def test_workers_go_on_when_the_server_is_back() -> None:
    with TestApp(waiting_app()) as t:
        with t.server_away():
            t.advance(60)
            with pytest.raises(Exception, match="the test took the server away"):
                t.publish("s", {"wait": "0"})
        t.publish("s", {"wait": "0"})
        t.drain()
        t.assert_done()
        assert 3 < len(t.troubles) < 100


def test_a_cut_loses_nothing() -> None:
    with TestApp(waiting_app(), workers=2) as t:
        for _ in range(10):
            t.publish("s", {"wait": "1"})
            t.cut()
        t.drain()
        t.assert_done()
        assert len(t.handled("s")) == 10


def test_a_command_that_fails_is_raised_with_the_servers_words() -> None:
    with TestApp(waiting_app()) as t:
        t.command("SET", "k", "v")
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            t.command("XLEN", "k")


@pytest.mark.parametrize("like", ["forebay", "redis 6.2", "redis 7.2", "redis 8.6", "valkey 8.1"])
def test_like_says_which_commands_there_are(like: str) -> None:
    has_xnack = like == "forebay"
    with TestApp(waiting_app(grace=0), like=like) as t:
        t.publish("s", {"wait": "100"}, once="key")
        t.publish("s", {"wait": "100"}, once="key")
        assert len(t.published("s")) == 1
        t.stop("worker-1")
        (row,) = t.pending("s")
        assert row.consumer == ("" if has_xnack else NOBODY)
        with pytest.raises(ResponseError) as caught:
            t.command("XNACK", "s", "nobody", "SILENT", "IDS", "1", "1-0")
        assert str(caught.value).startswith("NOGROUP" if has_xnack else "ERR unknown command")
        t.start()
        t.advance(100 + 10)  # readers that the server does not wake look three times in a lease
        t.assert_done()


@pytest.mark.parametrize("like", ["", "redis", "memcached 1.6", "redis six"])
def test_an_unknown_like_is_one_sentence(like: str) -> None:
    with pytest.raises(ConfigError, match=r'as "redis 6.2" or "valkey 8.0"'):
        TestApp(App(), like=like)


# Inspecting and asserting


def test_an_assertion_that_fails_shows_the_reason() -> None:
    app = App(group="g")

    @app.on("orders", retry=Retry(1))
    async def bill(order: Order) -> None:
        if order.cents < 0:
            raise ValueError("less than nothing")

    with TestApp(app) as t:
        t.publish("orders", Order("ann", 5))
        t.assert_done()
        t.publish("orders", Order("bob", -5))
        with pytest.raises(AssertionError) as caught:
            t.assert_done()
        text = str(caught.value)
        assert text.startswith("Not all messages of orders were handled.")
        assert "after 1 attempts: ValueError: less than nothing" in text
        assert "'customer': 'bob'" in text
        with pytest.raises(
            AssertionError, match="0 dead letters of orders match 'KeyError', not 1"
        ):
            t.assert_dead("orders", "KeyError")
        assert t.handled("orders") == [Order("ann", 5)]
        assert "orders: 1 of 2 calls done, 0 unread, 0 pending, 0 for later, 1 dead" in repr(t)


def test_what_was_published_is_known_although_it_was_trimmed() -> None:
    app = App(group="g")

    @app.on("s", to="out")
    async def handler(fields: dict[str, str]) -> dict[str, str]:
        return {"twice": str(2 * int(fields["n"]))}

    with TestApp(app) as t:
        t.publish_many("s", [{"n": str(n)} for n in range(3)])
        t.command("XTRIM", "out", "MAXLEN", "0")
        assert t.entries("out") == []
        assert t.published("out") == [{"twice": "0"}, {"twice": "2"}, {"twice": "4"}]
        assert t.published("out")[0].id.endswith("-0")


def test_messages_for_later_are_counted_until_their_time() -> None:
    with TestApp(waiting_app(), start=LONG_AGO) as t:
        t.publish("s", {"wait": "0"}, delay=60)
        assert (t.later("s"), t.unread("s"), t.handled("s")) == (1, 0, [])
        t.advance(59)
        assert t.handled("s") == []
        t.drain()
        assert 60 <= t.elapsed <= 61.5
        assert t.later("s") == 0


# In a coroutine, and together with one


async def test_await_may_stand_in_front_of_everything_that_happens() -> None:
    async with TestApp(waiting_app()) as t:
        entry_id = await t.publish("s", {"wait": "1"})
        await t.advance(1)
        await t.settle()
        await t.drain()
        assert [call.ids for call in t.calls("s")] == [[entry_id]]


async def test_the_test_may_publish_with_the_app_itself_in_its_own_loop() -> None:
    app = waiting_app()
    async with TestApp(app) as t:
        async with app:
            await app.publish("s", {"wait": "1"})
        await app.publish("s", {"wait": "2"})
        t.drain()
        assert t.handled("s") == [{"wait": "1"}, {"wait": "2"}]
        task = asyncio.current_task()
        assert task is not None and asyncio.get_running_loop().is_running()


async def test_an_event_of_the_test_lets_a_handler_go_on() -> None:
    app, end = App(group="g"), asyncio.Event()

    @app.on("s")
    async def handler(fields: dict[str, str]) -> None:
        await end.wait()

    async with TestApp(app) as t:
        t.publish("s", {"n": "1"})
        assert t.handled("s") == []
        end.set()
        t.settle()
        assert t.handled("s") == [{"n": "1"}]


def test_a_coroutine_of_the_test_runs_where_the_handlers_run() -> None:
    async def slow() -> str:
        await asyncio.sleep(5)
        return "done"

    with TestApp(waiting_app()) as t:
        assert t.run(slow()) == "done"
        assert t.elapsed == 5.0
        with pytest.raises(AssertionError, match="not done within 2 s"):
            t.run(slow(), within=2)


def test_a_handler_that_calls_the_test_app_gets_a_sentence() -> None:
    app, told = App(group="g"), []

    @app.on("s")
    async def handler(fields: dict[str, str]) -> None:
        try:
            t.advance(1)
        except ConfigError as error:
            told.append(str(error))

    with TestApp(app) as t:
        t.publish("s", {"n": "1"})
    assert told == [
        "A handler called TestApp, which waits for the handler. Call it in the test only."
    ]


def test_the_app_is_as_before_after_the_test() -> None:
    app = waiting_app()
    hooks, clock = list(app.hooks), app._clock
    with TestApp(app), pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018
    assert (app.hooks, app._clock) == (hooks, clock)
    assert type(app.server).__name__ == "Server"


def test_an_app_without_handlers_is_not_tested() -> None:
    with pytest.raises(ConfigError, match="The app has no handlers"):
        TestApp(App()).__enter__()


async def test_an_app_with_connections_is_not_tested() -> None:
    app = waiting_app()
    assert app.server
    with pytest.raises(ConfigError, match="Close it before"):
        TestApp(app).__enter__()
    await app.close()


def test_two_tests_see_nothing_of_each_other() -> None:
    app = waiting_app()
    for _ in range(2):
        with TestApp(app) as t:
            t.publish("s", {"wait": "0"}, once="same")
            assert len(t.handled("s")) == 1
