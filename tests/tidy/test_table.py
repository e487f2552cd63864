"""The command table against its tests and its pages: nothing undocumented, nothing untried."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import forebay
from forebay.commands.table import TABLE

ROOT = Path(__file__).resolve().parents[2]
TESTS = [p for p in (ROOT / "tests").rglob("test_*.py") if "tidy" not in p.parts]
WORDS = set(re.findall(r"[A-Za-z][A-Za-z0-9_.-]*", " ".join(p.read_text() for p in TESTS)))
NAMES = sorted(name.decode() for name in TABLE)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_test_file_or_is_named_in_one(name: str) -> None:
    files = {p.stem for p in TESTS}
    assert f"test_{name}" in files or name in WORDS or name.upper() in WORDS


@pytest.mark.parametrize("name", NAMES)
def test_every_command_says_what_it_does_and_since_when(name: str) -> None:
    row = TABLE[name.encode()]
    assert row.summary, "no summary"
    assert re.fullmatch(r"\d+\.\d+\.\d+", row.since)


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    top = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert top is not None
    assert forebay.__version__ == project["version"] == top.group(1)


def test_the_generated_pages_are_current() -> None:
    generator = ROOT / "tools" / "generate_docs.py"
    subprocess.run([sys.executable, str(generator), "--check"], cwd=ROOT, check=True)


def test_importing_the_package_loads_nothing_of_the_server() -> None:
    code = "import forebay, sys; sys.exit(any(m.startswith('forebay.') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
