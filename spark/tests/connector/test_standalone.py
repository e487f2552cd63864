"""The connector on a Spark cluster: executors are other processes, started by a worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from spark.tests.support import spark_driver
from spark.tests.support.spark_standalone import standalone
from spark.tests.support.spark_streams import Target
from testkit import small_spark
from testkit.servers import worker_path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

COUNT = 1000


def test_a_copy_on_a_standalone_cluster_is_exact(
    redis_server: Any, forebay_server: Any, tmp_path: Path
) -> None:
    source, sink = Target(redis_server), Target(forebay_server)
    source.add("s", COUNT)
    read = {"url": source.url, "streams": "s", "startingOffsets": "earliest", "minPartitions": "2"}
    write = {"url": sink.url, "stream": "out", "checkpointLocation": str(tmp_path / "check")}
    query = {
        "read": {**read, "maxEntriesPerTrigger": "400"},
        "format": "faulty",
        "write": write,
    }
    settings = {
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": os.environ[small_spark.VARIABLE],
        "spark.executorEnv.PYTHONPATH": worker_path(),
    }
    with standalone(tmp_path) as master:
        done = spark_driver.run([query], master, **settings)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(sink.numbers("out")) == list(range(COUNT))
