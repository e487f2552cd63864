"""A Redis Cluster and a primary under Sentinel, read and written without Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redis
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable

from forebay_spark.errors import ServerError
from forebay_spark.options import BATCH, STREAM, WRITE, read_options
from forebay_spark.pipeline.replay import Entry, Replay, Writer
from forebay_spark.pipeline.replay import target as target_of
from forebay_spark.read.batch import BatchReader
from forebay_spark.read.micro_batch import MicroBatchReader
from forebay_spark.servers import state
from forebay_spark.servers.connect import Link, Server
from forebay_spark.values.schema import PLAIN
from forebay_spark.write.rows import Layout
from forebay_spark.write.sink import TaskWriter
from spark.tests.support.sentinel_pairs import SERVICE, watched_by_sentinel
from spark.tests.support.spark_streams import Target, numbers_of, read_tasks
from testkit.clusters import SlotMove, cluster_url, further_node, move_slot
from testkit.servers import ServerProcess, free_port

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


def finishing(moving: SlotMove) -> threading.Timer:
    """Finish the move later, in the background, while others wait for it."""
    timer = threading.Timer(1.0, moving.finish)
    timer.start()
    return timer


def test_a_stream_that_is_between_two_nodes_is_waited_for(
    cluster_nodes: list[ServerProcess],
    cluster_client: redis.RedisCluster,
    quick_patience: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted = fill(cluster_client)
    given = {"url": cluster_url(cluster_nodes), "streams": ",".join(STREAMS)}
    reader = MicroBatchReader(PLAIN, read_options(given | {"startingOffsets": "earliest"}, STREAM))
    start = reader.initialOffset()
    for stream in STREAMS[:2]:
        moving = SlotMove(cluster_client, stream)
        moving.move(stream)
        end_of_move = finishing(moving)
        end = reader.latestOffset(start, ReadAllAvailable())
        end_of_move.join()
        assert f"slot {cluster_client.keyslot(stream)} is moving" in capsys.readouterr().err
    moving = SlotMove(cluster_client, STREAMS[2])
    moving.move(STREAMS[2])
    end_of_move = finishing(moving)
    assert sorted(numbers_of(read_tasks(reader, reader.partitions(start, end)))) == wanted
    end_of_move.join()
    reader.stop()


def test_rows_for_a_stream_between_two_nodes_are_written_once(
    cluster_nodes: list[ServerProcess], cluster_client: redis.RedisCluster, quick_patience: None
) -> None:
    rows = pa.RecordBatch.from_pydict({"n": list(range(100))})
    given = {"url": cluster_url(cluster_nodes), "stream": STREAMS[0], "retryFor": "1 minute"}
    options = read_options({**given, "rowsPerTransaction": "10"}, WRITE)
    moves: list[threading.Timer] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for at, name in ((0, STREAMS[0]), (50, "forebay:sink:{0}:query:0")):
            yield rows[at : at + 25]
            moving = SlotMove(cluster_client, STREAMS[0])
            moving.move(name)
            moves.append(finishing(moving))
            yield rows[at + 25 : at + 50]
            moves[-1].join()

    TaskWriter(Layout(from_arrow_schema(rows.schema), options), options, "query:0", 0).write(
        batches()
    )
    written = [int(fields[b"n"]) for _, fields in cluster_client.xrange(STREAMS[0])]
    assert written == list(range(100))


def test_a_replay_into_a_stream_between_two_nodes_writes_once(
    cluster_nodes: list[ServerProcess],
    cluster_client: redis.RedisCluster,
    quick_patience: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = cluster_url(cluster_nodes)
    job = Replay(lake="/x", stream="s", to=STREAMS[0], url=url, ids="keep")
    server = Server(target_of(url, job.to, None), patient=True)
    writer = Writer(server, job)
    assert writer.position() is None
    for ms in range(1, 9):
        moving = SlotMove(cluster_client, job.to) if ms in (3, 5) else None
        if moving is not None:
            moving.move(job.to if ms == 3 else writer.key)
            end_of_move = finishing(moving)
        writer.write([Entry(f"{ms}-0", ms, ("n", str(ms)))])
        if moving is not None:
            end_of_move.join()
    assert [entry_id for entry_id, _ in cluster_client.xrange(job.to)] == [
        f"{ms}-0".encode() for ms in range(1, 9)
    ]
    server.close()
    # Two keys, one of them moved already: TRYAGAIN, which no other job of ours can get.
    assert "rehashing" in capsys.readouterr().err


@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_that_moves_while_nodes_are_scanned_is_found(
    cluster_nodes: list[ServerProcess],
    cluster_client: redis.RedisCluster,
    monkeypatch: pytest.MonkeyPatch,
    stream: str,
) -> None:
    fill(cluster_client)
    moves = [SlotMove(cluster_client, stream)]
    scan = state._scan

    def scan_and_move(link: Link, pattern: str) -> set[str]:
        found = scan(link, pattern)
        while moves:
            moves.pop().finish()
        return found

    monkeypatch.setattr(state, "_scan", scan_and_move)
    server = Server(read_options({"url": cluster_url(cluster_nodes), "streams": "s"}, BATCH))
    assert state.discover(server, "orders:*") == STREAMS
    server.close()


def test_a_stream_on_a_node_that_has_joined_later_is_found(
    cluster_nodes: list[ServerProcess], cluster_client: redis.RedisCluster, scratch: Path
) -> None:
    server = Server(read_options({"url": cluster_url(cluster_nodes), "streams": "s"}, BATCH))
    assert state.discover(server, "orders:*") == []
    with further_node(cluster_nodes, scratch / "later") as later:
        SlotMove(cluster_client, STREAMS[0], to=later).finish()
        fill(cluster_client)
        assert state.discover(server, "orders:*") == STREAMS
        SlotMove(cluster_client, STREAMS[0]).finish()
    server.close()


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


def test_sentinel_names_the_primary(redis_server: Any, tmp_path: Path, scratch: Path) -> None:
    Target(redis_server).add("s", 20)
    with watched_by_sentinel(redis_server, scratch / "sentinel") as port:
        url = f"redis+sentinel://127.0.0.1:{port}/{SERVICE}/0"
        reader = BatchReader(PLAIN, read_options({"url": url, "streams": "s"}, BATCH))
        assert numbers_of(read_tasks(reader, reader.partitions())) == list(range(20))
        wrong = read_options({"url": f"{url[:-2]}x", "streams": "s"}, BATCH)
        with pytest.raises(ServerError, match=r"No server answers at redis.sentinel"):
            state.fetch(Server(wrong), "s")
