"""The archive job as a person runs it: killed hard, twice, then stopped with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.lake.files import LocalFiles
from forebay_spark.lake.log import CommitLog
from tests.support.lakes import lake_ids, same
from tests.support.servers import environment
from tests.support.spark_streams import Target
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PATIENCE_S = 180


def version(lake: Path) -> int:
    state = CommitLog(LocalFiles(lake)).load()
    return state.version if state else -1


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
    """Entries are added all the time; their IDs."""
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
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    lake, log = tmp_path / "lake", tmp_path / "log"
    with producing(redis_target) as added:
        with running(redis_target, lake, log) as driver:
            driver.kill()
        with running(redis_target, lake, log) as driver:
            os.killpg(driver.pid, signal.SIGKILL)
        with running(redis_target, lake, log) as driver:
            os.killpg(driver.pid, signal.SIGINT)
            assert driver.wait(PATIENCE_S) == 0, log.read_text()[-2000:]
    told = log.read_text()
    assert "stopping after this batch" in told
    assert "Traceback" not in told and "Exception" not in told
    assert '"lag_entries"' in told
    state = CommitLog(LocalFiles(lake)).load()
    assert state is not None
    cold = lake_ids(spark, lake)
    hot = [entry for entry in redis_target.ids("s") if entry not in set(cold)]
    same(cold + hot, added)
    assert state.cuts["s"].n == len(cold)
    events = [fields[b"event"] for _, fields in redis_target.client.xrange("forebay:pipelines")]
    assert events[-1] == b"stopped" and events.count(b"started") == 3
