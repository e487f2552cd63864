"""``forebay pipeline``: run the jobs that move streams into tables and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forebay.cli.spark import URL, add_spark_arguments, sentences, spark_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPILOG = """\
examples:
  forebay pipeline archive --stream orders --lake ./lake --trim "1 hour" --every "10 seconds"
  forebay pipeline run totals.toml --json
  forebay pipeline settings aggregate         what a file for this job may say
  forebay pipeline replay ./lake --stream orders --to orders:test --speed 10
  forebay pipeline compact ./lake
  forebay pipeline status ./lake

Ctrl-C stops after the batch that is under way; every job goes on where it stopped.
Progress goes to standard error, and to the stream forebay:pipelines of the source.
"""


def run(args: list[str]) -> int:
    """Run one subcommand."""
    asked = parser().parse_args(args)
    handler: Callable[[argparse.Namespace], int] = asked.handler
    with sentences():
        return handler(asked)


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(
        prog="forebay pipeline",
        description="Jobs on Spark: streams in, tables out, exactly once.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subs = made.add_subparsers(required=True, metavar="COMMAND")
    for add in (_add_run, _add_archive, _add_replay, _add_compact, _add_status, _add_settings):
        add(subs)
    return made


def _sub(subs: Any, name: str, handler: Callable[[argparse.Namespace], int], help_: str) -> Any:
    sub = subs.add_parser(name, help=help_, description=help_.capitalize() + ".")
    sub.set_defaults(handler=handler)
    return sub


def _add_run(subs: Any) -> None:
    sub = _sub(subs, "run", run_file, "run the job that a TOML or YAML file describes")
    sub.add_argument("file")
    sub.add_argument("--check", action="store_true", help="only read the file and say what it is")
    _add_watching(sub)


def _add_archive(subs: Any) -> None:
    sub = _sub(subs, "archive", archive, "copy streams to a lake, every entry once")
    sub.add_argument("--stream", action="append", default=[], help="a stream; may be repeated")
    sub.add_argument("--pattern", help="all streams that match, also new ones")
    sub.add_argument("--lake", required=True, help="folder of the lake")
    sub.add_argument("--url", default=URL, help="the server (%(default)s)")
    sub.add_argument("--schema", help="fields and types, as in 'rider string, speed double'")
    sub.add_argument("--group", help="consumer group that mirrors the progress")
    sub.add_argument(
        "--trim", nargs="?", const=True, metavar="KEEP", help="remove what is archived, older than"
    )
    sub.add_argument("--every", default="available now", help="an interval; else once to the end")
    _add_watching(sub)


def _add_replay(subs: Any) -> None:
    sub = _sub(subs, "replay", replay, "write a stretch of a lake back into a stream")
    sub.add_argument("lake")
    sub.add_argument("--stream", required=True, help="the stream as the lake knows it")
    sub.add_argument("--to", required=True, help="the stream to write to")
    sub.add_argument("--url", default=URL, help="the server (%(default)s)")
    sub.add_argument("--since", metavar="TIME")
    sub.add_argument("--until", metavar="TIME")
    sub.add_argument("--speed", type=float, help="1 is the original pace; else at once")
    sub.add_argument("--ids", default="new", help="new, or keep (needs an empty stream)")
    add_spark_arguments(sub)


def _add_compact(subs: Any) -> None:
    sub = _sub(subs, "compact", compact, "make few large files of many small ones")
    sub.add_argument("lake")
    sub.add_argument("--target-mb", type=int, default=128, help="size of a file (%(default)s)")
    sub.add_argument("--grace", default="1 day", help="how long old files stay (%(default)s)")
    add_spark_arguments(sub)


def _add_status(subs: Any) -> None:
    sub = _sub(subs, "status", status, "say what a lake on this machine has (needs no Spark)")
    sub.add_argument("lake")


def _add_settings(subs: Any) -> None:
    sub = _sub(subs, "settings", settings, "list what a file may say about a job")
    sub.add_argument("job", nargs="?", help="one job; else all")


def _add_watching(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="progress as JSON lines on stdout")
    sub.add_argument("--no-report", action="store_true", help="write nothing to forebay:pipelines")
    add_spark_arguments(sub)


def run_file(asked: argparse.Namespace) -> int:
    """forebay pipeline run FILE."""
    from forebay_spark.pipeline import config

    job = config.load(asked.file)
    if asked.check:
        sys.stdout.write(f"{asked.file}: {type(job).__name__.lower()} {job.name}, no fault found\n")
        return 0
    with spark_of(asked, job.name) as spark:
        return _run_job(spark, job, asked)


def _run_job(spark: SparkSession, job: Any, asked: argparse.Namespace) -> int:
    if hasattr(job, "start"):
        return _stream(spark, job, asked)
    sys.stdout.write(f"{job.name}: {job.run(spark)}\n")
    return 0


def _stream(spark: SparkSession, job: Any, asked: argparse.Namespace) -> int:
    """A query, watched until its end."""
    from forebay_spark.pipeline.runner import run_streaming
    from forebay_spark.pipeline.watch import LiveLine, StreamReporter, json_lines

    line = LiveLine(sys.stderr)
    reporter = None if asked.no_report else StreamReporter(job.source.access())
    try:
        run_streaming(spark, job, (json_lines(sys.stdout) if asked.json else line,), reporter)
    finally:
        line.close()
        if reporter is not None:
            reporter.close()
    return 0


def _job(kind: str, given: dict[str, Any]) -> Any:
    """A job from arguments, judged as one from a file is."""
    from forebay_spark.pipeline import config

    told = {name: value for name, value in given.items() if value not in (None, [], False)}
    return config.from_mapping({"job": kind, **told}, f"forebay pipeline {kind}")


def archive(asked: argparse.Namespace) -> int:
    """forebay pipeline archive."""
    source = {
        name: value
        for name, value in (
            ("url", asked.url),
            ("streams", asked.stream),
            ("pattern", asked.pattern),
            ("schema", asked.schema),
            ("group", asked.group),
        )
        if value
    }
    job = _job(
        "archive",
        {"source": source, "lake": asked.lake, "trim": asked.trim, "trigger": asked.every},
    )
    with spark_of(asked, job.name) as spark:
        return _stream(spark, job, asked)


def replay(asked: argparse.Namespace) -> int:
    """forebay pipeline replay."""
    names = ("lake", "stream", "to", "url", "since", "until", "speed", "ids")
    job = _job("replay", {name: getattr(asked, name) for name in names})
    with spark_of(asked, job.name) as spark:
        total = job.run(spark)
    sys.stdout.write(f"replayed {total} entries of {asked.stream} to {asked.to}\n")
    return 0


def compact(asked: argparse.Namespace) -> int:
    """forebay pipeline compact."""
    given = {"lake": asked.lake, "target_mb": asked.target_mb, "grace": asked.grace}
    job = _job("compact", given)
    with spark_of(asked, job.name) as spark:
        done = job.run(spark)
    sys.stdout.write(
        f"{done.files_before} files became {done.files_after}; "
        f"{done.deleted_files} old files deleted\n"
    )
    return 0


def status(asked: argparse.Namespace) -> int:
    """forebay pipeline status."""
    from forebay_spark.lake.status import describe

    sys.stdout.write(describe(asked.lake))
    return 0


def settings(asked: argparse.Namespace) -> int:
    """forebay pipeline settings."""
    from forebay_spark.pipeline import config

    for name, job in config.JOBS.items():
        if asked.job in (None, name):
            sys.stdout.write(f'job = "{name}"\n')
            for setting, default, doc in config.settings_of(job):
                sys.stdout.write(f"  {setting:<12} {doc}{f' ({default})' if default else ''}\n")
    return 0
