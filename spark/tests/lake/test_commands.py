"""``forebay lake``: its output for a Delta table that others wrote, without Spark."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from forebay.cli.apps import understand
from forebay.cli.main import main
from forebay_spark.cli import lake as cli

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay_spark.session", lambda *_, **__: pytest.fail("Spark started"))


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """Two commits of two streams each."""
    path = str(tmp_path / "lake")
    for hour in (1, 2):
        at = datetime(2026, 11, 16, hour, tzinfo=UTC)
        rows = {"stream": ["a", "b", "b"], "timestamp": [at] * 3, "n": [1, 2, 3]}
        write_deltalake(path, pa.table(rows), mode="append", partition_by=["stream"])
    return path


def lines(printed: Printed, *line: str) -> list[Any]:
    assert main(["lake", *line, "--json"]) == 0
    return [json.loads(text) for text in printed.readouterr().out.splitlines()]


def test_a_lake_in_numbers(lake: str, capfd: Printed) -> None:
    [told] = lines(capfd, "info", lake)
    assert (told["rows"], told["files"], told["version"]) == (6, 4, 1)
    assert told["partitions"] == ["stream"] and told["columns"]["n"] == "bigint"
    assert told["bytes"] == sum(f.stat().st_size for f in Path(lake).rglob("*.parquet"))
    assert [(s["stream"], s["rows"], s["files"]) for s in told["streams"]] == [
        ("a", 2, 2), ("b", 4, 2)
    ]  # fmt: skip
    assert told["streams"][0]["first"] == "2026-11-16T01:00:00+00:00"
    assert told["streams"][1]["last"] == "2026-11-16T02:00:00+00:00"
    assert main(["lake", "info", lake]) == 0
    assert f"{lake}: 6 rows in 4 files" in capfd.readouterr().out


def test_the_files_are_those_that_the_table_names(lake: str, capfd: Printed) -> None:
    table = DeltaTable(lake)
    table.optimize.compact()
    told = lines(capfd, "files", lake)
    assert [f"{lake}/{file['path']}" for file in told] == sorted(
        uri.removeprefix("file://") for uri in DeltaTable(lake).file_uris()
    )
    assert [(file["partition"], file["rows"]) for file in told] == [
        ({"stream": "a"}, 2), ({"stream": "b"}, 4)
    ]  # fmt: skip
    assert main(["lake", "files", lake]) == 0
    assert "(2 rows)" in capfd.readouterr().out


def test_the_history_is_told_newest_first(lake: str, capfd: Printed) -> None:
    assert [commit["version"] for commit in lines(capfd, "history", lake)] == [1, 0]
    [last] = lines(capfd, "history", lake, "--limit", "1")
    assert last["operation"] == "WRITE" and last["metrics"]["num_added_rows"] == 3
    assert main(["lake", "history", lake]) == 0
    assert "num_added_rows" in capfd.readouterr().out


def test_a_table_is_drawn_as_wide_as_the_terminal(
    lake: str, capfd: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {file["path"] for file in lines(capfd, "files", lake)}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for width in (40, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["lake", "files", lake]) == 0
        drawn = re.sub(r"\x1b\[[\d;]*m", "", capfd.readouterr().out)
        assert "─" in drawn and all(len(line) <= width for line in drawn.splitlines())
    assert paths <= set(drawn.split())


def test_a_vacuum_shows_first_and_deletes_only_when_told(lake: str, capfd: Printed) -> None:
    DeltaTable(lake).optimize.compact()
    progress = Path(lake) / "_checkpoints" / "archive" / "offsets"
    progress.mkdir(parents=True)
    (progress / "0").write_text("v1")
    before = {file for file in Path(lake).rglob("*.parquet") if "_delta_log" not in str(file)}
    assert len(before) == 6
    assert lines(capfd, "vacuum", lake) == [{"lake": lake, "deleted": False, "files": []}]
    short = ["vacuum", lake, "--keep", "0 hours"]
    assert main(["lake", *short]) == 1
    assert "add --force if no program reads or writes" in capfd.readouterr().err
    [told] = lines(capfd, *short, "--force")
    assert len(told["files"]) == 4 and all(file.exists() for file in before)
    assert main(["lake", *short, "--force", "--delete"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "4 files deleted"
    assert [file.exists() for file in before].count(True) == 2
    assert (progress / "0").exists()
    assert DeltaTable(lake).to_pyarrow_table().num_rows == 6


def test_what_is_no_lake_is_one_sentence(tmp_path: Path, lake: str, capfd: Printed) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "old" / "_log").mkdir(parents=True)
    newer = tmp_path / "newer" / "_delta_log"
    newer.mkdir(parents=True)
    protocol = {"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}}
    meta = json.loads((Path(lake) / "_delta_log" / f"{0:020}.json").read_text().splitlines()[1])
    (newer / f"{0:020}.json").write_text(f"{json.dumps(protocol)}\n{json.dumps(meta)}\n")
    for path, told in (
        ("none", "There is no lake at"),
        ("file", "lake"),
        ("", "not empty and is not a Delta table"),
        ("old", "forebay lake upgrade"),
        ("newer", "newer"),
    ):
        for command in ("info", "files", "history", "vacuum"):
            assert main(["lake", command, str(tmp_path / path)]) == 1, (path, command)
            said = capfd.readouterr().err.splitlines()
            assert len(said) == 1 and said[0].startswith("forebay: ") and told in said[0], said
    assert not (tmp_path / "none").exists()
    assert main(["lake", "vacuum", lake, "--keep", "soon"]) == 1
    assert "--keep cannot be 'soon'" in capfd.readouterr().err


def test_the_help_has_examples_that_are_understood(capfd: Printed) -> None:
    examples = [line.split() for line in cli.EPILOG.splitlines() if line.startswith("  forebay")]
    assert len(examples) == 6
    for words in examples:
        understand(cli.app, words[2:])
