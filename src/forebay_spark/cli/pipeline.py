"""``forebay pipeline``: run the jobs that move streams into tables and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from forebay_spark.cli.operate import OPERATING
from forebay_spark.cli.spark import (
    SparkCommandError,
    add_option_argument,
    add_retry_argument,
    add_spark_arguments,
    add_subcommand,
    add_url_argument,
    pairs,
    spark_of,
    told,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forebay_spark.pipeline.watch import Reporter

EPILOG = """\
examples:
  forebay pipeline archive --stream orders --lake ./lake --trim "1 hour" --every "10 seconds"
  forebay pipeline run totals.toml --json
  forebay pipeline settings aggregate         what a file for this job may say
  forebay pipeline replay ./lake --stream orders --to orders:test --speed 10
  forebay pipeline compact ./lake
  forebay pipeline status
  forebay pipeline reset totals.toml --to-time 2026-11-16T09:00:00Z --dry-run
  forebay pipeline redrive --from orders.dlq --set currency=EUR
  forebay pipeline infer --stream orders      propose a schema

Ctrl-C stops after the batch that is under way; every job goes on where it stopped.
Progress goes to standard error, and to the stream forebay:pipelines of the source.
"""


def run(args: list[str]) -> int:
    """Run one subcommand."""
    asked = parser().parse_args(args)
    return told(asked.handler)(asked)


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(
        prog="forebay pipeline",
        description="Jobs on Spark: streams in, tables out, exactly once.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subs = made.add_subparsers(required=True, metavar="COMMAND")
    for add in (_add_run, _add_archive, _add_replay, _add_compact, *OPERATING, _add_settings):
        add(subs)
    _add_infer(subs)
    return made


RUN_EXAMPLES = """\
  forebay pipeline run --check totals.toml    find mistakes without starting Spark
  forebay pipeline run totals.toml
  forebay pipeline run totals.yaml --json --master spark://host:7077

What a file may say: forebay pipeline settings. There is an example for each job in
examples/pipelines of the sources.
"""


def _add_run(subs: Any) -> None:
    help_ = "run the job that a TOML or YAML file describes"
    sub = add_subcommand(subs, "run", run_file, help_, RUN_EXAMPLES)
    sub.add_argument("file", help="the file, .toml, .yaml or .yml")
    sub.add_argument("--check", action="store_true", help="only read the file and say what it is")
    _add_watching(sub)


ARCHIVE_EXAMPLES = """\
  forebay pipeline archive --stream orders --lake ./lake
  forebay pipeline archive --stream orders --lake ./lake --trim "1 hour" --every "10 seconds"
  forebay pipeline archive --url redis+cluster://h1:7000,h2:7000 --pattern 'orders:*' \\
      --lake hdfs://nn/lake --master spark://host:7077
"""


def _add_archive(subs: Any) -> None:
    help_ = "copy streams to a lake, every entry once"
    sub = add_subcommand(subs, "archive", archive, help_, ARCHIVE_EXAMPLES)
    sub.add_argument("--stream", action="append", default=[], help="a stream; may be repeated")
    sub.add_argument("--pattern", help="all streams that match, also new ones, as 'orders:*'")
    sub.add_argument("--lake", required=True, help="folder of the lake; made if it is not there")
    add_url_argument(sub)
    sub.add_argument("--schema", help="fields and types, as in 'rider string, speed double'")
    sub.add_argument("--group", help="consumer group that mirrors the progress")
    sub.add_argument(
        "--trim",
        nargs="?",
        const=True,
        metavar="KEEP",
        help="remove what is archived and acknowledged by all groups; "
        "with KEEP, as in '1 hour', younger entries stay",
    )
    sub.add_argument(
        "--every",
        default="available now",
        metavar="INTERVAL",
        help="go on and look for new entries so often, as in '10 seconds' (once, to the end)",
    )
    sub.add_argument("--name", help="how the job is called; two on one lake need two names")
    add_option_argument(sub)
    _add_watching(sub)


REPLAY_EXAMPLES = """\
  forebay pipeline replay ./lake --stream orders --to orders:test
  forebay pipeline replay ./lake --stream orders --to orders:test --speed 10 \\
      --since 2026-11-16T09:00:00Z --until 2026-11-16T10:00:00Z
"""


def _add_replay(subs: Any) -> None:
    help_ = "write a stretch of a lake back into a stream"
    sub = add_subcommand(subs, "replay", replay, help_, REPLAY_EXAMPLES)
    sub.add_argument("lake", help="folder of the lake")
    sub.add_argument("--stream", required=True, help="the stream as the lake knows it")
    sub.add_argument("--to", required=True, help="the stream to write to")
    add_url_argument(sub)
    sub.add_argument("--since", metavar="TIME", help="first moment (the beginning)")
    sub.add_argument("--until", metavar="TIME", help="first moment not to replay (the end)")
    sub.add_argument("--speed", type=float, help="1 is the original pace, 10 ten times (at once)")
    sub.add_argument(
        "--ids",
        choices=("new", "keep"),
        default="new",
        help="keep needs a stream that ends before them (%(default)s)",
    )
    add_retry_argument(sub)
    add_spark_arguments(sub)


COMPACT_EXAMPLES = """\
  forebay pipeline compact ./lake
  forebay pipeline compact ./lake --target-mb 512 --grace "2 hours"
"""


def _add_compact(subs: Any) -> None:
    help_ = "make few large files of many small ones"
    sub = add_subcommand(subs, "compact", compact, help_, COMPACT_EXAMPLES)
    sub.add_argument("lake", help="folder of the lake")
    sub.add_argument("--target-mb", type=int, default=128, help="size of a file (%(default)s)")
    sub.add_argument(
        "--grace",
        default="1 day",
        metavar="TIME",
        help="how long old files stay, for queries that still read them (%(default)s)",
    )
    add_spark_arguments(sub)


def _add_settings(subs: Any) -> None:
    help_ = "list what a file may say about a job"
    sub = add_subcommand(
        subs, "settings", settings, help_, "  forebay pipeline settings aggregate\n"
    )
    sub.add_argument("job", nargs="?", help="one job (all)")


INFER_EXAMPLES = """\
  forebay pipeline infer --stream orders
  forebay pipeline archive --stream orders --lake ./lake \\
      --schema "$(forebay pipeline infer --stream orders --last 10000)"
"""


def _add_infer(subs: Any) -> None:
    help_ = "propose a schema from the last entries of a stream (needs no Spark)"
    sub = add_subcommand(subs, "infer", infer, help_, INFER_EXAMPLES)
    sub.add_argument("--stream", required=True, help="the stream")
    sub.add_argument("--last", type=int, default=1000, help="how many entries (%(default)s)")
    add_url_argument(sub)
    add_option_argument(sub)


def _add_watching(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="progress as JSON lines on stdout")
    sub.add_argument("--no-report", action="store_true", help="write nothing to forebay:pipelines")
    sub.add_argument(
        "--metrics-port",
        metavar="[HOST:]PORT",
        help="serve numbers for Prometheus at /metrics, to this machine unless HOST is given",
    )
    add_spark_arguments(sub)


def run_file(asked: argparse.Namespace) -> int:
    """forebay pipeline run FILE."""
    from forebay_spark.pipeline import config, reset

    job = reset.begun(config.load(asked.file))
    if asked.check:
        sys.stdout.write(f"{asked.file}: {type(job).__name__.lower()} {job.name}, no fault found\n")
        return 0
    return _run_job(job, asked)


def _run_job(job: Any, asked: argparse.Namespace) -> int:
    """A query until its end, or a job that does its work and says what it did."""
    if not job.needs_spark:
        sys.stdout.write(job.told(job.run()) + "\n")
        return 0
    if not hasattr(job, "start"):
        with spark_of(asked, job.name) as spark:
            sys.stdout.write(job.told(job.run(spark)) + "\n")
        return 0
    with reporting(job, asked) as reporter, spark_of(asked, job.name) as spark:
        return _stream(spark, job, asked, reporter)


@contextmanager
def reporting(job: Any, asked: argparse.Namespace) -> Iterator[Reporter]:
    """Those who are told what a job does: the stream of all pipelines, Prometheus."""
    from forebay_spark.pipeline.metrics import Metrics, Page
    from forebay_spark.pipeline.runner import is_away
    from forebay_spark.pipeline.watch import Reporters, StreamReporter

    metrics = Metrics(partial(is_away, job.source))
    with ExitStack() as stack:
        if asked.metrics_port is not None:
            stack.callback(Page(asked.metrics_port, metrics).close)
        told = [] if asked.no_report else [StreamReporter(job.source.access())]
        reporters = Reporters(metrics, *told)
        stack.callback(reporters.close)
        yield reporters


def _stream(spark: SparkSession, job: Any, asked: argparse.Namespace, reporter: Reporter) -> int:
    """A query, watched until its end."""
    from forebay_spark.pipeline.runner import nothing_new, run_streaming
    from forebay_spark.pipeline.watch import LiveLine, json_lines

    line = LiveLine(sys.stderr)
    try:
        tell = json_lines(sys.stdout) if asked.json else line
        watcher = run_streaming(spark, job, (tell,), reporter)
    finally:
        line.close()
    if not watcher.rows:
        sys.stderr.write(f"{job.name}: {nothing_new(job.source)}\n")
    return 0


def _job(kind: str, given: dict[str, Any]) -> Any:
    """A job from arguments, judged as one from a file is."""
    from forebay_spark.pipeline import config

    told = {name: value for name, value in given.items() if value is not None}
    return config.checked(config.from_mapping({"job": kind, **told}, f"forebay pipeline {kind}"))


def archive(asked: argparse.Namespace) -> int:
    """forebay pipeline archive."""
    named = {
        "url": asked.url,
        "streams": asked.stream,
        "pattern": asked.pattern,
        "schema": asked.schema,
        "group": asked.group,
        "options": pairs("--option", asked.option),
    }
    job = _job(
        "archive",
        {
            "source": {name: value for name, value in named.items() if value},
            "lake": asked.lake,
            "trim": asked.trim,
            "trigger": asked.every,
            "name": asked.name,
        },
    )
    return _run_job(job, asked)


def replay(asked: argparse.Namespace) -> int:
    """forebay pipeline replay."""
    names = ("lake", "stream", "to", "url", "since", "until", "speed", "ids", "retry_for")
    job = _job("replay", {name: getattr(asked, name) for name in names})
    return _run_job(job, asked)


def compact(asked: argparse.Namespace) -> int:
    """forebay pipeline compact."""
    given = {"lake": asked.lake, "target_mb": asked.target_mb, "grace": asked.grace}
    job = _job("compact", given)
    return _run_job(job, asked)


def infer(asked: argparse.Namespace) -> int:
    """forebay pipeline infer: the schema on standard output, what was seen beside it."""
    from forebay_spark.infer import infer_schema, last_entries
    from forebay_spark.options import BATCH, read_options

    given = {"url": asked.url, "streams": asked.stream, **pairs("--option", asked.option)}
    if asked.last < 1:
        raise SparkCommandError(f"--last {asked.last} asks for nothing; give 1 or more")
    seen = infer_schema(last_entries(read_options(given, BATCH), asked.stream, asked.last))
    sys.stderr.write(seen.table())
    sys.stdout.write(f"{seen.ddl}\n")
    return 0


def settings(asked: argparse.Namespace) -> int:
    """forebay pipeline settings."""
    from forebay_spark.pipeline import config
    from forebay_spark.pipeline.settings import one_of

    names = [one_of(*config.JOBS)(asked.job, "the job")] if asked.job else list(config.JOBS)
    told: dict[str, type[Any]] = {}
    for name in names:
        job = config.JOBS[name]
        told |= {f'job = "{name}"': job, **dict(config.parts_of(job))}
    # What a source or a sink may say is the same in every job: once is enough, at the end.
    for head, kind in sorted(told.items(), key=lambda pair: pair[0].startswith("[")):
        sys.stdout.write(f"{head}\n")
        for setting, default, doc in config.settings_of(kind):
            sys.stdout.write(f"  {setting:<18} {doc}{f' ({default})' if default else ''}\n")
    return 0
