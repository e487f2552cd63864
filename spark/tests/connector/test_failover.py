"""Servers that are away for real: a failover by Sentinel, LOADING, MASTERDOWN; without Spark.

A failover keeps the data of the replica.  If that is everything, there is only a pause; if it
is less, readers say what is lost, and writers write it again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable

from forebay_spark.errors import DataLossError, OptionError, ServerError
from forebay_spark.options import BATCH, STREAM, WRITE, read_options
from forebay_spark.pipeline.replay import Entry, Replay, Writer
from forebay_spark.pipeline.replay import target as target_of
from forebay_spark.read.micro_batch import MicroBatchReader
from forebay_spark.servers import state
from forebay_spark.servers.connect import Server
from forebay_spark.values.schema import PLAIN
from forebay_spark.write.rows import Layout
from forebay_spark.write.sink import TaskWriter
from spark.tests.support.restarting import Restarted
from spark.tests.support.sentinel_pairs import Pair, sentinel_pair
from spark.tests.support.spark_streams import Target, numbers_of, read_tasks
from testkit.oracle import counts_entries, start_redis
from testkit.servers import free_port

EVERYTHING = ReadAllAvailable()
ROWS = pa.RecordBatch.from_pydict({"n": list(range(100))})


@pytest.fixture(autouse=True)
def _quick(quick_patience: None) -> None:
    """Make the bridged outage so short that every failover is longer."""


@pytest.fixture(params=["redis", "forebay"])
def pair(server_root: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    with sentinel_pair(Path(mkdtemp(prefix="pair", dir=server_root)), request.param) as pair:
        yield pair


def reader_of(url: str, partitions: int = 2) -> MicroBatchReader:
    """A reader.  One task counts its entries; several tasks on Redis do not know their counts."""
    given = {"url": url, "streams": "s", "startingOffsets": "earliest"}
    return MicroBatchReader(
        PLAIN, read_options({**given, "minPartitions": str(partitions)}, STREAM)
    )


def write(url: str, batches: Iterator[pa.RecordBatch]) -> None:
    """One attempt of a task of a streaming query."""
    given = {"url": url, "stream": "out", "rowsPerTransaction": "10", "retryFor": "1 minute"}
    options = read_options(given, WRITE)
    TaskWriter(Layout(from_arrow_schema(ROWS.schema), options), options, "query:0", 0).write(
        batches
    )


def test_planning_and_tasks_go_on_with_the_new_primary(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.before.add("s", 100)
    pair.settle()
    reader = reader_of(pair.url)
    start = reader.initialOffset()
    end = reader.latestOffset(start, EVERYTHING)
    tasks = reader.partitions(start, end)
    found = reader.read(tasks[0])
    first = next(found)
    pair.kill_primary()
    rest = [*found, *reader.read(tasks[1])]
    assert sorted(numbers_of([first, *rest])) == list(range(100))
    assert "is away" in capsys.readouterr().err
    pair.after.add("s", 50, first=100)
    newest = reader.latestOffset(end, EVERYTHING)
    assert numbers_of(read_tasks(reader, reader.partitions(end, newest))) == list(range(100, 150))
    reader.stop()


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_reader_says_what_a_failover_lost(pair: Pair, partitions: int) -> None:
    pair.before.add("s", 100)
    pair.settle()
    pair.part()
    pair.before.add("s", 20, first=100)
    reader = reader_of(pair.url, partitions)
    start = reader.initialOffset()
    end = reader.latestOffset(start, EVERYTHING)
    tasks = reader.partitions(start, end)
    pair.kill_primary()
    with pytest.raises(DataLossError, match="lost its end in a failover"):
        read_tasks(reader, tasks)
    with pytest.raises(DataLossError, match="lost its end in a failover"):
        reader.latestOffset(end, EVERYTHING)
    reader.stop()


def test_rows_are_written_once_over_a_failover(pair: Pair) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield ROWS[:55]
        pair.settle()
        pair.kill_primary()
        yield ROWS[55:]

    write(pair.url, batches())
    assert pair.after.numbers("out") == list(range(100))


def test_rows_that_a_failover_lost_are_written_by_a_retry_of_the_task(pair: Pair) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield ROWS[:30]
        pair.settle()
        pair.part()
        yield ROWS[30:60]
        pair.kill_primary()
        yield ROWS[60:]

    with pytest.raises(ServerError, match="lost rows that it had acknowledged: a failover"):
        write(pair.url, batches())
    assert pair.after.numbers("out") == list(range(30))
    write(pair.url, iter([ROWS]))
    assert pair.after.numbers("out") == list(range(100))


def test_a_replay_goes_on_where_the_new_primary_stands(pair: Pair) -> None:
    chunks = [[Entry(f"{ms}-0", ms, ("n", str(ms)))] for ms in range(4)]
    job = Replay(lake="/x", stream="s", to="again", url=pair.url)

    server = Server(target_of(job.url, job.to, None), patient=True)
    first = Writer(server, job)
    assert first.position() is None
    first.write(chunks[0])
    pair.settle()
    pair.part()
    first.write(chunks[1])
    pair.kill_primary()
    with pytest.raises(OptionError, match="a failover has lost the last entries"):
        first.write(chunks[2])
    again = Writer(server, job)
    assert again.position() == "0-0"
    for chunk in chunks[1:]:
        again.write(chunk)
    assert pair.after.numbers("again") == list(range(4))
    server.close()


def test_a_server_that_is_loading_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = ("--key-load-delay", "300") if counts_entries() else ()
    restarted = Restarted("redis", tmp_path, *slow)
    try:
        restarted.target.add("s", 5000)
        reader = reader_of(restarted.target.url)
        start = reader.initialOffset()
        restarted.away(0.0)
        end = reader.latestOffset(start, EVERYTHING)
        found = read_tasks(reader, reader.partitions(start, end))
        assert sorted(numbers_of(found)) == list(range(5000))
        assert "loading the dataset in memory" in capsys.readouterr().err
        reader.stop()
    finally:
        restarted.close()


def test_a_replica_that_has_lost_its_primary_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_redis(tmp_path, "--replica-serve-stale-data", "no")
    lonely = Target(server)
    try:
        lonely.add("s", 10)
        lonely.client.replicaof("127.0.0.1", free_port())
        promotion = threading.Timer(1.0, lonely.client.replicaof, ("NO", "ONE"))
        promotion.start()
        given = {"url": lonely.url, "streams": "s", "retryFor": "1 minute"}
        with closing(Server(read_options(given, BATCH))) as away:
            now = state.fetch(away, "s")
        promotion.join()
        assert now is not None and now.length == 10
        assert "MASTER is down" in capsys.readouterr().err
    finally:
        lonely.client.close()
        server.stop()
