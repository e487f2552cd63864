"""``forebay pipeline``: run the jobs that move streams into tables and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from forebay_spark.cli import operate
from forebay_spark.cli.options import (
    HERE,
    ConnectorOptions,
    RetryFor,
    SparkOptions,
    Streams,
    Url,
)
from forebay_spark.cli.running import USUAL, Watching, job_of, run_job
from forebay_spark.cli.spark import SparkCommandError, pairs, told
from forebay_spark.options import DEFAULT_URL

EPILOG = """\
examples:
  forebay pipeline archive --stream orders --lake ./lake --trim "1 hour" --every "10 seconds"
  forebay pipeline run totals.toml --json
  forebay pipeline settings aggregate         the settings of a file for this job
  forebay pipeline replay ./lake --stream orders --to orders:test --speed 10
  forebay pipeline compact ./lake
  forebay pipeline status
  forebay pipeline reset totals.toml --to-time 2026-11-16T09:00:00Z --dry-run
  forebay pipeline redrive --from orders.dlq --set currency=EUR
  forebay pipeline infer --stream orders      propose a schema

Ctrl-C stops after the current batch; every job continues where it stopped.
Progress goes to standard error, and to the stream forebay:pipelines of the source.
"""


app = App(
    name="pipeline",
    help="Jobs on Spark: streams in, tables out, exactly once.",
    help_epilogue=EPILOG,
)


RUN_EXAMPLES = """\
examples:
  forebay pipeline run --check totals.toml    find mistakes without starting Spark
  forebay pipeline run totals.toml
  forebay pipeline run totals.yaml --json --master spark://host:7077

The settings of a file: forebay pipeline settings. There is an example for each job in
examples/pipelines of the sources.
"""

JobFile = Annotated[Path, Parameter(name="FILE", help="the file, .toml, .yaml or .yml")]


@app.command(name="run", help_epilogue=RUN_EXAMPLES)
@told
def run_file(
    file: JobFile,
    /,
    *,
    check: Annotated[bool, Parameter(help="only read the file and report mistakes")] = False,
    watching: Watching = USUAL,
    spark: SparkOptions = HERE,
) -> int:
    """Run the job that a TOML or YAML file describes."""
    from forebay_spark.pipeline import config, reset

    job = reset.begun(config.load(str(file)))
    if check:
        sys.stdout.write(f"{file}: {type(job).__name__.lower()} {job.name}, no mistake found\n")
        return 0
    return run_job(job, spark, watching)


ARCHIVE_EXAMPLES = """\
examples:
  forebay pipeline archive --stream orders --lake ./lake
  forebay pipeline archive --stream orders --lake ./lake --trim "1 hour" --every "10 seconds"
  forebay pipeline archive --url redis+cluster://h1:7000,h2:7000 --pattern 'orders:*' \\
      --lake hdfs://nn/lake --master spark://host:7077
"""

Pattern = Annotated[
    str | None,
    Parameter(metavar="PATTERN", help="all streams that match, also new ones, as 'orders:*'"),
]
NewLake = Annotated[
    str, Parameter(metavar="LAKE", help="folder of the lake; created if it does not exist")
]
Schema = Annotated[
    str | None,
    Parameter(metavar="SCHEMA", help="fields and types, as in 'rider string, speed double'"),
]
#: An option whose value may be left out: None without it, an empty list without a value.
Trim = Annotated[
    tuple[str, ...] | None,
    Parameter(
        metavar="[KEEP]",
        consume_multiple=(0, 1),
        help="remove entries that are archived and acknowledged by all groups; with KEEP, as in "
        "'1 hour', younger entries stay",
    ),
]
Every = Annotated[
    str,
    Parameter(
        metavar="INTERVAL",
        help="continue, and look for new entries this often, as in '10 seconds' (once, to the end)",
    ),
]
JobName = Annotated[
    str | None,
    Parameter(metavar="NAME", help="name of the job; two jobs on one lake need two names"),
]


@app.command(help_epilogue=ARCHIVE_EXAMPLES)
@told
def archive(
    *,
    streams: Streams = (),
    pattern: Pattern = None,
    lake: NewLake,
    url: Url = DEFAULT_URL,
    schema: Schema = None,
    group: Annotated[
        str | None, Parameter(metavar="GROUP", help="consumer group that mirrors the progress")
    ] = None,
    trim: Trim = None,
    every: Every = "available now",
    name: JobName = None,
    options: ConnectorOptions = (),
    watching: Watching = USUAL,
    spark: SparkOptions = HERE,
) -> int:
    """Copy streams to a lake, every entry once."""
    source = {
        "url": url or DEFAULT_URL,
        "streams": list(streams),
        "pattern": pattern,
        "schema": schema,
        "group": group,
        "options": pairs("--option", options),
    }
    given = {
        "source": {name: value for name, value in source.items() if value},
        "lake": lake,
        "trim": True if trim == () else trim and trim[0],
        "trigger": every,
        "name": name,
    }
    return run_job(job_of("archive", given), spark, watching)


REPLAY_EXAMPLES = """\
examples:
  forebay pipeline replay ./lake --stream orders --to orders:test
  forebay pipeline replay ./lake --stream orders --to orders:test --speed 10 \\
      --since 2026-11-16T09:00:00Z --until 2026-11-16T10:00:00Z
"""

Lake = Annotated[str, Parameter(name="LAKE", help="folder of the lake")]
From = Annotated[str, Parameter(metavar="NAME", help="the name of the stream in the lake")]
Ids = Annotated[
    Literal["new", "keep"],
    Parameter(show_default=True, help="keep needs a stream whose IDs are all lower"),
]


@app.command(help_epilogue=REPLAY_EXAMPLES)
@told
def replay(
    lake: Lake,
    /,
    *,
    stream: From,
    to: Annotated[str, Parameter(metavar="NAME", help="the stream to write to")],
    url: Url = DEFAULT_URL,
    since: Annotated[
        str | None, Parameter(metavar="TIME", help="first moment (the beginning)")
    ] = None,
    until: Annotated[
        str | None, Parameter(metavar="TIME", help="first moment not to replay (the end)")
    ] = None,
    speed: Annotated[
        float | None,
        Parameter(metavar="N", help="1 is the original speed, 10 ten times that (no pauses)"),
    ] = None,
    ids: Ids = "new",
    retry_for: RetryFor = None,
    spark: SparkOptions = HERE,
) -> int:
    """Write a period of a lake back into a stream."""
    given = {
        "lake": lake,
        "stream": stream,
        "to": to,
        "url": url or DEFAULT_URL,
        "since": since,
        "until": until,
        "speed": speed,
        "ids": ids,
        "retry_for": retry_for,
    }
    return run_job(job_of("replay", given), spark)


COMPACT_EXAMPLES = """\
examples:
  forebay pipeline compact ./lake
  forebay pipeline compact ./lake --target-mb 512 --grace "2 hours"
"""


@app.command(help_epilogue=COMPACT_EXAMPLES)
@told
def compact(
    lake: Lake,
    /,
    *,
    target_mb: Annotated[
        int, Parameter(metavar="N", show_default=True, help="size of a file, in megabytes")
    ] = 128,
    grace: Annotated[
        str,
        Parameter(
            metavar="TIME",
            show_default=True,
            help="how long old files stay, for queries that still read them",
        ),
    ] = "1 day",
    spark: SparkOptions = HERE,
) -> int:
    """Merge many small files into few large ones."""
    job = job_of("compact", {"lake": lake, "target_mb": target_mb, "grace": grace})
    return run_job(job, spark)


operate.add_to(app)


@app.command(help_epilogue="examples:\n  forebay pipeline settings aggregate")
@told
def settings(
    only: Annotated[str | None, Parameter(name="JOB", help="one job (all)")] = None, /
) -> int:
    """List the settings of a job's file."""
    from forebay_spark.pipeline import config
    from forebay_spark.pipeline.settings import one_of

    names = [one_of(*config.JOBS)(only, "the job")] if only else list(config.JOBS)
    parts: dict[str, type[Any]] = {}
    for name in names:
        job = config.JOBS[name]
        parts |= {f'job = "{name}"': job, **dict(config.parts_of(job))}
    # The settings of sources and sinks are the same in every job: list them once, at the end.
    for head, kind in sorted(parts.items(), key=lambda pair: pair[0].startswith("[")):
        sys.stdout.write(f"{head}\n")
        for setting, default, doc in config.settings_of(kind):
            sys.stdout.write(f"  {setting:<18} {doc}{f' ({default})' if default else ''}\n")
    return 0


INFER_EXAMPLES = """\
examples:
  forebay pipeline infer --stream orders
  forebay pipeline archive --stream orders --lake ./lake \\
      --schema "$(forebay pipeline infer --stream orders --last 10000)"
"""


@app.command(help_epilogue=INFER_EXAMPLES)
@told
def infer(
    *,
    stream: Annotated[str, Parameter(metavar="NAME", help="the stream")],
    last: Annotated[int, Parameter(metavar="N", show_default=True, help="how many entries")] = 1000,
    url: Url = DEFAULT_URL,
    options: ConnectorOptions = (),
) -> int:
    """Propose a schema from the last entries of a stream (needs no Spark).

    The schema goes to standard output, the facts about each field to standard error.
    """
    from forebay_spark.options import BATCH, read_options
    from forebay_spark.read.infer import infer_schema, last_entries

    given = {"url": url or DEFAULT_URL, "streams": stream, **pairs("--option", options)}
    if last < 1:
        raise SparkCommandError(f"--last {last} asks for no entries; give 1 or more")
    seen = infer_schema(last_entries(read_options(given, BATCH), stream, last))
    sys.stderr.write(seen.table())
    sys.stdout.write(f"{seen.ddl}\n")
    return 0
