"""Fixtures that every folder of tests shares, and the two legs of the suite.

The suite runs twice: on the plain sources (PYTHONPATH=server/src:spark/src) and on the installed
package with its compiled core.  FOREBAY_LEG says which one is meant; if Python finds a
package of the other kind, no test is run.

The interpreted leg also measures which lines and branches are reached (`make test`
has a floor, pyproject.toml says which).  A traced test takes four times as long, so
only the folders in MEASURED are traced: the others repeat the lines that these reach.

In a log a failure is named when it happens, and a dot stands for fifty tests that passed.  So even
a part of a long log shows what failed.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import forebay
from testkit import one_server
from testkit.clusters import redis_cluster
from testkit.oracle import start_redis
from testkit.places import ROOT
from testkit.servers import ServerProcess, start_forebay

if TYPE_CHECKING:
    from testkit.browser import Chromium

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# With CI set, random operations come from a seed of the test itself: a commit is judged by its own
# changes, and a failure in CI fails here too.  Everywhere else they are new in each run.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")

#: Tests that run the code in this process and reach each line a few times, not a million.
MEASURED = {"commands", "core", "engine", "persistence", "replication", "wire"}

#: The garbage collector looks at new objects when there are this many.
YOUNG_OBJECTS = 50_000

#: This many passed tests are one dot in a log.
TESTS_A_DOT = 50

#: Servers that run now; their logs are shown when a test fails.
_running: list[ServerProcess] = []
_passed = count(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector: ten thousand tests are no garbage, now and later.

    While they run, it looks for garbage less often: they make little that needs it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries look for leaks when the process ends


def pytest_configure(config: pytest.Config) -> None:
    leg = os.environ.get("FOREBAY_LEG")
    if leg and forebay.compiled() != (leg == "compiled"):
        raise pytest.UsageError(f"the {leg} leg found another build: {forebay.__file__}")
    # A shell that runs the suite in the background lets it ignore SIGINT.  Servers would inherit
    # that, and tests send it to them.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # after the folders have marked their tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    one_server.spare(config, items)
    if not config.pluginmanager.hasplugin("_cov"):
        return
    for item in items:
        # A case of a hundred thousand IDs reaches the lines of the case of ten.
        is_large = re.search(r"\[\d{5,}", item.name) is not None
        if is_large or folder_of(item) not in MEASURED:
            item.add_marker("no_cover")


def folder_of(item: pytest.Item) -> str:
    """The folder that a test is in, at any depth: `server/tests/core` is `core`."""
    parts = item.path.relative_to(ROOT).parts
    return parts[parts.index("tests") + 1]


def pytest_report_header() -> str:
    kind = "compiled" if forebay.compiled() else "interpreted"
    return f"forebay: {kind}, {Path(forebay.__file__).parent}"


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    if config.get_terminal_writer().hasmarkup or config.get_verbosity() > 0:
        return None
    if report.failed:
        kind = "failed" if report.when == "call" else "error"
        return kind, f"\n{kind}: {report.nodeid}\n", kind.upper()
    if report.passed and report.when == "call":
        return "passed", "" if next(_passed) % TESTS_A_DOT else ".", "PASSED"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed:
        for server in _running:
            report.sections.append((f"log of {server.name} (pid {server.pid})", server.log()))
    return report


@pytest.fixture(scope="session")
def server_root() -> Iterator[Path]:
    """A short directory: the path of a unix socket must not exceed 107 bytes."""
    root = Path(tempfile.mkdtemp(prefix="fb-"))
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def scratch(server_root: Path) -> Path:
    """An empty folder in there, for this test alone."""
    return Path(tempfile.mkdtemp(dir=server_root))


def _maker(
    start: Callable[..., ServerProcess], end: Callable[[ServerProcess], object], root: Path
) -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers, each in a directory of its own, and ends them after the test."""
    started: list[ServerProcess] = []

    def make(*directives: str) -> ServerProcess:
        server = start(Path(tempfile.mkdtemp(dir=root)), *directives)
        started.append(server)
        _running.append(server)
        return server

    yield make
    for server in started:
        end(server)


def _dismiss(server: ServerProcess) -> int:
    """Stop a server; returns its exit code."""
    _running.remove(server)
    return server.stop()


def _retire(server: ServerProcess) -> None:
    """Stop a Forebay; it must exit with 0 and have no traceback in its log."""
    was_alive = server.alive()
    code = _dismiss(server)
    log = server.log_path.read_text("utf-8", "replace")
    assert was_alive, f"the server died with exit code {code}; its log:\n{server.log()}"
    assert "Traceback" not in log, f"a traceback in the server's log:\n{server.log()}"
    assert code == 0, f"exit code {code} after SIGTERM; its log:\n{server.log()}"


@pytest.fixture
def make_forebay(server_root: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Start Forebay with the test's directives: make_forebay("--maxclients", "5")."""
    yield from _maker(start_forebay, _retire, server_root)


@pytest.fixture(scope="session")
def _shared_forebay(server_root: Path) -> Iterator[ServerProcess]:
    directory = server_root / "shared"
    server = start_forebay(directory, "--enable-debug-command", "yes")
    _running.append(server)
    yield server
    _retire(server)


@pytest.fixture
def forebay_server(_shared_forebay: ServerProcess) -> ServerProcess:
    """The Forebay that tests of this worker share, emptied."""
    with _shared_forebay.client(unix=True) as client:
        assert client("FLUSHALL") == "OK"
    return _shared_forebay


@pytest.fixture(scope="session")
def _shared_redis(server_root: Path) -> Iterator[ServerProcess]:
    server = start_redis(server_root / "oracle")
    _running.append(server)
    yield server
    _dismiss(server)


@pytest.fixture
def make_redis(server_root: Path) -> Iterator[Callable[..., ServerProcess]]:
    """A redis-server with the test's directives."""
    yield from _maker(start_redis, _dismiss, server_root)


@pytest.fixture(scope="session")
def cluster_nodes(server_root: Path) -> Iterator[list[ServerProcess]]:
    """Three nodes of a real Redis Cluster."""
    with redis_cluster(server_root / "cluster") as nodes:
        yield nodes


@pytest.fixture
def redis_server(_shared_redis: ServerProcess) -> ServerProcess:
    """The real redis-server that tests of this worker share, emptied."""
    with _shared_redis.client(unix=True) as client:
        assert client("FLUSHALL") == "OK"
    return _shared_redis


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """The browser that tests of this worker share; each test opens a page of its own."""
    from testkit.browser import chromium  # few tests need it, and it takes a while to load

    with chromium() as found:
        yield found
