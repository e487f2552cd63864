"""A mistake gives one sentence, no stack, and exit code 1 or 2.

Most mistakes are found before Spark starts, so users do not wait for Java because of a typing
error; the other tests share one session.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import main
from forebay_spark.cli import spark as cli_spark
from forebay_spark.runtime.stderr_filter import worth_showing
from spark.tests.support.spark_streams import Target

Printed = pytest.CaptureFixture[str]

SOURCE = '[source]\nurl = "{url}"\nstreams = ["s"]\n'
LAKE_SINK = '[[sink]]\nkind = "lake"\npath = "{folder}/out"\n'


def failure(printed: Printed, *line: str) -> str:
    """The one sentence of a command that fails."""
    assert main(line) == 1
    told = printed.readouterr().err.splitlines()
    assert len(told) == 1 and told[0].startswith("forebay: "), told
    assert "org.apache" not in told[0] and "o0." not in told[0]
    return told[0]


def refusal(printed: Printed, *line: str) -> str:
    """The last line of the error about a wrong command line."""
    assert main(line) == 2
    return printed.readouterr().err.splitlines()[-1]


def job(folder: Path, content: str, name: str = "job.toml") -> str:
    path = folder / name
    path.write_text(content)
    return str(path)


@pytest.fixture(autouse=True)
def _no_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that do not ask for Spark must not start it."""
    if "spark" not in request.fixturenames:
        monkeypatch.setattr("forebay_spark.session", lambda *_, **__: pytest.fail("Spark started"))


ARCHIVE = 'job = "archive"\nlake = "l"\n'


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (ARCHIVE + "lakes = 1\n" + SOURCE, "archive has no setting lakes. Did you mean lake?"),
        ('job = "archive"\n' + SOURCE, "archive lacks lake"),
        (ARCHIVE + 'trigger = "often"\n' + SOURCE, "trigger cannot be 'often'"),
        (ARCHIVE + "[source]\n", "Which streams to read is not clear"),
        (ARCHIVE + SOURCE + "options = {maxEntries = 3}\n", "There is no option maxEntries"),
        ('job = "process"\n' + SOURCE, "The job process has no sink"),
        (
            'job = "process"\n' + SOURCE + '[[sink]]\nkind = "stream"\nstream = "o"\n',
            "The job process has no checkpoint",
        ),
    ],
)
def test_a_file_is_judged_before_spark_is_started(
    content: str, told: str, tmp_path: Path, capfd: Printed
) -> None:
    path = job(tmp_path, content.replace("{url}", "redis://127.0.0.1:1"))
    for check in ([], ["--check"]):
        assert told in failure(capfd, "pipeline", "run", path, *check)


def test_files_of_another_kind_are_told(tmp_path: Path, capfd: Printed) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in failure(capfd, "pipeline", "run", f"{tmp_path}/bytes.toml")
    assert "is not YAML" in failure(
        capfd, "pipeline", "run", job(tmp_path, "job: [archive\n", "a.yaml")
    )
    assert "is not a table of settings" in failure(
        capfd, "pipeline", "run", job(tmp_path, "- archive\n", "b.yml")
    )


def test_lines_that_make_no_sense_are_told(capfd: Printed) -> None:
    replay = ["pipeline", "replay", "l", "--stream", "s", "--to", "t"]
    assert "replay.speed cannot be 0.0" in failure(capfd, *replay, "--speed", "0")
    assert "invalid choice: 'old'" in refusal(capfd, *replay, "--ids", "old")
    assert "target_mb cannot be 0" in failure(capfd, "pipeline", "compact", "l", "--target-mb", "0")
    assert "the job cannot be 'x'" in failure(capfd, "pipeline", "settings", "x")
    assert "there is no table to ask" in failure(capfd, "sql", "SELECT 1")
    assert "--table x has no value" in failure(capfd, "sql", "--table", "x", "SELECT 1")
    assert "--option x has no value" in failure(
        capfd, "sql", "--stream", "s", "--option", "x", "SELECT 1"
    )
    assert "not a whole number" in refusal(capfd, "sql", "--max-rows", "0", "SELECT 1")
    assert "--lake" in refusal(capfd, "pipeline", "archive", "--stream", "s")
    assert "forebay lake info l" in failure(capfd, "pipeline", "status", "l")
    archive = ["pipeline", "archive", "--stream", "s", "--lake", "l", "--metrics-port"]
    assert "--metrics-port cannot be 'x'" in failure(capfd, *archive, "x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"cannot be served at 127.0.0.1:{port} " in failure(capfd, *archive, port)


def test_what_server_and_disk_can_tell_about_a_query_is_told_before_spark_starts(
    redis_target: Target, tmp_path: Path, capfd: Printed
) -> None:
    redis_target.add("s", 1)
    redis_target.client.set("text", "x")
    (tmp_path / "file").write_text("x")
    url = ["--url", redis_target.url]
    wrong = ["--url", redis_target.url.replace("//", "//:wrong@")]
    for line, told in (
        (["--stream", "s", *wrong], "refuses the login"),
        (["--stream", "t", *url], "There is no stream 't'"),
        (["--stream", "text", *url], "is not a stream"),
        (["--stream", "s", "--since", "soon", *url], "--since cannot be 'soon'"),
        (["--stream", "s", "--url", "redis://127.0.0.1:1"], "No server answers at redis://127"),
        (["--lake", f"{tmp_path}/none", *url], "There is no lake at"),
        (["--lake", f"{tmp_path}/file", *url], "is a file. Name a folder"),
        (["--lake", str(tmp_path)], "is not empty and is not a Delta table"),
        (["--table", f"t={tmp_path}/none"], "There is no lake at"),
    ):
        assert told in failure(capfd, "sql", *line, "SELECT 1")
    assert "argument --version" in refusal(capfd, "sql", "--lake", ".", "--version", "x", "S")
    assert "invalid choice: 'xml'" in refusal(capfd, "sql", "--format", "xml", "SELECT 1")


@pytest.mark.parametrize("module", ["pyspark", "pyarrow", "redis", "deltalake"])
def test_without_the_extra_it_is_told_how_to_get_it(
    module: str, capfd: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_spark, "find_spec", lambda name: None if name == module else name)
    query = ["sql", "--stream", "s", "SELECT 1"]
    for line in (query, ["pipeline", "settings"], ["lake", "info", "l"]):
        told = failure(capfd, *line)
        assert f"needs {module}; install it with: pip install 'forebay[spark]'" in told


def test_the_stack_of_the_jvm_is_left_out() -> None:
    said = ['Exception in thread "main" x.SparkException: Master must be y\n', "\tat x.Submit(1)\n"]
    assert list(worth_showing([*said, "\t... 3 more\n"])) == said[:1]


@pytest.mark.spark
def test_a_wrong_java_is_told(
    spark: Any,
    redis_target: Target,
    capfd: Printed,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    redis_target.add("s", 1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    told = failure(capfd, "sql", "--url", redis_target.url, "--stream", "s", "SELECT 1")
    assert f"JAVA_HOME is {tmp_path}, where there is no Java" in told


@pytest.mark.spark
def test_what_only_spark_or_the_server_can_see_is_one_sentence_too(
    spark: Any, redis_target: Target, tmp_path: Path, capfd: Printed
) -> None:
    redis_target.add("s", 1)
    redis_target.client.set("text", "x")
    url = ["--url", redis_target.url]
    wrong = ["--url", redis_target.url.replace("//", "//:wrong@")]
    lake = ["--lake", str(tmp_path / "lake")]
    (tmp_path / "file").write_text("x")
    archive = ["pipeline", "archive", "--stream", "s"]
    for line, told in (
        ([*archive, *lake, *wrong], "refuses the login"),
        ([*archive, "--lake", f"{tmp_path}/file", *url], "is a file. Name a folder"),
        ([*archive, "--lake", "nosuch://x/y", *url], "The checkpoint nosuch://x/y"),
        ([*archive, *lake, "--url", "redis://127.0.0.1:1"], "No server answers at redis://127"),
        (["pipeline", "archive", "--stream", "text", *lake, *url], "is not a stream"),
        (["sql", "--stream", "s", *url, "SELEC 1"], "Syntax error"),
        (["sql", "--stream", "s", *url, "SELECT nothing FROM s"], "`nothing` cannot be resolved"),
        (["sql", "--stream", "s", *url, "--schema", "n itn", "SELECT 1"], "Unsupported data type"),
        (["sql", "--stream", "s", *url, "SELECT 1/0 FROM s"], "Division by zero"),
        (["pipeline", "compact", f"{tmp_path}/none"], "There is no lake at"),
    ):
        assert told in failure(capfd, *line)
    assert main(["pipeline", "archive", "--stream", "nobody", *lake, *url]) == 0
    assert "nothing new; there is no stream 'nobody'" in capfd.readouterr().err
    told = failure(capfd, *archive, *lake, *url, "--schema", "n int")
    assert "was made with other settings: columns: stream string, id string" in told


def broken(frame: Any) -> Any:
    """A function of a user, with a mistake."""
    return {}[len(frame.columns)]


@pytest.mark.spark
def test_faults_in_the_users_own_steps_are_told_without_a_stack(
    spark: Any, redis_target: Target, tmp_path: Path, capfd: Printed
) -> None:
    redis_target.add("s", 1)
    head = 'job = "process"\n' + SOURCE.replace("{url}", redis_target.url)
    tail = LAKE_SINK.replace("{folder}", str(tmp_path))
    format_sink = '[[sink]]\nkind = "format"\nformat = "nosuch"\npath = "x"\n'
    checkpoint = f'checkpoint = "{tmp_path}/check"\n'
    for content, told in (
        (head + '[[transform]]\nsql = "SELEC 1"\n' + tail, "Syntax error at or near 'SELEC'"),
        (
            head + '[[transform]]\nfunction = "spark.tests.pipeline.test_mistakes:broken"\n' + tail,
            "test_mistakes.py: KeyError: 5. Correct it.",
        ),
        (head + '[[transform]]\nfunction = "nowhere:f"\n' + tail, "cannot be found"),
        (
            head + "[[transform]]\nsql = \"SELECT raise_error('boom') AS x FROM input\"\n" + tail,
            "boom",
        ),
        (checkpoint + head + format_sink, "Failed to find the data source: nosuch"),
    ):
        path = job(tmp_path, content)
        assert told in failure(capfd, "pipeline", "run", path, "--no-report")
