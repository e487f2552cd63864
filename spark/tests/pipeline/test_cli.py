"""``forebay pipeline`` and ``forebay sql`` from the command line to the printed text."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.apps import understand
from forebay.cli.main import main
from forebay_spark.cli import pipeline
from spark.tests.support.spark_streams import Target

pytestmark = pytest.mark.spark

Printed = pytest.CaptureFixture[str]


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

    assert main(["pipeline", "status", "--url", target.url]) == 0
    assert "archive   stopped" in capfd.readouterr().out
    assert main(["pipeline", "replay", lake, "--stream", "orders:eu", "--to", "again",
                 "--url", target.url]) == 0  # fmt: skip
    assert "replayed 30 entries" in capfd.readouterr().out
    assert sorted(target.numbers("again")) == list(range(30))
    assert main(["pipeline", "compact", lake]) == 0
    assert "files became" in capfd.readouterr().out


TOML = """
job = "process"
[source]
url = "{url}"
streams = ["s"]
schema = "n int"
[[transform]]
sql = "SELECT n FROM input WHERE n >= 7"
[[sink]]
kind = "lake"
path = "{folder}/high"
[[sink]]
kind = "stream"
stream = "high"
url = "${{SINK_URL}}"
"""

YAML = """
job: process
source:
  url: {url}
  streams: [s]
  schema: n int
transform:
  - sql: |
      SELECT n FROM input
      WHERE n >= 7
sink:
  - {{kind: lake, path: {folder}/high}}
  - kind: stream
    stream: high
    url: ${{SINK_URL}}
"""


@pytest.mark.parametrize(("name", "content"), [("job.toml", TOML), ("job.yaml", YAML)])
def test_a_file_is_run_and_its_result_can_be_queried(
    spark: Any,
    redis_target: Target,
    tmp_path: Path,
    capfd: Printed,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
) -> None:
    redis_target.add("s", 10)
    monkeypatch.setenv("SINK_URL", redis_target.url)
    file = tmp_path / name
    file.write_text(content.format(url=redis_target.url, folder=tmp_path))
    assert main(["pipeline", "run", "--check", str(file)]) == 0
    assert "process process, no mistake found" in capfd.readouterr().out
    assert main(["pipeline", "run", str(file), "--no-report"]) == 0
    assert "10 rows" in capfd.readouterr().err
    assert redis_target.client.exists("forebay:pipelines") == 0
    assert sorted(redis_target.numbers("high")) == [7, 8, 9]
    asked = ["sql", "--table", f"high={tmp_path}/high", "--format", "csv"]
    assert main([*asked, "SELECT sum(n) AS total FROM high"]) == 0
    assert capfd.readouterr().out == "total\n24\n"


@pytest.mark.parametrize(
    "job", ["run", "archive", "replay", "compact", "status", "reset", "redrive", "settings"]
)
def test_the_help_of_every_command_has_an_example_that_is_understood(
    job: str, capfd: Printed
) -> None:
    assert main(["pipeline", job, "--help"]) == 0
    _, _, examples = capfd.readouterr().out.partition("examples:\n")
    lines = [line for line in re.sub(r"\\\n\s*", "", examples).splitlines() if "forebay pi" in line]
    words = [shlex.split(line.split("    ")[0])[2:] for line in lines if line.startswith("  ")]
    assert words
    for line in words:
        understand(pipeline.app, line)


def test_help_and_settings_need_no_spark(capfd: Printed) -> None:
    assert main(["pipeline", "settings", "quarantine"]) == 0
    told = capfd.readouterr().out
    assert "dead_letter" in told and '[[sink]] kind = "lake"' in told and "streams" in told
    assert main(["sql", "--help"]) == 0
    assert "hot and cold" in capfd.readouterr().out
