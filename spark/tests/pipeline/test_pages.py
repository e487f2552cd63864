"""The blocks of docs/pipelines.md, sql.md, spark.md and the README's lake, run in order.

The commands run in this process, where Spark has started already; those of redis-cli go to a
client.  `$(forebay ...)` becomes the output of that command, as in a shell.  The cluster of the
page is the one of the tests, and Spark runs here: test_clusters.py has a cluster of Spark too.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pytest
import redis

from forebay.cli.main import main
from spark.tests.support.spark_streams import Target
from testkit.clusters import cluster_url
from testkit.pages import Block, blocks, commands
from testkit.places import ROOT
from testkit.servers import ServerProcess

pytestmark = pytest.mark.spark

PIPELINES = ROOT / "docs" / "pipelines.md"
SQL = ROOT / "docs" / "sql.md"
SPARK = ROOT / "docs" / "spark.md"
README = ROOT / "README.md"
EXAMPLE_URL = "redis://127.0.0.1:6379"
PAYLOADS = "Avro, Protobuf or JSON in one field"
INNER = re.compile(r"\$\((forebay [^)]+)\)")
#: A job that the page assumes; its moment is between the two entries.
TOTALS = """
job = "process"
checkpoint = "{folder}/progress"
[source]
url = "{url}"
streams = ["orders"]
[[sink]]
kind = "stream"
stream = "totals"
url = "{url}"
"""
BEFORE_AND_AFTER = ("2026-11-16T08:59:59Z", "2026-11-16T09:00:01Z")
LETTER = {"source_stream": "orders", "source_id": "1-1", "reason": "price: not a number"}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "item", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
NOTHING: Mapping[str, Path] = {}
TEA_AND_COFFEE = [("tea", 3.20), ("coffee", 4.10), ("tea", 3.40)]


class Reader:
    """A reader in an empty folder, with a server."""

    def __init__(self, target: Target, capfd: pytest.CaptureFixture[str]) -> None:
        self.target = target
        self.capfd = capfd

    def copy(self, page: Path, heading: str) -> list[str]:
        """The output of each block of a section; a block of output must match the block before."""
        section = [block for block in blocks(page) if block.heading == heading]
        printed: list[str] = []
        for block in section:
            if block.language == "sh":
                printed.append(self.type(block))
            elif not block.language and printed:
                assert printed[-1].endswith(block.text), printed
        assert printed, f"nothing to copy under {heading!r}"
        return printed

    def run(
        self, page: Path, heading: str, replaced: Mapping[str, Path] = NOTHING, **names: Any
    ) -> dict[str, Any]:
        """Run each program of a section, with the names that it assumes; returns all its names.

        ``replaced``: paths for Java, which does not know the folder of the reader.
        """
        programs = [b for b in blocks(page) if b.heading == heading and b.language == "python"]
        assert programs, f"no program under {heading!r}"
        for program in programs:
            text = program.text.replace(EXAMPLE_URL, self.target.url)
            for call in ("Source(", 'spark, "orders", '):  # which go to the usual port
                text = text.replace(call, f"{call}url={self.target.url!r}, ")
            for name, path in replaced.items():
                text = text.replace(f'"{name}"', f'"{path}"')
            exec(compile(text, heading, "exec"), names)
        return names

    def type(self, block: Block) -> str:
        """Run the commands of a block; returns their output."""
        printed = ""
        for program, *words in commands(block, "forebay", "redis-cli"):
            if program == "redis-cli":
                self.target.client.execute_command(*words)
            elif words[0] != "serve":
                printed += self.said_by([self._replaced(word) for word in words])
        return printed

    def said_by(self, words: list[str]) -> str:
        """The output of one of our commands; it must end well."""
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


def test_bytes_are_found_as_the_page_says(reader: Reader) -> None:
    reader.target.client.xadd("bin", {"avro": b"\xff\x00"})
    reader.said_by(["pipeline", "archive", "--stream", "bin", "--lake", "./lake"])
    (printed,) = reader.copy(PIPELINES, "Nothing is lost")
    assert "/wA=" in printed, "the bytes, in base64"


def test_a_job_is_reset_as_the_page_says(reader: Reader, tmp_path: Path) -> None:
    for moment in BEFORE_AND_AFTER:
        ms = int(datetime.fromisoformat(moment).timestamp() * 1000)
        reader.target.client.xadd("orders", {"at": moment}, id=f"{ms}-0")
    (tmp_path / "totals.toml").write_text(TOTALS.format(url=reader.target.url, folder=tmp_path))
    reader.said_by(["pipeline", "run", "totals.toml"])
    (printed,) = reader.copy(PIPELINES, "Starting again from a moment")
    assert printed.count("begins at 1794819600000-0") == 2 and "nothing was done" in printed
    before, after = (moment.encode() for moment in BEFORE_AND_AFTER)
    written = [fields[b"at"] for _, fields in reader.target.client.xrange("totals")]
    assert written == [before, after, after]


def test_letters_are_mended_as_the_page_says(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heading = "Mending what was quarantined"
    reader.target.client.xadd("orders.dlq", {**LETTER, "payload": '{"price": "3,20"}'})
    (function,) = (b for b in blocks(PIPELINES) if b.heading == heading and b.language == "python")
    (tmp_path / "mends.py").write_text(function.text)
    monkeypatch.syspath_prepend(str(tmp_path))
    reader.copy(PIPELINES, heading)
    found = [reader.target.client.xrange(name)[0][1] for name in ("orders", "orders:mended")]
    assert found == [{b"price": b"3,20", b"currency": b"EUR"}, {b"price": b"3.20"}]


def test_the_cluster_of_the_page_is_one_table(
    reader: Reader,
    cluster_nodes: list[ServerProcess],
    cluster_client: redis.RedisCluster,
    tmp_path: Path,
) -> None:
    for number in range(4):
        cluster_client.xadd(f"orders:{{{number}}}", {"n": number})
    (block,) = [b for b in blocks(PIPELINES) if b.heading == "On a cluster"]
    text = block.text.replace("/shared", str(tmp_path)).replace("spark://host:7077", "local[2]")
    text = re.sub(r"redis\+cluster://\S+", cluster_url(cluster_nodes), text)
    printed = reader.type(Block(block.heading, block.language, text.splitlines()))
    assert all(f"orders:{{{number}}}" in printed for number in range(4)), printed
    assert not any(cluster_client.xlen(f"orders:{{{number}}}") for number in range(4))


def test_the_programs_of_the_page_about_pipelines_work(spark: Any, reader: Reader) -> None:
    for item, price in TEA_AND_COFFEE:
        reader.target.client.xadd("orders", {"item": item, "price": price})
    names = reader.run(PIPELINES, "Jobs")
    assert names["orders"].count() == 3
    assert names["hour"].count() == 0, "no entry of the test is of that hour"
    names = reader.run(PIPELINES, "A lake is a Delta table")
    assert names["lake"].count_rows() == 3


def test_the_lines_of_the_page_about_sql_work(
    spark: Any, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for item, price in TEA_AND_COFFEE:
        reader.target.client.xadd("orders", {"item": item, "price": price})
    reader.said_by(["pipeline", "archive", "--stream", "orders", "--lake", "./lake"])
    first, second, third = (block for block in blocks(SQL) if block.language == "sh")
    first.lines = [line.replace(EXAMPLE_URL, reader.target.url) for line in first.lines]
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


def test_the_programs_of_the_page_about_spark_work(
    spark: Any, reader: Reader, tmp_path: Path
) -> None:
    """Each assumes some names from before; they are made as the page says."""
    client, url = reader.target.client, reader.target.url
    client.xadd("orders", {"item": "tea", "price": "3.20", "at": "2026-11-17T20:00:00Z"})
    names = {"orders.parquet": tmp_path / "orders.parquet", "orders.checkpoint": tmp_path / "c"}
    made = reader.run(SPARK, "Spark", names)
    assert spark.read.parquet(str(tmp_path / "orders.parquet")).count() == 1
    streamed = made["orders"].select("item", "price")
    checkpoint = {"totals.checkpoint": tmp_path / "t"}
    reader.run(SPARK, "Writing", checkpoint, totals=streamed, url=url)
    (query,) = spark.streams.active
    query.processAllAvailable()
    query.stop()
    assert [fields for _, fields in client.xrange("totals")] == [
        {b"item": b"tea", b"price": b"3.2"}
    ]
    frame = spark.read.format("forebay").options(url=url, streams="orders").load()
    reader.run(SPARK, "Filters", df=frame)
    file = {"order.avsc": tmp_path / "order.avsc"}
    file["order.avsc"].write_text(json.dumps(ORDER))
    client.delete("orders")
    client.xadd("orders", {"payload": avro(ORDER, {"id": 7, "item": "tea", "at": 1})})
    made = reader.run(SPARK, PAYLOADS, file, spark=spark, url=url)
    assert [(row.id, row.item) for row in made["orders"].collect()] == [(7, "tea")]


def avro(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    """One record without a header, as it is in a field."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()


def test_the_lake_of_the_readme_is_what_it_says(reader: Reader) -> None:
    for item, price in TEA_AND_COFFEE:
        reader.target.client.xadd("orders", {"item": item, "price": price})
    assert len(reader.copy(README, "A lake in one more")) == 3
