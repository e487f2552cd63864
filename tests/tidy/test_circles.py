"""tests > reliability > bench > testkit: each may import those to its right, no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Low to high; what is given away and what is shown as an example use none of them.
ORDER = ("testkit", "bench", "reliability", "tests")
RANKS = {"src": -1, "examples": -1, "tools": -1, **{name: i for i, name in enumerate(ORDER)}}
FILES = sorted(path for folder in RANKS for path in (ROOT / folder).rglob("*.py"))


def imported(source: str) -> Iterator[str]:
    """The packages that a file imports, by their first name, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    rank = RANKS[path.relative_to(ROOT).parts[0]]
    above = {name for name in imported(path.read_text()) if name in ORDER[rank + 1 :]}
    assert not above


def test_an_import_inside_of_a_function_is_found() -> None:
    assert set(imported("import bench.run\ndef f():\n    from tests.support import x\n")) == {
        "bench",
        "tests",
    }
