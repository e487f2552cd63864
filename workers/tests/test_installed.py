"""The wheel of the workers where the server is not installed.

`make setup` leaves the wheel in build/workers.  Libraries come from the environment of the tests,
by links, so that the check needs no network; links to the server's package are left out.
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

LOOK = """
import importlib.util, sys
assert importlib.util.find_spec("forebay") is None, "the server is here too"
import forebay_workers
from forebay_workers import App, ConfigError, TestApp
assert not {"pydantic", "cyclopts", "rich"} & set(sys.modules), "more is imported than is needed"
print(forebay_workers.__file__)
try:
    TestApp(App())
except ConfigError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = sorted((ROOT / "build" / "workers" / "wheels").glob("forebay_workers-*.whl"))
    assert len(found) == 1, "no wheel in build/workers/wheels: run `make setup`"
    return found[0]


def libraries(folder: Path) -> Path:
    """A folder with the libraries of this environment, without anything of ours."""
    folder.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "forebay" not in path.name and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


def test_the_wheel_needs_no_compiler_and_holds_only_the_workers(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"forebay_workers"}
    assert "forebay_workers/py.typed" in names


def test_the_workers_are_imported_where_the_server_is_not_installed(
    wheel: Path, tmp_path: Path
) -> None:
    python = tmp_path / "new" / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "new")], check=True
    )
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    install = [*pip, "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, env=environment, check=True)
    environment["PYTHONPATH"] = str(libraries(tmp_path / "libraries"))
    done = subprocess.run(
        [str(python), "-c", LOOK], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "new"))
    assert done.stdout.endswith("pip install 'forebay-workers[testing]'.\n")
