"""``forebay pipeline`` and ``forebay sql`` from the words on the line to the words printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import main
from tests.support.spark_streams import Target

pytestmark = pytest.mark.spark

Printed = pytest.CaptureFixture[str]


def failure(printed: Printed, *line: str) -> str:
    """The one sentence of a command that fails."""
    assert main(line) == 1
    told = printed.readouterr().err
    assert "Traceback" not in told and "org.apache" not in told
    return told.splitlines()[-1]


def test_from_a_stream_to_a_queried_lake(
    spark: Any, target: Target, tmp_path: Path, capfd: Printed
) -> None:
    target.add("orders:eu", 30, item="tea")
    lake = str(tmp_path / "lake")
    archive = ["pipeline", "archive", "--stream", "orders:eu", "--lake", lake, "--url", target.url]
    assert main([*archive, "--trim", "--json"]) == 0
    reports = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert sum(report["rows"] for report in reports) == 30
    assert target.client.xlen("orders:eu") == 0

    target.add("orders:eu", 5, item="coffee")
    query = "SELECT fields['item'] AS item, count(*) AS n FROM orders_eu GROUP BY 1 ORDER BY 1"
    asked = ["sql", "--lake", lake, "--url", target.url]
    assert main([*asked, query]) == 0
    assert capfd.readouterr().out.splitlines()[2:] == ["coffee   5", "tea     30", "(2 rows)"]
    assert main([*asked, "--format", "json", "SELECT count(*) AS n FROM entries"]) == 0
    assert json.loads(capfd.readouterr().out) == {"n": 35}

    assert main(["pipeline", "status", lake]) == 0
    assert "orders:eu  up to" in capfd.readouterr().out
    assert main(["pipeline", "replay", lake, "--stream", "orders:eu", "--to", "again",
                 "--url", target.url]) == 0  # fmt: skip
    assert "replayed 30 entries" in capfd.readouterr().out
    assert sorted(target.numbers("again")) == list(range(30))
    assert main(["pipeline", "compact", lake]) == 0
    assert "files became" in capfd.readouterr().out


def test_a_file_is_run_and_its_result_can_be_queried(
    spark: Any, redis_target: Target, tmp_path: Path, capfd: Printed
) -> None:
    redis_target.add("s", 10)
    file = tmp_path / "job.toml"
    file.write_text(
        f"""
        job = "process"
        [source]
        url = "{redis_target.url}"
        streams = ["s"]
        schema = "n int"
        [[transform]]
        sql = "SELECT n FROM input WHERE n >= 7"
        [[sink]]
        kind = "lake"
        path = "{tmp_path}/high"
        """
    )
    assert main(["pipeline", "run", "--check", str(file)]) == 0
    assert "process process, no fault found" in capfd.readouterr().out
    assert main(["pipeline", "run", str(file), "--no-report"]) == 0
    assert "10 rows" in capfd.readouterr().err
    assert redis_target.client.exists("forebay:pipelines") == 0
    asked = ["sql", "--table", f"high={tmp_path}/high", "--format", "csv"]
    assert main([*asked, "SELECT sum(n) AS total FROM high"]) == 0
    assert capfd.readouterr().out == "total\n24\n"


def test_mistakes_are_one_sentence_without_the_jvm(
    spark: Any, redis_target: Target, tmp_path: Path, capfd: Printed
) -> None:
    url = ["--url", redis_target.url]
    redis_target.add("s", 1)
    told = failure(capfd, "sql", *url, "--stream", "s", "SELECT nothing FROM s")
    assert "nothing" in told and "cannot be resolved" in told
    told = failure(capfd, "sql", *url, "--stream", "s", "SELEC 1")
    assert "Syntax error" in told
    told = failure(capfd, "sql", *url, "--stream", "t", "SELECT 1")
    assert "There is no stream 't'" in told
    told = failure(capfd, "sql", "--lake", str(tmp_path / "none"), *url, "SELECT 1")
    assert "There is no lake at" in told
    told = failure(capfd, "sql", "--conf", "x", "SELECT 1")
    assert "--conf x has no value" in told
    lake = ["--lake", str(tmp_path / "lake")]
    told = failure(capfd, "pipeline", "archive", *lake, *url)
    assert "Which streams to read is not clear" in told
    told = failure(
        capfd, "pipeline", "archive", "--stream", "s", *lake, "--url", "redis://127.0.0.1:1"
    )
    assert "No server answers at redis://127.0.0.1:1" in told
    redis_target.client.set("text", "x")
    told = failure(capfd, "pipeline", "archive", "--stream", "text", *lake, *url)
    assert "'text' at" in told and "is not a stream" in told


def test_help_and_settings_need_no_spark(capfd: Printed) -> None:
    assert main(["pipeline", "settings", "archive"]) == 0
    assert "lake" in capfd.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["sql", "--help"])
    assert ended.value.code == 0
    assert "hot and cold" in capfd.readouterr().out
