"""Spark's part of the race: three jobs and two questions.

    quarantine   reports that do not fit the schema --> race:france.dlq, with the reason
    aggregate    speeds in windows of race time     --> lake of results; late ones are counted
    archive      everything                         --> lake, then trimmed off the server

Each job mirrors its progress into a consumer group, so the archive trims only entries that
the others have read.  The questions are SQL over hot and cold entries as one table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.demo.riders import LAP_S, STREAM
from forebay_spark import session
from forebay_spark.pipeline.archive import Archive, Trim
from forebay_spark.pipeline.jobs import Aggregate, Quarantine
from forebay_spark.pipeline.runner import run_streaming
from forebay_spark.pipeline.spec import LakeSink, Source, StreamSink, Transform
from forebay_spark.pipeline.watch import Report, StreamReporter
from forebay_spark.query.sql import Asked, open_tables

SCHEMA = "rider string, speed double, at timestamp"
#: The schema of a good report.
REQUIRED = "rider string not null, speed double, at timestamp"
DEAD_LETTERS = f"{STREAM}.dlq"

BY_RIDER = """
    SELECT fields['rider'] AS rider, count(*) AS passages,
           round(avg(try_cast(fields['speed'] AS double)), 2) AS speed
    FROM entries GROUP BY 1 ORDER BY speed DESC
"""
BY_WINDOW = "SELECT window_start, sum(passages) AS passages FROM windows GROUP BY 1 ORDER BY 1"


def start_spark() -> Any:
    """A small local Spark."""
    return session("forebay demo", "local[2]", {"spark.sql.shuffle.partitions": "2"}, quiet=True)


class Jobs:
    """The jobs of the demo on one server, in one folder."""

    def __init__(self, spark: Any, port: int, folder: Path) -> None:
        self._spark = spark
        self._url = f"redis://127.0.0.1:{port}"
        self.lake = str(folder / "lake")
        self.windows = str(folder / "windows")
        self._folder = folder

    def _source(self, group: str, **more: Any) -> Source:
        return Source(url=self._url, streams=(STREAM,), group=group, **more)

    def _run(self, job: Any) -> list[Report]:
        """Run a job to the end of the stream; returns its reports, batch by batch."""
        reports: list[Report] = []
        console = StreamReporter(job.source.access())
        run_streaming(self._spark, job, (reports.append,), console)
        console.close()
        return reports

    def quarantine(self) -> list[Report]:
        """Bad reports to the dead-letter stream."""
        job = Quarantine(
            source=self._source("quarantine", schema=REQUIRED),
            dead_letter=StreamSink(DEAD_LETTERS, url=self._url),
            checkpoint=str(self._folder / "quarantine"),
        )
        return self._run(job)

    def aggregate(self) -> list[Report]:
        """Speeds by rider in windows of a lap; batches are small, so that late reports are late."""
        batches = {"maxEntriesPerTrigger": "100"}
        job = Aggregate(
            source=self._source("aggregate", schema=SCHEMA, options=batches),
            transform=(Transform(sql="SELECT * FROM input WHERE speed IS NOT NULL"),),
            time="at",
            window=f"{LAP_S} seconds",
            watermark=f"{LAP_S} seconds",
            keys=("rider",),
            values={"passages": "count(*)", "speed": "avg(speed)"},
            sink=(LakeSink(self.windows),),
        )
        return self._run(job)

    def archive(self) -> list[Report]:
        """Everything to the lake, and off the server."""
        job = Archive(source=self._source("archive"), lake=self.lake, trim=Trim())
        return self._run(job)

    def ask(self, tell: Callable[[str], None]) -> tuple[list[Any], list[Any]]:
        """Both questions, over hot and cold."""
        tell(f"forebay sql: {' '.join(BY_RIDER.split())}")
        tables = {"windows": self.windows}
        asked = Asked(streams=[STREAM], lake=self.lake, url=self._url, results=tables)
        open_tables(self._spark, asked)
        return self._spark.sql(BY_RIDER).collect(), self._spark.sql(BY_WINDOW).collect()
