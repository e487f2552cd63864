"""A server that is away for a while: which calls wait for it, for how long, and the messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import redis
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable

from forebay_spark.errors import OptionError, ServerError
from forebay_spark.options import BATCH, STREAM, WRITE, read_options
from forebay_spark.read.micro_batch import MicroBatchReader
from forebay_spark.servers import patience, state
from forebay_spark.servers.connect import Server
from forebay_spark.values.schema import PLAIN
from forebay_spark.write.rows import Layout
from forebay_spark.write.sink import TaskWriter
from spark.tests.support.restarting import Restarted
from spark.tests.support.spark_streams import numbers_of
from testkit.servers import free_port


@pytest.fixture(autouse=True)
def _quick(quick_patience: None) -> None:
    """Short outages are bridged for a fifth of a second, and waits are reported soon."""


def nobody() -> str:
    return f"redis://127.0.0.1:{free_port()}"


def test_planning_and_tasks_of_a_streaming_query_outlive_a_restart_of_the_server(
    restarted: Restarted, capsys: pytest.CaptureFixture[str]
) -> None:
    target = restarted.target
    target.add("s", 100)
    options = target.options(STREAM, streams="s", startingOffsets="earliest", minPartitions=2)
    reader = MicroBatchReader(PLAIN, options)
    start = reader.initialOffset()
    back = restarted.away()
    end = reader.latestOffset(start, ReadAllAvailable())
    back.join()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2, told
    assert target.url in told[0] and "is away" in told[0] and "for up to 10 minutes" in told[0]
    assert "is back after" in told[1]
    tasks = reader.partitions(start, end)
    found = reader.read(tasks[0])
    first = next(found)
    back = restarted.away()
    rest = [*found, *reader.read(tasks[1])]
    back.join()
    assert numbers_of([first, *rest]) == list(range(100))
    reader.stop()


def test_rows_are_written_once_though_the_server_restarts_in_between(restarted: Restarted) -> None:
    rows = pa.RecordBatch.from_pydict({"n": list(range(100))})
    options = restarted.target.options(
        WRITE, stream="out", rowsPerTransaction=10, retryFor="1 minute"
    )
    restarts: list[threading.Thread] = []

    def batches() -> Iterator[pa.RecordBatch]:
        yield rows[:55]
        restarts.append(restarted.away())
        yield rows[55:]

    layout = Layout(from_arrow_schema(rows.schema), options)
    TaskWriter(layout, options, "query:0", 0).write(batches())
    restarts[0].join()
    assert restarted.target.numbers("out") == list(range(100))


def fetch_fails_within(options: Any, seconds: float, match: str, **more: Any) -> None:
    begun_s = time.monotonic()
    with pytest.raises(ServerError, match=match):
        state.fetch(Server(options, **more), "s")
    assert time.monotonic() - begun_s < seconds


@pytest.mark.parametrize("where", [BATCH, STREAM])
def test_a_server_that_never_answered_is_rather_a_mistake_and_said_at_once(where: str) -> None:
    options = read_options({"url": nobody(), "streams": "s"}, where)
    fetch_fails_within(options, 5, "No server answers at .*correct the option url")


def test_a_wait_that_is_over_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    for where in (BATCH, STREAM):
        options = read_options({"url": nobody(), "streams": "s", "retryFor": "1 second"}, where)
        fetch_fails_within(options, 10, "away for 1 second .*nothing is lost or doubled.*retryFor")
        assert "for up to 1 second" in capsys.readouterr().err


def test_whoever_ends_the_process_ends_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    options = read_options({"url": nobody(), "streams": "s", "retryFor": "forever"}, STREAM)
    timer = threading.Timer(0.5, patience.ENOUGH.set)
    timer.start()
    try:
        fetch_fails_within(options, 10, "was ended.*it continues where it stopped")
    finally:
        timer.join()
        patience.ENOUGH.clear()
    assert "waiting for ever" in capsys.readouterr().err


def test_a_worker_waits_for_a_server_that_the_driver_has_met() -> None:
    options = read_options({"url": nobody(), "streams": "s"}, STREAM)
    timer = threading.Timer(1.0, patience.ENOUGH.set)
    timer.start()
    try:
        fetch_fails_within(options, 10, "was ended", met=True)
    finally:
        timer.join()
        patience.ENOUGH.clear()


def test_a_server_that_refuses_us_is_not_away() -> None:
    with pytest.raises(ServerError, match="refuses the login"):
        patience.Patience("here", 60.0, 60.0, met=True).retry(_refused, lambda: None)


def _refused() -> None:
    raise redis.exceptions.AuthenticationError("WRONGPASS")


def test_a_length_of_time_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(OptionError, match=r"Option retryFor cannot be 'soon'.*'10 seconds'"):
        read_options({"streams": "s", "retryFor": "soon"}, STREAM)
