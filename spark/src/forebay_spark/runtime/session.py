"""A ready-to-use Spark session: finds Java, explains the wait, hides useless output.

``session()`` is a convenience.  The connector works in any session; this one only saves the usual
first hour: it finds Java (java.py), makes workers use this same Python (otherwise they take
``python3`` from the PATH, which may not have the connector), says why nothing happens for some
seconds, lets queries start at the same time (start_race.py), lets workers start and answer fast
(daemon.py, spark_home.py, worker_sockets.py), and turns off useless output of the JVM.  Every
setting can be overridden.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forebay_spark.errors import OldSparkError
from forebay_spark.runtime import stderr_filter
from forebay_spark.runtime.java import ensure_java
from forebay_spark.runtime.start_race import settle
from forebay_spark.runtime.versions import is_too_old, sentence
from forebay_spark.runtime.worker_sockets import socket_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET_LOG = Path(__file__).with_name("quiet.properties")

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.python.daemon.module": "forebay_spark.runtime.daemon",
    # Hadoop's local file system forks several processes for each checkpoint file to set
    # rights and make checksums; the raw one does not, and halves the cost of a micro-batch.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{QUIET_LOG}",
}


def session(
    name: str = "forebay",
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    quiet: bool = False,
    ui: bool = False,
) -> SparkSession:
    """A Spark session; ``settings`` override ours, ``quiet`` starts without a message.

    ``ui`` keeps Spark's own pages on, which show every query and task in a browser.
    """
    refuse_old_spark()
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Errors of the connector are sentences; a traceback of the worker adds nothing.
    os.environ.setdefault("SPARK_HIDE_TRACEBACK", "1")
    from pyspark.sql import SparkSession

    from forebay_spark.runtime.spark_home import without_zip

    if SparkSession.getActiveSession() is None and not quiet:
        sys.stderr.write("starting Spark, about 15 s\n")
    builder = SparkSession.builder.appName(name)
    if not master and "SPARK_REMOTE" not in os.environ:
        master = os.environ.get("SPARK_MASTER", "local[*]")
    if master:
        builder = builder.master(master)
    shown = {"spark.ui.enabled": str(ui).lower()}
    chosen = {**SETTINGS, **socket_settings(master or ""), **shown, **(settings or {})}
    for key, value in chosen.items():
        builder = builder.config(key, value)
    python = chosen.get("spark.pyspark.python", os.environ["PYSPARK_PYTHON"])
    with stderr_filter.filtered_stderr(), without_zip(master or "", python):
        spark = builder.getOrCreate()
        settle(spark)
    if ui and not quiet:
        sys.stderr.write(f"Spark's pages are at {spark.sparkContext.uiWebUrl}\n")
    return spark


def refuse_old_spark() -> None:
    """OldSparkError if this Spark lacks what the connector needs."""
    import pyspark

    if is_too_old(pyspark.__version__):
        raise OldSparkError(sentence(pyspark.__version__))
