"""Put the tools or one distribution into the environment that runs this file.

    install.py tools      what pyproject.toml and the distributions name as dependencies
    install.py server     the distribution `forebay`, compiled, not editable
    install.py spark      the distribution `forebay-spark`

A distribution goes the way that a user's copy goes, so that tests run on what users get:

    server/ --> build/server/sdist/*.tar.gz --> build/server/tree/ --> build/server/wheels/*.whl
            --> this environment

``tree`` is the unpacked sdist and stays, so that only changed modules are compiled again.
A file is written only if its content has changed, and then gets the current time.  With the time
of its source, an edit made during the last build would look older than that build.
What is no longer in the sdist is removed, and plain copies of an older build too: a module that
was deleted in the sources must not live on in the wheel.  The build runs without isolation, so that
Cython need not be fetched for each.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
DISTRIBUTIONS = ("server", "spark")


def pip(*arguments: str) -> None:
    """Run pip of this interpreter; its failure is ours."""
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "-q"]
    subprocess.run(command, cwd=ROOT, check=True)


def install_tools() -> None:
    """The tools of the repository, and what its distributions need, without these themselves."""
    tools = described(ROOT)["dependency-groups"]["dev"]
    pip("install", *tools, *needed())


def needed() -> Iterator[str]:
    """The dependencies of all distributions and of their extras, except our own packages."""
    for name in DISTRIBUTIONS:
        project = described(ROOT / name)["project"]
        for wanted in (project["dependencies"], *project["optional-dependencies"].values()):
            yield from (package for package in wanted if not package.startswith("forebay"))


def described(folder: Path) -> dict[str, Any]:
    """What a folder's pyproject.toml says."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def make_sdist(source: Path, folder: Path) -> Path:
    """Pack the sources of a distribution as they would be given away."""
    # setuptools adds what an older list of sources names: a file that is left out
    # by mistake would come along on this machine and on no other.
    for old in source.glob("src/*.egg-info/SOURCES.txt"):
        old.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    program = "from setuptools import setup; setup()"
    command = [sys.executable, "setup.py"] if (source / "setup.py").exists() else []
    command = command or [sys.executable, "-c", program]
    command += ["-q", "sdist", "--formats=gztar", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True)
    (made,) = folder.glob("*.tar.gz")
    return made


def unpack(sdist: Path, tree: Path) -> None:
    """Make ``tree`` the content of the sdist; its own ``build`` stays, and so do equal files."""
    wanted = set()
    with tarfile.open(sdist) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                path = tree / member.name.partition("/")[2]
                wanted.add(path)
                write_if_new(path, file.read())
    for path in tree.rglob("*"):
        if path.is_file() and path not in wanted and tree / "build" not in path.parents:
            path.unlink()


def write_if_new(path: Path, content: bytes) -> None:
    """Give a file this content, unless it has it."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def forget_old_copies(tree: Path) -> None:
    """Drop plain files of earlier builds, and extensions whose source is gone."""
    for lib in (tree / "build").glob("lib*"):
        for path in lib.rglob("*"):
            source = tree / "src" / path.relative_to(lib).parent / (path.name.split(".")[0] + ".py")
            if path.is_file() and (path.suffix != ".so" or not source.exists()):
                path.unlink()


def make_wheel(tree: Path, folder: Path) -> Path:
    """Build what lies in the tree; a module that is to be compiled is."""
    forget_old_copies(tree)
    shutil.rmtree(folder, ignore_errors=True)
    pip("wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(tree))
    (made,) = folder.glob("*.whl")
    return made


def install_distribution(name: str) -> None:
    """Sources to sdist to wheel to this environment, in place of the last one."""
    place = BUILD / name
    unpack(make_sdist(ROOT / name, place / "sdist"), place / "tree")
    wheel = make_wheel(place / "tree", place / "wheels")
    pip("install", "--no-deps", "--force-reinstall", str(wheel))


if __name__ == "__main__":
    if sys.argv[1] == "tools":
        install_tools()
    else:
        install_distribution(sys.argv[1])
