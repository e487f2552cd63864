"""Fixtures of the connector: both servers, and one Spark session for the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from forebay_spark.runtime.session import session
from forebay_spark.servers import patience
from spark.tests.support.cut_links import Cut, cutting
from spark.tests.support.restarting import STARTS, Restarted
from spark.tests.support.spark_faults import FaultySource
from spark.tests.support.spark_streams import Target
from testkit import small_spark
from testkit.servers import ServerProcess, worker_path

SERVERS = ["redis_server", "forebay_server"]
#: Kills are always tried on both servers; so is everything without Spark.
ON_BOTH = "test_three_jobs_killed"

small_spark.use()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with Spark runs on one of the two servers (testkit/one_server.py).

    Tests with their own time limit take longest and come first, so that no core waits for them at
    the end.
    """
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
    for item in items:
        if item.get_closest_marker("spark") and not item.name.startswith(ON_BOTH):
            item.add_marker("one_server")


@pytest.fixture(params=SERVERS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Each server in turn, emptied."""
    target = Target(request.getfixturevalue(request.param))
    yield target
    target.client.close()


@pytest.fixture
def counting_target(target: Target) -> Target:
    """The same, without a Redis before 7.0, which does not count added entries."""
    return only_if_it_counts(target)


def only_if_it_counts(target: Target) -> Target:
    if not target.counts:
        pytest.skip("this peer (FOREBAY_PEER) does not count the entries of a stream")
    return target


@pytest.fixture
def redis_target(redis_server: Any) -> Iterator[Target]:
    """The real redis-server alone, for tests that do not depend on the server."""
    target = Target(redis_server)
    yield target
    target.client.close()


@pytest.fixture
def counting_redis(redis_target: Target) -> Target:
    """The real redis-server, if it counts entries."""
    return only_if_it_counts(redis_target)


@pytest.fixture
def quick_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short outages are bridged for a fifth of a second, and waits are reported soon."""
    monkeypatch.setattr(patience, "RETRY_PAUSES_S", (0.05, 0.15))
    monkeypatch.setattr(patience, "TELL_AFTER_S", 0.3)
    monkeypatch.setattr(patience, "_MET", set())


@pytest.fixture(params=STARTS)
def restarted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restarted]:
    """Each server in turn, with data that survives a kill."""
    server = Restarted(request.param, tmp_path / "server")
    yield server
    server.close()


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cut]:
    """Break a connection at its n-th use; the command is lost, or only its reply."""
    yield from cutting(monkeypatch)


@pytest.fixture
def cluster_client(cluster_nodes: list[ServerProcess]) -> Iterator[redis.RedisCluster]:
    """A client of the cluster, which is empty."""
    client = redis.RedisCluster(host="127.0.0.1", port=cluster_nodes[0].port)
    client.flushall(target_nodes="primaries")
    yield client
    client.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one session; workers can import the tests as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", worker_path())
        # A task may fail twice before its job does.
        spark = session(master="local[2,3]", settings=small_spark.SETTINGS, quiet=True)
        spark.dataSource.register(FaultySource)
        yield spark
        spark.stop()
