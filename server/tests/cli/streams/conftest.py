"""Both kinds of server, and a command line that uses one of them."""

from __future__ import annotations

import pytest

from server.tests.support.lines import Lines, url_of
from testkit.servers import ServerProcess


@pytest.fixture(params=["forebay", "redis"])
def server(request: pytest.FixtureRequest) -> ServerProcess:
    """A Forebay, then a real redis-server; empty."""
    found: ServerProcess = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.fixture
def cli(
    server: ServerProcess,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Lines:
    """The command line; the environment variable names the server, as for users."""
    monkeypatch.setenv("FOREBAY_URL", url_of(server))
    return Lines(server, capsys)
