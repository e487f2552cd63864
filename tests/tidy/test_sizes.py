"""The style is executable: sizes, docstrings and leftovers, with the reason for each.

A file can be read in one go, a function fits on a screen, and a head teaches.  The
numbers are the limits of the whole project.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from testkit.places import ROOT, SERVER_SRC, SOURCES

FILE_LINES = 500
FUNCTION_LINES = 70
FOLDERS = (
    *("server", "spark", "workers", "console", "testkit", "tests", "bench", "reliability"),
    *("examples", "tools"),
)

PYTHON = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))
PXD = sorted(SERVER_SRC.rglob("*.pxd"))
#: Files that a reader opens; not build products or the environment.
TEXTS = [
    *PYTHON,
    *PXD,
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "bench").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
    *[ROOT / name for name in ("Makefile", "pyproject.toml", ".importlinter", ".ci/run")],
]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


@pytest.mark.parametrize("path", [*PYTHON, *PXD], ids=name_of)
def test_a_file_is_read_in_one_sitting(path: Path) -> None:
    assert len(lines_of(path)) < FILE_LINES


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_a_function_fits_a_screen_and_the_head_of_a_file_says_what_it_is(path: Path) -> None:
    module = ast.parse(path.read_text())
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert not long
    assert ast.get_docstring(module), "no module docstring"


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_nothing_is_left_for_later_or_tied_to_one_machine(path: Path) -> None:
    marks = "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"))
    places = "|".join(("/wo" + "rk/", "/tmp/f" + "b/", r"/root/\.py" + "env", "/ho" + "me/"))
    found = [line for line in lines_of(path) if re.search(rf"\b({marks})\b|{places}", line)]
    assert not found


def test_no_module_imports_relatively_or_cython() -> None:
    for path in (path for folder in SOURCES for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"relative import in {name_of(path)}"
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            assert "cython" not in names, f"{name_of(path)} imports cython: types go in its .pxd"
