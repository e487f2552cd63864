"""``forebay pipeline status``, ``reset`` and ``redrive``: looking after jobs, without Spark."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter

from forebay_spark.cli.options import Json, RetryFor, Url, at_most_one
from forebay_spark.cli.spark import SparkCommandError, pairs, told
from forebay_spark.options import DEFAULT_URL

MOST_SHOWN = 10


def add_to(app: App) -> None:
    """Add these commands to an app."""
    app.command(told(status), help_epilogue=STATUS_EXAMPLES)
    app.command(told(reset), help_epilogue=RESET_EXAMPLES)
    app.command(told(redrive), help_epilogue=REDRIVE_EXAMPLES)


STATUS_EXAMPLES = """\
examples:
  forebay pipeline status
  forebay pipeline status --url redis://db:6379 --json

Every job reports to the stream forebay:pipelines of its source's server. The states are
running, stopped, failed, and silent: it did not report its end, but sent no report for
five minutes.
"""


def status(
    lake: Annotated[str | None, Parameter(name="LAKE", show=False)] = None,
    /,
    *,
    json: Json = False,
    url: Url = DEFAULT_URL,
) -> int:
    """Show the state of all pipelines of a server."""
    from dataclasses import asdict

    from forebay_spark.cli.tables import show_table
    from forebay_spark.pipeline.status import read
    from forebay_spark.query.results import Result, write_json

    if lake is not None:
        raise SparkCommandError(f"for a lake, use: forebay lake info {lake}")
    found = read({"url": url or DEFAULT_URL})
    if json:
        for one in found:
            facts = asdict(one)
            write_json(Result(list(facts), [list(facts.values())]), sys.stdout)
        return 0
    rows = [
        [s.pipeline, s.state, s.batch, s.rows, s.lag, f"{s.at} ({_ago(s.ago_s)})", s.text]
        for s in found
    ]
    names = ["pipeline", "state", "batch", "rows", "lag", "last report", ""]
    shown = [["" if cell is None else cell for cell in row] for row in rows]
    if rows:
        show_table(names, shown)
    else:
        sys.stdout.write("no pipeline has reported\n")
    return 0


def _ago(seconds: float) -> str:
    for unit, length_s in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds / length_s:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


RESET_EXAMPLES = """\
examples:
  forebay pipeline reset totals.toml --to-time 2026-11-16T09:00:00Z --dry-run
  forebay pipeline reset totals.toml --to-time 2026-11-16T09:00:00Z
  forebay pipeline run totals.toml

Stop the job first. The job gets a new checkpoint that starts at this time, and the old one
is kept next to it. Entries that are processed again are written again. An archive cannot be
reset: its lake decides where it continues.
"""


DryRun = Annotated[bool, Parameter(help="only show what would be done")]


def reset(
    file: Annotated[Path, Parameter(name="FILE", help="the file of the job, .toml, .yaml or .yml")],
    /,
    *,
    to_time: Annotated[str, Parameter(metavar="TIME", help="as 2026-11-16T09:00:00Z")],
    dry_run: DryRun = False,
) -> int:
    """Let a job start again at a given time."""
    from forebay_spark.pipeline import config
    from forebay_spark.pipeline import reset as moving

    plan = moving.plan(config.load(str(file)), to_time, datetime.now(UTC))
    if not dry_run:
        moving.carry_out(plan)
    sys.stdout.write("".join(f"{line}\n" for line in plan.told()))
    done = "nothing was done (--dry-run)" if dry_run else "done; start the job again"
    sys.stdout.write(f"{done}\n")
    return 0


REDRIVE_EXAMPLES = """\
examples:
  forebay pipeline redrive --from orders.dlq --dry-run
  forebay pipeline redrive --from orders.dlq --set currency=EUR
  forebay pipeline redrive --from orders.dlq --to orders:mended --function mends:price

A dead letter is put back once: a killed redrive continues where it stopped, and a second one
takes only newer letters. The function gets the fields as a list of (name, value) and the
reason. It returns the corrected fields, as a list or a dictionary, or None to skip the
letter. Python must find its module (PYTHONPATH).
"""


MEND = Group("How to correct letters: at most one of these", validator=at_most_one)

Dead = Annotated[str, Parameter(name="--from", metavar="STREAM", help="dead letters")]
To = Annotated[
    str | None, Parameter(metavar="STREAM", help="target stream (the stream that each came from)")
]
Values = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        group=MEND,
        metavar="FIELD=VALUE",
        help="set a field in every letter; may be repeated",
    ),
]
Function = Annotated[
    str | None,
    Parameter(group=MEND, metavar="MODULE:NAME", help="a Python function that corrects letters"),
]


def redrive(
    *,
    dead: Dead,
    to: To = None,
    values: Values = (),
    function: Function = None,
    dry_run: DryRun = False,
    url: Url = DEFAULT_URL,
    retry_for: RetryFor = None,
) -> int:
    """Put the dead letters of a quarantine back, corrected or unchanged."""
    from forebay_spark.pipeline import redrive as back

    mend: back.Mend = back.as_it_was
    if values:
        mend = back.with_values(pairs("--set", values))
    if function:
        mend = back.with_function(function)
    job = back.Redrive(
        dead=dead,
        to=to,
        url=url or DEFAULT_URL,
        mend=mend,
        retry_for=retry_for,
        dry_run=dry_run,
    )
    done = job.run()
    for to, letter, fields in done.shown[:MOST_SHOWN]:
        said = " ".join(f"{back.shown(name)} {back.shown(value)}" for name, value in fields)
        sys.stdout.write(f"{letter.id} ({letter.reason}) to {to}: {said}\n")
    sys.stdout.write(back.told(job, done) + "\n")
    return 0
