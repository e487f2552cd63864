"""``forebay sql``: ask streams and their lake with SQL."""

from __future__ import annotations

import argparse
import sys

from forebay.cli.spark import URL, add_spark_arguments, sentences, spark_of

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
    made.add_argument("--format", choices=("table", "csv", "json"), default="table")
    made.add_argument("--max-rows", type=int, default=1000, help="of a table (%(default)s)")
    add_spark_arguments(made)
    return made


def query(asked: argparse.Namespace) -> int:
    """Open the tables, run the query, print."""
    from forebay_spark import sql

    text = sys.stdin.read() if asked.query == "-" else asked.query
    with spark_of(asked, "forebay sql") as spark:
        for given in asked.table:
            name, _, path = given.partition("=")
            sql.open_lake(spark, name, path)
        if asked.lake or asked.stream or asked.pattern or not asked.table:
            sql.open_tables(
                spark,
                streams=asked.stream,
                lake=asked.lake,
                url=asked.url,
                pattern=asked.pattern,
                schema=asked.schema,
                since=asked.since,
                until=asked.until,
            )
        sql.write_result(spark.sql(text), asked.format, sys.stdout, asked.max_rows)
    return 0
