"""Put the tools or the compiled package into the environment that runs this file.

    install.py tools      what the extras `dev`, `spark` and `records` of pyproject.toml name
    install.py package    the package itself, compiled, not editable

The package goes the way that a stranger's goes, so that what is tested is what is given away:

    src/ --> build/sdist/*.tar.gz --> build/tree/ --> build/wheels/*.whl --> this environment

``build/tree`` is the unpacked sdist and stays, so that only changed modules are compiled again.
A file is written when its content is another one, and then has the time of that moment: with the
time of its source, an edit made while the last build ran would look older than what was built.
What is no longer in the sdist is removed, and plain copies of an older build too: a module that
was deleted in ``src/`` must not live on in the wheel.  The build runs without isolation, so that
Cython need not be fetched for each.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SDIST = BUILD / "sdist"
TREE = BUILD / "tree"
WHEELS = BUILD / "wheels"


def pip(*arguments: str) -> None:
    """Run pip of this interpreter; its failure is ours."""
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "-q"]
    subprocess.run(command, cwd=ROOT, check=True)


def install_tools() -> None:
    """The dependencies of the package and of its extras, without the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = (extras[name] for name in ("dev", "spark", "records"))
    pip("install", *project["dependencies"], *chain.from_iterable(wanted))


def make_sdist(folder: Path) -> Path:
    """Pack the sources as they would be given away."""
    # setuptools adds what an older list of sources names: a file that is left out
    # by mistake would come along on this machine and on no other.
    for old in ROOT.glob("src/*.egg-info/SOURCES.txt"):
        old.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "setup.py", "-q", "sdist", "--formats=gztar", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
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
    """Compile what lies in the tree."""
    forget_old_copies(tree)
    shutil.rmtree(folder, ignore_errors=True)
    pip("wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(tree))
    (made,) = folder.glob("*.whl")
    return made


def install_package() -> None:
    """Sources to sdist to wheel to this environment, in place of the last one."""
    unpack(make_sdist(SDIST), TREE)
    wheel = make_wheel(TREE, WHEELS)
    pip("install", "--no-deps", "--force-reinstall", str(wheel))


if __name__ == "__main__":
    {"tools": install_tools, "package": install_package}[sys.argv[1]]()
