"""A small Spark that starts quickly: one JVM on this machine, for tests and soaks.

``use()`` tells every JVM that this process and its children start, however they start it.  Most of
what such a JVM does is to load and check the same eighteen thousand classes: with an archive of
them, made once (``make`` and spark/tests/support/class_archive.py), a statement of ``forebay sql``
takes 6 s of CPU time instead of 17.
"""

from __future__ import annotations

import os

from testkit.places import ROOT

ARCHIVE = ROOT / ".venv" / "spark.jsa"
#: A test is over before a compiler that optimises, or a collector with threads of its own, is
#: worth its CPU time.  An archive of another Java is passed over, without a word.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable -Xlog:all=error:stderr"
VARIABLE = "SPARK_SUBMIT_OPTS"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def use(archive: str = f"-XX:SharedArchiveFile={ARCHIVE}") -> None:
    """From now on let Spark's launcher start JVMs like that."""
    os.environ[VARIABLE] = f"{JVM_OPTIONS} {archive}"
