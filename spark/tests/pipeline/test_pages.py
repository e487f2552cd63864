"""What a reader copies from docs/pipelines.md, docs/sql.md and the README's lake, in their order.

The commands run in this process, where Spark has started already; those of redis-cli go to a
client.  `$(forebay ...)` becomes what that command prints, as in a shell.
"""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import main
from spark.tests.support.spark_streams import Target
from testkit.pages import Block, blocks, commands
from testkit.places import ROOT

pytestmark = pytest.mark.spark

PIPELINES = ROOT / "docs" / "pipelines.md"
SQL = ROOT / "docs" / "sql.md"
README = ROOT / "README.md"
INNER = re.compile(r"\$\((forebay [^)]+)\)")
TEA_AND_COFFEE = [("tea", 3.20), ("coffee", 4.10), ("tea", 3.40)]


class Reader:
    """Somebody in an empty folder, with a server."""

    def __init__(self, target: Target, capfd: pytest.CaptureFixture[str]) -> None:
        self.target = target
        self.capfd = capfd

    def copy(self, page: Path, heading: str) -> list[str]:
        """What each block of a section prints; a block of output must be what the last one said."""
        section = [block for block in blocks(page) if block.heading == heading]
        printed: list[str] = []
        for block in section:
            if block.language == "sh":
                printed.append(self.type(block))
            elif not block.language and printed:
                assert printed[-1].endswith(block.text), printed
        assert printed, f"nothing to copy under {heading!r}"
        return printed

    def type(self, block: Block) -> str:
        """Run the commands of a block; what they print."""
        printed = ""
        for program, *words in commands(block, "forebay", "redis-cli"):
            if program == "redis-cli":
                self.target.client.execute_command(*words)
            elif words[0] != "serve":
                printed += self.said_by([self._replaced(word) for word in words])
        return printed

    def said_by(self, words: list[str]) -> str:
        """What a command of ours prints; it must end well."""
        assert main(words) == 0, words
        return self.capfd.readouterr().out

    def _replaced(self, word: str) -> str:
        """A word with the output of the commands in it."""
        return INNER.sub(lambda inner: self.said_by(shlex.split(inner[1])[1:]).strip(), word)


@pytest.fixture
def reader(
    spark: Any,
    redis_target: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Reader:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOREBAY_URL", redis_target.url)
    return Reader(redis_target, capfd)


def test_the_page_about_pipelines_can_be_followed(reader: Reader) -> None:
    reader.copy(PIPELINES, "Five minutes")
    (typed,) = reader.copy(PIPELINES, "Typed columns")
    assert "price" in typed and Path("typed").is_dir()
    (watched,) = reader.copy(PIPELINES, "Watching")
    assert "stopped" in watched
    (lake,) = reader.copy(PIPELINES, "Looking at a lake")
    assert "2 rows" in lake


def test_the_lines_of_the_page_about_sql_work(
    spark: Any, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for item, price in TEA_AND_COFFEE:
        reader.target.client.xadd("orders", {"item": item, "price": price})
    reader.said_by(["pipeline", "archive", "--stream", "orders", "--lake", "./lake"])
    first, second, third = (block for block in blocks(SQL) if block.language == "sh")
    url = "redis://127.0.0.1:6379"
    first.lines = [line.replace(url, reader.target.url) for line in first.lines]
    printed = reader.type(first)
    assert "coffee  1" in printed and '"item"' in printed
    here = f"OPTIONS (url '{reader.target.url}', "
    third.lines = [line.replace("OPTIONS (", here) for line in third.lines]
    assert "3" in reader.type(third)
    spark.catalog.dropTempView("o")  # the session is shared
    shell, report = second.lines
    assert report == f"{shell} < report.sql"
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT count(*) AS orders FROM orders"))
    assert "orders\n" in reader.said_by(shlex.split(shell)[1:])


def test_the_lake_of_the_readme_is_what_it_says(reader: Reader) -> None:
    for item, price in TEA_AND_COFFEE:
        reader.target.client.xadd("orders", {"item": item, "price": price})
    assert len(reader.copy(README, "A lake in one more")) == 3
