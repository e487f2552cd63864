"""The check of every wheel (tools/smoke.py) works, and fails when it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from testkit.places import ROOT
from testkit.servers import environment


def smoke(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "smoke.py")]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)


def test_a_package_that_works_passes() -> None:
    done = smoke(environment())
    assert done.returncode == 0, done.stderr
    assert "the entry is there" in done.stdout


def test_a_package_that_does_not_start_fails_and_shows_why(tmp_path: Path) -> None:
    package = tmp_path / "forebay"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('no core in this wheel')\n")
    done = smoke({**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "no answer from the server\nno core in this wheel" in done.stderr
