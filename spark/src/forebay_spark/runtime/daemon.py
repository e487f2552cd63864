"""PySpark's daemon with the connector in it: imported once, not by every worker.

    JVM --> python -m forebay_spark.runtime.daemon pyspark.worker      imports, then waits
                |-- fork --> worker of a task                  begins at once
                |-- fork --> worker of another one

Spark lets a daemon fork a process for each task that runs at the same time, and ends one that had
nothing to do for a minute.  PySpark's own daemon imports nothing that a worker needs, so each
one begins with a second for PySpark, Arrow and the connector.  ``session()`` sets this module as
``spark.python.daemon.module``.  Processes that plan a read are few and used again; Spark starts
them in its own way.

After each task a worker searches all its objects for garbage.  Those that were imported here are
never garbage.  They are set aside from that search (``gc.freeze``), which is most of its time.

A fork copies one thread only, so a library that starts a thread when it is imported could leave
a lock that no thread holds any more.  Arrow and deltalake start one for their allocator, which is
made for that: it knows of forks and begins anew.  If there is any other thread, or no way to see,
or something cannot be imported, this becomes PySpark's own daemon.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from importlib import import_module
from pathlib import Path

#: What a worker is going to need, besides the module that Spark names for it.
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
    """Import what workers need; whether that worked, and left nothing that a fork could break."""
    if not THREADS.is_dir():
        return False
    try:
        for name in (*given, *NEEDED):
            import_module(name)
        return only_safe_threads()
    except Exception:  # noqa: BLE001 - whatever a library raises while it is imported
        return False  # the worker that needs it says what is missing


def only_safe_threads() -> bool:
    """Whether a fork can break nothing; a thread that was just started has not said its name."""
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
