"""A Spark driver in a process of its own, to be killed.

    python -m spark.tests.support.spark_driver '{"master": ..., "settings": {}, "queries": [...]}'

runs streaming queries with Trigger.AvailableNow to their end and exits with 0.  A
query is {"read": options, "write": options, "format": ..., "fault": ..., "at": ...}.
If a query has a fault, the connector kills this process and its JVM at that point.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from forebay_spark.runtime.session import session
from forebay_spark.runtime.start_race import settle
from spark.tests.support.spark_faults import FaultySource
from testkit.servers import worker_path
from testkit.small_spark import SETTINGS

PATIENCE_S = 300.0
#: A fault of Spark itself, not of the connector: it gives a new Python process ten seconds to
#: call back, which may be too short on a busy machine.
SPARKS_OWN = "Python worker failed to connect back"
TRIES = 3

Query = dict[str, Any]


def run(
    queries: list[Query], master: str = "local[2]", **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run queries in a driver of their own; its exit code is negative if it was killed."""
    return run_module(__name__, {"master": master, "settings": settings, "queries": queries})


def run_module(name: str, work: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run a module with its work; again after a fault of Spark itself."""
    for _ in range(TRIES):
        done = subprocess.run(
            [sys.executable, "-m", name, json.dumps(work)],
            env={**os.environ, "PYTHONPATH": worker_path()},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if SPARKS_OWN not in done.stderr:
            break
    return done


def start(spark: Any, query: Query, victims: str) -> Any:
    """Start one query."""
    fault = {"fault": query.get("fault", ""), "faultAt": str(query.get("at", 0))}
    fault["victims"] = victims if query.get("fault") else ""
    rows = spark.readStream.format("faulty").options(**query["read"], **fault).load()
    sink = rows.writeStream.format(query["format"]).options(**query["write"])
    if query["format"] == "faulty":
        sink = sink.options(**fault)
    return sink.trigger(availableNow=True).start()


def main() -> None:
    """Run what the argument says."""
    work = json.loads(sys.argv[1])
    settings = {**SETTINGS, **work["settings"]}
    spark = session(master=work["master"], settings=settings, quiet=True)
    spark.dataSource.register(FaultySource)
    settle(spark, FaultySource.name())
    jvm = spark._jvm
    assert jvm is not None
    victims = f"{jvm.java.lang.ProcessHandle.current().pid()},{os.getpid()}"
    queries = [start(spark, query, victims) for query in work["queries"]]
    for query in queries:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
