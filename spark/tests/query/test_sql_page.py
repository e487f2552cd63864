"""docs/sql.md as a reader copies it, and its claims about Spark's own statements."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from forebay_spark import explain
from forebay_spark.query.statements import statements_of
from spark.tests.support.spark_streams import Target
from testkit.pages import blocks
from testkit.places import ROOT

pytestmark = pytest.mark.spark

PAGE = ROOT / "docs" / "sql.md"
EXAMPLE_URL = "redis://127.0.0.1:6379"


def pasted(spark: Any, url: str) -> list[list[Any]]:
    """The results of all SQL on the page."""
    texts = ["\n".join(block.lines) for block in blocks(PAGE) if block.language == "sql"]
    return [
        spark.sql(statement.replace(EXAMPLE_URL, url)).collect()
        for text in texts
        for statement in statements_of(text)
    ]


def refusal(spark: Any, statement: str) -> str:
    with pytest.raises(PySparkException) as raised:
        spark.sql(statement).collect()
    return explain(raised.value) or str(raised.value)


def test_what_a_reader_copies_works(spark: Any, redis_target: Target) -> None:
    for item, price in (("tea", "3.20"), ("coffee", "4.10"), ("tea", "3.30")):
        redis_target.client.xadd("orders", {"item": item, "price": price})
    results = [[tuple(map(str, row)) for row in rows] for rows in pasted(spark, redis_target.url)]
    for view in ("orders", "`orders:raw`", "totals"):
        spark.sql(f"DROP VIEW {view}")
    assert results == [
        [],
        [("coffee", "1", "4.10"), ("tea", "2", "6.50")],
        [],
        [("orders", "tea"), ("orders", "coffee"), ("orders", "tea")],
        [],
        [],
    ]
    written = [fields for _, fields in redis_target.client.xrange("totals")]
    wanted = [{b"item": b"coffee", b"n": b"1"}, {b"item": b"tea", b"n": b"2"}]
    assert sorted(written, key=str) == wanted


def test_spark_does_with_views_what_the_page_says(spark: Any, redis_target: Target) -> None:
    redis_target.add("s", 2)
    options = f"USING forebay OPTIONS (url '{redis_target.url}', streams 's')"
    count = "SELECT count(*) FROM page_v"

    def counted(statement: str = count) -> int:
        return int(spark.sql(statement).collect()[0][0])

    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW page_v (n INT COMMENT 'x') {options}")
    assert counted() == 2
    redis_target.add("s", 1)
    spark.sql("REFRESH TABLE page_v")
    assert counted() == 2
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW page_v (n INT) {options}")
    assert counted() == 3
    spark.sql(f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW page_g {options}")
    assert counted("SELECT count(*) FROM global_temp.page_g") == 3
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW page_u AS SELECT n FROM page_v")
    assert counted("SELECT count(*) FROM page_u") == 3
    wrong = options.replace("streams", "streem")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW page_w {wrong}")
    out = f"USING forebay OPTIONS (url '{redis_target.url}', stream 'o')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW page_o (n INT) {out}")
    for statement, told in (
        ("SELECT * FROM page_w", "There is no option streem"),
        (f"CREATE TEMPORARY VIEW IF NOT EXISTS page_x {options}", "PARSE_SYNTAX_ERROR"),
        (f"CREATE TEMPORARY VIEW page_x {options} PARTITIONED BY (n)", "PARSE_SYNTAX_ERROR"),
        (f"CREATE TEMPORARY VIEW page_x COMMENT 'y' {options}", "PARSE_SYNTAX_ERROR"),
        ("CREATE VIEW page_x AS SELECT * FROM page_v", "INVALID_TEMP_OBJ_REFERENCE"),
        ("INSERT INTO page_v VALUES (1)", "streams has no meaning for a write"),
        ("INSERT OVERWRITE page_o VALUES (1)", "A stream cannot be overwritten"),
        ("UPDATE page_o SET n = 1", "UNSUPPORTED_FEATURE.TABLE_OPERATION"),
        ("DELETE FROM page_o", "does not support deletes"),
        ("TRUNCATE TABLE page_o", "EXPECT_TABLE_NOT_VIEW"),
        ("SELECT * FROM forebay.`s`", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY"),
        ("SELECT * FROM STREAM page_v", "not a temp view of streaming logical plan"),
    ):
        assert told in refusal(spark, statement), statement
    for view in ("page_v", "page_u", "page_w", "page_o", "global_temp.page_g"):
        spark.sql(f"DROP VIEW {view}")


def test_spark_forgets_the_options_of_tables(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 2)
    given = f"(url '{redis_target.url}', streams 's')"
    table = f"CREATE TABLE page_t (n INT, m INT) USING forebay OPTIONS {given}"
    spark.sql(f"{table} TBLPROPERTIES {given} PARTITIONED BY (n) LOCATION '{tmp_path}/s'")
    try:
        assert "Which streams to read is not clear" in refusal(spark, "SELECT * FROM page_t")
        assert spark.sql(f"SELECT * FROM page_t WITH {given}").count() == 2
    finally:
        spark.sql("DROP TABLE page_t")
        with suppress(OSError):
            Path("spark-warehouse").rmdir()  # Spark makes it where the tests were started
