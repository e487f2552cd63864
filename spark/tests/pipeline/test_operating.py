"""Status, metrics and reset of pipelines, without Spark except for one run."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from forebay.cli.main import main
from forebay_spark.errors import OptionError
from forebay_spark.ids import EntryId
from forebay_spark.lake.changes import Change
from forebay_spark.lake.lake import About, Lake
from forebay_spark.lake.transactions import Cut, of_cuts
from forebay_spark.pipeline import config, metrics, reset
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.metrics import Metrics, Page
from forebay_spark.pipeline.spec import Source
from forebay_spark.pipeline.status import fold
from forebay_spark.pipeline.tables import MOST_CUTS, Tables, numbers
from forebay_spark.pipeline.watch import PIPELINES, Report, StreamReporter, Watcher
from spark.tests.support.lakes import make_lake
from spark.tests.support.spark_streams import Target

Printed = pytest.CaptureFixture[str]
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def report(pipeline: str = "totals", rows: int = 10, **more: Any) -> Report:
    known: dict[str, Any] = {
        "pipeline": pipeline, "event": "batch" if rows else "idle", "batch": 3,
        "at": "2026-11-16T12:00:00.500Z", "rows": rows, "rows_per_s": 5.0, "duration_ms": 250,
        "lag_entries": 20, "lag_s": 2.5, "late_rows": 1,
    }  # fmt: skip
    return Report(**{**known, **more})


def test_the_state_of_a_pipeline_is_what_it_said_last() -> None:
    batch = {"event": "batch", "batch": "3", "rows": "9", "lag_entries": "4", "lag_s": "0.5"}
    told = [
        ("1000-0", {"pipeline": "a", "event": "started", "text": "run"}),
        ("2000-0", {"pipeline": "b", "event": "started"}),
        ("3000-0", {"pipeline": "a", **batch}),
        ("4000-0", {"pipeline": "a", "event": "idle"}),
        ("5000-0", {"pipeline": "b", "event": "failed", "text": "oh"}),
        ("6000-0", {"pipeline": "c", "event": "stopped", "text": "done"}),
        ("7000-0", {"pipeline": "d", "event": "batch"}),
        ("7000-1", {"unknown": "entry"}),
    ]
    a, b, c, d = fold(told, 10_000)
    assert (a.state, a.rows, a.lag, a.ago_s, a.text) == ("running", 9, "4 entries, 0.5 s", 6.0, "")
    assert (b.state, b.text, b.lag) == ("failed", "oh", "unknown")
    assert (c.state, c.text) == ("stopped", "done")
    assert (d.state, d.lag_entries) == ("running", None)
    late = {status.pipeline: status.state for status in fold(told, 5 * 60_000 + 5000)}
    assert late == {"a": "silent", "b": "failed", "c": "stopped", "d": "running"}


def test_status_lists_all_that_reported(target: Target, capfd: Printed) -> None:
    line = ["pipeline", "status", "--url", target.url]
    assert main(line) == 0
    assert capfd.readouterr().out == "no pipeline has reported\n"
    reporter = StreamReporter({"url": target.url})
    for _ in range(1001):
        reporter(report())
    reporter.note("other", "failed", "The lake is full.")
    reporter.close()
    assert target.client.xlen(PIPELINES) == 1002
    assert main(line) == 0
    out = capfd.readouterr().out
    assert re.search(r"totals +running +3 +10 +20 entries, 2\.5 s +20\d\d-.* s ago\)", out), out
    assert re.search(r"other +failed .* The lake is full\.", out)
    assert main([*line, "--json"]) == 0
    told = [json.loads(text) for text in capfd.readouterr().out.splitlines()]
    assert [(one["pipeline"], one["state"], one["lag_entries"]) for one in told] == [
        ("other", "failed", None), ("totals", "running", 20)
    ]  # fmt: skip


def test_the_lakes_of_a_job_are_told_now_and_then_and_at_its_end(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [1000.0]
    monkeypatch.setattr("forebay_spark.pipeline.watch.time.monotonic", lambda: now_s[0])
    lake = Lake(str(tmp_path / "lake"))
    lake.create(About(StructType([StructField("n", LongType())]), ()))
    job = Archive(name="totals", source=Source(url=target.url, streams=("s",)), lake=lake.root)
    reporter = StreamReporter({"url": target.url}, tables=Tables(job))
    for seconds in (0, 1, 40):
        now_s[0] = 1000.0 + seconds
        reporter(report())
    deltalake.write_deltalake(lake.root, pa.table({"n": [1, 2]}), mode="append")
    reporter.note("totals", "stopped", "done")
    reporter.close()
    events = [fields[b"event"] for _, fields in target.client.xrange(PIPELINES)]
    assert events == [b"batch", b"lake", b"batch", b"batch", b"lake", b"lake", b"stopped"]
    first, _, last = [f for _, f in target.client.xrange(PIPELINES) if f[b"event"] == b"lake"]
    assert (first[b"lake"], first[b"files"], first[b"bytes"]) == (lake.root.encode(), b"0", b"0")
    assert (last[b"version"], last[b"files"]) == (b"1", b"1")
    assert int(last[b"bytes"]) > 100 and int(last[b"committed_ms"]) > 1_700_000_000_000
    told = [
        (i.decode(), {k.decode(): v.decode() for k, v in f.items()})
        for i, f in target.client.xrange(PIPELINES)
    ]
    assert [one.state for one in fold(told, 0)] == ["stopped"]


def test_a_lake_tells_how_far_each_stream_is_unless_there_are_many(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    assert json.loads(numbers(lake)["cuts"]) == {}
    for count in (2, MOST_CUTS + 1):
        cuts = {f"s:{number}": Cut(EntryId(5, number), None) for number in range(count)}
        lake.commit(lambda _, cuts=cuts: Change((), of_cuts(cuts)))  # type: ignore[misc]
        if count == 2:
            assert json.loads(numbers(lake)["cuts"]) == {"s:0": "5-0", "s:1": "5-1"}
    assert "cuts" not in numbers(lake)


class Event:
    """An event as Spark passes it to a listener."""

    def __init__(self, run: str, name: str = "totals") -> None:
        self.runId, self.name, self.timestamp = run, name, "2026-11-16T12:00:00Z"


def test_a_query_that_has_nothing_to_do_says_so_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    told: list[Report] = []
    watcher = Watcher("totals", told.append)
    watcher.onQueryStarted(Event("r1"))
    watcher.onQueryStarted(Event("r2", "another"))
    for second in range(0, 130, 10):
        now_s[0] = float(second)
        watcher.onQueryIdle(Event("r1"))
        watcher.onQueryIdle(Event("r2"))
    assert [(r.pipeline, r.event, r.batch, r.rows) for r in told] == [("totals", "idle", -1, 0)] * 2
    watcher.last = report()
    now_s[0] = 200.0
    watcher.onQueryIdle(Event("r1"))
    assert (told[-1].batch, told[-1].lag_entries, told[-1].rows) == (3, 20, 0)


#: A line of the format of Prometheus: name, labels, number.
SAMPLE = re.compile(r'(\w+)\{pipeline="((?:\\.|[^"\\])*)"\} (-?[\d.e+]+)')


def samples(text: str) -> dict[tuple[str, str], float]:
    """The samples of a metrics page; each must come after its TYPE line."""
    found, kinds = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            kinds.add(line.split()[2])
        elif not line.startswith("# HELP "):
            read = SAMPLE.fullmatch(line)
            assert read and read[1] in kinds, line
            found[read[1].removeprefix("forebay_pipeline_"), read[2]] = float(read[3])
    return found


def get(port: int, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        assert answer.headers["Content-Type"] == metrics.CONTENT_TYPE
        return str(answer.read().decode())


def test_numbers_are_served_for_prometheus() -> None:
    is_away = threading.Event()
    told = Metrics(is_away.is_set)
    page = Page("0", told)
    try:
        assert samples(get(page.port)) == {}
        told.note('a"b', "started", "")
        told(report('a"b'))
        told(report('a"b', rows=5, lag_entries=None, duration_ms=1500))
        told(report('a"b', rows=0, lag_entries=None))
        told.note("other", "failed", "x")
        found = samples(get(page.port))
        mine = {name: value for (name, pipeline), value in found.items() if pipeline == r"a\"b"}
        assert mine == {
            "rows_total": 15, "batches_total": 2, "late_rows_total": 3, "failures_total": 0,
            "running": 1, "waiting": 0, "lag_seconds": 2.5, "last_batch_duration_seconds": 1.5,
            "last_batch_timestamp_seconds": datetime.fromisoformat(report().at).timestamp(),
        }  # fmt: skip
        assert found["failures_total", "other"] == 1 and found["running", "other"] == 0
        is_away.set()
        found = samples(get(page.port))
        assert found["waiting", r"a\"b"] == 1 and found["waiting", "other"] == 0
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(page.port, "/other")
        with pytest.raises(OptionError, match="Give --metrics-port another port"):
            Page(str(page.port), told)
    finally:
        page.close()


def test_an_address_is_a_port_or_a_host_with_one() -> None:
    assert metrics.address_of("9400") == ("127.0.0.1", 9400)
    assert metrics.address_of("0.0.0.0:9400") == ("0.0.0.0", 9400)
    for text in ("", "x", "1.5", "70000", "h:"):
        with pytest.raises(OptionError, match="--metrics-port cannot be"):
            metrics.address_of(text)


JOB = """
job = "{kind}"
{more}
[source]
url = "{url}"
{streams}
schema = "n int"
[[sink]]
kind = "stream"
stream = "out"
url = "{url}"
"""


def job_file(folder: Path, url: str, kind: str = "process", **more: str) -> str:
    path = folder / "job.toml"
    checkpoint = f'checkpoint = "{folder}/progress"'
    known = {"more": checkpoint, "streams": 'streams = ["s"]', **more}
    path.write_text(JOB.format(kind=kind, url=url, **known))
    return str(path)


def test_a_reset_keeps_the_old_progress_aside(target: Target, tmp_path: Path) -> None:
    target.add("s:1", 1)
    target.add("s:2", 1)
    offsets = tmp_path / "progress" / "offsets"
    offsets.mkdir(parents=True)
    for batch in (9, 10):
        place = json.dumps({"s:1": {"id": f"{batch}-0", "n": batch}})
        (offsets / str(batch)).write_text(f"v1\n{{}}\n{place}")
    job = config.load(job_file(tmp_path, target.url, streams='pattern = "s:*"'))
    plan = reset.plan(job, "1970-01-01T00:00:05Z", NOW)
    assert plan.told() == [
        "s:1: was at 10-0, begins at 5000-0",
        "s:2: was at its beginning, begins at 5000-0",
        f"{tmp_path}/progress is kept as {tmp_path}/progress.before-20261116T120000Z",
        "entries that are processed again are written again to the stream out",
    ]
    assert (offsets / "10").exists() and reset.begun(job) is job
    reset.carry_out(plan)
    assert (tmp_path / "progress.before-20261116T120000Z" / "offsets" / "10").exists()
    assert json.loads(reset.begun(job).source.start) == {"s:1": "5000-0", "s:2": "5000-0"}
    offsets.mkdir()
    (offsets / "0").write_text('v1\n{}\n{"s:1": {"id": "6000-0"}}')
    assert reset.begun(job) is job


ARCHIVE = 'job = "archive"\nlake = "l"\n[source]\nstreams = ["s"]\n'
COMPACT = 'job = "compact"\nlake = "l"\n'


def test_what_cannot_be_reset_is_told(tmp_path: Path, capfd: Printed) -> None:
    remote = 'checkpoint = "s3://b/c"'
    for content, moment, told in (
        (ARCHIVE, "5000", "To copy entries again, archive to a new lake"),
        (COMPACT, "5000", "keeps no checkpoint"),
        (None, "soon", "--to-time cannot be 'soon'"),
        (remote, "5000", """start = '{"s": "5000-0"}' in its source"""),
    ):
        path = job_file(tmp_path, "redis://127.0.0.1:1", more=content or 'checkpoint = "x"')
        if content in (ARCHIVE, COMPACT):
            Path(path).write_text(content)
        assert main(["pipeline", "reset", path, "--to-time", moment]) == 1
        said = capfd.readouterr().err.splitlines()
        assert len(said) == 1 and told in said[0], said


@pytest.mark.spark
def test_a_job_that_was_reset_begins_at_the_moment(
    spark: Any, redis_target: Target, tmp_path: Path, capfd: Printed
) -> None:
    redis_target.add_at("s", ["1000-0", "2000-0", "3000-0"])
    path = job_file(tmp_path, redis_target.url)
    run = ["pipeline", "run", path, "--metrics-port", "0"]
    assert main(run) == 0
    assert redis_target.numbers("out") == [0, 1, 2]
    moved = ["pipeline", "reset", path, "--to-time", "2000"]
    assert main([*moved, "--dry-run"]) == 0
    assert "s: was at 3000-0, begins at 2000-0\n" in (told := capfd.readouterr().out)
    assert "nothing was done" in told
    assert main(run) == 0
    assert redis_target.numbers("out") == [0, 1, 2]
    assert main(moved) == 0
    for _ in range(2):  # once at the moment, and then on from there
        assert main(run) == 0
        assert redis_target.numbers("out") == [0, 1, 2, 1, 2]
    assert main(["pipeline", "status", "--url", redis_target.url, "--json"]) == 0
    told = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert (told["pipeline"], told["state"], told["text"]) == ("process", "stopped", "done")
