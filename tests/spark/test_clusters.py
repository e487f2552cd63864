"""A Redis Cluster and a primary behind Sentinel, read and written without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redis
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable

from forebay_spark import state
from forebay_spark.batch import BatchReader
from forebay_spark.connect import Server
from forebay_spark.errors import ServerError
from forebay_spark.micro_batch import MicroBatchReader
from forebay_spark.options import BATCH, STREAM, WRITE, read_options
from forebay_spark.rows import Layout
from forebay_spark.schema import PLAIN
from forebay_spark.sink import TaskWriter
from testkit.servers import ServerProcess, free_port
from tests.support.clusters import (
    SERVICE,
    cluster_url,
    move_slot,
    watched_by_sentinel,
)
from tests.support.spark_streams import Target, numbers_of, read_tasks

STREAMS = [f"orders:{{{i}}}" for i in range(8)]
PER_STREAM = 50


def fill(client: redis.RedisCluster) -> list[int]:
    for i, stream in enumerate(STREAMS):
        for n in range(i * PER_STREAM, (i + 1) * PER_STREAM):
            client.xadd(stream, {"n": n})
    return list(range(len(STREAMS) * PER_STREAM))


def test_streams_on_many_nodes_are_one_table(
    cluster_nodes: list[ServerProcess], cluster_client: redis.RedisCluster
) -> None:
    wanted = fill(cluster_client)
    assert len({cluster_client.get_node_from_key(stream).name for stream in STREAMS}) == 3
    options = read_options({"url": cluster_url(cluster_nodes), "streamsPattern": "orders:*"}, BATCH)
    reader = BatchReader(PLAIN, options)
    tasks = reader.partitions()
    assert [len(task.parts) for task in tasks] == [len(STREAMS)]
    assert sorted(numbers_of(read_tasks(reader, tasks))) == wanted


def test_a_slot_that_moves_under_a_query_is_followed(
    cluster_nodes: list[ServerProcess], cluster_client: redis.RedisCluster
) -> None:
    wanted = fill(cluster_client)
    given = {
        "url": cluster_url(cluster_nodes),
        "streams": ",".join(STREAMS),
        "startingOffsets": "earliest",
    }
    reader = MicroBatchReader(PLAIN, read_options(given, STREAM))
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    tasks = reader.partitions(start, end)
    move_slot(cluster_client, STREAMS[0])
    assert sorted(numbers_of(read_tasks(reader, tasks))) == wanted
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_rows_for_many_nodes_are_written_once(
    cluster_nodes: list[ServerProcess], cluster_client: redis.RedisCluster
) -> None:
    numbers = list(range(400))
    streams = [STREAMS[n % len(STREAMS)] for n in numbers]
    rows = pa.RecordBatch.from_pydict({"n": numbers, "stream": streams})
    options = read_options({"url": cluster_url(cluster_nodes), "rowsPerTransaction": "10"}, WRITE)
    layout = Layout(from_arrow_schema(rows.schema), options)

    def attempt(parts: Iterator[pa.RecordBatch]) -> None:
        TaskWriter(layout, options, "query:0", 0).write(parts)

    def dying() -> Iterator[pa.RecordBatch]:
        yield rows[:222]
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        attempt(dying())
    attempt(iter([rows]))
    move_slot(cluster_client, STREAMS[1])
    attempt(iter([rows]))
    written = [int(f[b"n"]) for stream in STREAMS for _, f in cluster_client.xrange(stream)]
    assert sorted(written) == numbers


def test_a_cluster_that_does_not_answer_is_named() -> None:
    url = f"redis+cluster://127.0.0.1:{free_port()}"
    with pytest.raises(ServerError, match=rf"No server answers at {url.replace('+', '.')}"):
        state.fetch(Server(read_options({"url": url, "streams": "s"}, BATCH)), "s")


def test_sentinel_names_the_primary(redis_server: Any, tmp_path: Path, server_root: Path) -> None:
    Target(redis_server).add("s", 20)
    with watched_by_sentinel(redis_server, server_root / "sentinel") as port:
        url = f"redis+sentinel://127.0.0.1:{port}/{SERVICE}/0"
        reader = BatchReader(PLAIN, read_options({"url": url, "streams": "s"}, BATCH))
        assert numbers_of(read_tasks(reader, reader.partitions())) == list(range(20))
        wrong = read_options({"url": f"{url[:-2]}x", "streams": "s"}, BATCH)
        with pytest.raises(ServerError, match=r"No server answers at redis.sentinel"):
            state.fetch(Server(wrong), "s")
