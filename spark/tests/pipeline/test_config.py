"""A pipeline in a file, without Spark: what it may contain, and the errors for mistakes."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from forebay_spark import durations
from forebay_spark.errors import OptionError
from forebay_spark.options import WRITE, read_options
from forebay_spark.pipeline import config
from forebay_spark.pipeline.archive import Archive, Trim
from forebay_spark.pipeline.config import (
    JOBS,
    PARTS,
    checked,
    from_mapping,
    load,
    parts_of,
    settings_of,
)
from forebay_spark.pipeline.flow import trigger_of
from forebay_spark.pipeline.jobs import Aggregate, Process
from forebay_spark.pipeline.settings import duration
from forebay_spark.pipeline.sinks import checkpoint_of
from forebay_spark.pipeline.spec import LakeSink, Source, StreamSink, Transform
from testkit.places import ROOT

AGGREGATE = """
job = "aggregate"
name = "speeds"
time = "_timestamp"
window = "1 minute"
keys = ["rider"]

[source]
streams = "race"
schema = "rider string, speed double"
options = { maxEntriesPerTrigger = 1000, failOnDeletes = false }

[values]
passages = "count(*)"
fastest = "max(speed)"

[[transform]]
sql = "SELECT * FROM input WHERE speed > 0"

[[sink]]
kind = "lake"
path = "/data/speeds"

[[sink]]
kind = "stream"
stream = "speeds"
"""


def write(folder: Path, content: str, name: str = "job.toml") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def test_a_toml_file_becomes_a_job(tmp_path: Path) -> None:
    job = load(write(tmp_path, AGGREGATE))
    assert isinstance(job, Aggregate)
    assert job.source.streams == ("race",)
    assert job.source.options == {"maxEntriesPerTrigger": "1000", "failOnDeletes": "false"}
    assert job.transform == (Transform(sql="SELECT * FROM input WHERE speed > 0"),)
    assert job.sink == (LakeSink("/data/speeds"), StreamSink("speeds"))
    assert job.values == {"passages": "count(*)", "fastest": "max(speed)"}


def test_a_yaml_file_becomes_a_job_or_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        tmp_path, "job: archive\nlake: /x\ntrim: 1 hour\nsource: {streams: [a, b]}\n", "j.yaml"
    )
    job = load(path)
    assert isinstance(job, Archive) and job.source.streams == ("a", "b")
    assert job.trim == Trim(3_600_000)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(OptionError, match=r"needs PyYAML. Install it"):
        load(path)


def test_trimming_is_on_off_or_with_a_time_to_keep() -> None:
    def trim_of(value: Any) -> Trim | None:
        job = from_mapping({"job": "archive", "lake": "/x", "source": {}, "trim": value}, "f")
        assert isinstance(job, Archive)
        return job.trim

    assert trim_of(True) == Trim()
    assert trim_of(False) is None
    assert trim_of("1.5 hours") == Trim(5_400_000)


def test_variables_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        tmp_path,
        'job = "archive"\nlake = "/x"\n[source]\nurl = "redis://:${PW}@h"\nstreams = "s"\n',
    )
    monkeypatch.setenv("PW", "secret")
    job = load(path)
    assert isinstance(job, Archive) and job.source.url == "redis://:secret@h"
    monkeypatch.delenv("PW")
    with pytest.raises(OptionError, match="Set PW"):
        load(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"job": "archiv"}, r"job cannot be 'archiv'. Give it archive or process"),
        ({"lak": "/x"}, "archive has no setting lak. Did you mean lake?"),
        ({"lake": 3}, "archive.lake cannot be 3. Give it text."),
        ({"lake": None}, "archive.lake cannot be None"),
        ({"source": "race"}, "archive.source is not a table of settings"),
        (
            {"source": {"stream": "a"}},
            "archive.source has no setting stream. Did you mean streams?",
        ),
        ({"source": {"streams": [1]}}, "archive.source.streams cannot be"),
        ({"trim": "soon"}, "archive.trim cannot be 'soon'. Give it a time such as"),
    ],
)
def test_mistakes_are_told_with_their_place(change: dict[str, Any], told: str) -> None:
    given = {"job": "archive", "lake": "/x", "source": {"streams": ["a"]}, **change}
    with pytest.raises(OptionError) as raised:
        from_mapping(given, "f.toml")
    assert told in str(raised.value)


def test_a_setting_that_is_missing_is_named() -> None:
    with pytest.raises(
        OptionError, match="archive lacks lake, which is the folder or URL of the lake"
    ):
        from_mapping({"job": "archive", "source": {}}, "f.toml")


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        ({"path": "/x"}, r"sink\[0\].kind cannot be None. Give it lake or stream or format"),
        ({"kind": "lake"}, r"sink\[0\] lacks path"),
        ({"kind": "stream", "options": {"streem": "a"}}, "There is no option streem for a write"),
        ({"kind": "format"}, r"sink\[0\] lacks format"),
    ],
)
def test_sinks_say_what_they_lack(sink: dict[str, Any], told: str) -> None:
    given = {"job": "process", "source": {"streams": "a"}, "sink": [sink]}
    with pytest.raises(OptionError, match=told):
        from_mapping(given, "f.toml")


def test_a_transform_is_one_of_two_things() -> None:
    with pytest.raises(OptionError, match="either sql or function"):
        Transform(sql="SELECT 1", function="a:b")
    with pytest.raises(OptionError, match=r"cannot be found. Write module:function"):
        Transform(function="no_such_module:clean").apply(None)  # type: ignore[arg-type]


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(OptionError, match="is not TOML"):
        load(write(tmp_path, "job = = 1"))


def test_triggers_are_now_or_an_interval() -> None:
    assert trigger_of("Available  Now") == {"availableNow": True}
    assert trigger_of("10 seconds") == {"processingTime": "10000 milliseconds"}
    with pytest.raises(OptionError, match=r"trigger cannot be 'often'. Give it 'available now'"):
        trigger_of("often")


@pytest.mark.parametrize(
    ("text", "ms"), [("250ms", 250), ("1 second", 1000), ("2 Minutes", 120_000), ("1d", 86_400_000)]
)
def test_durations_are_written_as_people_write_them(text: str, ms: int) -> None:
    assert duration(text, "x") == ms


def test_a_job_without_a_lake_needs_a_checkpoint() -> None:
    assert checkpoint_of("/c", "j", ()) == "/c"
    assert checkpoint_of(None, "j", (StreamSink("s"), LakeSink("/l"))) == "/l/_checkpoints/j"
    with pytest.raises(OptionError, match="The job j has no checkpoint"):
        checkpoint_of(None, "j", (StreamSink("s"),))


@pytest.mark.parametrize(
    ("ms", "text"), [(1, "1 millisecond"), (90_000, "90 seconds"), (7_200_000, "2 hours")]
)
def test_durations_are_shown_as_they_are_read(ms: int, text: str) -> None:
    assert durations.text_of(ms) == text
    assert duration(text, "x") == ms


@pytest.mark.parametrize("name", JOBS)
def test_tables_inside_a_job_are_described_too(name: str) -> None:
    tables = {field.name for field in dataclasses.fields(JOBS[name])} & set(PARTS)
    heads = [head for head, _ in parts_of(JOBS[name])]
    assert len(heads) >= len(tables)
    assert all(doc for _, kind in parts_of(JOBS[name]) for _, _, doc in settings_of(kind))


@pytest.mark.parametrize("name", JOBS)
def test_every_setting_of_every_job_says_what_it_is(name: str) -> None:
    assert all(doc for _, _, doc in settings_of(config.JOBS[name]))


EXAMPLES = ROOT / "examples" / "pipelines"


def test_there_is_an_example_of_every_job_and_it_has_no_fault() -> None:
    jobs = [load(path) for path in EXAMPLES.iterdir()]
    assert {type(job) for job in jobs} == set(JOBS.values())


OTHER_NAME = "redis://ann:secret@127.0.0.1:6379/0"
SOURCE = {"streams": ["orders"], "schema": "n int"}
EVERYTHING = {"pattern": "*", "schema": "n int"}
TO_ORDERS = {"kind": "stream", "stream": "orders"}
WINDOWS = {"window": "1 minute", "values": {"n": "count(*)"}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"job": "process", "source": SOURCE, "sink": [TO_ORDERS]}, "its sink 'orders' is one of"),
        ({"job": "process", "source": EVERYTHING, "sink": [TO_ORDERS]}, r"the pattern '\*' of its"),
        ({"job": "aggregate", "source": EVERYTHING, "sink": [TO_ORDERS], **WINDOWS}, "for ever"),
        (
            {"job": "quarantine", "source": EVERYTHING, "dead_letter": {"stream": "bad"}},
            "its dead-letter stream 'bad' is one of the pattern",
        ),
        (
            {"job": "process", "source": SOURCE, "sink": [{**TO_ORDERS, "url": OTHER_NAME}]},
            "would read what it writes",
        ),
        (
            {
                "job": "aggregate",
                "source": SOURCE,
                "emit": "updates",
                "sink": [{"kind": "lake", "path": "/l"}],
                **WINDOWS,
            },
            "Updates of windows can go to a stream only",
        ),
        (
            {"job": "quarantine", "source": {"streams": "s"}, "dead_letter": {"stream": "bad"}},
            "needs source.schema",
        ),
    ],
)
def test_a_job_that_cannot_work_is_refused_before_spark_starts(
    given: dict[str, Any], told: str
) -> None:
    with pytest.raises(OptionError, match=told):
        checked(from_mapping({"checkpoint": "/c", **given}, "f.toml"))


def test_a_job_may_write_to_a_stream_of_the_same_name_elsewhere() -> None:
    elsewhere = {**TO_ORDERS, "url": "redis://127.0.0.1:6379/1"}
    beside = {"kind": "stream", "stream": "orders:totals"}
    hidden = {"kind": "stream", "stream": "forebay:totals"}
    for source, sink in ((SOURCE, elsewhere), (SOURCE, beside), (EVERYTHING, hidden)):
        given = {"job": "process", "source": source, "sink": [sink], "checkpoint": "/c"}
        checked(from_mapping(given, "f.toml"))


def test_a_job_says_how_long_it_waits_for_a_server_that_is_away() -> None:
    waits = {"retry_for": "2 hours"}
    sink = {"kind": "stream", "stream": "totals"}
    given = {"job": "process", "source": SOURCE | waits, "sink": [sink], "checkpoint": "/c"}
    job = checked(from_mapping(given, "f.toml"))
    assert isinstance(job, Process)
    assert job.source.checked().retryFor == 7200
    (stream,) = job.sink
    assert isinstance(stream, StreamSink)
    assert read_options(stream.texts(), WRITE).retryFor == 600
    given["source"] = SOURCE | {"retry_for": "soon"}
    with pytest.raises(OptionError, match="retryFor cannot be 'soon'"):
        checked(from_mapping(given, "f.toml"))


def test_an_archive_of_some_streams_of_a_lake_begins_at_the_cuts_of_those_alone() -> None:
    cuts = '{"orders": "(5-0", "payments": "(7-0"}'
    assert Source(streams=("orders",))._own(cuts) == '{"orders": "(5-0"}'
    assert Source(pattern="p*")._own(cuts) == '{"payments": "(7-0"}'
    assert Source(pattern="x*")._own(cuts) is None
