"""The wheel that was built from the sdist, in a new environment without the sources.

`make setup` leaves the wheel in build/server and installs the same one for the compiled leg.  The
one dependency of a server is copied from the environment of the tests, so that the check needs no
network; the others are for the rest of the command line, and a server starts without them.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.compiled import compiled_list
from testkit.places import SERVER_BUILD, SERVER_SRC
from testkit.servers import ServerProcess, free_port

pytestmark = pytest.mark.compiled

DEPENDENCY = "xxhash"
#: Imports every compiled module and prints those that are not C.
LOOK = """
import importlib, sys
names = sys.argv[1:]
print([n for n in names if not importlib.import_module(n).__file__.endswith(".so")])
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = sorted((SERVER_BUILD / "wheels").glob("forebay-*.whl"))
    assert len(found) == 1, "no wheel in build/server/wheels: run `make setup`"
    return found[0]


@pytest.fixture(scope="module")
def new_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and no other package of ours."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    command = [*pip, "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, cwd=home, env=bare())
    (packages,) = home.glob("lib/python*/site-packages")
    for file in importlib.metadata.files(DEPENDENCY) or ():
        if ".." not in file.parts:
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), packages / file)
    return python


def bare() -> dict[str, str]:
    """Environment variables that do not lead to the sources."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(python: Path, *arguments: str) -> str:
    return subprocess.run(
        [str(python), *arguments],
        cwd=python.parent,
        env=bare(),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout


def test_the_wheel_holds_no_types_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith((".pxd", ".c"))] == []
    assert {name.split("/")[0].split("-")[0] for name in names} == {"forebay"}


def test_every_module_of_the_core_is_c_with_its_types(new_python: Path) -> None:
    assert run(new_python, "-c", LOOK, *compiled_list()) == "[]\n"
    assert "(compiled, Python " in run(new_python, "-m", "forebay", "--version")
    assert str(SERVER_SRC) not in run(new_python, "-c", "import forebay; print(forebay.__file__)")


@pytest.fixture
def installed_server(new_python: Path, scratch: Path) -> Iterator[ServerProcess]:
    folder = scratch / "installed"
    folder.mkdir(exist_ok=True)
    port = free_port()
    command = [str(new_python.with_name("forebay")), "serve", "--port", str(port)]
    command += ["--bind", "127.0.0.1", "--unixsocket", str(folder / "sock"), "--dir", str(folder)]
    # env: the server must not see the sources through a variable of the tests.
    unset = [part for name in os.environ if name.startswith("PYTHON") for part in ("-u", name)]
    server = ServerProcess("installed", ["env", "-u", "PYTHONPATH", *unset, *command], folder, port)
    yield server
    server.stop()


def test_a_server_from_the_wheel_answers(installed_server: ServerProcess) -> None:
    with installed_server.client() as client:
        assert client("PING") == "PONG"
        assert client("XADD", "s", "1-1", "f", "v") == b"1-1"
        assert client("XRANGE", "s", "-", "+") == [[b"1-1", [b"f", b"v"]]]
        assert b"forebay_build:compiled" in client("INFO", "server")
