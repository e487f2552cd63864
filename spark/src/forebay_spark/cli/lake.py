"""``forebay lake``: the contents and history of a lake, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay_spark.cli.options import Json
from forebay_spark.cli.spark import told

EPILOG = """\
A lake is a Delta table: a folder, or an address such as s3://bucket/lake. Object stores are
reached with the environment variables of their own tools, such as AWS_ACCESS_KEY_ID.

examples:
  forebay lake info ./lake
  forebay lake files ./lake --json
  forebay lake history ./lake --limit 5
  forebay lake vacuum ./lake
  forebay lake vacuum ./lake --delete
  forebay lake upgrade ./lake

Small files become large ones with: forebay pipeline compact ./lake
"""

app = App(
    name="lake",
    help="Shows a lake, and removes files that it no longer needs. Does not start Spark.",
    help_epilogue=EPILOG,
)

Place = Annotated[str, Parameter(name="LAKE", help="folder or address of the lake")]


def _print(columns: Iterable[str], records: list[dict[str, Any]], as_json: bool) -> None:
    """Records as a table of some columns, or all of them as JSON."""
    from forebay_spark.cli.tables import show_table
    from forebay_spark.query.results import Result, plain, write_json

    names = list(columns)
    if as_json:
        for record in records:
            write_json(Result(list(record), [list(record.values())]), sys.stdout)
        return
    rows = [[plain(record[name]) for name in names] for record in records]
    show_table(names, rows)


@app.command(help_epilogue="examples:\n  forebay lake info ./lake")
@told
def info(lake: Place, /, *, json: Json = False) -> None:
    """Show how much a lake holds, in total and for each stream."""
    from forebay_spark.lake import show

    facts = show.info(lake)
    if json:
        _print((), [facts], as_json=True)
        return
    rows = "rows unknown" if facts["rows"] is None else f"{facts['rows']:,} rows"
    sys.stdout.write(
        f"{facts['lake']}: {rows} in {facts['files']:,} files, {facts['bytes']:,} bytes, "
        f"version {facts['version']}\n"
        f"columns: {', '.join(f'{name} {kind}' for name, kind in facts['columns'].items())}\n"
        f"split by: {', '.join(facts['partitions']) or 'nothing'}\n"
    )
    if facts["streams"]:
        _print(("stream", "rows", "files", "bytes", "first", "last"), facts["streams"], False)


@app.command(help_epilogue="examples:\n  forebay lake files ./lake --json")
@told
def files(lake: Place, /, *, json: Json = False) -> None:
    """List the current files."""
    from forebay_spark.lake import show

    _print(("rows", "bytes", "first", "last", "path"), show.files(lake), json)


Limit = Annotated[int, Parameter(metavar="N", show_default=True, help="how many commits")]


@app.command(help_epilogue="examples:\n  forebay lake history ./lake --limit 5")
@told
def history(lake: Place, /, *, limit: Limit = 20, json: Json = False) -> None:
    """List the commits, newest first."""
    from forebay_spark.lake import show

    commits = show.history(lake, limit)
    _print(("version", "at", "operation", "metrics"), commits, json)


Delete = Annotated[bool, Parameter(help="delete them; without it nothing is deleted")]
Keep = Annotated[
    str,
    Parameter(
        metavar="TIME",
        show_default=True,
        help="how long versions, and queries over them, stay readable",
    ),
]
Force = Annotated[bool, Parameter(help="allow a --keep below 7 days")]


VACUUM_EXAMPLES = """\
examples:
  forebay lake vacuum ./lake
  forebay lake vacuum ./lake --delete
"""


@app.command(help_epilogue=VACUUM_EXAMPLES)
@told
def vacuum(
    lake: Place,
    /,
    *,
    delete: Delete = False,
    keep: Keep = "7 days",
    force: Force = False,
    json: Json = False,
) -> None:
    """Show files that the lake no longer needs, or delete them."""
    from forebay_spark.lake import show
    from forebay_spark.pipeline.settings import duration

    keep_ms = duration(keep, "--keep")
    paths = show.vacuum(lake, keep_ms, delete=delete, force=force)
    if json:
        _print((), [{"lake": lake, "deleted": delete, "files": paths}], as_json=True)
        return
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    done = "deleted" if delete else "no longer needed; --delete removes them"
    sys.stdout.write(f"{len(paths)} files {done}\n")


@app.command(help_epilogue="examples:\n  forebay lake upgrade ./lake")
@told
def upgrade(lake: Place, /) -> None:
    """Convert a lake of the earlier format."""
    from forebay_spark.lake.old import upgrade as take_over

    snapshot = take_over(lake).snapshot()
    sys.stdout.write(
        f"{lake} is a Delta table now, of {len(snapshot.files):,} files that stayed where "
        "they were\n"
    )
