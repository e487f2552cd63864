"""``forebay sql``: ask streams and their lake with SQL."""

from __future__ import annotations

import argparse
import sys

from forebay.cli.spark import (
    URL,
    SparkCommandError,
    add_option_argument,
    add_spark_arguments,
    pairs,
    sentences,
    spark_of,
)

EPILOG = """\
tables:
  entries           every entry that was asked for, hot and cold, as one table
  NAME              the entries of the stream NAME (other characters than letters
                    and digits become _: orders:eu is the table orders_eu)
  with --table      a lake of results, as a table of its own

columns: stream, id, timestamp, seq, fields (a map), date; or those of the lake's schema.

examples:
  forebay sql --lake ./lake "SELECT date, count(*) FROM entries GROUP BY date"
  forebay sql --stream orders "SELECT fields['item'] item, count(*) n FROM orders GROUP BY 1"
  forebay sql --lake ./lake --since 2026-11-01 --format csv "SELECT * FROM orders" > orders.csv
  forebay sql --url redis+cluster://h1:7000 --pattern 'orders:*' "SELECT count(*) FROM entries"
  forebay sql --table totals=./turnover "SELECT * FROM totals ORDER BY window_start DESC"
"""


def run(args: list[str]) -> int:
    """Run one query and print its result."""
    asked = parser().parse_args(args)
    with sentences():
        return query(asked)


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(
        prog="forebay sql",
        description="Runs Spark SQL over the streams of a server and their lake, as one table.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("query", help="the query; - reads it from standard input")
    made.add_argument("--lake", help="folder of the lake that an archive job fills")
    made.add_argument("--url", default=URL, help="the server (%(default)s)")
    made.add_argument("--stream", action="append", default=[], help="a stream; may be repeated")
    made.add_argument("--pattern", help="all streams that match, as in 'orders:*'")
    made.add_argument("--schema", help="fields and types of a stream that has no lake")
    made.add_argument("--since", metavar="TIME", help="first moment, as 2026-11-16T12:00:00Z")
    made.add_argument("--until", metavar="TIME", help="first moment not to read")
    made.add_argument(
        "--table", action="append", default=[], metavar="NAME=PATH", help="a lake of results"
    )
    made.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="(%(default)s)"
    )
    made.add_argument(
        "--max-rows", type=_count, default=1000, help="most rows of a printed table (%(default)s)"
    )
    add_option_argument(made)
    add_spark_arguments(made)
    return made


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def query(asked: argparse.Namespace) -> int:
    """Open the tables, run the query, print."""
    from forebay_spark import sql

    text = sys.stdin.read() if asked.query == "-" else asked.query
    results = pairs("--table", asked.table)
    options = pairs("--option", asked.option)
    is_stream = bool(asked.lake or asked.stream or asked.pattern)
    if not is_stream and not results:
        raise SparkCommandError(
            "there is no table to ask; name a --lake, a --stream, a --pattern or a --table"
        )
    with spark_of(asked, "forebay sql") as spark:
        for name, path in results.items():
            sql.open_lake(spark, name, path)
        if is_stream:
            sql.open_tables(
                spark,
                streams=asked.stream,
                lake=asked.lake,
                url=asked.url,
                pattern=asked.pattern,
                schema=asked.schema,
                since=asked.since,
                until=asked.until,
                options=options,
            )
        sql.write_result(spark.sql(text), asked.format, sys.stdout, asked.max_rows)
    return 0
