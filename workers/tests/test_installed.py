"""The wheel of the workers in an environment without the server."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from testkit.installed import install, libraries, new_python, printed, wheel_of

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
    return wheel_of("workers")


def test_the_wheel_needs_no_compiler_and_holds_only_the_workers(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"forebay_workers"}
    assert "forebay_workers/py.typed" in names


def test_the_workers_are_imported_where_the_server_is_not_installed(
    wheel: Path, tmp_path: Path
) -> None:
    python = new_python(tmp_path / "new")
    install(python, wheel)
    shown = printed(python, LOOK, libraries(tmp_path / "libraries"))
    assert shown.startswith(str(tmp_path / "new"))
    assert shown.endswith("pip install 'forebay-workers[testing]'.\n")
