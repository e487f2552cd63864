"""Progress reports, without Spark: what Spark reports, in our words and in every form of
output."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

from forebay_spark.pipeline.watch import (
    PIPELINES,
    LiveLine,
    Report,
    StreamReporter,
    Watcher,
    json_lines,
    report_of,
)
from spark.tests.support.spark_streams import Target


def progress(**more: Any) -> dict[str, Any]:
    return {
        "id": "q",
        "name": "archive",
        "timestamp": "2026-11-16T00:00:00.000Z",
        "batchId": 3,
        "batchDuration": 200,
        "numInputRows": 100,
        "processedRowsPerSecond": 500.04,
        "stateOperators": [{"numRowsDroppedByWatermark": 2}],
        "sources": [
            {
                "endOffset": {"s": {"id": "1000-0", "n": 10}, "t": {"id": "5-0", "n": 5}},
                "latestOffset": {"s": {"id": "3500-0", "n": 30}, "t": {"id": "5-0", "n": 5}},
            }
        ],
        **more,
    }


def test_lag_is_counted_in_entries_and_seconds() -> None:
    report = report_of(progress())
    assert (report.lag_entries, report.lag_s) == (20, 2.5)
    assert (report.rows, report.rows_per_s, report.duration_ms) == (100, 500.0, 200)
    assert report.late_rows == 2


def test_offsets_may_come_as_text() -> None:
    source = {
        "endOffset": '{"s": {"id": "1-0", "n": 1}}',
        "latestOffset": '{"s": {"id": "9-0", "n": 4}}',
    }
    assert report_of(progress(sources=[source])).lag_entries == 3


def test_where_the_server_does_not_count_the_lag_is_unknown() -> None:
    source = {"endOffset": {"s": {"id": "1-0"}}, "latestOffset": {"s": {"id": "9-0"}}}
    report = report_of(progress(sources=[source]))
    assert report.lag_entries is None
    assert "lag unknown" in report.line()


def test_a_source_that_says_nothing_has_no_lag() -> None:
    report = report_of(progress(sources=[{"endOffset": None, "latestOffset": "x"}]))
    assert (report.lag_entries, report.lag_s) == (None, None)


def test_a_line_tells_a_person_what_happens() -> None:
    assert report_of(progress()).line() == (
        "archive  batch 3  100 rows  500 rows/s  200 ms  lag 20 entries, 2.5 s  2 too late"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_line_is_written_over() -> None:
    out = Terminal()
    line = LiveLine(out)
    line(report_of(progress()))
    line(report_of(progress(batchId=4, numInputRows=0)))
    line.close()
    assert out.getvalue().count("\r") == 2
    assert out.getvalue().endswith("\n")


def test_elsewhere_only_batches_with_rows_are_lines() -> None:
    out = io.StringIO()
    line = LiveLine(out)
    line(report_of(progress()))
    line(report_of(progress(numInputRows=0)))
    assert out.getvalue().splitlines() == [report_of(progress()).line()]


def test_json_lines_have_every_number() -> None:
    out = io.StringIO()
    json_lines(out)(report_of(progress()))
    told = json.loads(out.getvalue())
    assert set(told) == set(Report.__dataclass_fields__)
    assert told["lag_entries"] == 20


def test_reports_become_entries_for_the_console(target: Target) -> None:
    reporter = StreamReporter({"url": target.url})
    reporter(report_of(progress()))
    reporter.note("archive", "stopped", "done")
    reporter.close()
    entries = [fields for _, fields in target.client.xrange(PIPELINES)]
    assert entries[0][b"pipeline"] == b"archive"
    assert entries[0][b"lag_entries"] == b"20"
    assert entries[1][b"event"] == b"stopped"


def test_a_report_that_cannot_be_written_stops_nothing(redis_target: Target) -> None:
    redis_target.client.set(PIPELINES, "not a stream")
    StreamReporter({"url": redis_target.url})(report_of(progress()))


class Event:
    """An event as Spark passes it to a listener."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.progress = self
        self.name = told["name"]
        self.json = json.dumps(told)
        self.runId = "run"


def test_a_watcher_tells_of_its_own_query_only() -> None:
    told: list[Report] = []
    watcher = Watcher("archive", told.append)
    watcher.onQueryProgress(Event(progress(name="another")))
    assert told == []
    watcher.onQueryProgress(Event(progress()))
    assert [report.batch for report in told] == [3]
    assert watcher.last == told[0]


def test_the_last_report_is_waited_for() -> None:
    watcher = Watcher("archive")
    assert not watcher.wait_for_last("run", timeout_s=0)
    watcher.onQueryTerminated(Event(progress()))
    assert watcher.wait_for_last("run", timeout_s=0)


def test_rows_that_spark_has_not_seen_are_told_by_whoever_wrote_them() -> None:
    unseen = progress(numInputRows=0, processedRowsPerSecond=0.0)
    watcher = Watcher("archive")
    watcher.follow({3: 50})
    watcher.onQueryProgress(Event(unseen))
    assert watcher.last is not None
    assert (watcher.last.event, watcher.last.rows, watcher.last.rows_per_s) == ("batch", 50, 250.0)
    watcher.onQueryProgress(Event({**unseen, "batchId": 4}))
    assert (watcher.last.event, watcher.rows) == ("idle", 50)


def test_a_report_that_is_quicker_than_the_counts_waits_for_them() -> None:
    watcher = Watcher("archive")
    report = threading.Thread(
        target=watcher.onQueryProgress, args=[Event(progress(numInputRows=0))]
    )
    report.start()
    watcher.follow({3: 50})
    report.join()
    assert watcher.rows == 50
