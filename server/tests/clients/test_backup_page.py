"""The backup of docs/durability.md, run as it stands there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.pages import blocks
from testkit.places import ROOT
from testkit.servers import ServerProcess

PAGE = ROOT / "docs" / "durability.md"


@pytest.mark.oracle
def test_the_commands_of_the_page_make_a_backup(
    make_forebay: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    (block,) = [b for b in blocks(PAGE) if b.language == "sh" and b.heading == "Back up"]
    server = make_forebay("--dir", str(tmp_path), "--save", "")
    script = "\n".join(block.lines).replace("redis-cli", f"redis-cli -p {server.port}")
    done = subprocess.run(
        ["sh", "-ec", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count("OK\n") == 3
    assert f"{tmp_path}/backupdir/appendonly.aof.manifest\n" in done.stdout
    assert list((tmp_path / "backupdir").iterdir()) == []
