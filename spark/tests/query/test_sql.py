"""``forebay sql``: the names of its tables, and everything that needs no Spark."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forebay.cli.apps import understand
from forebay.cli.main import main
from forebay_spark.cli import sql as cli
from forebay_spark.errors import ConnectorError, OptionError
from forebay_spark.query.sql import ENTRIES, Asked, easy_name, names_of
from spark.tests.support.lakes import archive, run
from spark.tests.support.spark_streams import Target

Printed = pytest.CaptureFixture[str]


def test_streams_have_names_that_sql_can_say() -> None:
    assert [easy_name(s) for s in ("orders", "orders:{0}", "9lives")] == [
        "orders",
        "orders__0_",
        "_9lives",
    ]


def test_names_that_would_collide_are_said_in_full() -> None:
    assert names_of(["x:y", "x.y", "z:1", "plain"]) == {
        "x:y": "x:y", "x.y": "x.y", "z:1": "z:1", "plain": "plain", "z_1": "z:1"
    }  # fmt: skip
    assert names_of(["x:y", "x_y"]) == {"x:y": "x:y", "x_y": "x_y"}
    assert names_of(["entries", "e"]) == {"stream:entries": "entries", "e": "e"}
    assert names_of(["Orders", "orders", "n"]) == {"n": "n"}
    assert names_of(["totals"], taken=["Totals"]) == {"stream:totals": "totals"}


@given(st.lists(st.text("aA:._", min_size=1, max_size=3) | st.just("entries"), unique=True))
@example(["entries", "stream:entries", "stream_entries"])
def test_a_name_means_one_stream(streams: list[str]) -> None:
    named = names_of(streams)
    lower = [name.lower() for name in named]
    assert len(set(lower)) == len(lower) and ENTRIES not in lower
    for name, stream in named.items():
        assert stream in streams
        assert name in (stream, easy_name(stream), f"stream:{stream}")
        # The name of another stream never selects this one.
        assert name == stream or name.lower() not in [s.lower() for s in streams]
    alone = [s for s in streams if [t.lower() for t in streams].count(s.lower()) == 1]
    assert {s for s in alone if s != ENTRIES} <= set(named)


def asked(*line: str) -> Asked:
    _, bound = understand(cli.app, line)
    return cli.tables_of(bound.arguments["asked"])


def test_a_lake_alone_asks_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOREBAY_URL", raising=False)
    assert asked("--lake", "l").url is None
    assert asked("--lake", "l", "--url", "redis://h").url == "redis://h"
    assert asked("--stream", "s").url == "redis://127.0.0.1:6379"
    monkeypatch.setenv("FOREBAY_URL", "redis://h2")
    assert asked("--lake", "l").url == asked("--stream", "s").url == "redis://h2"
    assert asked("--stream", "s", "--url", "redis://h").url == "redis://h"


def test_the_past_of_a_lake_is_asked_for_by_time_or_version() -> None:
    assert asked("--lake", "l", "--version", "0").travel() == {"version": 0}
    assert asked("--lake", "l", "--as-of", "2026-11-16").travel() == {"as_of": "2026-11-16"}
    assert asked("--lake", "l").travel() == {}


def test_the_variable_is_not_printed_by_the_help(
    monkeypatch: pytest.MonkeyPatch, capfd: Printed
) -> None:
    monkeypatch.setenv("FOREBAY_URL", "redis://:secret@h")
    for line in (["sql"], ["pipeline", "archive"], ["pipeline", "replay"]):
        assert main([*line, "--help"]) == 0
        told = capfd.readouterr().out
        assert "FOREBAY_URL" in told and "secret" not in told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Asked(lake="/no/where"), "There is no lake at /no/where"),
        (Asked(results={"r": "/no/where"}), "There is no lake at /no/where"),
        (Asked(streams=["s"], since="soon"), "--since cannot be 'soon'"),
        (Asked(streams=["s"], until="late"), "--until cannot be 'late'"),
        (Asked(lake=".", as_of="once"), "--as-of cannot be 'once'"),
        (Asked(streams=["s"], version=3), "are for a lake"),
        (Asked(streams=["s"], results={"Entries": "."}), "Give --table another name"),
    ],
)
def test_mistakes_are_told_without_spark(given: Asked, told: str) -> None:
    with pytest.raises(ConnectorError, match=told):
        given.check()


def test_a_stream_that_is_not_there_is_told_without_spark(target: Target) -> None:
    target.add("orders:1", 1)
    target.add("orders:2", 1)
    with pytest.raises(OptionError, match="There is no stream 'order'"):
        Asked(streams=["order"], url=target.url).check()
    found = Asked(streams=["orders:2"], pattern="orders:*", url=target.url).check()
    assert sorted(found) == ["orders:1", "orders:2"]


@pytest.mark.parametrize("text", ["", " ; ", "-- nothing"])
def test_no_statement_is_told_before_spark_starts(
    text: str, capfd: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebay_spark.session", lambda *_, **__: pytest.fail("Spark started"))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["sql", "--lake", "."]) == 1
    assert "there is no statement" in capfd.readouterr().err


@pytest.fixture
def no_views(spark: Any) -> None:
    """Tests share a session: remove the views of other tests, which users do not have."""
    for view in spark.catalog.listTables():
        spark.catalog.dropTempView(view.name)


@pytest.mark.spark
@pytest.mark.usefixtures("no_views")
def test_every_stream_of_a_pattern_is_a_table_under_its_own_name(
    spark: Any, redis_target: Target, capfd: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, stream in enumerate(["x:y", "x_y", "entries", "a.b`c", "z:1"], 1):
        redis_target.add(stream, at)
    line = ["sql", "--url", redis_target.url, "--pattern", "*", "--format", "csv"]
    counts = "SELECT (SELECT count(*) FROM {}) AS n;"
    names = ["`x:y`", "x_y", "entries", "`stream:entries`", "`a.b``c`", "`z:1`", "z_1"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(counts.format, names))))
    assert main(line) == 0
    assert capfd.readouterr().out.split() == [
        word for count in (1, 2, 15, 3, 4, 5, 5) for word in ("n", str(count))
    ]
    assert main([*line, "SELECT * FROM orders"]) == 1
    told = capfd.readouterr().err.splitlines()[-1]
    assert "There is no table `orders`. There are: entries, " in told and "`x:y`" in told
    assert main([*line, "--format", "table", "EXPLAIN SELECT * FROM x_y; SHOW TABLES"]) == 0
    plan, _, tables = capfd.readouterr().out.partition("\n\nnamespace")
    assert plan.startswith("== Physical Plan ==\n") and "…" not in plan and "\\n" not in plan
    assert "x:y" in tables and "stream:entries" in tables


@pytest.mark.spark
def test_a_result_for_a_program_is_exact(spark: Any, redis_target: Target, capfd: Printed) -> None:
    redis_target.add("s", 1)
    values = (
        "SELECT 2.50 AS price, double('NaN') AS nan, float('0.1') AS f, X'00ff' AS raw, "
        "timestamp'2026-11-16 12:00:00+02:00' AS at, timestamp_ntz'2026-11-16 12:00:00' AS wall, "
        "interval '1-2' year to month AS span, parse_json('{\"a\": 1}') AS v FROM s"
    )
    assert (
        main(["sql", "--url", redis_target.url, "--stream", "s", "--format", "json", values]) == 0
    )
    out = capfd.readouterr().out
    assert '"price": 2.50,' in out
    assert json.loads(out) == {
        "price": 2.5,
        "nan": "NaN",
        "f": 0.1,
        "raw": "AP8=",
        "at": "2026-11-16T10:00:00+00:00",
        "wall": "2026-11-16T12:00:00",
        "span": "INTERVAL '1-2' YEAR TO MONTH",
        "v": '{"a":1}',
    }


@pytest.mark.spark
def test_a_lake_is_asked_while_its_server_is_down(
    spark: Any,
    redis_target: Target,
    tmp_path: Path,
    capfd: Printed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    redis_target.add_at("a:1", ["1000-0", "2000-0", "3000-0"])
    redis_target.add_at("b", ["1000-0"])
    run(spark, archive(redis_target, tmp_path, "a:1", "b"))
    redis_target.add("b", 1)
    monkeypatch.setenv("FOREBAY_URL", "")
    monkeypatch.setattr("forebay_spark.query.table.Server", lambda *_: pytest.fail("server asked"))
    lake = ["sql", "--lake", str(tmp_path), "--format", "csv"]
    counts = "SELECT (SELECT count(*) FROM entries), (SELECT count(*) FROM a_1)"
    for more, wanted in (
        ([], "4,3"),
        (["--pattern", "a*", "--since", "2000", "--until", "3000"], "1,1"),
    ):
        assert main([*lake, *more, counts]) == 0
        printed = capfd.readouterr()
        assert printed.out.splitlines()[1] == wanted
        assert "the lake alone" in printed.err
    assert main([*lake, "--stream", "c", counts]) == 1
    assert "has no stream 'c'" in capfd.readouterr().err


@pytest.mark.spark
def test_the_shell_keeps_its_spark_and_survives_mistakes(
    spark: Any,
    redis_target: Target,
    capfd: Printed,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    redis_target.add("s:1", 2)
    lines = iter(
        """.tables
        SELECT count(*)
        AS n FROM s_1;
        SELECT * FROM nope;
        SELEC;
        .refresh
        SELECT count(*) AS m FROM `s:1`;
        .quit""".splitlines()
    )

    def typed(_: str) -> str:
        line = next(lines)
        if ".refresh" in line:
            redis_target.add("s:1", 1)
        return line

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr(
        "forebay_spark.query.shell.Shell.__init__.__defaults__", (typed, io.StringIO())
    )
    assert main(["sql", "--url", redis_target.url, "--stream", "s:1"]) == 0
    out = capfd.readouterr().out
    assert "s_1      entries of s:1" in out
    assert "n\n-\n2\n" in out and "m\n-\n3\n" in out
