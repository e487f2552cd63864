"""Servers of both kinds with a console on each, shared by the tests of a pytest worker."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from console.tests.support.stage import Stage
from console.tests.support.stage import stage as staged
from testkit.consoles import Asker, console
from testkit.oracle import start_redis
from testkit.servers import ServerProcess, start_forebay
from testkit.waiting import wait_until


class Scene:
    """A server, its client and its console, and an HTTP client that asks the console."""

    def __init__(self, server: ServerProcess, asker: Asker) -> None:
        self.server = server
        self.client = redis.Redis(port=server.port)
        self.asker = asker

    def clear(self) -> None:
        """Remove what the last test left, on the server and in the console."""
        self.client.flushall()
        self.asker.enter()
        wait_until(
            "the console has forgotten", lambda: not self.asker.get("/streams?search=*")["total"]
        )


@pytest.fixture(scope="session", params=["forebay", "redis"])
def _shared_scene(request: pytest.FixtureRequest, server_root: Path) -> Iterator[Scene]:
    start = start_forebay if request.param == "forebay" else start_redis
    server = start(Path(tempfile.mkdtemp(dir=server_root)))
    try:
        with console(f"redis://127.0.0.1:{server.port}", "--write") as asker:
            scene = Scene(server, asker)
            yield scene
            scene.client.close()
    finally:
        server.stop()


@pytest.fixture
def scene(_shared_scene: Scene) -> Scene:
    """A console that may write, signed in; the server is empty."""
    _shared_scene.clear()
    return _shared_scene


@pytest.fixture(scope="session")
def _shared_stage(server_root: Path) -> Iterator[Stage]:
    with staged(server_root) as found:
        yield found


@pytest.fixture
def stage(_shared_stage: Stage) -> Stage:
    """A browser at the console of a filled server; the tests of a pytest worker share it."""
    _shared_stage.page.leave()
    return _shared_stage
