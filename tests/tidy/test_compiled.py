"""Rules that import-linter cannot check: the .pxd files, and the one list of compiled modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from testkit.compiled import compiled_list
from testkit.places import SERVER_SRC

#: Two-faced modules: the .py is for the interpreter, the .pxd alone is compiled (inlined).
TWO_FACED = {"forebay.mem", "forebay.server.net.sysio", "forebay.persistence.files"}
#: Low to high, as in .importlinter; core and wire are blind to each other.
LAYERS = {"errors": 0, "mem": 1, "core": 2, "wire": 2, "commands": 3, "engine": 5, "server": 6}
LAYERS |= {"persistence": 3, "replication": 4, "cli": 7}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SERVER_SRC).with_suffix("").parts)


PXD = sorted(SERVER_SRC.rglob("*.pxd"))


def cimports(path: Path) -> list[str]:
    """The forebay modules that a .pxd cimports."""
    found = []
    for line in path.read_text().splitlines():
        if match := re.match(r"\s*from\s+(forebay[\w.]*)\s+cimport\s+(.+)", line):
            package, names = match.groups()
            for name in re.split(r"[,\s()]+", names):
                inner = SERVER_SRC / Path(*package.split(".")) / f"{name}.pxd"
                found.append(f"{package}.{name}" if inner.exists() else package)
        elif match := re.match(r"\s*cimport\s+(forebay[\w.]*)", line):
            found.append(match.group(1))
    return found


def procedures_with_a_result(text: str) -> list[str]:
    """The functions that return 0 in every case: such a result says nothing."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            results = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
            if results and all(isinstance(r, ast.Constant) and r.value == 0 for r in results):
                found.append(node.name)
    return found


def part_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def test_there_is_no_pyx_and_no_built_file_among_the_sources() -> None:
    unwanted = {".pyx", ".so", ".c", ".cpp"}
    assert [p for p in SERVER_SRC.rglob("*") if p.suffix in unwanted] == []


@pytest.mark.parametrize("path", PXD, ids=module_of)
def test_every_pxd_types_a_py_beside_it(path: Path) -> None:
    assert path.with_suffix(".py").exists()


def test_the_list_of_compiled_modules_is_the_list_of_pxd_files() -> None:
    assert sorted(compiled_list()) == sorted({module_of(p) for p in PXD} - TWO_FACED)


@pytest.mark.parametrize("path", PXD, ids=module_of)
def test_cimports_run_downhill(path: Path) -> None:
    here = part_of(module_of(path))
    for target in cimports(path):
        there = part_of(target)
        assert there == here or LAYERS[there] < LAYERS[here], f"{here} cimports {target}"


@pytest.mark.parametrize("path", PXD, ids=module_of)
def test_a_procedure_returns_nothing(path: Path) -> None:
    assert procedures_with_a_result(path.with_suffix(".py").read_text()) == []


def test_a_procedure_that_answers_zero_is_found() -> None:
    text = "def f(a):\n    if a:\n        return 0\n    return 0\n\ndef g(a):\n    return a or 0\n"
    assert procedures_with_a_result(text) == ["f"]
