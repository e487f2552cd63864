"""Jobs that are killed with SIGKILL: the output equals the input.

The archive job as a person runs it, killed twice and then stopped with Ctrl-C; and three
jobs at once over one stream, each driver killed at another step, until the last one may
finish.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark.tests.support import pipeline_driver
from spark.tests.support.lakes import lake_frame, lake_ids, newest, run, same
from spark.tests.support.spark_streams import Target
from testkit.servers import environment
from testkit.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PATIENCE_S = 180
PER_DRIVER = 400
SECONDS_PER_ENTRY = 0.25
WINDOW_S = 10
#: Both servers get half of the steps, in a chain: each kill costs a start of Spark.
STEPS = {
    "redis-server": (
        "files are safe",
        "one sink of two has the batch",
        "entries are trimmed",
    ),
    "forebay": (
        "the stream has the batch",
        "entries are to be trimmed",
        "files are committed",
    ),
}
#: More rounds, and every step on both servers, for a nightly run.
ROUNDS = int(os.environ.get("FOREBAY_KILL_ROUNDS", "0"))


def version(lake: Path) -> int:
    snapshot = newest(lake)
    return snapshot.version if snapshot else -1


@contextmanager
def running(target: Target, lake: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """``forebay pipeline archive`` in a process group of its own, past two commits."""
    command = [sys.executable, "-m", "forebay", "pipeline", "archive", "--stream", "s"]
    command += ["--lake", str(lake), "--url", target.url, "--trim", "--every", "100 ms", "--json"]
    command += ["--master", "local[2]"]
    before = version(lake)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env=environment(), start_new_session=True
        )
    try:
        wait_until(
            f"two more commits; the job said: {log.read_text()[-500:]}",
            lambda: version(lake) >= before + 2 or process.poll() is not None,
            PATIENCE_S,
        )
        assert process.poll() is None, log.read_text()[-2000:]
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


@contextmanager
def producing(target: Target) -> Iterator[list[str]]:
    """Add entries all the time; returns their IDs."""
    added: list[str] = []
    stop = threading.Event()

    def produce() -> None:
        while not stop.is_set():
            added.extend(target.add("s", 20, first=len(added)))
            stop.wait(0.02)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield added
    finally:
        stop.set()
        thread.join()


def test_no_kill_loses_or_doubles_an_entry_and_ctrl_c_ends_in_peace(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    lake, log = tmp_path / "lake", tmp_path / "log"
    with producing(target) as added:
        with running(target, lake, log) as driver:
            driver.kill()
        with running(target, lake, log) as driver:
            os.killpg(driver.pid, signal.SIGKILL)
        with running(target, lake, log) as driver:
            os.killpg(driver.pid, signal.SIGINT)
            assert driver.wait(PATIENCE_S) == 0, log.read_text()[-2000:]
    told = log.read_text()
    assert "stopping after this batch" in told
    assert "Traceback" not in told and "Exception" not in told
    assert '"lag_entries"' in told
    snapshot = newest(lake)
    assert snapshot is not None
    cold = lake_ids(spark, lake)
    hot = [entry for entry in target.ids("s") if entry not in set(cold)]
    same(cold + hot, added)
    assert snapshot.cuts["s"].n == len(cold)
    events = [fields[b"event"] for _, fields in target.client.xrange("forebay:pipelines")]
    assert events[-1] == b"stopped" and events.count(b"started") == 3


def add_timed(target: Target, first: int, count: int) -> list[str]:
    """Numbered entries with an event time."""
    pipeline = target.client.pipeline(transaction=False)
    for number in range(first, first + count):
        pipeline.xadd("s", {"n": number, "at": event_time(number)})
    return [entry_id.decode() for entry_id in pipeline.execute()]


def event_time(number: int) -> str:
    seconds = 1_800_000_000 + number * SECONDS_PER_ENTRY
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def windows_of(count: int) -> list[tuple[int, int]]:
    """Entries and their sum in each window that has ended, by the time of the last entry."""
    per_window = int(WINDOW_S / SECONDS_PER_ENTRY)
    starts = range(0, count, per_window)
    rows = [range(start, min(start + per_window, count)) for start in starts]
    return sorted((len(numbers), sum(numbers)) for numbers in rows)


def lake_rows(spark: Any, path: Path, *columns: str) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in lake_frame(spark, path).select(*columns).collect())


def stream_rows(target: Target, stream: str, *fields: bytes) -> list[tuple[int, ...]]:
    found: Any = target.client.xrange(stream)
    return sorted(tuple(int(entry[field]) for field in fields) for _, entry in found)


def test_three_jobs_killed_at_every_step_neither_lose_nor_double(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    steps = STEPS[target.name] if not ROUNDS else tuple(pipeline_driver.FAULTS) * ROUNDS
    added: list[str] = []
    for group in ("process", "aggregate"):
        target.client.xgroup_create("s", group, "0", mkstream=True)
    for number, step in enumerate(steps):
        added += add_timed(target, len(added), PER_DRIVER)
        killed = pipeline_driver.run(target.url, tmp_path, step, at=number % 3 + 2)
        assert killed.returncode == -9, f"{step}: {killed.stderr[-3000:]}"
    count = len(added)
    # An hour later: everything before it is in windows that have ended.
    added += add_timed(target, count + int(3600 / SECONDS_PER_ENTRY), 1)
    # This process is the last driver; windows that end with its last batch need one more batch.
    for job in pipeline_driver.jobs(target.url, str(tmp_path)) * 2:
        run(spark, job)

    cold = lake_ids(spark, tmp_path / "lake")
    same(cold, added)
    processed = [(n, 2 * n) for n in (*range(count), count + int(3600 / SECONDS_PER_ENTRY))]
    assert lake_rows(spark, tmp_path / "processed", "n", "twice") == processed
    assert stream_rows(target, "processed", b"n", b"twice") == processed
    assert lake_rows(spark, tmp_path / "windows", "entries", "total") == windows_of(count)
    assert stream_rows(target, "windows", b"entries", b"total") == windows_of(count)
