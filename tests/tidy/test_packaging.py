"""The released files: an sdist that holds the types, and a build that stops without them."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from testkit.places import DISTRIBUTIONS, ROOT, SERVER_SRC
from tools.install import make_sdist, unpack

SERVER = ROOT / "server"


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder that is also where it looks for modules first."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "CFLAGS": "-O0"},
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_an_sdist_holds_every_source_and_every_type(name: str, tmp_path: Path) -> None:
    folder = ROOT / name
    with tarfile.open(make_sdist(folder, tmp_path / "sdist")) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
        plain = {member.name.partition("/")[2] for member in archive if member.isreg()}
    sources = {str(p.relative_to(folder)) for p in (folder / "src").rglob("*") if p.is_file()}
    wanted = {name for name in sources if "egg-info" not in name and "__pycache__" not in name}
    assert wanted <= packed
    beside = {path.name for path in folder.iterdir() if path.is_file()}
    assert {"pyproject.toml", "LICENSE", "README.md"} <= beside <= plain
    assert not {name for name in packed if name.startswith(("tests/", "build/"))}


def test_an_unpacked_sdist_is_renewed_file_by_file(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    unpack(packed(tmp_path, {"src/same.py": "1", "src/edited.py": "1", "src/gone.py": "1"}), tree)
    (tree / "build").mkdir()
    built = tree / "build" / "edited.c"
    built.write_text("made of the first one")
    a_minute_ago = built.stat().st_mtime - 60
    os.utime(built, (a_minute_ago, a_minute_ago))
    before = (tree / "src" / "same.py").stat().st_mtime_ns
    # The edit is older than what was built meanwhile, and must be seen all the same.
    unpack(packed(tmp_path, {"src/same.py": "1", "src/edited.py": "2"}), tree)
    assert (tree / "src" / "same.py").stat().st_mtime_ns == before
    assert (tree / "src" / "edited.py").read_text() == "2"
    assert (tree / "src" / "edited.py").stat().st_mtime_ns > built.stat().st_mtime_ns
    assert sorted(p.name for p in tree.rglob("*.*")) == ["edited.c", "edited.py", "same.py"]


def packed(folder: Path, files: dict[str, str]) -> Path:
    """An archive of files that were all last changed long ago."""
    path = folder / "some.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"forebay-0/{name}")
            member.size, member.mtime = len(content), 1_000_000_000
            archive.addfile(member, io.BytesIO(content.encode()))
    return path


def test_a_compiled_module_without_its_types_is_not_built(tmp_path: Path) -> None:
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(SERVER / name, tmp_path)
    shutil.copytree(SERVER_SRC, tmp_path / "src")
    (tmp_path / "src" / "forebay" / "core" / "rax.pxd").unlink()
    done = python(tmp_path, "setup.py", "-q", "build_ext")
    assert done.returncode != 0
    assert "no types for 1 compiled modules" in done.stderr
    assert "src/forebay/core/rax.pxd" in done.stderr
    assert not (tmp_path / "build").exists(), "nothing was compiled"


def test_a_build_without_types_says_so(tmp_path: Path) -> None:
    package = tmp_path / "forebay"
    (package / "engine").mkdir(parents=True)
    for name in ("__init__.py", "engine/__init__.py", "engine/ticker.py"):
        shutil.copy(SERVER_SRC / "forebay" / name, package / name)
    ask = ("-c", "import forebay; print(forebay.build(), forebay.compiled())")
    assert python(tmp_path, *ask).stdout == "interpreted False\n"
    assert compile_ticker(tmp_path) == ""
    assert python(tmp_path, *ask).stdout == "untyped False\n"
    shutil.copy(SERVER_SRC / "forebay" / "engine" / "ticker.pxd", package / "engine")
    assert compile_ticker(tmp_path) == ""
    assert python(tmp_path, *ask).stdout == "compiled True\n"


def compile_ticker(folder: Path) -> str:
    """Compile the one module in place, with whatever types lie beside it; complaints."""
    options = ("-3iqf", "-X", "annotation_typing=False")  # as setup.py has it
    return python(
        folder, "-m", "Cython.Build.Cythonize", *options, "forebay/engine/ticker.py"
    ).stderr
