"""The stage of a scenario: virtual time on TestApp, or processes on a real server.

A scenario is a module in workers/tests/scenarios:

    OPTIONS     of the app                       play(stage)   the steps; returns the result
    build(app)  its handlers                     SEEN          the result of play on every stage

Workers of a real stage are separate processes (support/player.py), so that signals can kill and
freeze them.  Handlers report with ``note`` to a list on the server, which the scenario reads.  A
scenario waits for events and for spans of time, never for an exact moment: real machines are late.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Protocol

import redis

from forebay_workers import App, Message, TestApp
from forebay_workers.settle.letters import Letter, read
from testkit.places import ROOT
from testkit.proxy import Proxy
from testkit.servers import ServerProcess
from testkit.waiting import wait_until
from workers.tests.support.program import child_environment

GROUP = "g"
NOTED = "noted"
#: Virtual seconds after which a test gives up waiting for an event.
LONG_S = 300.0


def ready_key(name: str) -> str:
    """The key that a worker process sets when it reads."""
    return f"ready:{name}"


async def note(app: App, text: object) -> None:
    """A handler reports a step."""
    await app.server.shared.ask("RPUSH", NOTED, str(text))


def hang_at_first(app: App) -> None:
    """A handler that never ends its first attempt at message 1."""

    @app.on("s", concurrency=1)
    async def handler(fields: dict[str, str], m: Message) -> None:
        await note(app, f"{fields['n']}/{m.attempt}")
        if m.attempt == 1 and fields["n"] == "1":
            await asyncio.Event().wait()


class Stage(Protocol):
    """The actions of a scenario, on any stage."""

    def start(self, name: str) -> None: ...
    def kill(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...
    def freeze(self, name: str) -> None: ...
    def thaw(self, name: str) -> None: ...
    def is_gone(self, name: str) -> bool: ...
    def publish(self, stream: str, *messages: Any, **options: Any) -> None: ...
    def redrive(self, stream: str) -> int: ...
    def until(self, what: str, true: Callable[[], Any]) -> None: ...
    def wait(self, seconds: float) -> None: ...
    def take_server_away(self) -> None: ...
    def bring_server_back(self) -> None: ...
    def command(self, *words: str | int) -> Any: ...


class Looks:
    """The questions of a scenario, as commands, the same on every stage."""

    command: Callable[..., Any]

    def noted(self) -> list[str]:
        """The notes of handlers, in order."""
        return [text.decode() for text in self.command("LRANGE", NOTED, 0, -1)]

    def pending(self, stream: str) -> list[tuple[str, int]]:
        """The owner of each entry, and how often it was delivered."""
        rows = self.command("XPENDING", stream, GROUP, "-", "+", 10_000)
        return [(who.decode(), count) for _, who, _, count in rows]

    def entries(self, stream: str) -> list[dict[str, str]]:
        """The fields of all entries."""
        found = []
        for _, raw in self.command("XRANGE", stream, "-", "+"):
            texts = [part.decode() for part in raw]
            found.append(dict(zip(texts[::2], texts[1::2], strict=True)))
        return found

    def letters(self, stream: str) -> list[Letter]:
        """The dead letters of a stream."""
        found = [read(*row) for row in self.command("XRANGE", f"{stream}:dead", "-", "+")]
        return [letter for letter in found if letter is not None]

    def names(self, stream: str) -> set[str]:
        """The consumers of the group."""
        rows = self.command("XINFO", "CONSUMERS", stream, GROUP)
        return {row[1].decode() for row in rows}


class VirtualStage(Looks):
    """TestApp."""

    def __init__(self, t: TestApp) -> None:
        self.t = t
        self.command = t.command

    def start(self, name: str) -> None:
        self.t.start(name)

    def kill(self, name: str) -> None:
        self.t.kill(name)

    def stop(self, name: str) -> None:
        self.t.stop(name)

    def freeze(self, name: str) -> None:
        self.t.freeze(name)

    def thaw(self, name: str) -> None:
        self.t.thaw(name)

    def is_gone(self, name: str) -> bool:
        return self.t.workers[name].state in ("ended", "killed", "failed")

    def publish(self, stream: str, *messages: Any, **options: Any) -> None:
        for message in messages:
            self.t.publish(stream, message, **options)

    def redrive(self, stream: str) -> int:
        return self.t.redrive(stream)

    def until(self, what: str, true: Callable[[], Any]) -> None:
        try:
            self.t.until(true, within=LONG_S)
        except AssertionError as error:
            raise AssertionError(f"not: {what}\n{error}") from None

    def wait(self, seconds: float) -> None:
        self.t.advance(seconds)

    def take_server_away(self) -> None:
        self.t.take_server_away()

    def bring_server_back(self) -> None:
        self.t.bring_server_back()


class RealStage(Looks):
    """A server, worker processes, and a proxy between them."""

    def __init__(self, scenario: ModuleType, server: ServerProcess, proxy: Proxy) -> None:
        self._scenario = scenario
        self._url = f"redis://127.0.0.1:{server.port}"
        self._proxy = proxy
        self._client: Any = redis.Redis(port=server.port, protocol=2)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def command(self, *words: str | int) -> Any:
        """The raw reply, not converted by redis-py."""
        connection = self._client.connection_pool.get_connection()
        try:
            connection.send_command(*words)
            return connection.read_response()
        finally:
            self._client.connection_pool.release(connection)

    def start(self, name: str) -> None:
        """Start one, and wait until it reads."""
        url = f"redis://127.0.0.1:{self._proxy.port}"
        words = [sys.executable, "-m", "workers.tests.support.player"]
        module = self._scenario.__name__.rpartition(".")[2]
        command = [*words, module, url, name]
        self._processes[name] = subprocess.Popen(command, cwd=ROOT, env=child_environment())
        wait_until(f"{name} reads", lambda: self.command("GETDEL", ready_key(name)))

    def kill(self, name: str) -> None:
        self._processes[name].kill()
        self._processes[name].wait()

    def stop(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGTERM)

    def freeze(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGCONT)

    def is_gone(self, name: str) -> bool:
        return self._processes[name].poll() is not None

    def publish(self, stream: str, *messages: Any, **options: Any) -> None:
        async def publish() -> None:
            async with made(self._scenario, self._url) as app:
                for message in messages:
                    await app.publish(stream, message, **options)

        asyncio.run(publish())

    def redrive(self, stream: str) -> int:
        async def redrive() -> int:
            async with made(self._scenario, self._url) as app:
                return await app.dead_letters(stream).redrive(lambda _: True)

        return asyncio.run(redrive())

    def until(self, what: str, true: Callable[[], Any]) -> None:
        wait_until(what, true)

    def wait(self, seconds: float) -> None:
        """Wait until this much time has passed on the server."""
        end_us = self._now_us() + int(seconds * 1_000_000)
        wait_until(f"{seconds} s pass", lambda: self._now_us() > end_us)

    def _now_us(self) -> int:
        s, us = self.command("TIME")
        return int(s) * 1_000_000 + int(us)

    def take_server_away(self) -> None:
        self._proxy.refuse()
        self._proxy.cut()

    def bring_server_back(self) -> None:
        self._proxy.accept()

    def close(self) -> None:
        """End all that was started."""
        for process in self._processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self._client.close()


def made(scenario: ModuleType, url: str) -> App:
    """The app of a scenario."""
    app = App(url, group=GROUP, **getattr(scenario, "OPTIONS", {}))
    scenario.build(app)
    return app


@contextmanager
def virtual_stage(scenario: ModuleType, like: str) -> Iterator[VirtualStage]:
    """A stage without server, processes and real time."""
    with TestApp(made(scenario, "redis://nowhere"), workers=0, like=like) as t:
        yield VirtualStage(t)


@contextmanager
def real_stage(scenario: ModuleType, server: ServerProcess) -> Iterator[RealStage]:
    """A stage with a server, processes and real time."""
    with Proxy(("127.0.0.1", server.port)) as proxy:
        stage = RealStage(scenario, server, proxy)
        try:
            yield stage
        finally:
            stage.close()
