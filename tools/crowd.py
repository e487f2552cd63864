"""Run tests in a crowd of processes; the few that fail there are run once more, alone.

    python -m tools.crowd -n 5 server/tests      all arguments are pytest's

Some tests are about real time: leases, Sentinels, browsers.  With more processes than cores, one of
them can stand still for longer than the time that a test is about, and then what it sees is right
and is not what was to be shown.  Alone on the machine, the same test must pass.

    first run, in the crowd --- passes ------------------------------------> 0
        | fails in up to three tests         | in more, or it broke off ---> its exit code
        v                                    '
    these tests, alone -------- pass: they are named as unsteady ----------> 0
        '---------------------- fail --------------------------------------> their exit code

Nothing is hidden: the first failure is printed whole, and the last lines name each test that needed
its second run.  Such a test waits for mending.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

#: If more fail, it is the code.
MOST_AGAIN = 3


def run(arguments: list[str]) -> int:
    """Both runs; the exit code of the whole."""
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
    """The tests that pytest remembers."""
    remembered = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(remembered.read_text())) if remembered.exists() else []


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
