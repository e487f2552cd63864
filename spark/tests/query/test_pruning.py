"""Files that a query does not open because of its WHERE, and results that stay the same."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.lake.lake import DataFile
from forebay_spark.query import sql, table
from forebay_spark.query.pruning import Hours, hours_of
from forebay_spark.query.sql import Asked, Tables
from spark.tests.support.lakes import archive, run
from spark.tests.support.spark_streams import Target

pytestmark = pytest.mark.spark

HOUR_MS = 3_600_000
FIRST_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
HOURS = 6


def text(hour: float) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour)).isoformat(" ")[:19]


@pytest.fixture
def tables(
    spark: Any, redis_target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Tables, list[int]]:
    """A file for each of six hours, an hour that is hot; and how many files each plan reads."""
    ids = [f"{FIRST_MS + hour * HOUR_MS + n}-0" for hour in range(HOURS) for n in range(3)]
    redis_target.add_at("s", ids)
    run(spark, archive(redis_target, tmp_path, "s", most=3))
    redis_target.add_at("s", [f"{FIRST_MS + HOURS * HOUR_MS}-0"])
    opened: list[int] = []
    original = table.frame_of

    def counted(spark: Any, snapshot: Any, files: list[DataFile]) -> Any:
        opened.append(len(files))
        return original(spark, snapshot, files)

    monkeypatch.setattr(table, "frame_of", counted)
    asked = Asked(lake=str(tmp_path), url=redis_target.url)
    return Tables(spark, asked), opened


def rows(tables: Tables, statement: str) -> str:
    out = io.StringIO()
    tables.execute(statement, "csv", out, 10)
    return out.getvalue().splitlines()[-1]


def test_a_query_for_an_hour_opens_the_files_of_that_hour(
    tables: tuple[Tables, list[int]],
) -> None:
    asked, opened = tables
    assert opened == [HOURS]
    where = f"timestamp >= '{text(2)}' AND timestamp < timestamp'{text(2.5)}'"
    assert rows(asked, f"SELECT count(*) FROM entries WHERE {where}") == "3"
    assert opened[1] == 1
    assert rows(asked, f"SELECT count(*) FROM s WHERE '{text(4)}' <= timestamp") == "7"
    assert 2 in opened[2:]
    assert rows(asked, "SELECT count(*) FROM entries") == "19"
    between = f"timestamp BETWEEN '{text(1)}' AND '{text(2)}'"
    assert rows(asked, f"SELECT count(*) FROM entries WHERE {between}") == "4"


def test_in_doubt_all_files_are_opened(tables: tuple[Tables, list[int]], spark: Any) -> None:
    asked, _ = tables
    late = f"timestamp >= '{text(5)}'"
    everything = "(SELECT count(*) FROM entries)"
    for statement, wanted in (
        (f"SELECT {everything} FROM entries WHERE {late} LIMIT 1", "19"),
        (f"SELECT count(*) FROM entries WHERE {late} OR seq = 0", "19"),
        (f"SELECT count(*) FROM entries a JOIN entries b ON a.id = b.id WHERE a.{late}", "4"),
        (f"SELECT count(*) FROM entries WHERE NOT {late}", "15"),
        (f"WITH e AS (SELECT * FROM entries WHERE {late}) SELECT count(*) FROM e, e f", "16"),
        (f"SELECT count(*) FROM entries WHERE {late} UNION ALL {everything}", "19"),
    ):
        assert rows(asked, statement) == wanted, statement
    assert hours_of(spark.sql("SHOW TABLES"), "timestamp") is None
    assert hours_of(spark.sql("SELECT 1"), "timestamp") is None


def test_hours_are_those_of_the_zone_in_which_spark_shows_them(
    tables: tuple[Tables, list[int]], spark: Any
) -> None:
    query = "SELECT * FROM entries WHERE timestamp > timestamp'2026-01-01 03:00:00Z'"
    wanted = Hours(FIRST_MS + 3 * HOUR_MS, 1 << 62)
    assert hours_of(spark.sql(query), "timestamp") == wanted
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert hours_of(spark.sql(query), "timestamp") == wanted
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert sql.ENTRIES == "entries"
