"""The commands of the README work when a reader copies them.

The blocks of a section are one script, as a reader pastes them one after another.
Not included: the installation (the packaging tests do that) and Spark (`spark/tests`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testkit.pages import blocks
from testkit.places import ROOT
from testkit.reader import paste, script_of

README = ROOT / "README.md"
LEFT_OUT = ("pip install", "forebay pipeline", "forebay sql", "forebay_spark")


def copied(heading: str) -> str:
    """The blocks of a section as one script."""
    found = [b for b in blocks(README) if b.heading == heading and b.language in ("sh", "python")]
    kept = [block for block in found if not any(word in block.text for word in LEFT_OUT)]
    assert kept, f"no block to copy under {heading!r}"
    return script_of(kept)


def test_the_first_minute(tmp_path: Path) -> None:
    printed = paste(copied("Try it in one minute"), tmp_path)
    assert printed.count("Castilla") == 2
    assert "race:italy" in printed
    assert "{'item': 'tea', 'price': '3.20'}" in printed
    assert "Traceback" not in (tmp_path / "forebay.log").read_text()
    assert list((tmp_path / "data").iterdir()), "the directory of the data is empty"


def test_a_server_for_the_lake_gets_its_orders(tmp_path: Path) -> None:
    script = copied("A lake in one more")
    printed = paste(script + "redis-cli XLEN orders\nkill %1\nwait %1\n", tmp_path)
    assert printed.split() == ["3"]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z-]+)", README.read_text()))))
def test_what_make_is_asked_for_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
