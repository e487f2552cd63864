"""Fixtures of the connector: both servers, and one Spark session for the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from forebay_spark.session import session
from tests.support.clusters import redis_cluster
from tests.support.servers import ServerProcess
from tests.support.spark_driver import SETTINGS, worker_path
from tests.support.spark_faults import FaultySource
from tests.support.spark_streams import Target


@pytest.fixture(params=["redis_server", "forebay_server"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Each server in turn, emptied."""
    target = Target(request.getfixturevalue(request.param))
    yield target
    target.client.close()


@pytest.fixture
def counting_target(target: Target) -> Target:
    """The same; what must be counted to be noticed is not asked of Redis before 7.0."""
    return only_if_it_counts(target)


def only_if_it_counts(target: Target) -> Target:
    if not target.counts:
        pytest.skip("this peer (FOREBAY_PEER) does not count the entries of a stream")
    return target


@pytest.fixture
def redis_target(redis_server: Any) -> Iterator[Target]:
    """The real redis-server alone, for what does not depend on the server."""
    target = Target(redis_server)
    yield target
    target.client.close()


@pytest.fixture
def counting_redis(redis_target: Target) -> Target:
    """The real redis-server, if it counts entries."""
    return only_if_it_counts(redis_target)


@pytest.fixture(scope="session")
def cluster_nodes(server_root: Path) -> Iterator[list[ServerProcess]]:
    """Three nodes of a real Redis Cluster."""
    with redis_cluster(server_root / "cluster") as nodes:
        yield nodes


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
        spark = session(master="local[2,3]", settings=SETTINGS, quiet=True)
        spark.dataSource.register(FaultySource)
        yield spark
        spark.stop()
