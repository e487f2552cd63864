"""``forebay sql``: query streams and their lake with SQL, in one command or in a shell."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Group, Parameter, Token, UnknownOptionError

from forebay_spark.cli.options import (
    HERE,
    ConnectorOptions,
    SparkOptions,
    Streams,
    at_most_one,
    url_parameter,
)
from forebay_spark.cli.spark import SparkCommandError, pairs, spark_of, told
from forebay_spark.options import DEFAULT_URL

if TYPE_CHECKING:
    from forebay_spark.query.sql import Asked, Tables
    from forebay_spark.runtime.interrupts import Calls, CtrlC

EPILOG = """\
tables (SHOW TABLES lists them):
  entries           all entries of the chosen streams, as one table
  `NAME`            the entries of the stream NAME, also with --pattern; plain words
                    need no backticks
  NAME              the same, with _ for each character that is not a letter or digit: orders:eu
                    is also the table orders_eu, unless another stream would get that name
  with --table      a lake of results, as its own table

what they show:
  --lake and --url  hot and cold: server and lake as one table, every entry once
  --lake alone      what is in the lake; no server is asked, so none needs to run
  --stream alone    what is on the server

columns: stream, id, timestamp, seq, fields (a map), date; or those of the lake's schema.

examples:
  forebay sql --lake ./lake "SELECT date, count(*) FROM entries GROUP BY date"
  forebay sql --lake ./lake --url redis://127.0.0.1:6379     a shell; Spark starts once
  forebay sql --stream orders "SELECT fields['item'] item, count(*) n FROM orders GROUP BY 1"
  forebay sql --lake ./lake --since 2026-11-01 --format csv "SELECT * FROM orders" > orders.csv
  forebay sql --lake ./lake --as-of 2026-11-16T12:00:00Z "SELECT count(*) FROM entries"
  forebay sql --url redis+cluster://h1:7000 --pattern 'orders:*' "SELECT count(*) FROM entries"
  forebay sql --table totals=./turnover "SELECT * FROM totals ORDER BY window_start DESC"
  forebay sql --lake ./lake < report.sql                     several statements, each with ;
"""


app = App(
    name="sql",
    usage="Usage: forebay sql [OPTIONS] [QUERY]",
    help="Runs Spark SQL over the streams of a server and their lake, as one table.",
    help_epilogue=EPILOG,
    version_flags=(),
)

#: One word after hyphens is an unknown option; "-- text" is a comment of SQL.
OPTION = re.compile(r"--?[a-z][^\s=]*(=.*)?", re.DOTALL)


def statement(_: Any, tokens: Sequence[Token]) -> str:
    """The statement of the command line: SQL may begin with a comment; - is standard input."""
    if OPTION.fullmatch(tokens[0].value):
        known = app.assemble_argument_collection()
        raise UnknownOptionError(token=tokens[0], argument_collection=known)
    return tokens[0].value


def whole_number(_: Any, tokens: Sequence[Token], least: int = 0) -> int:
    """A number without a sign."""
    text = tokens[0].value
    if not text.isdigit() or int(text) < least:
        raise ValueError(f"{text!r} is not a whole number from {least} on")
    return int(text)


def count(kind: Any, tokens: Sequence[Token]) -> int:
    """A number of things, at least one."""
    return whole_number(kind, tokens, 1)


Query = Annotated[
    str | None,
    Parameter(
        name="QUERY",
        allow_leading_hyphen=True,
        converter=statement,
        help="statements, separated by ; (standard input, and a shell at a terminal)",
    ),
]
Format = Annotated[
    Literal["table", "csv", "json"],
    Parameter(show_default=True, help="csv and json give every row, with decimals and times exact"),
]
MaxRows = Annotated[
    int,
    Parameter(metavar="N", show_default=True, converter=count, help="most rows of a printed table"),
]
PAST = Group("The past of a lake: one of these", validator=at_most_one)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The tables of a query: streams, a lake, both as one, results."""

    lake: Annotated[
        str | None,
        Parameter(metavar="LAKE", help="folder of the lake that an archive job fills"),
    ] = None
    url: Annotated[
        str | None, url_parameter(f"no server if there is a --lake, {DEFAULT_URL} if there is none")
    ] = None
    streams: Streams = ()
    pattern: Annotated[
        str | None, Parameter(metavar="PATTERN", help="all streams that match, as in 'orders:*'")
    ] = None
    schema: Annotated[
        str | None,
        Parameter(metavar="SCHEMA", help="fields and types, for streams without a lake"),
    ] = None
    since: Annotated[
        str | None, Parameter(metavar="TIME", help="first moment, as 2026-11-16T12:00:00Z")
    ] = None
    until: Annotated[str | None, Parameter(metavar="TIME", help="first moment not to read")] = None
    results: Annotated[
        tuple[str, ...],
        Parameter(name="--table", metavar="NAME=PATH", help="a lake of results"),
    ] = ()
    as_of: Annotated[
        str | None,
        Parameter(group=PAST, metavar="TIME", help="the lake as it was at this moment"),
    ] = None
    version: Annotated[
        int | None,
        Parameter(group=PAST, metavar="N", converter=whole_number, help="the lake at this version"),
    ] = None
    options: ConnectorOptions = ()


NO_TABLES = TableOptions()


@dataclass(frozen=True)
class Print:
    """How a result is written."""

    calls: Calls
    format: str
    max_rows: int

    def __call__(self, opened: Tables, statement: str) -> None:
        """Run a statement and write its result, until its end or Ctrl-C."""
        self.calls.run(
            lambda out: opened.execute(statement, self.format, out, self.max_rows), sys.stdout
        )
        sys.stdout.flush()


@app.default
@told
def sql(
    query: Query = None,
    /,
    *,
    asked: TableOptions = NO_TABLES,
    format: Format = "table",
    max_rows: MaxRows = 1000,
    spark: SparkOptions = HERE,
) -> int:
    """Find mistakes, open the tables, run the statements."""
    from forebay_spark.query.sql import Tables
    from forebay_spark.query.statements import statements_of
    from forebay_spark.runtime.interrupts import Calls, noticed_ctrl_c

    is_shell = query is None and sys.stdin.isatty()
    text = sys.stdin.read() if query in (None, "-") and not is_shell else query
    statements = [] if is_shell else statements_of(text or "")
    tables = tables_of(asked)
    if not is_shell:
        _check_statements(statements, tables)
    on_server = tables.check()
    try:
        with spark_of(spark, "forebay sql") as session, noticed_ctrl_c() as ctrl_c:
            show = Print(Calls(session, ctrl_c), format, max_rows)
            opened = show.calls.run(lambda _: Tables(session, tables, on_server), sys.stdout)
            _tell_what_is_shown(tables)
            if is_shell:
                return shell(opened, show, ctrl_c)
            for text in statements:
                show(opened, text)
    except KeyboardInterrupt:
        raise SparkCommandError("stopped by Ctrl-C; the output is incomplete") from None
    return 0


def tables_of(asked: TableOptions) -> Asked:
    """The tables that the options name."""
    from forebay_spark.query.sql import Asked

    is_lake_alone = asked.lake is not None and not asked.url
    return Asked(
        streams=asked.streams,
        lake=asked.lake,
        url=None if is_lake_alone else asked.url or DEFAULT_URL,
        pattern=asked.pattern,
        schema=asked.schema,
        since=asked.since,
        until=asked.until,
        options=pairs("--option", asked.options),
        results=pairs("--table", asked.results),
        as_of=asked.as_of,
        version=asked.version,
    )


def _check_statements(statements: list[str], tables: Asked) -> None:
    if not statements:
        raise SparkCommandError("there is no statement; write one, as in: forebay sql ... 'SELECT'")
    makes_one = any(re.search(r"\bcreate\b", text, re.IGNORECASE) for text in statements)
    if not tables.has_entries and not tables.results and not makes_one:
        raise SparkCommandError(
            "there is no table to ask; name a --lake, a --stream, a --pattern or a --table"
        )


def _tell_what_is_shown(tables: Asked) -> None:
    if tables.lake is not None and tables.url is None:
        sys.stderr.write(
            "the lake alone; with --url also the entries on the server that are not yet in it\n"
        )


def shell(opened: Tables, show: Print, ctrl_c: CtrlC) -> int:
    """Run typed statements until the user leaves."""
    from forebay_spark.pipeline.flow import readable
    from forebay_spark.query.results import render
    from forebay_spark.query.shell import Shell, history

    def tables() -> None:
        sys.stdout.write(render(["table", "what it is"], list(opened.opened.items())))

    def refresh() -> None:
        show.calls.run(lambda _: opened.refresh(), sys.stdout)

    commands = {".tables": tables, ".refresh": refresh}
    sys.stderr.write("a statement ends with ; and .help says more\n")
    with history():
        Shell(partial(show, opened), commands, lambda error: str(readable(error)), ctrl_c).run()
    return 0
