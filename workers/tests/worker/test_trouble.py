"""A server that goes away, a deleted group, a wrong password: wait, make again, or exit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from forebay_workers import App, Hooks, Patience, ServerError
from testkit.proxy import Proxy
from testkit.servers import ServerProcess
from workers.tests.support.target import Target, until, working


class Troubles(Hooks):
    """Counts what went wrong."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def trouble(self, error: BaseException) -> None:
        self.seen.append(str(error))


def counting(app: App, stream: str = "s") -> list[int]:
    """An app that notes the messages it handles."""
    seen: list[int] = []

    @app.on(stream)
    async def handler(fields: dict) -> None:
        seen.append(int(fields["n"]))

    return seen


async def test_after_flushall_the_group_is_made_again_and_nothing_is_passed_over(
    target: Target,
) -> None:
    troubles = Troubles()
    app = target.app(hooks=[troubles])
    seen = counting(app)
    async with working(app):
        target.add("s", 1)
        await until("handled", lambda: seen == [1])
        target.client.flushall()
        target.add("s", 2, 3)
        await until("handled", lambda: seen == [1, 2, 3])
        target.client.xgroup_destroy("s", "g")
        target.add("s", 4)
        await until("handled", lambda: seen == [1, 2, 3, 4])
    assert 1 <= len(troubles.seen) < 10
    assert all(text.startswith(("NOGROUP", "UNBLOCKED")) for text in troubles.seen)


async def test_a_lost_group_may_end_the_worker(target: Target) -> None:
    app = target.app(patience=Patience(remake_group=False))
    counting(app)
    worker = app.worker()
    task = asyncio.create_task(worker.run())
    await worker.is_ready.wait()
    target.client.flushall()
    with pytest.raises(ServerError, match="NOGROUP"):
        await task
    await app.close()


async def test_a_worker_goes_on_after_its_connections_were_cut(target: Target) -> None:
    with Proxy(("127.0.0.1", target.server.port)) as proxy:
        troubles = Troubles()
        app = App(f"redis://127.0.0.1:{proxy.port}", group="g", hooks=[troubles])
        seen = counting(app)
        async with working(app):
            for n in range(5):
                target.add("s", n)
                await until("handled", lambda n=n: n in seen)
                proxy.cut()
            target.add("s", 5)
            await until("handled", lambda: 5 in seen)
            await until("acknowledged", lambda: not target.pending("s"))
    assert sorted(set(seen)) == list(range(6))
    assert len(troubles.seen) < 60


async def test_results_come_once_although_the_connection_is_cut_at_any_byte(
    target: Target,
) -> None:
    """A transaction whose reply is lost has run or has not; the worker finds out which."""
    with Proxy(("127.0.0.1", target.server.port), seed=7) as proxy:
        app = App(f"redis://127.0.0.1:{proxy.port}", group="g", lease=60)

        @app.on("s", to="out", concurrency=4)
        async def handler(fields: dict) -> dict:
            return {"n": fields["n"]}

        async with working(app):
            proxy.cut_each(2000, 20_000)
            proxy.cut()
            target.add("s", *range(2000))
            # Pauses grow while cuts follow each other: a busy machine would never finish.
            await until("it is cut often", lambda: proxy.cuts > 10)
            proxy.spare()
            await until("all", lambda: target.client.xlen("out") >= 2000)
            await until("acknowledged", lambda: not target.pending("s"))
    assert sorted(int(e["n"]) for e in target.entries("out")) == list(range(2000))


async def test_a_server_that_is_away_is_waited_for_without_a_hot_loop(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay()
    target = Target(server)
    with Proxy(("127.0.0.1", server.port)) as proxy:
        troubles = Troubles()
        app = App(f"redis://127.0.0.1:{proxy.port}", group="g", hooks=[troubles])
        seen = counting(app)
        async with working(app):
            proxy.refuse()
            proxy.cut()
            await until("it tries again and again", lambda: len(troubles.seen) > 4)
            proxy.accept()
            target.add("s", 1)
            await until("handled", lambda: seen == [1])
    assert len(troubles.seen) < 20
    target.client.close()


async def test_patience_may_end(target: Target) -> None:
    with Proxy(("127.0.0.1", target.server.port)) as proxy:
        proxy.refuse()
        app = App(f"redis://127.0.0.1:{proxy.port}", patience=Patience(away_s=0.1))
        counting(app)
        with pytest.raises(ServerError, match="cannot be reached"):
            await app.run()


async def test_a_wrong_password_is_one_sentence(make_redis: Callable[..., ServerProcess]) -> None:
    server = make_redis()
    with server.client(unix=True) as client:
        client("CONFIG", "SET", "requirepass", "right")
    app = App(f"redis://:wrong@127.0.0.1:{server.port}")
    counting(app)
    with pytest.raises(ServerError, match="refuses the password") as caught:
        await app.run()
    assert "wrong@" not in str(caught.value)


async def test_a_stream_that_is_no_stream_is_one_sentence(target: Target) -> None:
    target.client.set("s", "text")
    app = target.app()
    counting(app)
    with pytest.raises(ServerError, match="WRONGTYPE"):
        await app.run()
