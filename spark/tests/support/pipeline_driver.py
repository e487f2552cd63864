"""Pipelines in a process of their own, to be killed between any two steps.

    python -m spark.tests.support.pipeline_driver '{"url": ..., "folder": ..., "fault": ..., ...}'

runs an archive that trims, a process to lake and stream, and an aggregate to lake and stream,
all at once over the stream ``s``, to its end, and exits with 0.  A fault names a step; when that
step is reached for the ``at``-th time, this process and its JVM are killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline import archive, sinks
from forebay_spark.pipeline.archive import Archive, Trim
from forebay_spark.pipeline.jobs import Aggregate, Process
from forebay_spark.pipeline.spec import LakeSink, Source, StreamSink, Transform
from forebay_spark.runtime.session import session
from spark.tests.support.spark_driver import run_module
from testkit.small_spark import SETTINGS

PER_BATCH = 150

#: Step -> where it is, and whether the kill comes before or after it.
FAULTS: dict[str, tuple[Any, str, str]] = {
    "files are to be written": (archive, "land", "before"),
    "files are safe": (archive, "land", "after"),
    "files are committed": (Lake, "commit", "after"),
    "entries are to be trimmed": (archive, "trim_streams", "before"),
    "entries are trimmed": (archive, "trim_streams", "after"),
    "one sink of two has the batch": (sinks, "write_lake", "after"),
    "the stream has the batch": (sinks, "forget_fences", "before"),
}


def jobs(url: str, folder: str) -> list[Any]:
    """The three jobs; the other two have groups, so that the archive waits for them."""

    def source(group: str | None, schema: str | None) -> Source:
        options = {"maxEntriesPerTrigger": str(PER_BATCH), "minPartitions": "2"}
        return Source(streams=("s",), url=url, group=group, schema=schema, options=options)

    return [
        Process(
            source=source("process", "n int"),
            transform=(Transform(sql="SELECT n, n * 2 AS twice FROM input"),),
            sink=(LakeSink(f"{folder}/processed"), StreamSink("processed", url)),
        ),
        Aggregate(
            source=source("aggregate", "n int, at timestamp"),
            time="at",
            window="10 seconds",
            values={"entries": "count(*)", "total": "sum(n)"},
            sink=(LakeSink(f"{folder}/windows"), StreamSink("windows", url)),
        ),
        Archive(source=source(None, None), lake=f"{folder}/lake", trim=Trim()),
    ]


def run(url: str, folder: Path, fault: str = "", at: int = 1) -> subprocess.CompletedProcess[str]:
    """Run the jobs in a process of their own; its exit code is -9 if it was killed."""
    return run_module(__name__, {"url": url, "folder": str(folder), "fault": fault, "at": at})


def arm(fault: str, at: int, victims: list[int]) -> None:
    """Put the kill at its step."""
    owner, name, when = FAULTS[fault]
    step: Callable[..., Any] = getattr(owner, name)
    times = 0

    def armed(*args: Any, **more: Any) -> Any:
        nonlocal times
        times += 1
        is_due = times >= at
        result = None if is_due and when == "before" else step(*args, **more)
        if is_due:
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
        return result

    setattr(owner, name, armed)


def main() -> None:
    """Run what the argument says."""
    work = json.loads(sys.argv[1])
    spark = session(master="local[2]", settings=SETTINGS, quiet=True)
    jvm: Any = spark._jvm
    if work["fault"]:
        victims = [jvm.java.lang.ProcessHandle.current().pid(), os.getpid()]
        arm(work["fault"], work["at"], victims)
    flows = [job.start(spark) for job in jobs(work["url"], work["folder"])]
    for flow in flows:
        flow.wait()
    spark.stop()


if __name__ == "__main__":
    main()
