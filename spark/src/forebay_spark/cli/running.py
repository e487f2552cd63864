"""A job from its settings to its end, and the places where its progress is reported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from forebay_spark.cli.options import SparkOptions
from forebay_spark.cli.spark import spark_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forebay_spark.pipeline.config import AnyJob, Stream
    from forebay_spark.pipeline.watch import Reporter


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Watching:
    """Where the progress of a job is reported."""

    json: Annotated[bool, Parameter(help="progress as JSON lines on stdout")] = False
    no_report: Annotated[bool, Parameter(help="write nothing to forebay:pipelines")] = False
    metrics_port: Annotated[
        str | None,
        Parameter(
            metavar="[HOST:]PORT",
            help="serve numbers for Prometheus at /metrics, to this machine unless HOST is given",
        ),
    ] = None


USUAL = Watching()


def run_job(job: AnyJob, options: SparkOptions, watching: Watching = USUAL) -> int:
    """Run a query until its end, or a job once, and report what it did."""
    from forebay_spark.pipeline.config import Compact
    from forebay_spark.pipeline.replay import Replay

    if isinstance(job, Compact):
        sys.stdout.write(job.told(job.run()) + "\n")
        return 0
    if isinstance(job, Replay):
        with spark_of(options, job.name) as spark:
            sys.stdout.write(job.told(job.run(spark)) + "\n")
        return 0
    with reporting(job, watching) as reporter, spark_of(options, job.name) as spark:
        return _stream(spark, job, watching, reporter)


@contextmanager
def reporting(job: Stream, watching: Watching) -> Iterator[Reporter]:
    """The places where the progress of a job is reported: the stream of all pipelines,
    Prometheus."""
    from forebay_spark.pipeline.metrics import Metrics, Page
    from forebay_spark.pipeline.runner import is_away
    from forebay_spark.pipeline.tables import Tables
    from forebay_spark.pipeline.watch import Reporters, StreamReporter

    metrics = Metrics(partial(is_away, job.source))
    with ExitStack() as stack:
        if watching.metrics_port is not None:
            stack.callback(Page(watching.metrics_port, metrics).close)
        access, tables = job.source.access(), Tables(job)
        heard = [] if watching.no_report else [StreamReporter(access, tables=tables)]
        reporters = Reporters(metrics, *heard)
        stack.callback(reporters.close)
        yield reporters


def _stream(spark: SparkSession, job: Stream, watching: Watching, reporter: Reporter) -> int:
    """A query, watched until its end."""
    from forebay_spark.pipeline.runner import nothing_new, run_streaming
    from forebay_spark.pipeline.watch import LiveLine, json_lines

    line = LiveLine(sys.stderr)
    try:
        tell = json_lines(sys.stdout) if watching.json else line
        watcher = run_streaming(spark, job, (tell,), reporter)
    finally:
        line.close()
    if not watcher.rows:
        sys.stderr.write(f"{job.name}: {nothing_new(job.source)}\n")
    return 0


def job_of(kind: str, given: Mapping[str, object]) -> AnyJob:
    """A job from arguments, checked like one from a file."""
    from forebay_spark.pipeline import config

    known = {name: value for name, value in given.items() if value is not None}
    return config.checked(config.from_mapping({"job": kind, **known}, f"forebay pipeline {kind}"))
