"""tests > reliability > bench > testkit: each may import only those to its right."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.places import ROOT

#: Low to high; distributions, tools and examples use none of them.
ORDER = ("testkit", "bench", "reliability", "tests")
RANKS = dict.fromkeys(("server/src", "spark/src", "workers/src", "console/src"), -1)
RANKS |= {"examples": -1, "tools": -1}
RANKS |= {name: rank for rank, name in enumerate(ORDER)}
#: Each distribution has its own tests; they have one rank and do not import each other.
RANKS |= {f"{name}/tests": RANKS["tests"] for name in ("server", "spark", "workers", "console")}
FILES = [(folder, path) for folder in RANKS for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(source: str) -> Iterator[str]:
    """The packages that a file imports anywhere, by their first name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def name_of(value: str | Path) -> str:
    return value if isinstance(value, str) else str(value.relative_to(ROOT))


@pytest.mark.parametrize(("folder", "path"), FILES, ids=name_of)
def test_imports_go_one_way(folder: str, path: Path) -> None:
    names = set(imported(path.read_text()))
    assert not names & {*ORDER[RANKS[folder] + 1 :]}
    # Tests of a distribution are imported by their path in the repository.
    assert not names & ({"server", "spark", "workers", "console"} - {folder.removesuffix("/tests")})


def test_an_import_inside_of_a_function_is_found() -> None:
    assert set(imported("import bench.run\ndef f():\n    from tests.support import x\n")) == {
        "bench",
        "tests",
    }
