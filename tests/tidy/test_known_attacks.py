"""Every line of docs/internals/known-attacks.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "internals" / "known-attacks.md"
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


def rows() -> list[str]:
    """The lines of the table that name a vulnerability."""
    lines = PAGE.read_text().splitlines()
    return [line for line in lines if line.startswith(("| CVE-", "| redis#"))]


def missing(row: str) -> list[str]:
    """Tests of a row that do not exist."""
    named = TEST.findall(row)
    texts = {path: (ROOT / path).read_text() for path, _ in named if (ROOT / path).exists()}
    return [
        f"{path}::{name}" for path, name in named if f"\ndef {name}(" not in texts.get(path, "")
    ]


def test_every_hole_has_a_test_that_exists() -> None:
    assert len(rows()) > 15
    for row in rows():
        assert TEST.search(row), f"no test: {row}"
        assert missing(row) == []


def test_a_test_that_is_gone_would_be_noticed() -> None:
    assert missing("| CVE-1 | x | `tests/tidy/test_known_attacks.py::test_nothing_at_all` |")
