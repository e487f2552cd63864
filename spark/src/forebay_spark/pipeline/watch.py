"""Watching a query: one report per micro-batch, for a person, a program, or the console.

    Spark's progress --> Report --> live line     a person at a terminal
                                --> JSON lines    a program (--json)
                                --> XADD          the stream forebay:pipelines, for all

Lag is what the source could still read when the batch was planned: in entries, by the
counters of the server, and in seconds, as the time between the newest entry and the last
one read.  If the server does not count (Redis before 7.0), the entries are unknown.

Nothing here may stop a query: a report that cannot be written is dropped.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TextIO

from pyspark.sql.streaming.listener import StreamingQueryListener

from forebay_spark.errors import ConnectorError
from forebay_spark.options import WRITE, read_options
from forebay_spark.read import offsets
from forebay_spark.servers.connect import Server

PIPELINES = "forebay:pipelines"
KEPT_REPORTS = 10_000
LINE_WIDTH = 100
#: Spark delivers events in the background; on a busy machine a few seconds late.
LAST_REPORT_S = 20.0
FOLLOW_S = 5.0
#: An idle query reports this often, so that silence means something.
IDLE_EVERY_S = 60.0
#: How often the lakes of a job are read, and the name of such a report.
LAKE_EVERY_S = 30.0
LAKE = "lake"


@dataclass(frozen=True)
class Report:
    """One micro-batch in numbers."""

    pipeline: str
    event: str
    batch: int
    at: str
    rows: int
    rows_per_s: float
    duration_ms: int
    lag_entries: int | None
    lag_s: float | None
    late_rows: int

    def line(self) -> str:
        """For a person."""
        lag = "unknown" if self.lag_entries is None else f"{self.lag_entries:,} entries"
        behind = f", {self.lag_s:.1f} s" if self.lag_s else ""
        late = f"  {self.late_rows} too late" if self.late_rows else ""
        return (
            f"{self.pipeline}  batch {self.batch}  {self.rows:,} rows  "
            f"{self.rows_per_s:,.0f} rows/s  {self.duration_ms:,} ms  lag {lag}{behind}{late}"
        )


def report_of(progress: Mapping[str, Any], counted: int = 0) -> Report:
    """A report from the JSON of Spark's progress.

    ``counted`` are rows that Spark does not know, since they did not pass through it.
    """
    rows = progress["numInputRows"] or counted
    duration_ms = progress.get("batchDuration") or 0
    rate = 1000 * rows / duration_ms if duration_ms else 0.0
    lags = [lag_of(source) for source in progress.get("sources", [])]
    entries = [lag for lag, _ in lags]
    seconds = [lag for _, lag in lags if lag is not None]
    operators = progress.get("stateOperators", [])
    known = [lag for lag in entries if lag is not None]
    return Report(
        pipeline=progress.get("name") or progress["id"],
        event="batch" if rows else "idle",
        batch=progress["batchId"],
        at=progress["timestamp"],
        rows=rows,
        rows_per_s=round(progress.get("processedRowsPerSecond") or rate, 1),
        duration_ms=duration_ms,
        lag_entries=sum(known) if len(known) == len(entries) else None,
        lag_s=max(seconds, default=None),
        late_rows=sum(operator.get("numRowsDroppedByWatermark", 0) for operator in operators),
    )


def lag_of(source: Mapping[str, Any]) -> tuple[int | None, float | None]:
    """Entries and seconds between the end of a batch and the newest entry."""
    end, newest = _record(source.get("endOffset")), _record(source.get("latestOffset"))
    if end is None or newest is None:
        return None, None
    total: int | None = 0
    behind_s = 0.0
    for stream, record in newest.items():
        last = offsets.position(record)
        read = offsets.position(end[stream]) if stream in end else None
        missing = offsets.entries_between(read, last) if read is not None else last.n
        total = None if total is None or missing is None else total + max(missing, 0)
        if read is not None and missing:
            behind_s = max(behind_s, (last.id.ms - read.id.ms) / 1000)
    return total, behind_s


def _record(offset: Any) -> dict[str, Any] | None:
    """Spark shows an offset as JSON in a text, or as JSON."""
    try:
        parsed = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


Tell = Callable[[Report], None]


class LiveLine:
    """A line that the next one overwrites; separate lines if there is no terminal."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._live = out.isatty()

    def __call__(self, report: Report) -> None:
        """Show a report."""
        if self._live:
            self._out.write("\r" + report.line()[:LINE_WIDTH].ljust(LINE_WIDTH))
        elif report.event == "batch":
            self._out.write(report.line() + "\n")
        self._out.flush()

    def close(self) -> None:
        """Move the cursor to a new line."""
        if self._live:
            self._out.write("\n")


def json_lines(out: TextIO) -> Tell:
    """Reports as JSON, one a line."""

    def tell(report: Report) -> None:
        out.write(json.dumps(asdict(report)) + "\n")
        out.flush()

    return tell


class Reporter(Protocol):
    """Gets reports of batches, and of a pipeline that starts, ends or fails."""

    def __call__(self, report: Report) -> None: ...
    def note(self, pipeline: str, event: str, text: str) -> None: ...
    def close(self) -> None: ...


class Reporters:
    """Several reporters as one."""

    def __init__(self, *reporters: Reporter) -> None:
        self._reporters = reporters

    def __call__(self, report: Report) -> None:
        """Pass a report to all."""
        for reporter in self._reporters:
            reporter(report)

    def note(self, pipeline: str, event: str, text: str) -> None:
        """Pass an event to all."""
        for reporter in self._reporters:
            reporter.note(pipeline, event, text)

    def close(self) -> None:
        """Close all."""
        for reporter in self._reporters:
            reporter.close()


class StreamReporter:
    """Reports as entries of ``forebay:pipelines``, where the console reads them.

    ``tables`` gives the numbers of each lake that the job fills: after a batch, each LAKE_EVERY_S,
    and at the end of the job.
    """

    def __init__(
        self,
        access: Mapping[str, str],
        stream: str = PIPELINES,
        tables: Callable[[], Iterable[Mapping[str, Any]]] = tuple,
    ) -> None:
        self._server = Server(read_options({**access, "stream": stream}, WRITE))
        self._stream = stream
        self._tables = tables
        self._lakes_at_s = float("-inf")

    def __call__(self, report: Report) -> None:
        """Add a report; one that cannot be added is dropped."""
        self._add({name: v for name, v in asdict(report).items() if v is not None})
        is_due = time.monotonic() - self._lakes_at_s >= LAKE_EVERY_S
        if report.event == "batch" and is_due:
            self._tell_lakes(report.pipeline)

    def note(self, pipeline: str, event: str, text: str) -> None:
        """Report that a pipeline started, ended or failed."""
        if event == "stopped":
            self._tell_lakes(pipeline)
        self._add({"pipeline": pipeline, "event": event, "text": text})

    def _tell_lakes(self, pipeline: str) -> None:
        self._lakes_at_s = time.monotonic()
        for told in self._tables():
            self._add({"pipeline": pipeline, "event": LAKE, **told})

    def _add(self, told: Mapping[str, Any]) -> None:
        fields = [part for pair in told.items() for part in pair]
        link, keep = self._server.link(self._stream), ("MAXLEN", "~", KEPT_REPORTS)
        try:
            link.call("XADD", self._stream, *keep, "*", *fields)
        except ConnectorError:
            return

    def close(self) -> None:
        """Close the connection."""
        self._server.close()


class Watcher(StreamingQueryListener):
    """Listens to one query of a session and passes its reports on."""

    def __init__(self, name: str, *tell: Tell) -> None:
        self._name = name
        self._tell = tell
        self.last: Report | None = None
        self.rows = 0
        self._ended: set[str] = set()
        self._end = threading.Condition()
        self._counted: Mapping[int, int] = {}
        self._follows = threading.Event()
        self._run: str | None = None
        self._told_s = time.monotonic()

    def follow(self, counted: Mapping[int, int]) -> None:
        """Take the rows of a batch from here if Spark has not seen them."""
        self._counted = counted
        self._follows.set()

    def onQueryStarted(self, event: Any) -> None:
        """Nothing to report yet."""
        if event.name == self._name:
            self._run = str(event.runId)

    def onQueryProgress(self, event: Any) -> None:
        """A batch is done."""
        if event.progress.name != self._name:
            return
        progress = json.loads(event.progress.json)
        if not progress["numInputRows"]:
            self._follows.wait(FOLLOW_S)  # the first report may be quicker than ``follow``
        self.last = report_of(progress, self._counted.get(progress["batchId"], 0))
        self.rows += self.last.rows
        self._tell_all(self.last)

    def _tell_all(self, report: Report) -> None:
        self._told_s = time.monotonic()
        for tell in self._tell:
            tell(report)

    def onQueryIdle(self, event: Any) -> None:
        """There was nothing to do; Spark identifies the query only by its run."""
        is_due = time.monotonic() - self._told_s >= IDLE_EVERY_S
        if str(event.runId) == self._run and is_due:
            self._tell_all(self._idle(str(event.timestamp)))

    def _idle(self, at: str) -> Report:
        """A report that nothing was done, with the last known lag."""
        last = self.last
        batch, entries, seconds = (
            (-1, None, None) if last is None else (last.batch, last.lag_entries, last.lag_s)
        )
        return Report(self._name, "idle", batch, at, 0, 0.0, 0, entries, seconds, 0)

    def onQueryTerminated(self, event: Any) -> None:
        """A query has ended; all its reports came before."""
        with self._end:
            self._ended.add(str(event.runId))
            self._end.notify_all()

    def wait_for_last(self, run_id: str, timeout_s: float = LAST_REPORT_S) -> bool:
        """Wait until all reports of an ended query have arrived; Spark delivers them later."""
        with self._end:
            return self._end.wait_for(lambda: run_id in self._ended, timeout_s)
