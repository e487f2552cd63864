"""Our wheels in an environment without the server.

`make setup` leaves the wheels in build/.  Libraries are links to the environment of the tests, so
that a check needs no network; our own packages are not linked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from testkit.places import ROOT

PATIENCE_S = 120


def wheel_of(distribution: str) -> Path:
    """The wheel that `make setup` built from this folder: "spark", "workers"."""
    place = ROOT / "build" / distribution / "wheels"
    found = sorted(place.glob(f"forebay_{distribution}-*.whl"))
    assert len(found) == 1, f"no wheel in build/{distribution}/wheels: run `make setup`"
    return found[0]


def libraries(folder: Path) -> Path:
    """A folder with the libraries of this environment, without our packages."""
    folder.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "forebay" not in path.name and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


def new_python(home: Path) -> Path:
    """An interpreter that has nothing installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    return home / "bin" / "python"


def install(python: Path, wheel: Path) -> None:
    """Put a wheel, without its dependencies, into an environment."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", str(wheel)], check=True)


def printed(python: Path, program: str, *paths: Path) -> str:
    """The output of a program that finds its modules in these places."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    done = subprocess.run(
        [str(python), "-c", program],
        cwd=paths[0].parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
