"""``forebay lake``: what a lake holds and how it came to be, without Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import Any

from forebay_spark.cli.spark import add_subcommand, told

EPILOG = """\
A lake is a Delta table: a folder, or an address as s3://bucket/lake. Object stores are
reached with the environment variables of their own tools, as AWS_ACCESS_KEY_ID.

examples:
  forebay lake info ./lake
  forebay lake files ./lake --json
  forebay lake history ./lake --limit 5
  forebay lake vacuum ./lake
  forebay lake vacuum ./lake --delete
  forebay lake upgrade ./lake

Small files become large ones with: forebay pipeline compact ./lake
"""


def run(args: list[str]) -> int:
    """Run one subcommand."""
    asked = parser().parse_args(args)
    return told(asked.handler)(asked)


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(
        prog="forebay lake",
        description="Looks at a lake, and removes files that it needs no more. Starts no Spark.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subs = made.add_subparsers(required=True, metavar="COMMAND")
    _sub(subs, "info", info, "say how much a lake holds, in all and of each stream")
    _sub(subs, "files", files, "list the files that count now")
    past = _sub(subs, "history", history, "list what was committed, newest first")
    past.add_argument("--limit", type=int, default=20, help="how many commits (%(default)s)")
    _add_vacuum(subs)
    taken = "  forebay lake upgrade ./lake\n"
    sub = add_subcommand(subs, "upgrade", upgrade, "take over a lake of the format before", taken)
    sub.add_argument("lake", help="folder of the lake")
    return made


def _sub(subs: Any, name: str, handler: Callable[[argparse.Namespace], None], help_: str) -> Any:
    sub = add_subcommand(subs, name, handler, help_, f"  forebay lake {name} ./lake\n")
    sub.add_argument("lake", help="folder or address of the lake")
    sub.add_argument("--json", action="store_true", help="JSON, one object a line")
    return sub


def _add_vacuum(subs: Any) -> None:
    help_ = "show files that the lake needs no more, or delete them"
    sub = _sub(subs, "vacuum", vacuum, help_)
    sub.add_argument("--delete", action="store_true", help="delete them; without it nothing is")
    sub.add_argument(
        "--keep",
        default="7 days",
        metavar="TIME",
        help="versions of this time stay readable, as do queries over them (%(default)s)",
    )
    sub.add_argument("--force", action="store_true", help="allow a --keep below 7 days")


def _print(columns: Iterable[str], records: list[dict[str, Any]], as_json: bool) -> None:
    """Records as a table of some columns, or all of them as JSON."""
    from forebay_spark.results import Result, plain, render, write_json

    names = list(columns)
    if as_json:
        for record in records:
            write_json(Result(list(record), [list(record.values())]), sys.stdout)
        return
    rows = [[plain(record[name]) for name in names] for record in records]
    sys.stdout.write(render(names, rows, widest=None))


def info(asked: argparse.Namespace) -> None:
    """forebay lake info."""
    from forebay_spark.lake import show

    told = show.info(asked.lake)
    if asked.json:
        _print((), [told], as_json=True)
        return
    rows = "rows unknown" if told["rows"] is None else f"{told['rows']:,} rows"
    sys.stdout.write(
        f"{told['lake']}: {rows} in {told['files']:,} files, {told['bytes']:,} bytes, "
        f"version {told['version']}\n"
        f"columns: {', '.join(f'{name} {kind}' for name, kind in told['columns'].items())}\n"
        f"split by: {', '.join(told['partitions']) or 'nothing'}\n"
    )
    if told["streams"]:
        _print(("stream", "rows", "files", "bytes", "first", "last"), told["streams"], False)


def files(asked: argparse.Namespace) -> None:
    """forebay lake files."""
    from forebay_spark.lake import show

    _print(("rows", "bytes", "first", "last", "path"), show.files(asked.lake), asked.json)


def history(asked: argparse.Namespace) -> None:
    """forebay lake history."""
    from forebay_spark.lake import show

    commits = show.history(asked.lake, asked.limit)
    _print(("version", "at", "operation", "metrics"), commits, asked.json)


def vacuum(asked: argparse.Namespace) -> None:
    """forebay lake vacuum."""
    from forebay_spark.lake import show
    from forebay_spark.pipeline.settings import duration

    keep_ms = duration(asked.keep, "--keep")
    paths = show.vacuum(asked.lake, keep_ms, delete=asked.delete, force=asked.force)
    if asked.json:
        _print((), [{"lake": asked.lake, "deleted": asked.delete, "files": paths}], as_json=True)
        return
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    done = "deleted" if asked.delete else "not needed any more; --delete removes them"
    sys.stdout.write(f"{len(paths)} files {done}\n")


def upgrade(asked: argparse.Namespace) -> None:
    """forebay lake upgrade."""
    from forebay_spark.lake.old import upgrade as take_over

    snapshot = take_over(asked.lake).snapshot()
    sys.stdout.write(
        f"{asked.lake} is a Delta table now, of {len(snapshot.files):,} files that stayed where "
        "they were\n"
    )
