"""Fixtures of the connector: both servers, and one Spark session for the whole process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.session import session
from tests.support.spark_streams import Target


@pytest.fixture(params=["redis_server", "forebay_server"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Each server in turn, emptied."""
    target = Target(request.getfixturevalue(request.param))
    yield target
    target.client.close()


@pytest.fixture
def redis_target(redis_server: Any) -> Iterator[Target]:
    """The real redis-server alone, for what does not depend on the server."""
    target = Target(redis_server)
    yield target
    target.client.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one session; workers can import the tests as well."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *(p for p in sys.path if p)]
    spark = session(
        master="local[2]",
        settings={
            "spark.sql.shuffle.partitions": "2",
            "spark.executorEnv.PYTHONPATH": ":".join(paths),
            "spark.driver.memory": "1g",
        },
        quiet=True,
    )
    yield spark
    spark.stop()
