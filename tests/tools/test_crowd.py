"""The second run of `tools/crowd.py`: which tests get it, and what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.places import ROOT

STEADY = "def test_steady(): pass\n"
BROKEN = "def test_broken(): assert False, 'as ever'\n"
#: Passes if it has been run before.
UNSTEADY = """
def test_unsteady_{n}():
    from pathlib import Path
    trace = Path(__file__ + ".{n}")
    was_run = trace.exists()
    trace.touch()
    assert was_run, 'the first time'
"""


def crowd(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    file = folder / "test_some.py"
    file.write_text("".join(tests))
    command = [sys.executable, "-m", "tools.crowd", "-q", "-pxdist", "-n2", "-c", "/dev/null"]
    return subprocess.run(
        [*command, "--rootdir", folder, file],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # others take seconds to load
        capture_output=True,
        text=True,
        check=False,
    )


def unsteady(count: int) -> list[str]:
    return [UNSTEADY.format(n=n) for n in range(count)]


def test_who_passes_is_run_once(tmp_path: Path) -> None:
    ran = crowd(tmp_path, STEADY)
    assert ran.returncode == 0
    assert "once more" not in ran.stdout


@pytest.mark.parametrize("count", [1, 3])
def test_a_few_that_pass_alone_are_named_with_their_first_failure(
    tmp_path: Path, count: int
) -> None:
    ran = crowd(tmp_path, STEADY, *unsteady(count))
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.count("the first time") >= count
    said = ran.stdout.partition("unsteady, passed only alone:")[2].split()
    assert said == [f"test_some.py::test_unsteady_{n}" for n in range(count)]
    assert f"{count} passed" in ran.stdout, "the steady one was run again"


def test_who_fails_alone_too_fails(tmp_path: Path) -> None:
    ran = crowd(tmp_path, STEADY, BROKEN, *unsteady(1))
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    assert "once more, alone" in ran.stdout
    assert "passed only alone" not in ran.stdout


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    ran = crowd(tmp_path, STEADY, *unsteady(4))
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    assert "once more" not in ran.stdout


def test_a_run_that_broke_off_is_not_tried_again(tmp_path: Path) -> None:
    refusing = "import pytest\ndef pytest_configure(): raise pytest.UsageError('not here')\n"
    (tmp_path / "conftest.py").write_text(refusing)
    ran = crowd(tmp_path, STEADY)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "once more" not in ran.stdout
