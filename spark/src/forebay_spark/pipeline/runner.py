"""Running a job at a terminal: reports while it runs, Ctrl-C that ends it cleanly.

The first Ctrl-C lets the current batch finish and be committed; a second one stops at once, which
is safe as well, but the next start repeats the batch.  While the server is away no batch can
finish, so then the first one stops at once too.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Protocol

from pyspark.sql import SparkSession

from forebay_spark.options import STREAM, read_options
from forebay_spark.pipeline.flow import Flow
from forebay_spark.pipeline.spec import Source
from forebay_spark.pipeline.watch import Reporter, Tell, Watcher
from forebay_spark.servers import patience, state
from forebay_spark.servers.connect import Server

LOOK_EVERY_S = 1


class StreamJob(Protocol):
    """A job that is a query."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> Source: ...
    def start(self, spark: SparkSession) -> Flow:
        """Begin."""


class Interrupt:
    """Ctrl-C, counted."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, *_: Any) -> None:
        """Handle the signal."""
        self.times += 1
        patience.ENOUGH.set()
        if self.times == 1:
            sys.stderr.write("\nstopping after this batch; Ctrl-C again stops at once\n")


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Count Ctrl-C instead of raising it; only the main thread can."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    patience.ENOUGH.clear()
    before = [signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield interrupt
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
        patience.ENOUGH.clear()


def run_streaming(
    spark: SparkSession, job: StreamJob, tell: tuple[Tell, ...], reporter: Reporter | None
) -> Watcher:
    """Run a query until it ends or is interrupted; return its watcher."""
    watcher = Watcher(job.name, *tell, *([reporter] if reporter else []))

    def note(event: str, text: str) -> None:
        if reporter is not None:
            reporter.note(job.name, event, text)

    spark.streams.addListener(watcher)
    try:
        with interruptible() as interrupt:
            flow = job.start(spark)
            watcher.follow(flow.counted)
            note("started", str(flow.query.runId))
            wait(flow, interrupt, partial(is_away, job.source))
            watcher.wait_for_last(str(flow.query.runId))
        note("stopped", "interrupted" if interrupt.times else "done")
    except patience.WaitEndedError as error:
        sys.stderr.write(f"{job.name}: {error}\n")
    except Exception as error:
        note("failed", str(error))
        raise
    finally:
        spark.streams.removeListener(watcher)
    return watcher


def nothing_new(source: Source) -> str:
    """The message if no entry came: nothing new, or perhaps a wrong name."""
    with closing(Server(source.checked())) as server:
        there = state.fetch_all(server, source.streams)
        missing = [stream for stream in source.streams if stream not in there]
    absent = f"; there is no stream {missing[0]!r} at {server.where} yet" if missing else ""
    return f"nothing new{absent}"


def is_away(source: Source) -> bool:
    """Whether the server of a source does not answer now."""
    hasty = read_options({**source.texts(), "timeoutSeconds": "2"}, STREAM)
    with closing(Server(hasty)) as server:
        return not server.answers()


def wait(flow: Flow, interrupt: Interrupt, away: Callable[[], bool]) -> None:
    """Wait until the query ends, by itself or after Ctrl-C."""
    while not flow.wait(LOOK_EVERY_S):
        if interrupt.times > 1 or (interrupt.times and away()):
            flow.stop()
        elif interrupt.times:
            flow.finish()
