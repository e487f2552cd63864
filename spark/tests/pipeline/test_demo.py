"""The demo as a person runs it: it checks its own results, so it must only reach its end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from testkit.places import ROOT
from testkit.servers import environment

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


def test_the_demo_comes_to_its_end_and_its_books_are_right() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=ROOT,
        env={**os.environ, **environment()},
        capture_output=True,
        text=True,
        timeout=360,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "passages in one table (expected 680)                 680" in done.stdout
    assert "exit code 0" in done.stdout
    assert "Traceback" not in done.stderr
