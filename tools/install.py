"""Installs the tools or one distribution into the environment that runs this file.

    install.py tools      the dependencies in pyproject.toml and in the distributions
    install.py server     the distribution `forebay`, compiled, not editable
    install.py spark      the distribution `forebay-spark`
    install.py workers    the distribution `forebay-workers`
    install.py console    the distribution `forebay-console`
    install.py sanitized FOLDER    the server with AddressSanitizer and UBSan, into this folder and
                          not into the environment: reliability/sanitized.py runs programs on it

A distribution is built as for users, so that tests run on the same files that users get:

    server/ --> build/server/sdist/*.tar.gz --> build/server/tree/ --> build/server/wheels/*.whl
            --> this environment

``tree`` is the unpacked sdist and stays, so that only changed modules, and modules that use
changed types, are compiled again.
A file is written only if its content has changed, and then gets the current time.  With the time
of its source, an edit made during the last build would look older than that build.
Files that are no longer in the sdist are removed, and so are plain copies of an older build: a
module that was deleted in the sources must not stay in the wheel.  The build runs without
isolation, so that Cython need not be downloaded for each one.
"""

from __future__ import annotations

import os
import re
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
DISTRIBUTIONS = ("server", "spark", "workers", "console")
#: ``from package cimport module`` or ``from module cimport name``, one line each.
CIMPORT = re.compile(r"^from (\S+) cimport (.+)$", re.MULTILINE)


def pip(*arguments: str) -> None:
    """Run pip of this interpreter; if it fails, this program fails."""
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "-q"]
    subprocess.run(command, cwd=ROOT, check=True)


def install_tools() -> None:
    """Install the tools of the repository and the dependencies of its distributions."""
    tools = described(ROOT)["dependency-groups"]["dev"]
    pip("install", *tools, *needed())


def needed() -> Iterator[str]:
    """The dependencies of all distributions and of their extras, except our own packages."""
    for name in DISTRIBUTIONS:
        project = described(ROOT / name)["project"]
        for wanted in (project["dependencies"], *project["optional-dependencies"].values()):
            yield from (package for package in wanted if not package.startswith("forebay"))


def described(folder: Path) -> dict[str, Any]:
    """The content of a folder's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def make_sdist(source: Path, folder: Path) -> Path:
    """Pack the sources of a distribution as for a release."""
    # setuptools adds the files of an older list of sources: a file that is left out by
    # mistake would be included on this machine only.
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
    """Make ``tree`` equal to the sdist; its ``build`` folder and equal files stay."""
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
    """Write this content to a file, unless it is there already."""
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


def forget_stale_modules(tree: Path) -> None:
    """Delete the C code of each module that uses types that are newer.

    Cython compares times as well, but overlooks ``from package cimport module``: the C would
    still use a name that the other module no longer has.
    """
    made = tree / "build" / "cython"
    for file in made.rglob("*.c"):
        types = types_of((tree / file.relative_to(made)).with_suffix(".pxd"), tree / "src")
        if any(path.stat().st_mtime_ns > file.stat().st_mtime_ns for path in types):
            file.unlink()


def types_of(pxd: Path, src: Path) -> set[Path]:
    """A module's own types, and all types that they use."""
    found: set[Path] = set()
    todo = [pxd]
    while todo:
        path = todo.pop()
        if path in found or not path.exists():
            continue
        found.add(path)
        for package, names in CIMPORT.findall(path.read_text()):
            place = src / package.replace(".", "/")
            todo += [
                place.with_suffix(".pxd"),
                *(place / f"{n.strip()}.pxd" for n in names.split(",")),
            ]
    return found


def make_wheel(tree: Path, folder: Path) -> Path:
    """Build a wheel from the tree, with its compiled modules."""
    forget_old_copies(tree)
    forget_stale_modules(tree)
    shutil.rmtree(folder, ignore_errors=True)
    pip("wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(tree))
    (made,) = folder.glob("*.whl")
    return made


def install_distribution(name: str) -> None:
    """Sources to sdist to wheel to this environment; replaces the last one."""
    place = BUILD / name
    unpack(make_sdist(ROOT / name, place / "sdist"), place / "tree")
    wheel = make_wheel(place / "tree", place / "wheels")
    pip("install", "--no-deps", "--force-reinstall", str(wheel))


def install_sanitized(folder: Path) -> None:
    """The server compiled with sanitizers, in ``folder/site``; ``folder/tree`` stays as above."""
    os.environ["FOREBAY_SANITIZE"] = "address,undefined"
    unpack(make_sdist(ROOT / "server", folder / "sdist"), folder / "tree")
    wheel = make_wheel(folder / "tree", folder / "wheels")
    pip("install", "--no-deps", "--upgrade", "--target", str(folder / "site"), str(wheel))


if __name__ == "__main__":
    if sys.argv[1] == "tools":
        install_tools()
    elif sys.argv[1] == "sanitized":
        install_sanitized(Path(sys.argv[2]).resolve())
    else:
        install_distribution(sys.argv[1])
