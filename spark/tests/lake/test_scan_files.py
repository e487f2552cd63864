"""A table opens the files of the hours in a WHERE, and no query changes another."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from forebay_spark import table
from forebay_spark.lake import scan_files
from forebay_spark.lake.changes import DataFile
from forebay_spark.lake.scan_files import Hours, milliseconds
from forebay_spark.query.sql import Asked, Tables
from spark.tests.support.lakes import archive, run
from spark.tests.support.spark_streams import Target

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

HOURS, ENTRIES_OF_AN_HOUR, HOT = 6, 3, 1
ALL = HOURS * ENTRIES_OF_AN_HOUR + HOT
START = datetime(2026, 1, 1, tzinfo=UTC)


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def text(hour: float) -> str:
    return f"timestamp'{at(hour):%Y-%m-%d %H:%M:%S.%f}Z'"


@pytest.fixture
def lake(spark: Any, redis_target: Target, tmp_path: Path) -> Path:
    """A file for each of six hours; the entry of the seventh is on the server."""
    ids = [
        f"{milliseconds(at(hour)) + n}-0"
        for hour in range(HOURS)
        for n in range(ENTRIES_OF_AN_HOUR)
    ]
    redis_target.add_at("s", ids)
    run(spark, archive(redis_target, tmp_path / "lake", "s", most=ENTRIES_OF_AN_HOUR))
    redis_target.add_at("s", [f"{milliseconds(at(HOURS))}-0"])
    return tmp_path / "lake"


@pytest.fixture
def entries(spark: Any, redis_target: Target, lake: Path) -> Any:
    return table(spark, "s", lake=str(lake), url=redis_target.url)


@pytest.mark.parametrize(
    "where",
    [
        f"timestamp >= {text(2)} AND timestamp < {text(3)}",
        f"timestamp BETWEEN {text(2)} AND {text(2.9)}",
        f"{text(1.5)} < timestamp AND {text(2.5)} >= timestamp",
        f"timestamp = {text(2)} AND seq = 0",
    ],
)
def test_a_query_for_an_hour_opens_the_file_of_that_hour(
    entries: Any, lake: Path, where: str
) -> None:
    files = sorted(lake.rglob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    assert len(files) == HOURS
    wanted = entries.where(where).count()
    for hour, file in enumerate(files):
        if hour != 2:
            file.unlink()
    assert entries.where(where).count() == wanted > 0
    with pytest.raises(Exception, match="FILE_NOT_EXIST"):
        entries.count()


def test_a_statement_of_forebay_sql_opens_the_files_of_its_hours(
    spark: Any, redis_target: Target, lake: Path
) -> None:
    tables, out = Tables(spark, Asked(lake=str(lake), url=redis_target.url)), io.StringIO()
    *cold, last = sorted(lake.rglob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    for file in cold:
        file.unlink()
    tables.execute(f"SELECT count(*) FROM s WHERE timestamp > {text(4.5)}", "csv", out, 10)
    assert out.getvalue().splitlines()[-1] == str(ENTRIES_OF_AN_HOUR + HOT)
    assert last.exists()


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT {everything} FROM parts WHERE {late} LIMIT 1", ALL),
        ("SELECT count(*) FROM parts WHERE {late} OR seq = 0", ALL),
        ("SELECT count(*) FROM parts a JOIN parts b ON a.id = b.id WHERE a.{late}", 4),
        ("SELECT count(*) FROM parts WHERE NOT {late}", ALL - 4),
        ("WITH e AS (SELECT * FROM parts WHERE {late}) SELECT count(*) FROM e, e f", 16),
        ("SELECT max(n) FROM (SELECT 1 n FROM parts WHERE {late} UNION ALL {everything})", ALL),
        ("SELECT count(*) FROM parts WHERE timestamp + INTERVAL 1 HOUR >= {five}", 7),
        ("SELECT count(*) FROM parts WHERE {late} AND timestamp <=> {five}", 1),
    ],
)
def test_in_doubt_all_files_are_opened(
    spark: Any, entries: Any, statement: str, wanted: int
) -> None:
    entries.createOrReplaceTempView("parts")
    everything, late = "(SELECT count(*) FROM parts)", f"timestamp >= {text(5)}"
    query = statement.format(everything=everything, late=late, five=text(5))
    assert spark.sql(query).first()[0] == wanted


def test_hours_do_not_depend_on_the_zone_in_which_spark_shows_them(
    spark: Any, entries: Any
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        part = entries.where(f"timestamp >= {text(3)} AND timestamp < {text(4)}")
        assert part.count() == ENTRIES_OF_AN_HOUR
        assert entries.where("timestamp >= '2025-12-31 22:00:00'").count() == 10
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_query_for_a_part_leaves_the_table_whole(entries: Any) -> None:
    early, late = (entries.where(f"timestamp {sign} {text(1)}") for sign in ("<", ">="))
    assert early.count() == ENTRIES_OF_AN_HOUR
    assert entries.count() == ALL
    assert early.union(late).count() == ALL
    assert late.union(early).count() == ALL
    assert early.join(entries, "id").count() == ENTRIES_OF_AN_HOUR
    assert entries.where("timestamp < timestamp'1999-01-01'").count() == 0


def test_parts_of_one_statement_have_hours_of_their_own(spark: Any, entries: Any) -> None:
    entries.createOrReplaceTempView("parts")
    early, late = f"timestamp < {text(1)}", f"timestamp >= {text(5)}"
    count = "SELECT count(*) FROM parts"
    statement = f"SELECT ({count}), ({count} WHERE {early}), count(*) FROM parts WHERE {late}"
    assert tuple(spark.sql(statement).first()) == (ALL, ENTRIES_OF_AN_HOUR, ENTRIES_OF_AN_HOUR + 1)


def test_a_table_that_spark_keeps_is_kept_whole(entries: Any) -> None:
    early = entries.where(f"timestamp < {text(1)}").cache()
    try:
        assert early.count() == ENTRIES_OF_AN_HOUR
        assert entries.cache().count() == ALL
        assert entries.where(f"timestamp >= {text(4)}").count() == 2 * ENTRIES_OF_AN_HOUR + HOT
    finally:
        entries.unpersist()
        early.unpersist()


def test_queries_at_the_same_time_have_hours_of_their_own(entries: Any) -> None:
    def count(hour: int) -> int:
        part = f"timestamp >= {text(hour)} AND timestamp < {text(hour + 1)}"
        return int(entries.where(part).count())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, [*range(HOURS)] * 2)) == [ENTRIES_OF_AN_HOUR] * HOURS * 2


def test_a_spark_of_another_make_reads_all_files(
    spark: Any, redis_target: Target, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_known(*_: object) -> None:
        raise Py4JError("Method copy([...]) does not exist")

    monkeypatch.setattr(scan_files, "_frame", not_known)
    entries = table(spark, "s", lake=str(lake), url=redis_target.url)
    assert entries.where(f"timestamp < {text(1)}").count() == ENTRIES_OF_AN_HOUR
    assert entries.count() == ALL


def test_a_file_whose_times_nobody_knows_is_always_read() -> None:
    known = DataFile("f", 1, 1, {}, {"t": at(1)}, {"t": at(2)})
    one, two = milliseconds(at(1)), milliseconds(at(2))
    assert Hours(two, two + 1).touches(known, "t") and Hours(one - 1, one).touches(known, "t")
    assert not Hours(low_ms=two + 1).touches(known, "t")
    assert not Hours(high_ms=one - 1).touches(known, "t")
    assert Hours(0, 0).touches(known, "other")
