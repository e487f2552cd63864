"""Ctrl-C that ends what Spark is doing, and not the process.

PySpark's own answer to Ctrl-C calls the JVM from inside of the call that it interrupts, which
breaks the connection and prints pages.  Here the signal is only noted, and another thread, which
has a connection of its own, tells Spark to stop; the call that waits then fails by itself.  Rows
that come without a job are stopped by ``rows``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")


class Cancelling:
    """A stretch of work that Ctrl-C ends with KeyboardInterrupt; only the main thread can."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before: Any = None
        self.wanted = False

    def __enter__(self) -> Cancelling:
        self.wanted = False
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, _: int, __: FrameType | None) -> None:
        self.wanted = True
        threading.Thread(target=self._spark.sparkContext.cancelAllJobs, daemon=True).start()

    def rows(self, rows: Iterable[T]) -> Iterator[T]:
        """The rows until somebody has enough."""
        for row in rows:
            if self.wanted:
                raise KeyboardInterrupt
            yield row

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self.wanted and isinstance(error, Exception):
            raise KeyboardInterrupt from None
