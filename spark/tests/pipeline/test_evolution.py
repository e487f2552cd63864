"""Schemas that grow: which columns a table gets; nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from forebay_spark.errors import OptionError
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline.archive import Trim
from forebay_spark.pipeline.evolution import MOST_COLUMNS, new_fields, roomy
from forebay_spark.pipeline.replay import Replay
from forebay_spark.query.table import table
from spark.tests.support.lakes import archive, lake_frame, run
from spark.tests.support.spark_streams import Target

ENTRY = StructType([StructField("item", StringType())])


def test_new_names_become_columns_that_later_values_do_not_outgrow() -> None:
    samples = {
        "n": [b"1", b"2"],
        "share": [b"0.5", b"2"],
        "at": [b"2026-01-31T12:00:00Z"],
        "word": [b"a", b"1"],
        "exact": [b"0.1234567890123456789"],
        "ITEM": [b"x"],
        "a b": [b"x"],
        "_id": [b"x"],
        "": [b"x"],
        "nothing": [],
    }
    found = {f.name: f.dataType.simpleString() for f in new_fields(ENTRY, samples)}
    wanted = {"n": "bigint", "share": "double", "at": "timestamp", "word": "string"}
    assert found == {**wanted, "exact": "string"}


@given(st.dictionaries(st.text(max_size=3), st.lists(st.binary(max_size=3), max_size=3)))
def test_no_column_has_the_name_of_another_one(samples: dict[str, list[bytes]]) -> None:
    names = [field.name.lower() for field in new_fields(ENTRY, samples)]
    assert len(set(names)) == len(names) and "item" not in names


def test_names_that_are_data_do_not_become_columns_without_end() -> None:
    samples = {f"key{number}": [b"x"] for number in range(2 * MOST_COLUMNS)}
    assert len(new_fields(ENTRY, samples)) == MOST_COLUMNS - 1


def test_whole_numbers_have_room_from_the_start() -> None:
    kinds = {"n": IntegerType(), "f": FloatType(), "s": StringType()}
    entry = StructType([StructField(name, kind) for name, kind in kinds.items()])
    assert [field.dataType.simpleString() for field in roomy(entry)] == [
        "bigint",
        "double",
        "string",
    ]
    assert roomy(StructType([StructField("n", LongType())])).fieldNames() == ["n"]


@pytest.mark.spark
def test_an_archive_grows_with_its_stream_and_gives_every_entry_back(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    add = target.client.execute_command
    add("XADD", "s", "1-0", "item", "tea", "price", "3.20")
    job = archive(
        target,
        tmp_path / "lake",
        "s",
        schema="item string, price int",
        schema_evolution="add",
        trim=Trim(),
    )
    run(spark, job)
    add("XADD", "s", "2-0", "item", "tea", "price", str(2**40), "coupon", "C1", "used", "2")
    add("XADD", "s", "3-0", "price", "cheap", "item", b"\xff", "coupon", "C2", "a b", "x")
    run(spark, job)
    add("XADD", "s", "4-0", "item", "rice", "coupon", "C3", "used", str(2**50))
    run(spark, job)
    rows = {row["_id"]: row for row in lake_frame(spark, tmp_path / "lake").collect()}
    assert rows["1-0"]["price"] is None and rows["1-0"]["_rest"] == {"price": "3.20"}
    assert rows["1-0"]["_reason"] == "price: '3.20' is not a bigint"
    assert (rows["2-0"]["price"], rows["2-0"]["coupon"], rows["2-0"]["used"]) == (2**40, "C1", 2)
    assert rows["3-0"]["coupon"] == "C2" and rows["3-0"]["_rest"]["a b"] == "x"
    assert rows["4-0"]["used"] == 2**50
    assert polars.read_delta(str(tmp_path / "lake"))["coupon"].null_count() == 1
    target.client.xadd("s", {"item": "salt", "coupon": "C4"}, id="5-0")
    both = table(spark, "s", lake=str(tmp_path / "lake"), url=target.url)
    assert sorted(row[0] for row in both.select("coupon").where("coupon > 'C2'").collect()) == [
        "C3",
        "C4",
    ]
    wanted = [
        [b"item", b"tea", b"price", b"3.20"],
        [b"item", b"tea", b"price", b"%d" % 2**40, b"coupon", b"C1", b"used", b"2"],
        [b"price", b"cheap", b"item", b"\xff", b"coupon", b"C2", b"a b", b"x"],
        [b"item", b"rice", b"coupon", b"C3", b"used", b"%d" % 2**50],
    ]
    Replay(lake=str(tmp_path / "lake"), stream="s", to="again", url=target.url).run(spark)
    found: Any = target.client.xrange("again")
    assert [[part for pair in fields.items() for part in pair] for _, fields in found] == wanted


@pytest.mark.spark
def test_trimming_is_refused_where_the_lake_would_forget(
    spark: Any, redis_target: Target, tmp_path: Path
) -> None:
    job = archive(
        redis_target, tmp_path, "s", schema="n int", trim=Trim(), options={"mode": "DROPMALFORMED"}
    )
    with pytest.raises(OptionError, match="DROPMALFORMED leaves entries out"):
        job.start(spark)
    assert not Lake(str(tmp_path)).place.folder.joinpath("_delta_log").exists()
