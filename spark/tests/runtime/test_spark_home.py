"""A SPARK_HOME without PySpark's zip: where it is made, and that workers use it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.runtime.spark_home import ORIGIN, without_zip


def home_of(environment: dict[str, str], master: str = "local[2]", python: str = "") -> str | None:
    with without_zip(master, python or sys.executable, environment):
        return environment.get("SPARK_HOME")


def test_a_local_session_has_a_home_with_all_but_the_zip(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    home = Path(home_of(environment) or "")
    assert (home / "jars").resolve() == ORIGIN / "jars"
    assert (home / "bin" / "spark-submit").exists()
    assert not (home / "python").exists()
    assert home_of(environment) == str(home), "made once"
    assert "SPARK_HOME" not in environment, "named only while a JVM is started"


@pytest.mark.parametrize(
    ("master", "python"),
    [("spark://host:7077", ""), ("yarn", ""), ("", ""), ("local[2]", "/usr/bin/another-python")],
)
def test_workers_that_may_need_the_zip_have_it(tmp_path: Path, master: str, python: str) -> None:
    assert home_of({"XDG_CACHE_HOME": str(tmp_path)}, master, python) is None
    assert not list(tmp_path.iterdir())


def test_a_spark_that_somebody_has_chosen_is_left_alone() -> None:
    environment = {"SPARK_HOME": "/opt/spark"}
    assert home_of(environment) == "/opt/spark"
    assert environment == {"SPARK_HOME": "/opt/spark"}


def test_without_a_place_for_a_home_spark_starts_as_it_did(tmp_path: Path) -> None:
    (tmp_path / "forebay").write_text("not a folder")
    assert home_of({"XDG_CACHE_HOME": str(tmp_path)}) is None


@pytest.mark.spark
def test_workers_import_the_installed_pyspark(spark: Any) -> None:
    def where(_: Any) -> Any:
        import pyspark

        return [pyspark.__file__]

    (found,) = set(spark.sparkContext.parallelize([1], 1).mapPartitions(where).collect())
    assert found == str(ORIGIN / "__init__.py")
