"""Ctrl-C that ends what Spark does for a person, and not Spark.

    main thread      waits ........ Ctrl-C   back to the prompt, or out
    a thread         calls Spark ......|..... its jobs are cancelled, what it writes is dropped

Whoever waits for the JVM in a call of py4j must not be interrupted there: py4j prints the stack
and drops the connection, and PySpark's own answer to Ctrl-C makes another call in the midst of
the first.  It also cancels only what runs at that moment; a statement that is still being planned
would begin later.  So Spark is called in a thread, the main thread makes no call at all, and jobs
of the thread are cancelled until it has ended.  The next piece of work begins after that.
"""

from __future__ import annotations

import io
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TextIO, TypeVar, cast

from pyspark.sql import SparkSession

T = TypeVar("T")
CANCEL_EVERY_S = 0.2


class DroppedError(Exception):
    """Nobody wants to see it any more."""


class Gate(io.TextIOBase):
    """Lets text through until it is shut."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_shut = False
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Pass on, or end who writes."""
        with self._lock:
            if self._is_shut:
                raise DroppedError
            return self._out.write(text)

    def flush(self) -> None:
        """What has passed is shown."""
        self._out.flush()

    def shut(self) -> None:
        """Nothing passes from now on."""
        with self._lock:
            self._is_shut = True


class Call(Generic[T]):
    """One piece of work in a thread of its own."""

    def __init__(self, spark: SparkSession, work: Callable[[TextIO], T], out: TextIO) -> None:
        self._spark = spark
        self._work = work
        self._gate = Gate(out)
        self._group = uuid.uuid4().hex
        self._result: list[T] = []
        self._error: BaseException | None = None
        self.done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._spark.sparkContext.setJobGroup(self._group, "forebay")
            self._result.append(self._work(cast("TextIO", self._gate)))
        except BaseException as error:  # noqa: BLE001
            self._error = error
        finally:
            self.done.set()

    def result(self) -> T:
        """What the work gave, when it is done; its error is raised."""
        self.done.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def stop(self) -> None:
        """Show nothing more of it, and see that it ends."""
        self._gate.shut()
        threading.Thread(target=self._cancel, daemon=True).start()

    def _cancel(self) -> None:
        while not self.done.is_set():
            with suppress(Exception):  # Spark may be stopping
                self._spark.sparkContext.cancelJobGroup(self._group)
            self.done.wait(CANCEL_EVERY_S)


class Calls:
    """Pieces of work, one after the other."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._last_done: threading.Event | None = None

    def run(self, work: Callable[[TextIO], T], out: TextIO) -> T:
        """What the work gives; KeyboardInterrupt after Ctrl-C, with nothing written any more."""
        if self._last_done is not None:
            self._last_done.wait()
        call = Call(self._spark, work, out)
        self._last_done = call.done
        try:
            return call.result()
        except KeyboardInterrupt:
            call.stop()
            raise


@contextmanager
def plain_ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt and does nothing else; only the main thread can say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
