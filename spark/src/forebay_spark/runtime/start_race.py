"""Queries that start at the same time do not break each other's variables.

Spark keeps one function for a Python source, with one map of environment variables, for all
queries of a session.  Each query that starts puts the same four into it, from its own thread and
without a lock.  Two that do so at once break the map: the same entry counts twice, and from then
on no task can be sent, with "Illegal size of collection" or OptionalDataException.

Putting an existing key changes no structure.  So one thread puts the keys in beforehand, once; the
values do not matter, because each query overwrites them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The keys that Spark's runner of streaming sources puts into the map.
PUT_BY_SPARK = (
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_PYTHON_RUNTIME",
)


def settle(spark: SparkSession, source: str = "forebay") -> None:
    """Make it safe to start queries on this source at the same time."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if not hasattr(spark, "_jsparkSession"):
        return  # Spark Connect: the map is in another process, out of reach.
    # A missing source is not reported here: a read from it reports it.
    with suppress(Py4JError, PySparkException):
        variables = shared_by_queries(spark, source)
        for name in PUT_BY_SPARK:
            variables.putIfAbsent(name, "")


def shared_by_queries(spark: SparkSession, source: str) -> Any:
    """The Java map of variables that all queries on a source share."""
    java: Any = spark._jsparkSession
    found = java.sessionState().dataSourceManager().lookupDataSource(source)
    return found.dataSourceCls().envVars()
