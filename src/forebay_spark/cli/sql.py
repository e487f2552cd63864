"""``forebay sql``: ask streams and their lake with SQL, in one go or in a shell."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from forebay_spark.cli.spark import (
    URL,
    SparkCommandError,
    add_option_argument,
    add_spark_arguments,
    add_url_argument,
    pairs,
    spark_of,
    told,
)

if TYPE_CHECKING:
    from forebay_spark.sql import Asked, Tables

EPILOG = """\
tables (SHOW TABLES lists them):
  entries           every entry that was asked for, as one table
  `NAME`            the entries of the stream NAME, also with --pattern; plain words
                    need no backticks
  NAME              the same, where what is no letter or digit is _: orders:eu is the
                    table orders_eu too, unless another stream would be called so
  with --table      a lake of results, as a table of its own

what they show:
  --lake and --url  hot and cold: server and lake as one table, every entry once
  --lake alone      what is in the lake; no server is asked, so none need be up
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


def run(args: list[str]) -> int:
    """Run statements and print their results."""
    return told(query)(parser().parse_args(args))


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(
        prog="forebay sql",
        description="Runs Spark SQL over the streams of a server and their lake, as one table.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "query",
        nargs="?",
        help="statements, separated by ; (standard input, and a shell at a terminal)",
    )
    made.add_argument("--lake", help="folder of the lake that an archive job fills")
    add_url_argument(made, f"no server if there is a --lake, {URL} if there is none")
    made.add_argument("--stream", action="append", default=[], help="a stream; may be repeated")
    made.add_argument("--pattern", help="all streams that match, as in 'orders:*'")
    made.add_argument("--schema", help="fields and types of a stream that has no lake")
    made.add_argument("--since", metavar="TIME", help="first moment, as 2026-11-16T12:00:00Z")
    made.add_argument("--until", metavar="TIME", help="first moment not to read")
    _add_results(made)
    _add_travel(made)
    add_option_argument(made)
    add_spark_arguments(made)
    return made


def _add_results(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--table", action="append", default=[], metavar="NAME=PATH", help="a lake of results"
    )
    made.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="csv and json give every row, with decimals and times exact (%(default)s)",
    )
    made.add_argument(
        "--max-rows", type=_count, default=1000, help="most rows of a printed table (%(default)s)"
    )


def _add_travel(made: argparse.ArgumentParser) -> None:
    travel = made.add_mutually_exclusive_group()
    travel.add_argument("--as-of", metavar="TIME", help="the lake as it was at this moment")
    travel.add_argument("--version", metavar="N", type=_version, help="the lake at this version")


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _version(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def query(asked: argparse.Namespace) -> int:
    """Find mistakes, open the tables, run what was asked."""
    from forebay_spark.sql import Tables
    from forebay_spark.statements import statements_of

    is_shell = asked.query is None and sys.stdin.isatty()
    text = sys.stdin.read() if asked.query in (None, "-") and not is_shell else asked.query
    statements = [] if is_shell else statements_of(text)
    tables = tables_of(asked)
    if not is_shell:
        _check_statements(statements, tables)
    on_server = tables.check()
    with spark_of(asked, "forebay sql") as spark:
        opened = Tables(spark, tables, on_server)
        _tell_what_is_shown(tables)
        if is_shell:
            return shell(opened, asked)
        try:
            for statement in statements:
                opened.execute(statement, asked.format, sys.stdout, asked.max_rows)
        except KeyboardInterrupt:
            raise SparkCommandError("stopped by Ctrl-C; what is printed is not all") from None
    return 0


def tables_of(asked: argparse.Namespace) -> Asked:
    """The tables that the arguments name."""
    from forebay_spark.sql import Asked

    is_lake_alone = asked.lake is not None and asked.url is None
    return Asked(
        streams=tuple(asked.stream),
        lake=asked.lake,
        url=None if is_lake_alone else asked.url or URL,
        pattern=asked.pattern,
        schema=asked.schema,
        since=asked.since,
        until=asked.until,
        options=pairs("--option", asked.option),
        results=pairs("--table", asked.table),
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
            "the lake alone; with --url also what is still on the server and not yet in it\n"
        )


def shell(opened: Tables, asked: argparse.Namespace) -> int:
    """Statements by hand until the person leaves."""
    from forebay_spark.pipeline.flow import readable
    from forebay_spark.results import render
    from forebay_spark.sql_shell import Shell, history

    def execute(statement: str) -> None:
        opened.execute(statement, asked.format, sys.stdout, asked.max_rows)
        sys.stdout.flush()

    def tables() -> None:
        sys.stdout.write(render(["table", "what it is"], list(opened.opened.items())))

    commands = {".tables": tables, ".refresh": opened.refresh}
    sys.stderr.write("a statement ends with ; and .help says more\n")
    with history():
        Shell(execute, commands, lambda error: str(readable(error))).run()
    return 0
