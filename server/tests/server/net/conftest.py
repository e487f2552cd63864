"""A whole server in this process that listens nowhere; a test runs each turn of its loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.server.logger import Log
from forebay.server.net.turn_end import TurnEnd
from forebay.server.server import Server
from testkit.hand_server import Client, HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def server(clock: HandClock) -> Iterator[Server]:
    """A server that listens nowhere; a test runs each turn of its loop."""
    engine = Engine(Settings(), clock)
    server = Server(Settings(), engine, TurnEnd(engine.effects), Log(clock), clock)
    yield server
    for conn in server.loop.connections():
        server.loop.close(conn)
    server.loop.epoll.close()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    client = Client(server)
    yield client
    client.socket.close()
