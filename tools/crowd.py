"""Run tests in a crowd of processes; the few that fail there are run once more, alone.

    python -m tools.crowd -n 5 server/tests      all arguments are pytest's

Some tests depend on real time: leases, Sentinels, browsers.  With more processes than cores, one
of them can stall for longer than the time under test.  Then the code is right, but the test fails.
Alone on the machine, the same test must pass.

    first run, in the crowd --- passes ------------------------------------> 0
        | fails in up to three tests         | in more, or it stopped -----> its exit code
        v                                    '
    these tests, alone -------- pass: they are named as unsteady ----------> 0
        '---------------------- fail --------------------------------------> their exit code

Nothing is hidden: the first failure is printed whole, and the last lines name each test that needed
its second run.  Such a test must be fixed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

#: If more tests fail, the code is at fault.
MOST_AGAIN = 3


def run(arguments: list[str]) -> int:
    """Both runs; returns the overall exit code."""
    with tempfile.TemporaryDirectory() as cache:
        remembering = [*arguments, "-o", f"cache_dir={cache}"]
        code = _pytest(remembering)
        failed = _failed(Path(cache))
        if code != pytest.ExitCode.TESTS_FAILED or len(failed) > MOST_AGAIN:
            return code
        print(f"\n{len(failed)} failed in the crowd: once more, alone\n", flush=True)
        code = _pytest([*remembering, "--last-failed", "--last-failed-no-failures=none", "-n0"])
    if code == 0:
        print("\nunsteady, passed only alone:", *failed, sep="\n    ")
    return code


def _pytest(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def _failed(cache: Path) -> list[str]:
    """The failed tests, from pytest's cache."""
    remembered = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(remembered.read_text())) if remembered.exists() else []


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
