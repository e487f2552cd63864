"""The wheel of the connector where the server is not installed: a new environment, and a zip.

`make setup` leaves the wheel in build/spark.  Libraries come from the environment of the tests, by
links, so that the check needs no network; links to the server's package are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from testkit.places import ROOT

#: What a driver and its workers import; none of it may need the server.
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
    found = sorted((ROOT / "build" / "spark" / "wheels").glob("forebay_spark-*.whl"))
    assert len(found) == 1, "no wheel in build/spark/wheels: run `make setup`"
    return found[0]


def libraries(folder: Path) -> Path:
    """A folder with the libraries of this environment, without anything of ours."""
    folder.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "forebay" not in path.name and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


def look(python: Path, *paths: Path) -> str:
    """What the program above prints."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    done = subprocess.run(
        [str(python), "-c", LOOK],
        cwd=paths[0].parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def new_python(tmp_path: Path) -> Path:
    """An interpreter that has nothing installed."""
    home = tmp_path / "new"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    return home / "bin" / "python"


def test_the_wheel_needs_no_compiler_and_holds_only_the_connector(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "forebay_spark",
        "pyspark_forebay",
    }
    assert "forebay_spark/runtime/quiet.properties" in names


def test_the_connector_is_imported_where_the_server_is_not_installed(
    wheel: Path, new_python: Path, tmp_path: Path
) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(new_python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", str(wheel)], check=True)
    shown = look(new_python, libraries(tmp_path / "libraries"))
    assert shown.startswith(f"forebay {new_python.parents[1]}")


def test_an_executor_may_have_it_as_a_zip(wheel: Path, new_python: Path, tmp_path: Path) -> None:
    shown = look(new_python, wheel, libraries(tmp_path / "libraries"))
    assert shown.startswith(f"forebay {wheel}")
