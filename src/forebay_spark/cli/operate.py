"""``forebay pipeline status``, ``reset`` and ``redrive``: looking after jobs, without Spark."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from typing import Any

from forebay_spark.cli.spark import (
    SparkCommandError,
    add_retry_argument,
    add_subcommand,
    add_url_argument,
    pairs,
)

MOST_SHOWN = 10

STATUS_EXAMPLES = """\
  forebay pipeline status
  forebay pipeline status --url redis://db:6379 --json

Every job reports to the stream forebay:pipelines of its source's server. The states are
running, stopped, failed, and silent: it did not say that it ended, but has said nothing
for five minutes.
"""


def _add_status(subs: Any) -> None:
    help_ = "say how all pipelines of a server are"
    sub = add_subcommand(subs, "status", status, help_, STATUS_EXAMPLES)
    sub.add_argument("lake", nargs="?", help=argparse.SUPPRESS)
    sub.add_argument("--json", action="store_true", help="JSON, one object a line")
    add_url_argument(sub)


RESET_EXAMPLES = """\
  forebay pipeline reset totals.toml --to-time 2026-11-16T09:00:00Z --dry-run
  forebay pipeline reset totals.toml --to-time 2026-11-16T09:00:00Z
  forebay pipeline run totals.toml

Stop the job before. The job gets a new checkpoint that begins at the moment, and the old
one is kept beside it. What is processed again is written again. An archive cannot be
reset: its lake decides where it goes on.
"""


def _add_reset(subs: Any) -> None:
    help_ = "let a job begin anew at a moment"
    sub = add_subcommand(subs, "reset", reset, help_, RESET_EXAMPLES)
    sub.add_argument("file", help="the file of the job, .toml, .yaml or .yml")
    sub.add_argument("--to-time", required=True, metavar="TIME", help="as 2026-11-16T09:00:00Z")
    sub.add_argument("--dry-run", action="store_true", help="only say what would be done")


REDRIVE_EXAMPLES = """\
  forebay pipeline redrive --from orders.dlq --dry-run
  forebay pipeline redrive --from orders.dlq --set currency=EUR
  forebay pipeline redrive --from orders.dlq --to orders:mended --function mends:price

A dead letter is put back once: a redrive that was killed goes on, a second one takes only
letters that came since. The function gets the fields as a list of (name, value) and the
reason, and returns the mended fields, as a list or a dictionary, or None to pass the
letter over. Python must find its module (PYTHONPATH).
"""


def _add_redrive(subs: Any) -> None:
    help_ = "put the dead letters of a quarantine back, mended or as they were"
    sub = add_subcommand(subs, "redrive", redrive, help_, REDRIVE_EXAMPLES)
    sub.add_argument("--from", required=True, dest="dead", metavar="STREAM", help="dead letters")
    sub.add_argument("--to", metavar="STREAM", help="where to (the stream that each came from)")
    mend = sub.add_mutually_exclusive_group()
    mend.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="set a field in every letter; may be repeated",
    )
    mend.add_argument("--function", metavar="MODULE:NAME", help="a Python function that mends")
    sub.add_argument("--dry-run", action="store_true", help="only show what would be put back")
    add_url_argument(sub)
    add_retry_argument(sub)


OPERATING = (_add_status, _add_reset, _add_redrive)


def status(asked: argparse.Namespace) -> int:
    """forebay pipeline status."""
    from dataclasses import asdict

    from forebay_spark.pipeline.status import read
    from forebay_spark.results import Result, render, write_json

    if asked.lake is not None:
        raise SparkCommandError(f"about a lake it is: forebay lake info {asked.lake}")
    found = read({"url": asked.url})
    if asked.json:
        for one in found:
            told = asdict(one)
            write_json(Result(list(told), [list(told.values())]), sys.stdout)
        return 0
    rows = [
        [s.pipeline, s.state, s.batch, s.rows, s.lag, f"{s.at} ({_ago(s.ago_s)})", s.text]
        for s in found
    ]
    names = ["pipeline", "state", "batch", "rows", "lag", "last report", ""]
    shown = [["" if cell is None else cell for cell in row] for row in rows]
    sys.stdout.write(render(names, shown, widest=None) if rows else "no pipeline has reported\n")
    return 0


def _ago(seconds: float) -> str:
    for unit, length_s in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds / length_s:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def reset(asked: argparse.Namespace) -> int:
    """forebay pipeline reset."""
    from forebay_spark.pipeline import config
    from forebay_spark.pipeline import reset as moving

    plan = moving.plan(config.load(asked.file), asked.to_time, datetime.now(UTC))
    if not asked.dry_run:
        moving.carry_out(plan)
    sys.stdout.write("".join(f"{line}\n" for line in plan.told()))
    done = "nothing was done (--dry-run)" if asked.dry_run else "done; start the job again"
    sys.stdout.write(f"{done}\n")
    return 0


def redrive(asked: argparse.Namespace) -> int:
    """forebay pipeline redrive."""
    from forebay_spark.pipeline import redrive as back

    mend: back.Mend = back.as_it_was
    if asked.set:
        mend = back.with_values(pairs("--set", asked.set))
    if asked.function:
        mend = back.with_function(asked.function)
    job = back.Redrive(
        dead=asked.dead,
        to=asked.to,
        url=asked.url,
        mend=mend,
        retry_for=asked.retry_for,
        dry_run=asked.dry_run,
    )
    done = job.run()
    for to, letter, fields in done.shown[:MOST_SHOWN]:
        said = " ".join(f"{back.shown(name)} {back.shown(value)}" for name, value in fields)
        sys.stdout.write(f"{letter.id} ({letter.reason}) to {to}: {said}\n")
    sys.stdout.write(back.told(job, done) + "\n")
    return 0
