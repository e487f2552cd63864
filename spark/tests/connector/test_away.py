"""Jobs and queries on a real Spark whose server is killed and comes back with its data.

Nothing is lost, nothing doubled, and the terminal says why the job waits.
Ctrl-C ends a job even while its server is away.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from forebay_spark import table
from spark.tests.support.restarting import Restarted
from spark.tests.support.sentinel_pairs import sentinel_pair
from spark.tests.support.spark_streams import Target
from testkit.servers import environment, free_port
from testkit.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
#: Longer than the longest outage that is bridged silently.
AWAY_S = 6.0


def archive(url: str, lake: Path, log: Path, metrics_port: int) -> subprocess.Popen[bytes]:
    """``forebay pipeline archive`` as a person runs it, in a process group of its own."""
    command = [sys.executable, "-m", "forebay", "pipeline", "archive", "--pattern", "*"]
    command += ["--lake", str(lake), "--url", url, "--trim", "--every", "200 ms"]
    command += ["--metrics-port", str(metrics_port)]
    with log.open("wb") as out:
        return subprocess.Popen(
            [*command, "--master", "local[2]", "--ui"],
            stdout=out,
            stderr=out,
            env=environment(),
            start_new_session=True,
        )


def reported(target: Target) -> int:
    """Rows of all batches that the job has reported."""
    reports: Any = target.client.xrange("forebay:pipelines")
    return sum(int(fields.get(b"rows", 0)) for _, fields in reports)


def copying(spark: Any, source: str, sink: str, folder: Path) -> Any:
    """A query that writes the entries of one stream to another."""
    rows = spark.readStream.format("forebay").options(
        url=source, streams="s", startingOffsets="earliest", group="copy"
    )
    copied = rows.schema("n int, _id string").load().select("n").writeStream.format("forebay")
    copy = copied.options(url=sink, stream="copy", checkpointLocation=folder / "c")
    return copy.trigger(processingTime="200 milliseconds").start()


def is_waiting(metrics_port: int) -> bool:
    """Whether the metrics say that the job waits."""
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=30) as page:
        found = re.search(r"^forebay_pipeline_waiting\{.*\} (\d)$", page.read().decode(), re.M)
    assert found is not None
    return found[1] == "1"


@pytest.mark.parametrize("restarted", ["forebay"], indirect=True)
def test_a_query_and_an_archive_outlive_a_restart_and_ctrl_c_ends_a_wait(
    spark: Any, restarted: Restarted, tmp_path: Path
) -> None:
    target, lake, log = restarted.target, tmp_path / "lake", tmp_path / "log"
    target.add("s", 100)
    metrics_port = free_port()
    job = archive(target.url, lake, log, metrics_port)
    query = copying(spark, target.url, f"{target.url}/1", tmp_path)
    try:
        copies = restarted.database(1)
        wait_until("all is copied", lambda: copies.client.xlen("copy") == 100, PATIENCE_S)
        wait_until("all is archived", lambda: reported(target) == 100, PATIENCE_S)
        restarted.away(AWAY_S).join()
        target.add("s", 100, first=100)
        wait_until("the copy goes on", lambda: copies.client.xlen("copy") == 200, PATIENCE_S)
        wait_until("the archive goes on", lambda: reported(target) == 200, PATIENCE_S)
        assert query.isActive and copies.numbers("copy") == list(range(200))
        query.stop()
        archived = table(spark, lake=str(lake), url=target.url).select("stream", "fields.n")
        assert sorted(row.n for row in archived.collect()) == sorted(map(str, range(200)))
        assert {row.stream for row in archived.collect()} == {"s"}
        assert not is_waiting(metrics_port)
        restarted.kill()
        assert is_waiting(metrics_port)
        said = log.read_text().count("is away")
        assert said and "is back after" in log.read_text()
        wait_until("it waits again", lambda: log.read_text().count("is away") > said, PATIENCE_S)
        os.killpg(job.pid, signal.SIGINT)
        assert job.wait(30) == 0, log.read_text()[-2000:]
        assert "Traceback" not in log.read_text()
        assert "Spark's pages are at http://" in log.read_text()
    finally:
        query.stop()
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def test_a_query_goes_on_with_the_primary_that_a_failover_made(
    spark: Any, scratch: Path, tmp_path: Path
) -> None:
    with sentinel_pair(scratch / "spark") as pair:
        pair.before.add("s", 100)
        query = copying(spark, pair.url, pair.url, tmp_path)
        try:
            before, after = pair.before.client, pair.after.client
            wait_until("all is copied", lambda: before.xlen("copy") == 100, PATIENCE_S)
            pair.settle()
            pair.kill_primary()
            pair.wait_for_failover()
            pair.after.add("s", 100, first=100)
            wait_until("the copy goes on", lambda: after.xlen("copy") == 200, PATIENCE_S)
            assert query.isActive and pair.after.numbers("copy") == list(range(200))
        finally:
            query.stop()
