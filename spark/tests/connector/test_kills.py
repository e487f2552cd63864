"""kill -9 of the driver and its JVM in every phase; the output equals the input.

Two queries run in each driver: a copy from stream to stream, which has the kill, and
an archive to Parquet, which dies wherever it happens to be.  Both continue from their
checkpoints in the next driver, which is killed in the next phase, until the last one
may finish.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from spark.tests.support import spark_driver
from spark.tests.support.spark_streams import Target

#: Rounds through all phases in both directions, for a nightly run.
ROUNDS = int(os.environ.get("FOREBAY_KILL_ROUNDS", "0"))

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200 * max(ROUNDS, 1))]

PER_BATCH = 100
PHASES = ("plan", "partitions", "read", "write", "written", "commit")
BATCHES_PER_DRIVER = 2


def queries(source: Target, sink: Target, place: Path, phase: str, at: int) -> list[dict[str, Any]]:
    read = {
        "url": source.url,
        "streams": "s",
        "startingOffsets": "earliest",
        "maxEntriesPerTrigger": str(PER_BATCH),
        "minPartitions": "2",
        "group": "progress",
    }
    to_stream = {"url": sink.url, "stream": "out", "rowsPerTransaction": "20"}
    to_files = {"path": str(place / "files"), "checkpointLocation": str(place / "check-files")}
    return [
        {
            "read": read,
            "format": "faulty",
            "write": {**to_stream, "checkpointLocation": str(place / "check-stream")},
            "fault": phase,
            "at": at,
        },
        {"read": read, "format": "parquet", "write": to_files},
    ]


def reason(stderr: str) -> str:
    """The error sentences in the long output of a driver, or the end of the output."""
    found = [line for line in stderr.splitlines() if re.search(r"Error: ", line)]
    return "\n".join(dict.fromkeys(found)) or stderr[-3000:]


def archived(files: Path) -> Counter[int]:
    """The rows of the archive by Spark's own log; other files are of tasks that died."""
    paths = set()
    for log in (files / "_spark_metadata").glob("[0-9]*"):
        _version, *records = log.read_text().splitlines()
        paths |= {json.loads(record)["path"].removeprefix("file://") for record in records}
    table = pq.ParquetDataset(sorted(paths)).read(columns=["fields"])
    return Counter(int(dict(fields)["n"]) for fields in table["fields"].to_pylist())


@pytest.mark.parametrize(
    ("source_name", "sink_name", "some_phases"),
    [
        ("redis_server", "forebay_server", PHASES[0::2]),
        ("forebay_server", "redis_server", PHASES[1::2]),
    ],
    ids=["from redis to forebay", "from forebay to redis"],
)
def test_no_kill_loses_or_doubles_a_row(
    request: pytest.FixtureRequest,
    source_name: str,
    sink_name: str,
    some_phases: tuple[str, ...],
    tmp_path: Path,
) -> None:
    source = Target(request.getfixturevalue(source_name))
    sink = Target(request.getfixturevalue(sink_name))
    phases = PHASES * ROUNDS or some_phases
    count = PER_BATCH * BATCHES_PER_DRIVER * (len(phases) + 1)
    source.add("s", count)
    for number, phase in enumerate(phases):
        at = BATCHES_PER_DRIVER * (number + 1) - 1
        killed = spark_driver.run(queries(source, sink, tmp_path, phase, at))
        assert killed.returncode == -9, f"{phase}: {reason(killed.stderr)}"
        assert sink.client.xlen("out") < count
    finished = spark_driver.run(queries(source, sink, tmp_path, "", 0))
    assert finished.returncode == 0, reason(finished.stderr)
    assert Counter(sink.numbers("out")) == Counter(range(count))
    assert archived(tmp_path / "files") == Counter(range(count))
