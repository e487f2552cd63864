"""The wheel of the connector without the server: in a new environment, and as a zip."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from testkit.installed import install, libraries, new_python, printed, wheel_of

#: The imports of a driver and its workers; none of them may need the server.
LOOK = """
import importlib.util, sys
assert importlib.util.find_spec("forebay") is None, "the server is here too"
import forebay_spark, pyspark_forebay
import forebay_spark.source, forebay_spark.lake.source, forebay_spark.pipeline.direct_write
from forebay_spark import session, table, explain
print(pyspark_forebay.DefaultSource.name(), forebay_spark.__file__)
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    return wheel_of("spark")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return new_python(tmp_path / "new")


def test_the_wheel_needs_no_compiler_and_holds_only_the_connector(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "forebay_spark",
        "pyspark_forebay",
    }
    assert "forebay_spark/runtime/quiet.properties" in names


def test_the_connector_is_imported_where_the_server_is_not_installed(
    wheel: Path, python: Path, tmp_path: Path
) -> None:
    install(python, wheel)
    shown = printed(python, LOOK, libraries(tmp_path / "libraries"))
    assert shown.startswith(f"forebay {python.parents[1]}")


def test_an_executor_may_have_it_as_a_zip(wheel: Path, python: Path, tmp_path: Path) -> None:
    shown = printed(python, LOOK, wheel, libraries(tmp_path / "libraries"))
    assert shown.startswith(f"forebay {wheel}")
