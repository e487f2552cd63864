"""PySpark's daemon with the connector in it: imported once, not by every worker.

    JVM --> python -m forebay_spark.daemon pyspark.worker      imports, then waits
                |-- fork --> worker of a task                  begins at once
                |-- fork --> worker of another one

Spark starts one daemon for each kind of work (to plan, to read, to write) and lets it fork a
process for each piece of it.  PySpark's own daemon imports nothing that such a process needs, so
each one spends a second on PySpark, Arrow and the connector.  Plans of a query are such processes
too, and none of those is used twice.  ``session()`` sets this module as
``spark.python.daemon.module``.

A fork copies one thread only, so a library that starts a thread when it is imported could leave
a lock behind that nobody holds.  Arrow and deltalake start one for their allocator, which is made
for that: it knows of forks and begins anew.  If there is any other thread, or no way to see, this
becomes PySpark's own daemon.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

#: What a worker is going to need, besides the module that Spark names for it.
NEEDED = ("forebay_spark.source", "forebay_spark.lake.source")
ALLOCATORS = "jemalloc_bg_thd"
THREADS = Path("/proc/self/task")


def main(given: list[str]) -> None:
    """Run until the JVM closes standard input; ``given`` is the module of the workers."""
    if can_see_threads():
        for name in (*given, *NEEDED):
            import_module(name)
    if not can_see_threads() or strangers():
        os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *given])
    from pyspark.daemon import manager

    manager()


def can_see_threads() -> bool:
    """Whether this system tells of threads that Python did not start."""
    return THREADS.is_dir()


def strangers() -> list[str]:
    """Names of the threads besides this one that are not made for a fork."""
    others = [path for path in THREADS.iterdir() if int(path.name) != os.getpid()]
    names = [(path / "comm").read_text().strip() for path in others]
    return [name for name in names if name != ALLOCATORS]


if __name__ == "__main__":
    main(sys.argv[1:])
