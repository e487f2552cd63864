"""PySpark's daemon with the connector in it: imported once, not by every worker.

    JVM --> python -m forebay_spark.runtime.daemon pyspark.worker      imports, then waits
                |-- fork --> worker of a task                  begins at once
                |-- fork --> worker of another one

Spark lets a daemon fork a process for each task that runs at the same time, and ends a process that
was idle for a minute.  PySpark's own daemon imports nothing that a worker needs, so each worker
starts with a second for PySpark, Arrow and the connector.  ``session()`` sets this module as
``spark.python.daemon.module``.  Processes that plan a read are few and are reused; Spark starts
them in its own way.

After each task a worker searches all its objects for garbage.  Objects that were imported here are
never garbage.  ``gc.freeze`` excludes them from that search, which saves most of its time.

A fork copies only one thread, so a library that starts a thread during its import could leave a
lock that no thread holds any more.  Arrow and deltalake start one for their allocator, which is
made for that: it notices a fork and starts again.  If there is any other thread, or threads cannot
be listed, or an import fails, this becomes PySpark's own daemon.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from importlib import import_module
from pathlib import Path

#: The modules that a worker needs, besides the one that Spark names for it.
NEEDED = (
    "forebay_spark.source",
    "forebay_spark.lake.source",
    "forebay_spark.pipeline.direct_write",
)
ALLOCATORS = "jemalloc_bg_thd"
THREADS = Path("/proc/self/task")
LOOKS, PAUSE_S = 10, 0.05


def main(given: list[str]) -> None:
    """Run until the JVM closes standard input; ``given`` is the module of the workers."""
    if not is_ready(given):
        os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *given])
    from pyspark.daemon import manager

    gc.collect()
    gc.freeze()
    manager()


def is_ready(given: list[str]) -> bool:
    """Import the modules of workers; whether that worked, and a fork is safe afterwards."""
    if not THREADS.is_dir():
        return False
    try:
        for name in (*given, *NEEDED):
            import_module(name)
        return only_safe_threads()
    except Exception:  # noqa: BLE001 - a library may raise anything during its import
        return False  # the worker that needs it reports what is missing


def only_safe_threads() -> bool:
    """Whether a fork is safe; a thread that was just started may not have its name yet."""
    for _ in range(LOOKS):
        if not unsafe_threads():
            return True
        time.sleep(PAUSE_S)
    return False


def unsafe_threads() -> list[str]:
    """Names of the threads besides this one that are not made for a fork."""
    others = [path for path in THREADS.iterdir() if int(path.name) != os.getpid()]
    names = [(path / "comm").read_text().strip() for path in others]
    return [name for name in names if name != ALLOCATORS]


if __name__ == "__main__":
    main(sys.argv[1:])
