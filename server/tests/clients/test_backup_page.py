"""The backup of docs/durability.md, run exactly as on the page."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.pages import blocks, shell_commands
from testkit.places import ROOT
from testkit.servers import ServerProcess

PAGE = ROOT / "docs" / "durability.md"


@pytest.mark.oracle
def test_the_commands_of_the_page_make_a_backup_and_restore_it(
    make_forebay: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    (block,) = [b for b in blocks(PAGE) if b.language == "sh" and b.heading == "Back up"]
    server = make_forebay("--dir", str(tmp_path), "--save", "")
    with server.client() as client:
        client("XADD", "orders", "1-0", "item", "tea")
    lines = [*block.lines]
    at = next(at for at, line in enumerate(lines) if "BACKUP LIST" in line)
    lines.insert(at + 1, f"cp -r {tmp_path}/backupdir {tmp_path}/copy")
    script = "\n".join(lines).replace("redis-cli", f"redis-cli -p {server.port}")
    done = subprocess.run(
        ["sh", "-ec", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count("OK\n") == 3
    assert f"{tmp_path}/backupdir/appendonly.aof.manifest\n" in done.stdout
    assert list((tmp_path / "backupdir").iterdir()) == []
    (restore,) = [words for words in shell_commands(PAGE, "forebay") if "--preload-file" in words]
    named = restore[restore.index("--preload-file") + 1]
    restored = make_forebay("--preload-file", named.replace("/backup", f"{tmp_path}/copy"))
    with restored.client() as client:
        assert client("XRANGE", "orders", "-", "+") == [[b"1-0", [b"item", b"tea"]]]
