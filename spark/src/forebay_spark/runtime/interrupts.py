"""Ctrl-C that ends the current work of Spark, and not Spark itself.

    main thread      waits ........ Ctrl-C   back to the prompt, or out
    a thread         calls Spark ......|..... its jobs are cancelled, its output is dropped

The main thread makes no call of py4j.  If Ctrl-C interrupts such a call, py4j prints the stack
and drops the connection, and PySpark's own handler of Ctrl-C makes another call in the middle of
the first.  It also cancels only the jobs that run at that moment; a statement that is still being
planned would start later.  So a thread calls Spark, and jobs of the thread are cancelled until it
has ended.  The next piece of work starts after that.

The key may be pressed at any moment, so it must not raise where no code expects it:

    a line is being read     KeyboardInterrupt in ``CtrlC.read``: the line is dropped
    Enter was pressed        the key is kept until the next ``check`` or ``wait``
    anything else            the same

Whether Enter came first is decided where Python cannot be interrupted: ``input`` puts the line
into a list inside one call of C (``read``), and the signal handler checks that list.
"""

from __future__ import annotations

import io
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Generic, TextIO, TypeVar, cast

from pyspark.sql import SparkSession

T = TypeVar("T")
CANCEL_EVERY_S = 0.2
LOOK_EVERY_S = 0.05


class CtrlC:
    """Whether the key was pressed.  ``read``, ``check`` and ``wait`` raise KeyboardInterrupt."""

    def __init__(self) -> None:
        self._is_pressed = False
        self._is_reading = False
        self._entered: list[str] = []

    def read(self, read: Callable[[str], str], prompt: str) -> str:
        """Read a line.  After Enter the caller gets the line, and must call ``check``."""
        self.check()
        self._entered = []
        try:
            self._is_reading = True
            self._entered.extend(map(read, (prompt,)))
        finally:
            self._is_reading = False
        return self._entered[0]

    def check(self) -> None:
        """KeyboardInterrupt if the key was pressed since the last check."""
        if self._is_pressed:
            self._is_pressed = False
            raise KeyboardInterrupt

    def wait(self, done: threading.Event) -> None:
        """Wait until something is done, or KeyboardInterrupt."""
        while not done.wait(LOOK_EVERY_S):
            self.check()

    def pressed(self, _: int, __: FrameType | None) -> None:
        """The handler of the signal."""
        if self._is_reading and not self._entered:
            self._is_reading = False
            raise KeyboardInterrupt
        self._is_pressed = True

    def poke(self, is_over: threading.Event) -> None:
        """From a thread, make the main thread check for signals while it reads lines.

        Otherwise a key just before the terminal waits for input would be seen with the next key.
        """
        main = threading.main_thread().ident
        assert main is not None
        while not is_over.wait(LOOK_EVERY_S):
            if self._is_reading:
                signal.pthread_kill(main, signal.SIGURG)


class DroppedError(Exception):
    """The output is no longer wanted."""


class Gate(io.TextIOBase):
    """Lets text through until it is shut."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_shut = False
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Pass the text on, or raise to end the work that writes it."""
        with self._lock:
            if self._is_shut:
                raise DroppedError
            return self._out.write(text)

    def flush(self) -> None:
        """Show the text that has passed."""
        self._out.flush()

    def shut(self) -> None:
        """Let nothing pass from now on.  This does not wait long for a blocked write."""
        self._is_shut = True
        if self._lock.acquire(timeout=1.0):
            self._lock.release()


class Call(Generic[T]):
    """One piece of work in its own thread."""

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
        """The result of the finished work; its error is raised."""
        if self._error is not None:
            raise self._error
        return self._result[0]

    def stop(self) -> None:
        """Show nothing more of it, and make it end."""
        self._gate.shut()
        threading.Thread(target=self._cancel, daemon=True).start()

    def _cancel(self) -> None:
        while not self.done.is_set():
            with suppress(Exception):  # Spark may be stopping
                self._spark.sparkContext.cancelJobGroup(self._group)
            self.done.wait(CANCEL_EVERY_S)


class Calls:
    """Pieces of work, one after the other."""

    def __init__(self, spark: SparkSession, ctrl_c: CtrlC) -> None:
        self._spark = spark
        self._ctrl_c = ctrl_c
        self._last_done: threading.Event | None = None

    def run(self, work: Callable[[TextIO], T], out: TextIO) -> T:
        """The result of the work; KeyboardInterrupt after Ctrl-C, with no further output."""
        self._ctrl_c.check()
        if self._last_done is not None:
            self._ctrl_c.wait(self._last_done)
        call = Call(self._spark, work, out)
        self._last_done = call.done
        try:
            self._ctrl_c.wait(call.done)
        except KeyboardInterrupt:
            call.stop()
            raise
        return call.result()


@contextmanager
def noticed_ctrl_c() -> Iterator[CtrlC]:
    """Only record Ctrl-C; this works in the main thread alone."""
    ctrl_c, is_over = CtrlC(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ctrl_c
        return
    poked = signal.signal(signal.SIGURG, lambda *_: None)
    before = signal.signal(signal.SIGINT, ctrl_c.pressed)
    poker = threading.Thread(target=ctrl_c.poke, args=(is_over,), daemon=True)
    poker.start()
    try:
        yield ctrl_c
    finally:
        is_over.set()
        poker.join()
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGURG, poked)
