"""The whole pipeline where one machine is not enough: a Redis Cluster, and a Spark cluster.

One logical stream is on three nodes as ``orders:{0}`` ... ``orders:{5}``.  It is archived,
trimmed and read back as one table, and the output is compared with the input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from pyspark.sql import functions as F

import forebay_spark
from forebay.cli.main import main
from forebay_spark.pipeline.archive import Archive, Trim
from forebay_spark.pipeline.spec import Source
from spark.tests.support.lakes import rows_in
from spark.tests.support.spark_standalone import standalone
from testkit import small_spark
from testkit.clusters import cluster_url
from testkit.servers import ServerProcess, environment, worker_path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

STREAMS = [f"orders:{{{number}}}" for number in range(6)]
PATTERN = "orders:{*}"
PATIENCE_S = 240

Rows = Counter[tuple[str, str, str]]


def add(client: redis.RedisCluster, first: int, count: int) -> Rows:
    """Add entries to all streams in turn; returns the entries."""
    added: Rows = Counter()
    for number in range(first, first + count):
        stream = STREAMS[number % len(STREAMS)]
        entry_id: Any = client.xadd(stream, {"n": number})
        added[stream, entry_id.decode(), str(number)] += 1
    return added


def rows_of(frame: Any) -> Rows:
    return Counter(map(tuple, frame.select("stream", "id", F.col("fields")["n"]).collect()))


def test_a_stream_on_a_redis_cluster_is_archived_trimmed_and_read_as_one_table(
    spark: Any,
    cluster_nodes: list[ServerProcess],
    cluster_client: redis.RedisCluster,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert len({cluster_client.get_node_from_key(stream).name for stream in STREAMS}) == 3
    url, lake = cluster_url(cluster_nodes), str(tmp_path / "lake")
    source = Source(pattern=PATTERN, url=url, options={"maxEntriesPerTrigger": "300"})
    job = Archive(source=source, lake=lake, trim=Trim())
    added = add(cluster_client, 0, 300)
    stop = threading.Event()

    def produce() -> None:
        while not stop.is_set():
            added.update(add(cluster_client, added.total(), 10))
            stop.wait(0.1)

    with ThreadPoolExecutor() as pool:
        producer = pool.submit(produce)
        try:
            job.start(spark).wait()
        finally:
            stop.set()
        producer.result()
    archived = rows_in(tmp_path / "lake")
    left = sum(cluster_client.xlen(stream) for stream in STREAMS)
    assert archived >= 300 and left == added.total() - archived
    added += add(cluster_client, added.total(), 60)

    frame = forebay_spark.table(spark, pattern=PATTERN, lake=lake, url=url)
    assert rows_of(frame) == added
    hot = forebay_spark.table(spark, pattern=PATTERN, url=url, options={"minPartitions": "4"})
    assert hot.select(F.spark_partition_id()).distinct().count() >= 4
    asked = ["sql", "--lake", lake, "--url", url, "--pattern", PATTERN, "--format", "json"]
    assert main([*asked, "SELECT count(*) AS n, count(DISTINCT id, stream) AS d FROM entries"]) == 0
    assert json.loads(capfd.readouterr().out) == {"n": added.total(), "d": added.total()}
    job.start(spark).wait()
    assert [cluster_client.xlen(stream) for stream in STREAMS] == [0] * len(STREAMS)
    assert main([*asked, "SELECT count(*) AS n FROM orders__3_"]) == 0
    of_one = sum(stream == STREAMS[3] for stream, _, _ in added)
    assert json.loads(capfd.readouterr().out) == {"n": of_one}


def test_the_archive_command_on_a_standalone_spark_cluster_is_exact(
    spark: Any,
    cluster_nodes: list[ServerProcess],
    cluster_client: redis.RedisCluster,
    tmp_path: Path,
) -> None:
    added = add(cluster_client, 0, 600)
    url, lake = cluster_url(cluster_nodes), str(tmp_path / "lake")
    command = [sys.executable, "-m", "forebay", "pipeline", "archive", "--pattern", PATTERN]
    command += ["--lake", lake, "--url", url, "--trim", "--option", "maxEntriesPerTrigger=250"]
    command += ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=512m"]
    command += ["--conf", "spark.driver.host=127.0.0.1"]
    command += ["--conf", f"spark.executor.extraJavaOptions={os.environ[small_spark.VARIABLE]}"]
    command += ["--conf", f"spark.executorEnv.PYTHONPATH={worker_path()}", "--json"]
    with standalone(tmp_path / "spark") as master:
        done = subprocess.run(
            [*command, "--master", master],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == "starting Spark, about 15 s\n"
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(report["rows"] for report in reports) == 600 and len(reports) > 2
    assert [cluster_client.xlen(stream) for stream in STREAMS] == [0] * len(STREAMS)
    added += add(cluster_client, 600, 20)
    frame = forebay_spark.table(spark, pattern=PATTERN, lake=lake, url=url)
    assert rows_of(frame) == added
