"""``python -m spark.tests.support.class_archive``: the classes that small_spark.py lets JVMs share.

    a JVM that does what tests do  --at its end-->  .venv/spark.jsa

An archive is built on top of another one with the classes of Java itself.  Java from Debian has
that one; Java from PyPI does not, and gets it here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from forebay_spark.runtime.java import ensure_java
from forebay_spark.runtime.session import session
from spark.tests.support.pipeline_driver import jobs
from spark.tests.support.spark_streams import Target
from testkit import small_spark
from testkit.servers import start_forebay

ENTRIES = 300
PATIENCE_S = 300.0


def base_of(java_home: Path) -> str:
    """The option that names the archive below; empty if Java finds its own."""
    if (java_home / "lib" / "server" / "classes.jsa").exists():
        return ""
    base = f"-XX:SharedArchiveFile={small_spark.ARCHIVE.with_suffix('.base.jsa')}"
    subprocess.run([java_home / "bin" / "java", "-Xshare:dump", base], check=True)
    return base


def work(spark: Any, target: Target, folder: str) -> None:
    """Typical work of tests: three jobs over a stream, and a query."""
    target.add("s", ENTRIES)
    for flow in [job.start(spark) for job in jobs(target.url, folder)]:
        flow.wait()
    rows = spark.read.format("forebay").options(url=target.url, streams="processed").load()
    rows.createOrReplaceTempView("rows")
    spark.sql("SELECT fields['n'] % 7 AS n, count(*) FROM rows GROUP BY 1 ORDER BY 1").collect()


def main() -> int:
    """Make the archive again."""
    sys.stderr.write("making an archive of Spark's classes, about half a minute\n")
    made = small_spark.ARCHIVE.with_suffix(".new.jsa")
    made.unlink(missing_ok=True)
    small_spark.use(f"{base_of(ensure_java())} -XX:ArchiveClassesAtExit={made}")
    with tempfile.TemporaryDirectory(prefix="fb-") as folder:
        server = start_forebay(Path(folder) / "server")
        try:
            spark = session(master="local[2]", settings=small_spark.SETTINGS, quiet=True)
            jvm: Any = spark.sparkContext._gateway
            work(spark, Target(server), folder)
            spark.stop()
            jvm.proc.stdin.close()
            jvm.proc.wait(PATIENCE_S)
        finally:
            server.stop()
    made.rename(small_spark.ARCHIVE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
