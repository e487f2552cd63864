"""Two servers for each pair of kinds, and a command line that uses the first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.tests.support.lines import Lines, url_of
from testkit.oracle import start_redis
from testkit.servers import ServerProcess, start_forebay


@pytest.fixture(scope="session")
def _pairs(server_root: Path) -> Iterator[dict[str, ServerProcess]]:
    """Two of each kind, for all tests of this folder."""
    found = {
        "forebay": start_forebay(server_root / "copy-f1"),
        "forebay 2": start_forebay(server_root / "copy-f2"),
        "redis": start_redis(server_root / "copy-r1"),
        "redis 2": start_redis(server_root / "copy-r2"),
    }
    yield found
    for server in found.values():
        server.stop()


@pytest.fixture(params=["forebay > forebay", "forebay > redis", "redis > forebay", "redis > redis"])
def pair(
    request: pytest.FixtureRequest, _pairs: dict[str, ServerProcess]
) -> tuple[ServerProcess, ServerProcess]:
    """A source and a target; empty."""
    source, target = request.param.split(" > ")
    found = _pairs[source], _pairs[f"{target} 2"]
    for server in found:
        with server.client(unix=True) as client:
            client.insist("FLUSHALL")
    return found


@pytest.fixture
def cli(
    pair: tuple[ServerProcess, ServerProcess],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Lines:
    """The command line; the environment variable names the source."""
    monkeypatch.setenv("FOREBAY_URL", url_of(pair[0]))
    return Lines(pair[0], capsys)


@pytest.fixture
def there(pair: tuple[ServerProcess, ServerProcess], capsys: pytest.CaptureFixture[str]) -> Lines:
    """The target."""
    return Lines(pair[1], capsys)
