"""Streams of Forebay, Redis and Valkey in Spark, from PySpark alone.

    from forebay_spark import session

    spark = session()
    orders = spark.readStream.format("forebay").option("streams", "orders").load()

The path of an entry through the files:

    options.py                 what was asked for
    connect.py, state.py       the server, and what it says about a stream
    offsets.py, planning.py    from where to where, cut into tasks     (loss.py: is all there?)
    server_help.py             does the server cut and send columns?   (splitting.py: cutting)
    reading.py, forms.py       a task fetches pages: XRANGE or FB.COLUMNS
    pages.py, column_pages.py  a page of either kind, as Arrow columns
    decode.py, values.py       a page becomes an Arrow record batch
    micro_batch.py, batch.py   what Spark calls to read
    sink.py, rows.py, lanes.py the way back: rows to entries, exactly once
    session.py, java.py        a Spark to run it in                    (variables.py: many queries)
    lake/, pipeline/           on top of all that: tables on disk, and jobs that fill them
    one_table.py               a stream and its lake as one table

Nothing here imports the server: the connector works where only Redis runs.
"""

from typing import Any

from forebay_spark.errors import ConnectorError, explain
from forebay_spark.session import refuse_old_spark, session

__all__ = ["ConnectorError", "explain", "session", "table"]


def __getattr__(name: str) -> Any:
    """``table`` needs all of Spark, so it is loaded when somebody asks for it."""
    if name == "table":
        refuse_old_spark()
        from forebay_spark.one_table import table

        return table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
