"""Workers import the installed PySpark, not the zip next to it.

Spark puts ``$SPARK_HOME/python/lib/pyspark.zip`` first on the path of every worker.  There is no
bytecode in that zip, so each worker that starts compiles PySpark again: 0.7 s of the 1.1 s of CPU
that the worker of a streaming query takes to start.  The installed package has its bytecode.

So the JVM of a local session gets a home of links (homes.py) to everything but the folder with
the zip.  Workers then find PySpark where this process has found it.  Nothing changes

- if SPARK_HOME is set: the user has chosen a Spark;
- if workers run another Python, or PySpark was not installed for this one;
- on a cluster: it sends the zip to nodes that may have no PySpark;
- if no home can be made: a slow start is better than none.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from forebay_spark.runtime import homes

SPARK_HOME = "SPARK_HOME"
WITH_ZIP = "python"
ORIGIN = Path(pyspark.__file__).parent


@contextmanager
def without_zip(
    master: str, python: str, environment: MutableMapping[str, str] | None = None
) -> Iterator[None]:
    """Set SPARK_HOME to such a home while a JVM starts whose workers run ``python``."""
    environment = os.environ if environment is None else environment
    is_ours = master.startswith("local") and python == sys.executable and _is_installed()
    home = _linked_home(environment) if is_ours and SPARK_HOME not in environment else None
    if home is not None:
        environment[SPARK_HOME] = str(home)
    try:
        yield
    finally:
        if home is not None:
            del environment[SPARK_HOME]


def _is_installed() -> bool:
    """Whether every process of this Python finds this PySpark."""
    return Path(sysconfig.get_path("purelib")) == ORIGIN.parent


def _linked_home(environment: MutableMapping[str, str]) -> Path | None:
    """The home for the installed PySpark, made now if it does not exist."""
    home = homes.place_for(f"spark-{pyspark.__version__}", ORIGIN, environment)
    try:
        if not (home / "jars").is_dir():
            homes.make(ORIGIN, home, WITH_ZIP, lambda _: None)
    except OSError:
        pass  # Another process was faster, or there is no room for it.
    return home if (home / "jars").is_dir() else None
