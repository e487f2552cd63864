"""A streaming query that runs a function of ours for each micro-batch.

Spark calls the function on the driver with the rows and the number of a batch, and records
the batch as done when it returns (foreachBatch).  A batch may be repeated after a crash;
the function must make that harmless.

``stop`` interrupts the running batch, and Spark prints long complaints.  ``finish`` lets the
running batch be committed, and turns the next one away before it has done anything.  Perhaps no
batch runs, only a look for new entries that finds none; then no further batch comes, so ``wait``
asks again.

Errors take a detour: an error of the function travels through the JVM and comes back as pages of
text.  So the flow keeps the original, and ``wait`` raises it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from forebay_spark.errors import ConnectorError, OptionError, explain, first_sentence
from forebay_spark.pipeline.settings import duration, wrong

AVAILABLE_NOW = "available now"
#: How many counts to keep: reports come soon after their batch, and a query may run for years.
KEPT_COUNTS = 1000
FINISH_EVERY_S = 1

#: Handles a batch; returns its number of rows if Spark cannot know it.
BatchFunction = Callable[[DataFrame, int], int | None]


class JobError(ConnectorError):
    """A job failed in Spark or in a function of the user."""


class TurnedAwayError(Exception):
    """A batch that came after the flow was asked to finish."""


class Settings(NamedTuple):
    """The common settings of all streaming jobs."""

    name: str
    checkpoint: str
    trigger: str = AVAILABLE_NOW
    output_mode: str = "append"


class Flow:
    """A query that runs."""

    def __init__(
        self,
        frame: DataFrame,
        write: BatchFunction,
        settings: Settings,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._at_end = at_end
        self._failure: Exception | None = None
        self._finishing = False
        self._write = write
        #: Rows of the last batches, as counted by the function.
        self.counted: dict[int, int] = {}
        self.settings = settings
        writer = frame.writeStream.queryName(settings.name).outputMode(settings.output_mode)
        writer = writer.option("checkpointLocation", settings.checkpoint)
        writer = writer.trigger(**trigger_of(settings.trigger))  # type: ignore[arg-type]
        self.query: StreamingQuery = writer.foreachBatch(self._batch).start()

    def _batch(self, frame: DataFrame, number: int) -> None:
        try:
            self._check_in()
            rows = self._write(frame, number)
            if rows is not None:
                self.counted[number] = rows
                self.counted.pop(number - KEPT_COUNTS, None)
        except Exception as error:
            self._failure = error
            raise

    def _check_in(self) -> None:
        if self._finishing:
            raise TurnedAwayError

    def wait(self, timeout_s: int | None = None) -> bool:
        """Wait until the query ends, or for a time; whether it has ended.  Its error is raised."""
        try:
            ended = self._has_ended(timeout_s)
        except StreamingQueryException as error:
            if not isinstance(self._failure, TurnedAwayError):
                raise readable(self._failure or error) from error
            ended = True
        if timeout_s is None or ended:
            self._at_end()
            return True
        return False

    def _has_ended(self, timeout_s: int | None) -> bool:
        if timeout_s is not None:
            return bool(self.query.awaitTermination(timeout_s))
        while not self.query.awaitTermination(FINISH_EVERY_S):
            if self._finishing:
                self.finish()
        return True

    def finish(self) -> None:
        """End the query after the running batch; ``wait`` returns when it has ended."""
        self._finishing = True
        if not self.query.status["isTriggerActive"]:
            self.query.stop()

    def stop(self) -> None:
        """End the query at once; an uncommitted batch is repeated next time."""
        self.query.stop()


def readable(error: Exception) -> Exception:
    """An error for a person: ours as it is, Spark's without the JVM."""
    if isinstance(error, ConnectorError):
        return error
    ours = explain(error)
    return JobError(ours if ours else first_sentence(error))


def trigger_of(text: str) -> dict[str, str | bool]:
    """A trigger from its text, as Spark takes it."""
    if " ".join(text.lower().split()) == AVAILABLE_NOW:
        return {"availableNow": True}
    try:
        return {"processingTime": f"{duration(text, 'trigger')} milliseconds"}
    except OptionError:
        raise wrong("trigger", text, "'available now' or an interval as in '10 seconds'") from None
