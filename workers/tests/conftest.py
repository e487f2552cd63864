"""Fixtures of the workers: each server in turn, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from workers.tests.support.target import ClusterTarget, Target

SERVERS = ["redis_server", "forebay_server"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(params=SERVERS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Each server in turn, emptied."""
    server: Any = request.getfixturevalue(request.param)
    target = Target(server)
    yield target
    target.client.close()


@pytest.fixture(params=[*SERVERS, "cluster_nodes"])
def anywhere(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Each server in turn, and a cluster of three nodes, emptied."""
    server: Any = request.getfixturevalue(request.param)
    target = ClusterTarget(server) if isinstance(server, list) else Target(server)
    yield target
    target.client.close()


@pytest.fixture
def cluster(cluster_nodes: Any) -> Iterator[ClusterTarget]:
    """A cluster of three nodes, emptied."""
    target = ClusterTarget(cluster_nodes)
    yield target
    target.client.close()
