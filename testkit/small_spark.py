"""A small Spark that starts quickly: one JVM on this machine, for tests and soaks.

``use()`` sets this for every JVM that this process and its children start.  Such a JVM spends most
of its time loading and checking the same eighteen thousand classes.  With an archive of them, made
once (``make`` and spark/tests/support/class_archive.py), a statement of ``forebay sql`` takes 6 s
of CPU time instead of 17.
"""

from __future__ import annotations

import os

from testkit.places import ROOT

ARCHIVE = ROOT / ".venv" / "spark.jsa"
#: A test is over before an optimising compiler, or a collector with its own threads, is worth its
#: CPU time.  An archive of another Java is silently ignored.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable -Xlog:all=error:stderr"
VARIABLE = "SPARK_SUBMIT_OPTS"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def use(archive: str = f"-XX:SharedArchiveFile={ARCHIVE}") -> None:
    """From now on Spark's launcher starts JVMs like that."""
    os.environ[VARIABLE] = f"{JVM_OPTIONS} {archive}"
