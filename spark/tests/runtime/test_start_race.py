"""Queries on one source share a map of variables; starting one must not change its keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay_spark.runtime.start_race import PUT_BY_SPARK, settle, shared_by_queries
from spark.tests.support.spark_faults import FaultySource
from spark.tests.support.spark_streams import Target

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


def registered_anew(spark: Any) -> None:
    """The source with a map of variables that no query has used."""
    spark.dataSource.register(FaultySource)


def names_of_variables(spark: Any) -> set[str]:
    return set(shared_by_queries(spark, FaultySource.name()).keySet().toArray())


def run_query(spark: Any, target: Target, folder: Path) -> None:
    target.add("s", 10)
    rows = spark.readStream.format("faulty").options(url=target.url, streams="s").load()
    sink = rows.writeStream.format("noop").option("checkpointLocation", str(folder))
    sink.trigger(availableNow=True).start().awaitTermination()


def test_spark_itself_puts_just_the_variables_we_know_of_into_the_map(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    registered_anew(spark)
    before = names_of_variables(spark)
    run_query(spark, redis_target, tmp_path)
    assert names_of_variables(spark) - before == set(PUT_BY_SPARK)


def test_a_query_that_starts_adds_no_variable_once_they_are_settled(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    registered_anew(spark)
    settle(spark, FaultySource.name())
    before = names_of_variables(spark)
    run_query(spark, redis_target, tmp_path)
    assert names_of_variables(spark) == before


def test_a_session_of_ours_is_settled_from_the_start(spark: Any) -> None:
    assert set(PUT_BY_SPARK) <= set(shared_by_queries(spark, "forebay").keySet().toArray())


def test_a_source_that_is_not_there_is_left_to_whoever_reads_from_it(spark: Any) -> None:
    settle(spark, "no_such_source")
