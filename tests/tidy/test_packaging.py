"""The released files: an sdist that contains the types, and a build that stops without them."""

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
from tools.install import CIMPORT, forget_stale_modules, make_sdist, types_of, unpack

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
    # The edit is older than the files built meanwhile, and must be noticed anyway.
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


def test_a_module_is_compiled_again_if_types_have_changed_that_it_is_made_of(
    tmp_path: Path,
) -> None:
    types = {
        "base": "cdef int one",
        "by_module": "from forebay cimport base",
        "by_name": "from forebay.base cimport one",
        "through_another": "from forebay cimport core, by_module",
        "alone": "cimport cython\nfrom cpython cimport array",
    }
    for name, content in types.items():
        write(tmp_path / "src" / "forebay" / f"{name}.pxd", content, at_s=100)
        write(tmp_path / "build" / "cython" / "src" / "forebay" / f"{name}.c", "", at_s=200)
    forget_stale_modules(tmp_path)
    assert made_in(tmp_path) == set(types)
    write(tmp_path / "src" / "forebay" / "base.pxd", "cdef int two", at_s=300)
    forget_stale_modules(tmp_path)
    assert made_in(tmp_path) == {"alone"}


def write(path: Path, content: str, at_s: int) -> None:
    """Write a file with this time of its last change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (at_s, at_s))


def made_in(tree: Path) -> set[str]:
    """The modules that exist as C."""
    return {path.stem for path in tree.rglob("*.c")}


def test_all_types_of_a_module_of_ours_are_found() -> None:
    src = SERVER_SRC
    found = {path.stem for path in types_of(src / "forebay/server/net/loop.pxd", src)}
    assert {"loop", "sysio", "mem", "engine", "blocking"} <= found
    lines = [line for path in src.rglob("*.pxd") for line in path.read_text().splitlines()]
    told = [line for line in lines if "forebay" in line and " cimport " in line]
    assert told
    assert [line for line in told if not CIMPORT.match(line) or "(" in line] == []


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
    """Compile the one module in place, with the types next to it; returns complaints."""
    options = ("-3iqf", "-X", "annotation_typing=False")  # as setup.py has it
    return python(
        folder, "-m", "Cython.Build.Cythonize", *options, "forebay/engine/ticker.py"
    ).stderr
