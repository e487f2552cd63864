"""Streams of Forebay, Redis and Valkey in Spark, from PySpark alone.

    from forebay_spark import session

    spark = session()
    orders = spark.readStream.format("forebay").option("streams", "orders").load()

The folders, in the order in which an entry passes them:

    options.py   all options                           (ids.py, moments.py, durations.py, errors.py)
    source.py    the data source "forebay": what Spark asks first
    servers/     how to reach a server and wait for it, and its facts about a stream
    read/        positions, tasks, pages, record batches
    values/      fields of entries as typed columns, and back, byte for byte
    write/       rows to entries, exactly once
    runtime/     the Spark to run it in: session, Java, workers
    lake/        Delta tables on disk or in an object store
    query/       a stream and its lake as one table; `forebay sql`
    pipeline/    jobs: archive, aggregate, quarantine, replay
    cli/         the commands that it adds to `forebay`

Nothing here imports the server: the connector also works where only Redis is installed.
"""

from typing import Any

from forebay_spark.errors import ConnectorError, explain
from forebay_spark.runtime.session import refuse_old_spark, session

__all__ = ["ConnectorError", "explain", "session", "table"]


def __getattr__(name: str) -> Any:
    """``table`` needs all of Spark, so it is loaded on first use."""
    if name == "table":
        refuse_old_spark()
        from forebay_spark.query.table import table

        return table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
